#!/usr/bin/env python3
"""Measures what docs/figures.md states. Usage: run.py BUILD [overhead] [handler] [calls] [throws] [merge] [first-view]

Wall-clock figures are medians of interleaved runs; every run's figure goes into BUILD/bench/*.json.
Environment: CULPRIT_BENCH_RUNS (default 7), CULPRIT_BENCH_PROFILES (default 3072).
"""

import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

APPS = pathlib.Path(__file__).resolve().parent.parent / "apps"
RUNS = int(os.environ.get("CULPRIT_BENCH_RUNS", "7"))
PROFILES = int(os.environ.get("CULPRIT_BENCH_PROFILES", "3072"))
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
BENCHMARKS = ("overhead", "handler", "calls", "throws", "merge", "first-view")
MPIRUN = ["mpirun.openmpi", "--oversubscribe", "-n", "2"]


class Bench:
    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.here = self.build / "bench"
        self.prefix = self.here / "prefix"
        shutil.rmtree(self.here, ignore_errors=True)
        self.here.mkdir(parents=True)
        install = ["cmake", "--install", self.build, "--prefix", self.prefix]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        self.hpcrun = self.prefix / "bin" / "hpcrun-lite"
        self.prof_mpi = self.prefix / "bin" / "prof-mpi"
        self.viewer = self.prefix / "bin" / "viewer-cli"

    def time(self, command, extra=None):
        """Wall seconds and CPU seconds (all ranks) of one run."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        environment = dict(ENVIRONMENT, **(extra or {}))
        done = subprocess.run([str(c) for c in command], cwd=self.here, env=environment, capture_output=True, text=True)
        wall = time.monotonic() - begin
        if done.returncode not in (0, 3):
            sys.exit(f"bench: {' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, cpu, done

    def save(self, name, figures):
        (self.here / f"{name}.json").write_text(json.dumps(figures, indent=1))

    # -- overhead ---------------------------------------------------------------------------------------------------

    def programs(self):
        stencil = self.here / "stencil"
        build = ["mpicxx.openmpi", "-std=c++20", "-O2", "-g", APPS / "stencil.cpp", "-o", stencil]
        subprocess.run(build, check=True)
        lammps = ["lmp", "-in", APPS / "melt.in", "-log", "none", "-screen", "none"]
        return {"LAMMPS melt": lammps, "stencil": [stencil, "120"]}

    def overhead(self):
        """Measured against unmeasured and against an empty handler, interleaved so that drift meets all alike."""
        print(f"overhead: median of {RUNS} interleaved runs, 2 ranks; ratio of wall / CPU time")
        for name, program in self.programs().items():
            for rate in (200, 1000):
                runs = {"plain": [], "empty": [], "measured": []}
                for i in range(RUNS):
                    runs["plain"].append(self.time([*MPIRUN, *program])[:2])
                    for kind, extra in (("empty", {"CULPRIT_EMPTY_HANDLER": "1"}), ("measured", {})):
                        out = self.here / f"overhead.{kind}"
                        shutil.rmtree(out, ignore_errors=True)
                        command = [*MPIRUN, self.hpcrun, "-q", "-o", out, "-e", f"REALTIME@f{rate}", *program]
                        runs[kind].append(self.time(command, extra)[:2])
                self.save(f"overhead-{name.split()[0]}-{rate}", runs)
                self.print_overhead(name, rate, runs)

    @staticmethod
    def print_overhead(name, rate, runs):
        def ratio(a, b, what):
            return statistics.median(x[what] / y[what] for x, y in zip(runs[a], runs[b]))

        wall, cpu = 0, 1
        spread = [x[wall] for x in runs["plain"]]
        print(
            f"  {name:12} {rate:5} Hz  measured/plain {ratio('measured', 'plain', wall):.3f} / "
            f"{ratio('measured', 'plain', cpu):.3f}   empty/plain {ratio('empty', 'plain', wall):.3f} / "
            f"{ratio('empty', 'plain', cpu):.3f}   measured/empty {ratio('measured', 'empty', wall):.3f} / "
            f"{ratio('measured', 'empty', cpu):.3f}   plain {statistics.median(spread):.2f} s "
            f"({min(spread):.2f}-{max(spread):.2f})",
            flush=True,
        )

    # -- handler ----------------------------------------------------------------------------------------------------

    def handler(self):
        """Nanoseconds per sample: the walker alone in a microbenchmark, the whole handler as each run accounts it."""
        print("handler: from the registers to the recorded sample, microbenchmark", flush=True)
        subprocess.run([self.build / "tests" / "bench" / "bench_handler"], check=True)
        print("handler: accounted by the runs themselves")
        for name, program in self.programs().items():
            out = self.here / "handler.run"
            shutil.rmtree(out, ignore_errors=True)
            shutil.rmtree(out.with_name("handler.run.db"), ignore_errors=True)
            self.time([*MPIRUN, self.hpcrun, "-q", "-o", out, "-e", "REALTIME@f1000", *program])
            self.time([self.prof_mpi, "--force", out])
            info = json.loads(self.time([self.viewer, f"{out}.db", "info", "--format", "json"])[2].stdout)
            print(f"  {name:12} {info['sampling_s'] * 1e9 / info['samples']:8.0f} ns per sample of {info['samples']} samples, "
                  f"{info['partial']} partial")

    # -- calls ------------------------------------------------------------------------------------------------------

    def calls(self):
        """Nanoseconds that the wrapper adds to one MPI call, warm: the smallest batch, measured less unmeasured."""
        print(f"calls: added ns per call (unmeasured ns), smallest batch of {RUNS} interleaved runs, 1 rank")
        for mpi, launcher in (("openmpi", ["mpirun.openmpi", "-n", "1"]), ("mpich", ["mpiexec.mpich", "-n", "1"])):
            program = self.here / f"mpi_calls.{mpi}"
            source = pathlib.Path(__file__).with_name("mpi_calls.c")
            subprocess.run([f"mpicc.{mpi}", "-O2", source, "-o", program], check=True)
            runs = {"plain": [], "measured": []}
            for i in range(RUNS):
                out = self.here / f"calls.{mpi}.{i}"
                runs["plain"].append(self.call_costs([*launcher, program]))
                runs["measured"].append(self.call_costs([*launcher, self.hpcrun, "-q", "-o", out, program]))
            self.save(f"calls-{mpi}", runs)
            best = {kind: {c: min(run[c] for run in runs[kind]) for c in runs[kind][0]} for kind in runs}
            shown = (f"{c} {best['measured'][c] - ns:.1f} ({ns:.1f})" for c, ns in best["plain"].items())
            print(f"  {mpi:8} " + "   ".join(shown), flush=True)

    def throws(self):
        """Nanoseconds of one C++ throw through ten frames, the fastest batch of all runs."""
        program = self.here / "throws"
        subprocess.run(["g++", "-O2", pathlib.Path(__file__).with_name("throws.cpp"), "-o", program], check=True)
        runs = {"plain": [], "measured": []}
        for i in range(RUNS):
            measure = [self.hpcrun, "-q", "-o", self.here / f"throws.{i}", "-e", "REALTIME@f10"]
            for kind, command in (("plain", [program]), ("measured", [*measure, program])):
                runs[kind].append(float(self.time(command)[2].stdout))
        self.save("throws", runs)
        print(f"throws: {min(runs['plain']):.0f} ns unmeasured, {min(runs['measured']):.0f} ns measured", flush=True)

    def call_costs(self, command):
        lines = self.time(command)[2].stdout.splitlines()
        return {call: float(ns) for call, ns in map(str.split, lines)}

    # -- merge ------------------------------------------------------------------------------------------------------

    def merge(self):
        """Profiles merged per second, on copies of real measurements with deep stacks: one of the size that HPCToolkit's
        published figure is for, and one several times as large."""
        deep = self.here / "deep"
        build = ["mpicxx.openmpi", "-std=c++20", "-O1", "-g", APPS / "deep.cpp", "-o", deep]
        subprocess.run(build, check=True)
        for name, ranks, seconds in (("like", 1, "0.4"), ("large", 2, "1")):
            out = self.here / f"merge.{name}"
            launch = ["mpirun.openmpi", "--oversubscribe", "-n", ranks]
            self.time([*launch, self.hpcrun, "-q", "-o", out, deep, seconds])
            copies = self.here / f"merge.{name}.run"
            generator = self.build / "tests" / "bench" / "copy_measurement"
            print("merge:", self.time([generator, out, copies, PROFILES])[2].stdout, end="")
            self.merge_copies(copies)

    def merge_copies(self, copies):
        size = sum(f.stat().st_size for f in copies.rglob("*.culprit"))
        database = copies.with_suffix(".db")
        launches = {
            "prof-mpi alone (threads)": [],
            "mpirun -n 1": ["mpirun.openmpi", "-n", 1],
            "mpirun -n 2": ["mpirun.openmpi", "--oversubscribe", "-n", 2],
        }
        for name, launch in launches.items():
            walls = []
            for _ in range(3):
                database.unlink(missing_ok=True)
                wall, _, done = self.time([*launch, self.prof_mpi, copies, "-o", database])
                walls.append(wall)
            line = [l for l in done.stdout.splitlines() + done.stderr.splitlines() if "merged" in l]
            wall = statistics.median(walls)
            print(f"  {name:24} {wall:.2f} s from start to end, {PROFILES / wall:.0f} profiles/s; input {size / 1e6:.1f} MB, "
                  f"database {database.stat().st_size / 1e6:.1f} MB; {' '.join(line).split(';')[0]}", flush=True)

    # -- first view -------------------------------------------------------------------------------------------------

    def first_view(self):
        """From the end of a run to the first report, merging included, nothing cached by us."""
        print("first view: viewer-cli DIR report on a directory that was not merged yet")
        (self.here / "hpccinf.txt").write_text((APPS / "hpccinf.txt").read_text())
        programs = self.programs()
        programs["HPCC"] = ["hpcc"]
        for name, program in programs.items():
            out = self.here / f"view.{name.split()[0]}"
            self.time([*MPIRUN, self.hpcrun, "-q", "-o", out, *program])
            walls = []
            for _ in range(5):
                out.with_name(out.name + ".db").unlink(missing_ok=True)
                walls.append(self.time([self.viewer, out, "report"])[0])
            again = statistics.median(self.time([self.viewer, f"{out}.db", "report"])[0] for _ in range(5))
            print(f"  {name:12} {statistics.median(walls):.2f} s (of it opening the finished database {again:.3f} s)")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = sys.argv[2:] or list(BENCHMARKS)
    unknown = set(wanted) - set(BENCHMARKS)
    if unknown:
        print(f"bench: {' '.join(unknown)}: unknown ({', '.join(BENCHMARKS)})", file=sys.stderr)
        sys.exit(2)
    bench = Bench(sys.argv[1])
    for name in wanted:
        getattr(bench, name.replace("-", "_"))()


if __name__ == "__main__":
    main()
