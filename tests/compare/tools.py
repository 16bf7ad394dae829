"""The profilers that are compared: how each measures a program, and what it says of it. Those that are not in Debian: peers.py.

`words(directory, launcher, program)` is the command line of one run: by default `command(directory)` stands before the program's own
words. `first_view(directory)` makes what the tool's user sees first, and gives its text, None where only other tools show it;
`shares(directory)` gives each function's own part of all samples, and how many samples there were (None where nothing is sampled);
`reached(directory)` the part of the samples whose call stacks begin at main; `waited(directory)` the seconds that ranks waited for
others, and `in_mpi(directory)` those that they spent in calls of MPI between MPI_Init and MPI_Finalize: None where the tool does not say.
"""

import collections
import json
import os
import pathlib
import re
import subprocess

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LC_ALL="C.UTF-8",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")  # fmt: skip
PARTS = {"late-sender-wrong-order", "late-complete", "early-fence"}  # of other waits
FOR_NO_RANK = {"barrier-completion", "nxn-completion"}
AT_THE_ENDS = {"wait-at-init", "wait-at-finalize"}  # as much as the launcher started or ended one rank later
NOT_COMPARED = PARTS | FOR_NO_RANK | AT_THE_ENDS
ENDS = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"}

ran = []  # the command lines since it was emptied


def run(command, says):
    """Runs a command. Returns what it printed; ends with one line if it fails."""
    words = [str(word) for word in command]
    ran.append(words)
    try:
        done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise SystemExit(f"compare: {says}: {words[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise SystemExit(f"compare: {says}: {words[0]}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


class Tool:
    prefix = None  # where it is installed, if not in Debian's directories
    slow = False  # tens of times: not where costs are compared
    needs_mpi = False  # measures nothing in a program without MPI
    builder = None  # measures only programs that this compiles: stands before the compiler
    gives_shares = True

    def output(self, *command):
        return run(command, self.name)

    def text(self, file):
        """Of a file that the tool has written."""
        try:
            return file.read_text(errors="replace")
        except OSError as error:
            raise SystemExit(f"compare: {self.name}: {file}: {error.strerror} (was it not written?)") from None

    def command(self, directory):
        return []

    def words(self, directory, launcher, program):
        return [*launcher, *self.command(directory), *program]

    def reached(self, directory):
        return None

    def waited(self, directory):
        return None

    def in_mpi(self, directory):
        return None


class Unmeasured(Tool):
    name = "unmeasured"


class Culprit(Tool):
    def __init__(self, prefix, rate=200, trace=False):
        self.prefix, self.rate, self.trace = pathlib.Path(prefix), rate, trace
        self.bin = self.prefix / "bin"
        self.name = f"Culprit, {rate} Hz" + (", --trace" if trace else "")

    def command(self, directory):
        options = ["--trace"] if self.trace else []
        return [self.bin / "hpcrun-lite", "-q", "-e", f"REALTIME@{1_000_000 // self.rate}", *options, "-o", directory / "run"]

    def first_view(self, directory):
        self.output(self.bin / "prof-mpi", "-q", "--force", directory / "run")
        return self.output(self.bin / "viewer-cli", directory / "run.db", "report")

    def json(self, directory, *words):
        return json.loads(self.output(self.bin / "viewer-cli", directory / "run.db", *words, "--format", "json"))

    def shares(self, directory):
        # The program knows its shares of the processor's time, which is what the other tools sample.
        view = self.json(directory, "view", "flat", "--metrics", "CPU:sum (E),samples:sum (E)")
        own, samples = collections.Counter(), 0
        stack = list(view["roots"])
        while stack:
            node = stack.pop()
            stack += node["children"]
            if node["frame"]["kind"] == "procedure":
                own[node["frame"]["name"]] += node["values"].get("CPU:sum (E)", 0)
                samples += node["values"].get("samples:sum (E)", 0)
        seconds = sum(own.values())
        # Samples are by wall time: while other programs had the processor, they say nothing of shares.
        return {name: value / seconds for name, value in own.items()}, round(min(samples, seconds * self.rate))

    def reached(self, directory):
        info = self.json(directory, "info")
        return 1 - info["partial"] / info["samples"]

    def waited(self, directory):
        rows = self.json(directory, "waits")
        return sum(row["seconds"] for row in rows if row["pattern"] not in NOT_COMPARED) if rows else None

    def in_mpi(self, directory):
        calls = self.json(directory, "communication")["mpi"]
        return sum(call["seconds"] for call in calls if call["call"] not in ENDS)


class Perf(Tool):
    def __init__(self, name, *options):
        self.name, self.options = name, options

    def command(self, directory):
        return ["sh", "-c", f'exec perf record -q -F 200 {" ".join(self.options)} -o "{directory}/perf.$$" -- "$0" "$@"']

    def files(self, directory):
        return sorted(directory.glob("perf.*"))

    def first_view(self, directory):
        return "".join(self.output("perf", "report", "--stdio", "-i", each) for each in self.files(directory))

    def samples(self, directory):
        """Call stacks, innermost first."""
        for each in self.files(directory):
            for sample in self.output("perf", "script", "-i", each, "-F", "ip,sym").split("\n\n"):
                names = [words[1] for words in (line.split(None, 1) for line in sample.splitlines()) if len(words) == 2]
                if names:
                    yield names

    def shares(self, directory):
        own = collections.Counter(stack[0] for stack in self.samples(directory))
        return {name: count / own.total() for name, count in own.items()}, own.total()

    def reached(self, directory):
        stacks = list(self.samples(directory))
        return sum("main" in stack for stack in stacks) / len(stacks)


class Gperftools(Tool):
    name = "gperftools, 200 Hz"
    library = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"

    def command(self, directory):
        script = f'CPUPROFILE="{directory}/prof.$$" CPUPROFILE_FREQUENCY=200 LD_PRELOAD={self.library} exec "$0" "$@"'
        return ["sh", "-c", script]

    def files(self, directory):
        return sorted(directory.glob("prof.*"))

    def first_view(self, directory):
        program = (directory / "program").read_text()
        return "".join(self.output("google-pprof", "--text", program, each) for each in self.files(directory))

    def shares(self, directory):
        own, text = collections.Counter(), self.first_view(directory)
        for count, name in re.findall(r"(?m)^ +(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% (\S+)", text):
            own[name] += int(count)
        return {name: count / own.total() for name, count in own.items()}, own.total()

    def reached(self, directory):
        found = re.findall(r"(?m)^ +\d+ +[\d.]+% +[\d.]+% +\d+ +([\d.]+)% main$", self.first_view(directory))
        return float(found[0]) / 100 if found else 0


class Callgrind(Tool):
    name = "callgrind"
    slow = True

    def command(self, directory):
        return ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={directory}/callgrind.%p"]

    def first_view(self, directory):
        return "".join(self.output("callgrind_annotate", each) for each in sorted(directory.glob("callgrind.*")))

    def shares(self, directory):
        own = collections.Counter()
        for count, name in re.findall(r"(?m)^ *([\d,]+) \([ \d.]+%\) +\S*?:([\w.]+)", self.first_view(directory)):
            own[name] += int(count.replace(",", ""))
        return {name: count / own.total() for name, count in own.items()}, None


def all_tools(prefix):
    return [
        Unmeasured(), Culprit(prefix), Culprit(prefix, 1000), Culprit(prefix, trace=True),
        Perf("perf, frame pointers, 200 Hz", "--call-graph", "fp"), Perf("perf, DWARF, 200 Hz", "--call-graph", "dwarf"),
        Gperftools(), Callgrind(),
    ]  # fmt: skip
