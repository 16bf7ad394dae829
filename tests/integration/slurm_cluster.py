"""A Slurm of its own, from Debian's packages: a host where users log in and submit (login), with munged and slurmctld, and hosts that run
jobs, each with a slurmd. The hosts are made up: each has a name and a directory for temporary files (`local`, by one path on all). They
share a network of their own, which nothing else reaches, process numbers (MPICH then needs no network) and all other files. All of it
ends with the block, and with the process that began it. Needs root, to make name spaces, and the packages (`missing()`).

As a program of its own, `slurm_cluster.py login DIRECTORY NODE...` is the first process of login, and `slurm_cluster.py node DIRECTORY
NODE` becomes a slurmd.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

import made_hosts

HERE = pathlib.Path(__file__).resolve()
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "sinfo", "ip", "nsenter")
PLACES = f"{os.environ['PATH']}:/usr/sbin:/sbin"
NETWORK = "10.17.0."  # on the loopback device: addresses of 127.0.0.0/8 are none that Slurm looks names up for
LOGIN, FIRST = 1, 10  # the last byte of addresses
PORTS = 17000  # all nodes share one device, so their ports differ
PROCESSORS = 8  # of a node, as it says
PATIENCE = 120  # seconds until a condition holds

CONFIGURATION = """
ClusterName=culprit
SlurmctldHost=login({network}{login})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={here}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool/%n
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/%n.pid
SlurmctldLogFile={here}/slurmctld.log
SlurmdLogFile={here}/%n.log
SlurmdParameters=config_overrides
TmpFS={here}/local
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1,sched_interval=1
MpiDefault=none
ReturnToService=2
KillWait=1
PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP
"""


def missing():
    """Why there can be no cluster here; empty where it can."""
    programs = [name for name in PROGRAMS if not shutil.which(name, path=PLACES)]
    if programs:
        return f"without {', '.join(programs)} (Debian: slurmctld slurmd slurm-client munge iproute2)"
    return "" if made_hosts.available() else "needs root, to make hosts"


def until(holds, what):
    """Waits until `holds()` returns something true, and returns that."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"after {PATIENCE} seconds: {what() if callable(what) else what}")
        time.sleep(0.05)
    return found


class Cluster:
    """Slurm with these nodes, until the end of the block. `directory` is empty."""

    def __init__(self, directory, *nodes):
        self.here, self.nodes, self.first = directory, nodes, None
        self.local = directory / "local"  # on each node another directory
        self.variables = {"SLURM_CONF": str(directory / "slurm.conf"), "TMPDIR": str(self.local)}

    def __enter__(self):
        self.write_files()
        words = ["unshare", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, str(HERE), "login"]
        with (self.here / "output").open("w") as output:
            self.first = subprocess.Popen([*words, str(self.here), *self.nodes], stdin=subprocess.PIPE, stdout=output,
                                          stderr=subprocess.STDOUT, start_new_session=True)
        try:
            until(self.is_up, self.logs)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.first.stdin.close()  # the first process of login ends, and with it all others
        self.first.wait()

    def write_files(self):
        for name in ("state", "spool", "local", "tmp", *(f"{place}/{node}" for place in ("spool", "tmp") for node in self.nodes)):
            (self.here / name).mkdir()
        addresses = {"login": LOGIN, **{node: FIRST + i for i, node in enumerate(self.nodes)}}
        lines = ["127.0.0.1 localhost", *(f"{NETWORK}{last} {name}" for name, last in addresses.items())]
        (self.here / "hosts").write_text("\n".join((*lines, "")))
        text = CONFIGURATION.format(here=self.here, network=NETWORK, login=LOGIN)
        for node in self.nodes:
            last = addresses[node]
            text += f"NodeName={node} NodeAddr={NETWORK}{last} NodeHostname={node} Port={PORTS + last} CPUs={PROCESSORS}\n"
        (self.here / "slurm.conf").write_text(text)
        # No group is made. That of version 1 asks for nothing that the machine has.
        (self.here / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        key = self.here / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))

    def is_up(self):
        if self.first.poll() is not None:
            raise AssertionError(f"the cluster ended: {self.logs()}")
        done = subprocess.run(self.on_login(["sinfo", "-h", "-N", "-o", "%T"]), capture_output=True, text=True, check=False,
                              env=dict(os.environ, **self.variables))
        return done.stdout.split() == ["idle"] * len(self.nodes)

    def logs(self):
        texts = {path.name: path.read_text(errors="replace") for path in (self.here / "output", *sorted(self.here.glob("*.log")))}
        return "".join(f"\n{name}:\n{text}" for name, text in texts.items())

    def on_login(self, words, directory="/"):
        """The command that runs these words where users log in; `variables` are to be in its environment."""
        spaces = f"/proc/{self.first.pid}/ns"
        return ["nsenter", f"--net={spaces}/net", f"--uts={spaces}/uts", f"--mount={spaces}/mnt", f"--pid={spaces}/pid_for_children",
                "env", "-C", str(directory), *map(str, words)]  # fmt: skip


def bind(source, target):
    subprocess.run(["mount", "--bind", source, target], check=True)


def be_login(directory, *nodes):
    here = pathlib.Path(directory)
    socket.sethostname("login")
    os.environ["PATH"] = PLACES
    os.environ["SLURM_CONF"] = str(here / "slurm.conf")
    bind(here / "hosts", "/etc/hosts")
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True)  # killed ranks leave memory behind
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for last in (LOGIN, *(FIRST + i for i in range(len(nodes)))):
        subprocess.run(["ip", "address", "add", f"{NETWORK}{last}/24", "dev", "lo"], check=True)

    def begin(*words):
        subprocess.Popen(words, stdin=subprocess.DEVNULL)

    # Forced: only its owner may enter the directory.
    begin("munged", "--foreground", "--force", f"--socket={here}/munge.socket", f"--key-file={here}/munge.key",
          f"--log-file={here}/munged.log", f"--pid-file={here}/munged.pid", f"--seed-file={here}/munge.seed")
    until((here / "munge.socket").exists, "munged made no socket")
    begin("slurmctld", "-D")
    for node in nodes:
        begin("unshare", "--uts", "--mount", sys.executable, str(HERE), "node", directory, node)
    threading.Thread(target=reap, daemon=True).start()
    sys.stdin.read()


def reap():
    """The first process inherits what has lost its parent."""
    while True:
        os.wait()


def be_node(directory, node):
    here = pathlib.Path(directory)
    socket.sethostname(node)
    bind(here / "tmp" / node, here / "local")
    os.environ["TMPDIR"] = str(here / "local")
    os.execvp("slurmd", ["slurmd", "-D", "-N", node])


if __name__ == "__main__":
    {"login": be_login, "node": be_node}[sys.argv[1]](*sys.argv[2:])
