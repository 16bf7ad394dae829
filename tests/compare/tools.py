"""The profilers that are compared: how each measures a program, and what it says of it.

A tool is run as `command(directory)` before the program's words, once per run; `first_view(directory)` gives the text that its user sees first; `shares(directory)` each function's own part of all samples, and how many samples there were;
`reached(directory)` the part of the samples whose call stacks begin at main.
"""

import collections
import json
import pathlib
import re
import subprocess


def output(command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, errors="replace").stdout


class Tool:
    slow = False  # tens of times: not where costs are compared

    def command(self, directory):
        return []


class Unmeasured(Tool):
    name = "unmeasured"


class Culprit(Tool):
    def __init__(self, prefix, rate=200, trace=False):
        self.bin, self.rate, self.trace = pathlib.Path(prefix) / "bin", rate, trace
        self.name = f"Culprit, {rate} Hz" + (", --trace" if trace else "")

    def command(self, directory):
        options = ["--trace"] if self.trace else []
        return [self.bin / "hpcrun-lite", "-q", "-e", f"REALTIME@{1_000_000 // self.rate}", *options, "-o", directory / "run"]

    def first_view(self, directory):
        output([self.bin / "prof-mpi", "-q", "--force", directory / "run"])
        return output([self.bin / "viewer-cli", directory / "run.db", "report"])

    def json(self, directory, *words):
        return json.loads(output([self.bin / "viewer-cli", directory / "run.db", *words, "--format", "json"]))

    def shares(self, directory):
        view = self.json(directory, "view", "flat", "--metrics", "REALTIME:sum (E),samples:sum (E)")
        own, samples = collections.Counter(), 0
        stack = list(view["roots"])
        while stack:
            node = stack.pop()
            stack += node["children"]
            if node["frame"]["kind"] == "procedure":
                own[node["frame"]["name"]] += node["values"].get("REALTIME:sum (E)", 0)
                samples += node["values"].get("samples:sum (E)", 0)
        return {name: value / sum(own.values()) for name, value in own.items()}, round(samples)

    def reached(self, directory):
        info = self.json(directory, "info")
        return 1 - info["partial"] / info["samples"]


class Perf(Tool):
    def __init__(self, name, *options):
        self.name, self.options = name, options

    def command(self, directory):
        return ["sh", "-c", f'exec perf record -q -F 200 {" ".join(self.options)} -o "{directory}/perf.$$" -- "$0" "$@"']

    def files(self, directory):
        return sorted(directory.glob("perf.*"))

    def first_view(self, directory):
        return "".join(output(["perf", "report", "--stdio", "-i", each]) for each in self.files(directory))

    def samples(self, directory):
        """Call stacks, innermost first."""
        for each in self.files(directory):
            for sample in output(["perf", "script", "-i", each, "-F", "ip,sym"]).split("\n\n"):
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
        return "".join(output(["google-pprof", "--text", program, each]) for each in self.files(directory))

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
        return "".join(output(["callgrind_annotate", each]) for each in sorted(directory.glob("callgrind.*")))

    def shares(self, directory):
        own = collections.Counter()
        for count, name in re.findall(r"(?m)^ *([\d,]+) \([ \d.]+%\) +\S*?:([\w.]+)", self.first_view(directory)):
            own[name] += int(count.replace(",", ""))
        return {name: count / own.total() for name, count in own.items()}, None

    def reached(self, directory):
        return None


def all_tools(prefix):
    return [
        Unmeasured(), Culprit(prefix), Culprit(prefix, 1000), Culprit(prefix, trace=True),
        Perf("perf, frame pointers, 200 Hz", "--call-graph", "fp"), Perf("perf, DWARF, 200 Hz", "--call-graph", "dwarf"),
        Gperftools(), Callgrind(),
    ]  # fmt: skip
