"""The file of digests: each line holds what a command gave, and the command, so that it can be done again.

    DIGEST STATUS merge NAME RANKS [OPTION...]     prof-mpi on RANKS ranks: the database NAME.RANKS.db
    DIGEST STATUS show DATABASE WORD...            viewer-cli: what it prints
    DIGEST - library PATH                          a library of the system that was measured
    - - left-out NAME WHY                          what could not be measured

DIGEST is the SHA-256 of the file or of the output, STATUS the command's exit status. Nothing here depends on what the tools are
made of: only their command lines are used.
"""

import collections
import concurrent.futures
import dataclasses
import hashlib
import os
import pathlib
import shlex
import subprocess

TIMEOUT = 900  # s; a command that takes longer hangs, on however busy a machine
NOTHING = "-"


@dataclasses.dataclass(frozen=True)
class Entry:
    words: tuple
    digest: str = NOTHING
    status: str = NOTHING

    @property
    def kind(self):
        return self.words[0]

    @property
    def name(self):
        """Of the measurement that this is about, the first of two."""
        return self.words[1].split(".")[0]

    def line(self):
        return f"{self.digest} {self.status} {shlex.join(self.words)}"


def parse(text):
    entries = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            digest, status, *words = shlex.split(line)
            entries.append(Entry(tuple(words), digest, status))
    return entries


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def environment(scratch):
    """Nothing of the user's own settings; what tools keep is in the scratch directory."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "USER", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "XDG_STATE_HOME": str(scratch / "state"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # As in tests/integration/harness.py: containers may forbid what Open MPI does otherwise.
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_osc": "sm,pt2pt",
    }


def run(command, **options):
    """What a command printed, and its exit status; None where it did not end in time."""
    running = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, **options)
    try:
        out, err = running.communicate(timeout=TIMEOUT)
        return out, err, running.returncode
    except subprocess.TimeoutExpired:
        running.terminate()  # so that a launcher ends its ranks
        try:
            out, err = running.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            running.kill()
            out, err = running.communicate()
        return out, err, None


class Replay:
    """Does again what lines say, with the tools below `tools` (bin/prof-mpi, bin/viewer-cli), in a scratch directory."""

    def __init__(self, tools, measurements, scratch):
        self.bin = pathlib.Path(tools) / "bin"
        self.measurements = pathlib.Path(measurements)
        self.scratch = pathlib.Path(scratch)
        self.options = {"cwd": scratch, "env": environment(self.scratch)}
        self.said = {}  # by the words of an entry that failed: what the tool said

    def entries(self, entries, jobs):
        """The entries with what their commands give now, in the same order. Databases first: some are compared."""
        merges, shows = (collections.defaultdict(list) for _ in range(2))
        for entry in entries:
            if entry.kind == "merge":
                merges[entry.name].append(entry)
            elif entry.kind == "show":
                shows[entry.name].append(entry)
        found = {}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for chains in (merges, shows):
                for done in pool.map(self.chain, chains.values()):
                    found.update((entry.words, entry) for entry in done)
        return [found.get(entry.words, entry) for entry in entries]

    def chain(self, entries):
        """One after the other: the first merge of a program finds none of its structure in the cache, the next all."""
        return [self.merge(entry) if entry.kind == "merge" else self.show(entry) for entry in entries]

    def merge(self, entry):
        _, name, ranks, *options = entry.words
        database = self.scratch / f"{name}.{ranks}.db"
        launcher = ["mpirun.openmpi", "--oversubscribe", "-n", ranks] if ranks != "1" else []
        alone = [] if launcher else ["-j", "1"]
        command = [self.bin / "prof-mpi", *alone, "-q", *options, "--structure-cache", "structure", self.measurements / name,
                   "-o", database.name]
        _, err, status = run([*launcher, *command], **self.options)
        self.note(entry, status, err, (0, 3))
        digest = digest_of(database) if database.exists() else NOTHING
        if ranks != "1":  # viewer-cli shows those of one rank
            database.unlink(missing_ok=True)
        return dataclasses.replace(entry, digest=digest, status=str(status))

    def show(self, entry):
        out, err, status = run([self.bin / "viewer-cli", *entry.words[1:]], **self.options)
        self.note(entry, status, err, (0,))
        return dataclasses.replace(entry, digest=hashlib.sha256(out).hexdigest(), status=str(status))

    def note(self, entry, status, err, good):
        if status not in good:
            lines = [line for line in err.decode(errors="replace").splitlines() if line.strip(" -")]  # launchers draw lines
            self.said[entry.words] = lines[0] if lines else "it said nothing"
