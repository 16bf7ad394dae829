#!/usr/bin/env python3
"""thread_blame.py HOST_BUILD ARM64_BUILD DIRECTORY: measures ../truth/thread_blame.c of aarch64 under the emulator, with libgomp (whose
functions the runtime interposes) and libomp (which calls the runtime: OMPT), and compares idleness and waits for locks with the
program's own log. An emulator is slow and its machine busy: each figure may be a fifth of all that was caused apart."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys

import measure

TRUTH = measure.HERE.parent / "truth"
sys.path.insert(0, str(TRUTH))
import thread_blame  # noqa: E402

REPETITIONS, THREADS, RATE = 12, 4, "REALTIME@f500"
SHARE = 0.2  # of what was caused in all
# Of samples. clang describes no prologue instruction by instruction, and a path that began there is kept while its frames stay.
MOST_PARTIAL = 0.1
# scenario, metric, what its report must name
SCENARIOS = (
    ("serial", "idleness-caused", "assemble"),
    ("barrier", "idleness-caused", "late_part"),
    ("tasks", "idleness-caused", "long_task"),
    ("critical", "lock-wait-caused", "enter_long"),
)


def compilers():
    """name, the compiler's words, where its run-time library is"""
    yield "gomp", ("aarch64-linux-gnu-gcc", "-fopenmp"), measure.LIBRARIES
    (omp,) = measure.ROOT.glob("usr/lib/llvm-*/lib/libomp.so.5")
    yield "omp", ("clang", "--target=aarch64-linux-gnu", "-fopenmp=libomp", f"-L{omp.parent}"), omp.parent


class Blaming(measure.Measuring):
    def caused(self, database, metric):
        """Inclusive, of the outermost procedures of each name."""
        found = collections.Counter()

        def visit(node, around):
            if node["frame"]["kind"] in ("procedure", "inlined"):
                name = node["frame"]["name"].split(" [")[0].split("(")[0]
                if name not in around:
                    found[name] += node["values"].get(f"{metric}:sum (I)", 0)
                around = around | {name}
            for child in node["children"]:
                visit(child, around)

        for root in self.json(database, "view", "calling-context", "--metrics", f"{metric}:sum (I)")["roots"]:
            visit(root, frozenset())
        return found

    def json(self, database, *command):
        return json.loads(self.view(database, *command, "--format", "json"))

    def scenario(self, name, program, scenario, metric, most):
        where = self.where / f"{name}-{scenario}"
        where.mkdir()
        directory = where / "run"
        measure.run(measure.EMULATED, self.target / "bin/hpcrun-lite", "-e", RATE, "-o", directory, program, where, REPETITIONS, scenario, THREADS)
        database = where / "run.db"
        # It exits with 3 where a tenth of the time is partial; check_report() says what of that is too much.
        merged = subprocess.run([measure.EMULATED, str(self.host / "bin/prof-mpi"), "-q", directory, "-o", database], timeout=300)
        self.check(merged.returncode in (0, 3), f"{name}: {scenario}: merged")
        lines = thread_blame.read(where / "blame.log")
        idle = thread_blame.idleness(lines)
        least, largest = (idle, idle) if metric == "idleness-caused" else thread_blame.lock_waits(lines)
        found = self.caused(database, metric)
        allowed = SHARE * sum(least.values())
        for function, seconds in largest.items():
            self.check(least[function] - allowed <= found[function] <= seconds + allowed, f"{name}: {scenario}: {metric} of {function}",
                       f"{dict(found)}\nfrom {dict(least)}\nto {dict(largest)}")
        self.check_report(f"{name}: {scenario}", self.json(database, "report"), metric, most)

    def check_report(self, name, report, metric, most):
        causes = report["thread_causes"]
        listed = causes["idleness" if metric == "idleness-caused" else "locks"]
        paths = [[frame["name"].split(" [")[0] for frame in cause["path"]] for cause in listed]
        self.check(any(most in path for path in paths), f"{name}: the report names {most}", paths)
        for idle, parts in (("idle_s", ("caused_s", "unborne_s")), ("lock_waited_s", ("lock_caused_s", "lock_unborne_s"))):
            sums = sum(causes[part] for part in parts)
            self.check(abs(causes[idle] - sums) <= 1e-3 + 2e-3 * causes[idle], f"{name}: {idle} is {' and '.join(parts)}", causes)
        quality = report["quality"]
        self.check(quality["partial"] <= MOST_PARTIAL * quality["samples"], f"{name}: few partial unwinds", quality)


def main():
    host, target, where = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    os.environ["OMP_WAIT_POLICY"] = "passive"
    blaming = Blaming(host, target, where)
    for name, compiler, libraries in compilers():
        program = where / name
        measure.run(*compiler, f"--sysroot={measure.ROOT}", "-O2", "-g", "-pthread", "-o", program, TRUTH / "thread_blame.c", TRUTH / "truth_log.c")
        os.environ["LD_LIBRARY_PATH"] = str(libraries)
        for scenario in SCENARIOS:
            blaming.scenario(name, program, *scenario)
    print("\n".join(blaming.failures) or "aarch64 under the emulator: threads are blamed as their log says")
    return 1 if blaming.failures else 0


if __name__ == "__main__":
    sys.exit(main())
