"""Hosts that are made up: each is a name and a space of process numbers of its own on this machine. Launchers reach them by a
command in place of ssh (`Hosts.agent`). Needs root, to make name spaces (`available()`).

Hosts of `HostsApart` also have addresses of their own, on a network that nothing else reaches, a `/tmp` and a `/dev/shm` of their own,
and clocks that are apart: all that the kernel counts from the boot, by time name spaces. The time of day is one on all: no name space
holds it.

As a program of its own, `made_hosts.py host NAME SOCKET [WHAT-IS-APART]` is what runs on such a host, and `made_hosts.py ssh DIRECTORY
[OPTIONS] NAME WORDS...` what reaches it. All ends with the process that made it.
"""

import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve()
NEW = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
MOST = 1 << 20  # bytes of a command
APART = ["--net", "--ipc", "--mount", "--time"]
NETWORK = "10.18.0."
FIRST = 10  # the last byte of the first host's address


def available():
    """Whether hosts can be made here."""
    return bool(shutil.which("unshare")) and subprocess.run([*NEW, "true"], capture_output=True, check=False).returncode == 0


def missing_apart():
    """Why there can be no hosts apart here; empty where there can be some."""
    if not shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
        return "without ip (Debian: iproute2)"
    if not available():
        return "needs root, to make hosts"
    tried = [*NEW, *APART, "--monotonic", "3600", "ip", "link", "add", "tried", "type", "bridge"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    return f"no network or clock of its own: {done.stderr.strip()}" if done.returncode != 0 else ""


class Hosts:
    """Hosts of these names, until the end of the block. `directory` is empty."""

    def __init__(self, directory, *names):
        self.directory, self.names, self.running = directory, names, []
        self.agent = directory / "agent"

    def __enter__(self):
        self.agent.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE} ssh {self.directory} "$@"\n')
        self.agent.chmod(0o755)
        try:
            for name in self.names:
                command = [*NEW, *self.apart(name), sys.executable, str(HERE), "host", name, str(self.directory / name), *self.differs(name)]
                self.running.append(subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True))
            for name, each in zip(self.names, self.running):
                while not (self.directory / name).exists():
                    if each.poll() is not None:
                        raise AssertionError(f"host {name} ended with {each.returncode}")
                    time.sleep(0.01)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for each in self.running:
            each.stdin.close()
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()

    def apart(self, _name):
        """Further options of unshare."""
        return ()

    def differs(self, _name):
        """What be_host is to know of it."""
        return ()

    def command(self, name, words, directory="/", environment=()):
        """What runs these words on a host."""
        variables = [f"{key}={value}" for key, value in dict(environment).items()]
        words = shlex.join(str(word) for word in ("env", *variables, *words))
        return [str(self.agent), name, f"cd {shlex.quote(str(directory))} && exec {words}"]

    def die(self, name):
        """The host loses power: its processes end at once, all of them, and nobody reaches it any more."""
        host = self.running[self.names.index(name)]
        host.kill()
        host.wait()
        (self.directory / name).unlink()


