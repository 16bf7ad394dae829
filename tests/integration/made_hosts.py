"""Hosts that are made up: each is a name and a space of process numbers of its own on this machine. Launchers reach them by a
command in place of ssh (`Hosts.agent`). Needs root, to make name spaces (`available()`).

As a program of its own, `made_hosts.py host NAME SOCKET` is what runs on such a host, and `made_hosts.py ssh DIRECTORY [OPTIONS] NAME
WORDS...` what reaches it.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
NEW = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
MOST = 1 << 20  # bytes of a command


def available():
    """Whether hosts can be made here."""
    return bool(shutil.which("unshare")) and subprocess.run([*NEW, "true"], capture_output=True, check=False).returncode == 0


class Hosts:
    """Hosts of these names, until the end of the block. `directory` is empty."""

    def __init__(self, directory, *names):
        self.directory, self.names, self.running = directory, names, []
        self.agent = directory / "agent"

    def __enter__(self):
        self.agent.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE} ssh {self.directory} "$@"\n')
        self.agent.chmod(0o755)
        for name in self.names:
            command = [*NEW, sys.executable, str(HERE), "host", name, str(self.directory / name)]
            self.running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True))
        for name in self.names:
            while not (self.directory / name).exists():
                time.sleep(0.01)
        return self

    def __exit__(self, *_):
        for each in self.running:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()


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
    connection.send(bytes([status & 0xFF]))


def be_host(name, path):
    socket.sethostname(name)
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