class HostsApart(Hosts):
    """Hosts that share the network and all files but /tmp and /dev/shm; of /tmp they share these directories. Each is so many seconds
    ahead of the one before."""

    def __init__(self, directory, *names, shared=(), ahead=7200):
        super().__init__(directory, *names)
        self.shared = [str(path) for path in (directory, HERE.parent, *shared) if pathlib.Path(path).is_relative_to("/tmp")]
        self.ahead = {name: i * ahead for i, name in enumerate(names)}
        self.addresses = {name: f"{NETWORK}{FIRST + i}" for i, name in enumerate(names)}
        self.switch = None

    def __enter__(self):
        (self.directory / "etc-hosts").write_text("".join(("127.0.0.1 localhost\n", *(f"{self.addresses[name]} {name}\n" for name in self.names))))
        super().__enter__()
        try:
            self.join_network()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        super().__exit__()
        if self.switch:
            self.switch.communicate()

    def apart(self, name):
        ahead = str(self.ahead[name])
        return (*APART, "--monotonic", ahead, "--boottime", ahead)

    def differs(self, name):
        (self.directory / f"{name}-tmp").mkdir()
        return (json.dumps({"etc-hosts": str(self.directory / "etc-hosts"), "tmp": str(self.directory / f"{name}-tmp"), "shared": self.shared}),)

    def within(self, process, *commands):
        """Runs commands of ip in the network of a process."""
        done = subprocess.run(["nsenter", f"--net=/proc/{process.pid}/ns/net", "ip", "-batch", "-"], input="\n".join(commands), text=True,
                              env=dict(os.environ, PATH=f"{os.environ['PATH']}:/usr/sbin:/sbin"), capture_output=True, check=False)  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(f"ip: {commands}: {done.stderr}")

    def join_network(self):
        """A bridge, with a cable to each host."""
        self.switch = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.switch.stdout.readline()
        self.within(self.switch, "link add name bridge type bridge forward_delay 0", "link set bridge up",
                    *(f"link add port-{name} type veth peer name eth0 netns {host.pid}" for name, host in zip(self.names, self.running)),
                    *(f"link set port-{name} master bridge up" for name in self.names))  # fmt: skip
        for name, host in zip(self.names, self.running):
            self.within(host, "link set lo up", f"address add {self.addresses[name]}/24 dev eth0", "link set eth0 up")

    def plug(self, name, on=True):
        """Whether the host's cable is plugged in."""
        self.within(self.switch, f"link set port-{name} {'up' if on else 'down'}")


def answer(connection):
    """Runs one command on the standard streams that came with it."""
    command, streams, _, _ = socket.recv_fds(connection, MOST, 3)
    child = os.fork()
    if child == 0:
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, 256)
        os.execvpe("sh", ["sh", "-c", command.decode()], {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")})
    for stream in streams:
        os.close(stream)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(BrokenPipeError):  # whoever asked may have gone
        connection.send(bytes([status & 0xFF]))


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def set_apart(differs):
    """A /tmp of its own, in which directories are shared, a /dev/shm of its own and other names of hosts."""
    tmp = pathlib.Path(differs["tmp"])
    mount("-t", "tmpfs", "tmpfs", tmp)
    tmp.chmod(0o1777)
    for path in differs["shared"]:
        place = tmp / pathlib.Path(path).relative_to("/tmp")
        place.mkdir(parents=True, exist_ok=True)
        mount("--bind", path, place)
    mount("--move", tmp, "/tmp")
    mount("-t", "tmpfs", "tmpfs", "/dev/shm")
    mount("--bind", differs["etc-hosts"], "/etc/hosts")


def end_with_maker():
    sys.stdin.read()
    os._exit(0)


def be_host(name, path, differs=None):
    socket.sethostname(name)
    if differs:
        set_apart(json.loads(differs))
    threading.Thread(target=end_with_maker, daemon=True).start()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as the first process it would have to wait for all
    server = socket.socket(socket.AF_UNIX)
    server.bind(path + ".new")
    server.listen(64)
    os.rename(path + ".new", path)
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(connection)
            os._exit(0)
        connection.close()


def reach(directory, *words):
    """As ssh: options, the host, the command."""
    words = list(words)
    while words[0].startswith("-"):
        words.pop(0)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(pathlib.Path(directory) / words[0]))
    except OSError:
        sys.exit(f"ssh: Could not resolve hostname {words[0]}: Name or service not known")
    socket.send_fds(connection, [" ".join(words[1:]).encode()], [0, 1, 2])
    status = connection.recv(1)
    sys.exit(status[0] if status else 255)


if __name__ == "__main__":
    {"host": be_host, "ssh": reach}[sys.argv[1]](*sys.argv[2:])
