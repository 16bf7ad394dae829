#!/usr/bin/env python3
"""Measures what docs/figures.md states. Usage: run.py BUILD [overhead] [handler] [calls] [trace] [throws] [merge] [scale] [cold]
                                                     [structure] [first-view] [one-sided] [transfers] [many-threads] [large-view] [html-page] [keys] [follow]

Wall-clock figures are medians of interleaved runs; every run's figure goes into BUILD/bench/*.json.
Environment: CULPRIT_BENCH_RUNS (default 7), CULPRIT_BENCH_PAIRS (trace: default 15; many-threads: 3), CULPRIT_BENCH_SECONDS
(many-threads; default 30), CULPRIT_BENCH_LARGE (default 1000000x100000), CULPRIT_BENCH_CALLS (keys, ranks and calls of each; default
1024x100000), CULPRIT_BENCH_PROFILES (default 3072; scale: 100000, cold: 6000), CULPRIT_BENCH_EVENTS (waits: of the largest run, default
100000000).
"""

import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

import follow
import many_threads
import one_sided
import waits
import transfers

APPS = pathlib.Path(__file__).resolve().parent.parent / "apps"
RUNS = int(os.environ.get("CULPRIT_BENCH_RUNS", "7"))
PROFILES = int(os.environ.get("CULPRIT_BENCH_PROFILES", "3072"))
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
BENCHMARKS = ("overhead", "handler", "calls", "trace", "throws", "merge", "scale", "cold", "structure", "first-view", "one-sided", "transfers", "waits", "many-threads", "follow")  # large-view: the second part of first-view alone
# Frames per tree, depth, groups of ranks. A frame gives about two contexts, a call and what it calls: the second has
# more than 4 000 contexts per profile once it is attributed, the first as many frames already.
SCALE_TREES = {"4 400 frames": (4400, 62, 16), "1 750 frames": (1750, 62, 16)}
MPIRUN = ["mpirun.openmpi", "--oversubscribe", "-n", "2"]


RATES = (200, 1000)
BOUNDS = {200: 0.003, 1000: 0.01}  # what measuring may cost beside an empty handler


TRACED = ["-t", "--trace-limit", "16G"]
TRACE_PAIRS = int(os.environ.get("CULPRIT_BENCH_PAIRS", "15"))  # fewer do not tell 1 % from 2 %
TRACE_BOUND = 1.02  # what a time line may cost beside a profile


def pin_to_last():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def typical(values):
    """The median and its uncertainty: 1.25 standard errors, from the quartiles, which strays do not move."""
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, 1.25 * (high - low) / 1.35 / len(values) ** 0.5


def interval(values):
    """The median between the bounds of its 95 % confidence interval, which assume nothing about the distribution."""
    ordered = sorted(values)
    outside = max(0, int((len(ordered) - 1.96 * len(ordered) ** 0.5) / 2))
    return ordered[outside], statistics.median(ordered), ordered[-1 - outside]


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
        self.generator = self.build / "tests" / "bench" / "make_measurements"
        self.cache_home = self.here / "cache"  # not the user's, where structure may be known already
        ENVIRONMENT["XDG_CACHE_HOME"] = str(self.cache_home)

    def time(self, command, extra=None, pin=False):
        """Wall seconds and CPU seconds (all ranks) of one run; `pin`: on the last processor only."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        environment = dict(ENVIRONMENT, **(extra or {}))
        done = subprocess.run([str(c) for c in command], cwd=self.here, env=environment, capture_output=True, text=True,
                              preexec_fn=pin_to_last if pin else None)
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

    def programs_of_one_rank(self):
        """Fixed work of some seconds each, without a launcher."""
        deep = self.here / "deep"
        subprocess.run(["mpicxx.openmpi", "-std=c++20", "-O1", "-g", APPS / "deep.cpp", "-o", deep], check=True)
        settings = (APPS / "hpccinf.txt").read_text()
        one_rank = settings.replace("2            Qs", "1            Qs").replace("2000         Ns", "1500         Ns")
        (self.here / "hpccinf.txt").write_text(one_rank)
        lammps = ["lmp", "-in", APPS / "melt.in", "-log", "none", "-screen", "none", "-var", "steps", "200"]
        return {"HPCC": ["hpcc"], "LAMMPS": lammps, "deep C++": [deep, "0", "80000"]}

    def overhead(self):
        """Measured against unmeasured and against an empty handler.

        One rank, bound with its flusher thread to one processor: ranks that spin for each other and share processors with
        whatever else runs differ by more than what is sought. Every round runs each kind once, in an order that
        changes from round to round, and ratios are formed within a round, so that drift meets all kinds alike. The MPI
        wrappers are there with the empty handler as well: what they cost (HPCC calls MPI_Test by the million) shows in
        empty/unmeasured.
        """
        print(f"overhead: 1 rank on 1 processor; median ± its uncertainty of the ratios within {RUNS} rounds, wall / CPU time")
        kinds = ["plain"] + [f"{kind}@{rate}" for rate in RATES for kind in ("empty", "measured")]
        for name, program in self.programs_of_one_rank().items():
            self.time(program, pin=True)  # the file cache
            runs = {kind: [] for kind in kinds}
            for i in range(RUNS):
                for kind in kinds[i % len(kinds) :] + kinds[: i % len(kinds)]:
                    runs[kind].append(self.run_kind(kind, program))
            self.save(f"overhead-{name.split()[0]}", runs)
            self.print_overhead(name, runs)

    def run_kind(self, kind, program):
        if kind == "plain":
            return self.time(program, pin=True)[:2]
        handler, rate = kind.split("@")
        out = self.here / f"overhead.{kind}"
        shutil.rmtree(out, ignore_errors=True)
        command = [self.hpcrun, "-q", "-o", out, "-e", f"REALTIME@f{rate}", *program]
        # What a signal costs besides the handler is in both kinds, and left out of the account here.
        settings = {"CULPRIT_EMPTY_HANDLER": "1"} if handler == "empty" else {"CULPRIT_SIGNAL_NS": "0"}
        return self.time(command, settings, pin=True)[:2]

    def print_overhead(self, name, runs):
        plain = [wall for wall, _ in runs["plain"]]
        print(f"  {name}: unmeasured {statistics.median(plain):.2f} s ({min(plain):.2f}-{max(plain):.2f})")
        for rate in RATES:
            measured, empty = f"measured@{rate}", f"empty@{rate}"
            for what, a, b in (("empty/unmeasured", empty, "plain"), ("measured/unmeasured", measured, "plain"),
                               ("measured/empty", measured, empty)):
                ratios = [typical([x[i] / y[i] for x, y in zip(runs[a], runs[b])]) for i in (0, 1)]
                print(f"    {rate:5} Hz  {what:20} " + " / ".join(f"{middle:.4f} ± {spread:.4f}" for middle, spread in ratios))
            noise = ratios[1][1]
            info = self.info_of(self.here / f"overhead.{measured}")
            share = info["sampling_s"] / info["duration_s"]
            decides = "the ratio decides" if noise < BOUNDS[rate] else "the account decides: noise exceeds the bound"
            print(f"    {rate:5} Hz  handler's own account {share:.5f} of the time ({info['sampling_us']:.2f} µs × "
                  f"{info['samples']}), bound {BOUNDS[rate]}; {decides}", flush=True)

    def info_of(self, out):
        self.time([self.prof_mpi, "--force", "-q", out])
        return json.loads(self.time([self.viewer, f"{out}.db", "info", "--format", "json"])[2].stdout)

    # -- handler ----------------------------------------------------------------------------------------------------

    def handler(self):
        """Nanoseconds per handler run: in a microbenchmark, and as the runs account for it."""
        print("handler: from the registers to the recorded sample, microbenchmark", flush=True)
        subprocess.run([self.build / "tests" / "bench" / "bench_handler"], check=True)
        print("handler: accounted by the runs themselves, but for arming the next tick: 1 kHz, 1 rank")
        for name, program in self.programs_of_one_rank().items():
            out = self.here / "handler.run"
            shutil.rmtree(out, ignore_errors=True)
            self.time([self.hpcrun, "-q", "-o", out, "-e", "REALTIME@f1000", *program], {"CULPRIT_SIGNAL_NS": "0"}, pin=True)
            info = self.info_of(out)
            print(f"  {name:12} {info['sampling_us'] * 1000:8.0f} ns per sample of {info['samples']} samples, "
                  f"{info['partial']} partial", flush=True)

    # -- calls ------------------------------------------------------------------------------------------------------

    def calls(self):
        """Nanoseconds that the wrapper adds to one MPI call, to taking and giving back a free lock, or to reading and writing,
        warm: the smallest batch, measured less unmeasured."""
        print(f"calls: added ns per call (unmeasured ns), smallest batch of {RUNS} interleaved runs, 1 rank")
        for name, source, options in (("locks", "lock_calls", []), ("io", "io_calls", []), ("teams", "team_calls", ["-fopenmp"])):
            program = self.here / source
            text = pathlib.Path(__file__).with_name(f"{source}.c")
            subprocess.run(["cc", "-O2", *options, text, "-o", program, "-pthread"], check=True)
            self.compare_calls(name, [], program)
        for mpi, launcher in (("openmpi", ["mpirun.openmpi", "-n", "1"]), ("mpich", ["mpiexec.mpich", "-n", "1"])):
            program = self.here / f"mpi_calls.{mpi}"
            source = pathlib.Path(__file__).with_name("mpi_calls.c")
            for level in ("SINGLE", "MULTIPLE"):
                subprocess.run([f"mpicc.{mpi}", "-O2", f"-DLEVEL=MPI_THREAD_{level}", source, "-o", program], check=True)
                self.compare_calls(f"{mpi}-{level.lower()}", launcher, program)
        self.single_calls()
        self.window_calls()
        self.round_trips()

    def single_calls(self):
        """The same for calls that wait and do not follow each other closely: all of them are stamped."""
        print(f"calls: added ns per single call that waits (unmeasured ns, the clock's included), least of {RUNS} interleaved runs")
        for mpi, launcher in (("openmpi", ["mpirun.openmpi", "-n", "1"]), ("mpich", ["mpiexec.mpich", "-n", "1"])):
            program = self.here / f"single_calls.{mpi}"
            source = pathlib.Path(__file__).with_name("single_calls.c")
            subprocess.run([f"mpicc.{mpi}", "-O2", source, "-o", program], check=True)
            self.compare_calls(f"{mpi}-single", launcher, program, {"measured": [], "traced": TRACED})

    def window_calls(self):
        """The same for calls on a window of two processes, which tell each other when they give locks back."""
        print(f"calls: added ns per call on a window of 2 processes (unmeasured ns), smallest batch of {RUNS} interleaved runs")
        for mpi, launcher in (("openmpi", [*MPIRUN, "--bind-to", "none"]), ("mpich", ["mpiexec.mpich", "-n", "2"])):
            program = self.here / f"window_calls.{mpi}"
            source = pathlib.Path(__file__).with_name("window_calls.c")
            subprocess.run([f"mpicc.{mpi}", "-O2", source, "-o", program], check=True)
            self.compare_calls(f"{mpi}-window", launcher, program, {"measured": [], "traced": TRACED})

    def round_trips(self):
        """The same for a message to and fro by TCP."""
        print(f"calls: added ns per round trip by TCP (unmeasured ns), smallest batch of {RUNS} interleaved runs")
        program = self.here / "round_trips.openmpi"
        subprocess.run(["mpicc.openmpi", "-O2", pathlib.Path(__file__).with_name("round_trips.c"), "-o", program], check=True)
        self.compare_calls("tcp", [*MPIRUN, "--mca", "btl", "tcp,self"], program)

    def compare_calls(self, name, launcher, program, kinds={"measured": []}):
        """`kinds`: hpcrun-lite's options by how they are called."""
        runs = {"plain": []} | {kind: [] for kind in kinds}
        for _ in range(RUNS):
            runs["plain"].append(self.call_costs([*launcher, program]))
            for kind, options in kinds.items():
                measured = [self.hpcrun, "-q", "-o", self.fresh("calls.run"), *options, program]
                runs[kind].append(self.call_costs([*launcher, *measured]))
        self.save(f"calls-{name}", runs)
        best = {kind: {c: min(run[c] for run in runs[kind]) for c in runs[kind][0]} for kind in runs}
        for kind in kinds:
            shown = (f"{c} {best[kind][c] - ns:.1f} ({ns:.1f})" for c, ns in best["plain"].items())
            print(f"  {name:8} {kind:8} " + "   ".join(shown), flush=True)

    # -- trace ------------------------------------------------------------------------------------------------------

    def trace(self):
        """What time lines add: to each call, in bytes, and to whole programs beside a profile."""
        self.traced_calls()
        self.traced_programs()

    def traced_programs(self):
        """Pairs of a profiled and a traced run, one right after the other and in changing order, each rank with its flusher thread
        bound to a processor of its own: the ratios within the pairs, so that drift meets both kinds alike. CPU time is
        that of all threads, the flusher thread's too, and does not count what other processes take; on a quiet machine wall time
        says the same."""
        rate = self.here / "message_rate"
        source = pathlib.Path(__file__).with_name("message_rate.c")
        subprocess.run(["mpicc.openmpi", "-O2", source, "-o", rate], check=True)
        pairs = TRACE_PAIRS
        two = ["mpirun.openmpi", "-n", 2, "--bind-to", "core" if os.cpu_count() > 1 else "none"]
        lines = [("message rate, 1 rank", [], [rate], self.loop_time), ("message rate, 2 ranks", two, [rate], self.loop_time)]
        lines += [(name, [], program, self.whole_time) for name, program in self.traced_applications().items()]
        print(f"trace: traced / profiled, median and its 95 % interval of {pairs} pairs")
        for name, launcher, program, time in lines:
            runs = {"profiled": [], "traced": []}
            for i in range(-1, pairs):  # the first one fills the file cache
                for kind in list(runs)[:: 1 if i % 2 == 0 else -1]:
                    out = self.fresh(f"trace.{kind}")
                    options = TRACED if kind == "traced" else []
                    figures = time([*launcher, self.hpcrun, "-q", "-o", out, *options, *program], pin=not launcher)
                    if i >= 0:
                        runs[kind].append(figures)
            self.save(f"trace-{name.replace(' ', '-')}", runs)
            self.print_traced(name, runs)

    def loop_time(self, command, pin):
        """Wall and CPU seconds of the loops of message_rate, the mean of its ranks."""
        ranks = [line.split() for line in self.time(command, pin=pin)[2].stdout.splitlines()]
        return [statistics.mean(float(rank[i]) for rank in ranks) for i in (1, 2)]

    def whole_time(self, command, pin):
        return self.time(command, pin=pin)[:2]

    def traced_applications(self):
        """Of one rank. HPCC's parts are of fixed work, and of several seconds in all."""
        programs = self.programs_of_one_rank()
        del programs["deep C++"]
        settings = (self.here / "hpccinf.txt").read_text()
        (self.here / "hpccinf.txt").write_text(settings.replace("1500         Ns", "2500         Ns"))
        return programs

    def print_traced(self, name, runs):
        ratios = [interval([t[i] / p[i] for t, p in zip(runs["traced"], runs["profiled"])]) for i in (0, 1)]
        wall, cpu = (statistics.median(run[i] for run in runs["traced"]) for i in (0, 1))
        shown = (f"{what} {middle:.4f} ({low:.4f}-{high:.4f})" for what, (low, middle, high) in zip(("CPU", "wall"), ratios[::-1]))
        low, _, high = ratios[1]
        verdict = "at most" if high <= TRACE_BOUND else "more than" if low > TRACE_BOUND else "undecided whether at most"
        print(f"  {name:22} " + "   ".join(shown) + f"   {verdict} {TRACE_BOUND}; {cpu:.2f} s of CPU, {wall:.2f} s; "
              + self.trace_size(self.here / "trace.traced", cpu), flush=True)

    def traced_calls(self):
        print("trace: added ns per call beside a profile (profiled ns), smallest batch, 1 rank")
        for mpi, launcher in (("openmpi", ["mpirun.openmpi", "-n", "1"]), ("mpich", ["mpiexec.mpich", "-n", "1"])):
            program = self.here / f"mpi_calls.{mpi}"
            source = pathlib.Path(__file__).with_name("mpi_calls.c")
            subprocess.run([f"mpicc.{mpi}", "-O2", source, "-o", program], check=True)
            best = {}
            for i in range(RUNS):
                for kind, options in (("profiled", []), ("traced", TRACED)):
                    out = self.here / f"traced.{mpi}.{kind}.{i}"
                    costs = self.call_costs([*launcher, self.hpcrun, "-q", "-o", out, *options, program])
                    best.setdefault(kind, costs)
                    best[kind] = {call: min(ns, best[kind][call]) for call, ns in costs.items()}
                    shutil.rmtree(out, ignore_errors=True)
            shown = (f"{c} {best['traced'][c] - ns:.1f} ({ns:.1f})" for c, ns in best["profiled"].items())
            print(f"  {mpi:8} " + "   ".join(shown), flush=True)

    def trace_size(self, directory, seconds):
        """Bytes per call, and calls per second of CPU time, of the first trace in `directory`; a sample is taken to have
        six bytes."""
        file = min(directory.rglob("*.culprit"))
        lines = self.build / "tests" / "integration" / "programs" / "trace_lines"
        outline = json.loads(subprocess.run([lines, "-c", file], capture_output=True, text=True, check=True).stdout)
        calls, samples = outline["calls"], outline["samples"]
        if calls == 0:
            return f"{outline['bytes'] / samples:.1f} bytes per sample"
        return (f"{(outline['bytes'] - 6 * samples) / calls:.1f} bytes per call, {calls / seconds:.0f} calls/s, "
                f"{outline['dropped']} dropped")

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
            print("merge:", self.time([self.generator, out, copies, PROFILES])[2].stdout, end="")
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
            walls, cpus, reported = [], [], []
            for _ in range(3):
                database.unlink(missing_ok=True)
                wall, cpu, done = self.time([*launch, self.prof_mpi, copies, "-o", database])
                merged = re.search(r"(\d+) contexts, by \d+ \w+ of prof-mpi in ([\d.]+) s", done.stdout + done.stderr)
                walls.append(wall)
                cpus.append(cpu)
                reported.append(float(merged.group(2)))
            wall, cpu, seconds = (statistics.median(column) for column in (walls, cpus, reported))
            print(f"  {name:24} {merged.group(1)} contexts; {PROFILES / wall:.0f} profiles/s from start to end, {PROFILES / seconds:.0f} "
                  f"without the launcher's; {wall:.2f} s, {cpu:.2f} s CPU; input {size / 1e6:.1f} MB, "
                  f"database {database.stat().st_size / 1e6:.1f} MB", flush=True)

    # -- scale ------------------------------------------------------------------------------------------------------

    def scale(self):
        """Merging as many profiles as the largest machines give: trees of a model with the frames of a real measurement
        (tests/bench/model_tree.hpp), from start to the finished database, files in the page cache. The trees that the
        figure is about, of more than 4 000 contexts each once attributed, come last; others are more than twice as large."""
        profiles = int(os.environ.get("CULPRIT_BENCH_PROFILES", "100000"))
        source = self.real_frames()
        lines = [line for name, tree in SCALE_TREES.items() for line in self.scale_trees(name, source, profiles, tree)]
        print("\n".join(lines))

    def real_frames(self):
        """A measurement whose frames model trees consist of."""
        deep = self.here / "deep"
        subprocess.run(["mpicxx.openmpi", "-std=c++20", "-O1", "-g", APPS / "deep.cpp", "-o", deep], check=True)
        out = self.fresh("scale.real")
        self.time([*MPIRUN, self.hpcrun, "-q", "-o", out, deep, "1"])
        return out

    def scale_trees(self, name, source, profiles, tree):
        """Merges `profiles` model trees of one shape on 1 and 2 ranks; the lines that tell the rate."""
        made = self.here / "scale.run"
        database = made.with_suffix(".db")
        self.generate(source, made, 1, tree)
        database.unlink(missing_ok=True)
        alone = self.contexts(self.run_merge(1, made, database))
        reported = self.generate(source, made, profiles, tree)
        print(f"scale, trees of {name}, {alone} contexts for one profile alone: {reported}", end="", flush=True)
        size = sum(f.stat().st_size for f in made.rglob("*.culprit"))
        lines = []
        for ranks in (1, 2):
            database.unlink(missing_ok=True)
            wall, cpu, memory, reported = merged = self.run_merge(ranks, made, database)
            print(f"  {ranks} ranks: {wall:.2f} s, {cpu:.2f} s of CPU time, largest rank {memory / 1e6:.0f} MB; input "
                  f"{size / 1e6:.0f} MB, database {database.stat().st_size / 1e6:.0f} MB "
                  f"({database.stat().st_size / size:.2f} of it)", flush=True)
            lines.append(f"merged {profiles} profiles, {self.contexts(merged)} contexts, {ranks} ranks, {wall:.2f} s: "
                         f"{profiles / wall:.0f} profiles/s")
        shutil.rmtree(made)
        database.unlink(missing_ok=True)
        return lines

    def generate(self, source, made, profiles, tree):
        """Fresh measurements; what the generator tells."""
        shutil.rmtree(made, ignore_errors=True)
        return self.time([self.generator, source, made, profiles, 1, *tree])[2].stdout

    @staticmethod
    def contexts(merged):
        """Of the database that run_merge() made."""
        return int(re.search(r"(\d+) contexts", merged[3]).group(1))

    def run_merge(self, ranks, measurement, database):
        """Wall and CPU seconds, the most memory of any rank in bytes, and what prof-mpi printed."""
        command = ["mpirun.openmpi", "--oversubscribe", "-n", ranks, self.prof_mpi, measurement, "-o", database]
        os.sync()  # what the generator or another merge wrote must not keep this one waiting
        begin = time.monotonic()
        running = subprocess.Popen([str(c) for c in command], cwd=self.here, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        reported = running.stdout.read()
        _, status, usage = os.wait4(running.pid, 0)
        if os.waitstatus_to_exitcode(status) not in (0, 3):
            sys.exit(f"bench: {' '.join(map(str, command))}: failed\n{reported}")
        return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, reported

    # -- cold -------------------------------------------------------------------------------------------------------

    def cold(self):
        """What merging waits for where the files are not in the page cache: one rank, which has the system fetch files
        before it reads them, and for comparison reading the same files one after the other. Directories and inodes stay
        known (only root can make the system forget them). Waiting is the time in which the process neither ran nor could
        have run."""
        profiles = os.environ.get("CULPRIT_BENCH_PROFILES", "6000")
        made = self.fresh("cold.run")
        tree = SCALE_TREES["1 750 frames"]
        print("cold:", self.time([self.generator, self.real_frames(), made, profiles, 1, *tree])[2].stdout, end="")
        files = sorted(made.rglob("*.culprit"))
        database = made.with_suffix(".db")
        one_rank = [self.prefix / "lib" / "culprit" / "prof-mpi-openmpi", "-q", "--force", made, "-o", database]
        names = self.here / "cold.files"
        names.write_bytes(b"\0".join(map(os.fsencode, files)))
        one_by_one = [sys.executable, "-c", "import sys\nfor name in open(sys.argv[1], 'rb').read().split(b'\\0'): open(name, 'rb').read()", names]
        lines = (("merging, files in the page cache", one_rank, False), ("merging, files on the disk", one_rank, True),
                 ("reading one by one, files on the disk", one_by_one, True))
        for name, command, forget in lines:
            runs = []
            for _ in range(max(3, RUNS)):
                (self.out_of_page_cache if forget else self.all_into_page_cache)(files)
                database.unlink(missing_ok=True)
                runs.append(self.waiting(command))
            self.save(f"cold-{name.replace(' ', '-')}", runs)
            wall, cpu, waited, waits, megabytes = (statistics.median(column) for column in zip(*runs))
            print(f"  {name:40} {wall:.2f} s, {cpu:.2f} s CPU, waited {waited:.2f} s in {waits:.0f} times; "
                  f"{megabytes:.0f} MB from the disk", flush=True)
        shutil.rmtree(made)
        database.unlink(missing_ok=True)

    def waiting(self, command):
        """Of the command's process alone: wall and CPU seconds, seconds in which it waited, how often it did, MB read from
        the disk."""
        begin = time.monotonic()
        running = subprocess.Popen([str(c) for c in command], cwd=self.here, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        wall = time.monotonic() - begin
        ran, runnable = map(int, pathlib.Path(f"/proc/{running.pid}/schedstat").read_text().split()[:2])
        _, status, usage = os.wait4(running.pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"bench: {' '.join(map(str, command))}: failed")
        cpu = usage.ru_utime + usage.ru_stime
        return wall, cpu, wall - (ran + runnable) / 1e9, usage.ru_nvcsw, usage.ru_inblock * 512 / 1e6

    @staticmethod
    def out_of_page_cache(files):
        os.sync()  # what was not written yet would stay
        for file in files:
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)

    def all_into_page_cache(self, files):
        for file in files:
            self.into_page_cache(file)

    # -- structure --------------------------------------------------------------------------------------------------

    def structure(self):
        """Procedures, inlined calls, loops and lines of all that a run sampled, module by module in one thread: without our
        cache, with an empty one, with one that another run of the same program filled, and again; and of one large program
        with debug information, at every 64th byte of its code."""
        print(f"structure: medians of {RUNS}; wall and CPU time", flush=True)
        tool = self.build / "tests" / "bench" / "bench_structure"
        (self.here / "hpccinf.txt").write_text((APPS / "hpccinf.txt").read_text())
        lammps = ["lmp", "-in", APPS / "melt.in", "-log", "none", "-screen", "none", "-var", "steps", "100"]
        for name, program in (("LAMMPS", lammps), ("HPCC", ["hpcc"])):
            runs = [self.here / f"structure.{name}.{i}" for i in range(2)]
            for out in runs:
                self.time([*MPIRUN, self.hpcrun, "-q", "-o", out, "-e", "REALTIME@f1000", *program])
            self.print_structure(name, [tool, runs[0]])
            self.print_cached_structure(name, tool, *runs)
        for threads in (1, 2):
            command = [tool, "--module", self.viewer, "64", "-j", threads]
            self.print_structure(f"viewer-cli, {threads} thread{'s' if threads > 1 else ''}", command)
        self.print_cached_structure("viewer-cli", tool, "--module", self.viewer, "64")

    def print_cached_structure(self, name, tool, *what):
        """`what`: a measurement and a later one of the same program, or what else to recover twice."""
        cache = self.here / "structure.cache"
        first, second = ([what[:1], what[1:]] if len(what) == 2 else [what, what])
        steps = {"empty cache": (True, first), "of another run": (False, second), "again": (False, second)}
        if first == second:
            del steps["of another run"]
        runs = {step: [] for step in steps}
        for _ in range(RUNS):
            for step, (empty, words) in steps.items():
                if empty:
                    shutil.rmtree(cache, ignore_errors=True)
                runs[step].append(self.time([tool, *words, "-c", cache])[:2])
        size = sum(entry.stat().st_size for entry in cache.iterdir())
        for step, times in runs.items():
            wall, cpu = (statistics.median(run[i] for run in times) for i in (0, 1))
            self.save(f"structure-{name}-{step}", times)
            print(f"  {name + ', ' + step:30} {wall:.3f} s, {cpu:.3f} s CPU", flush=True)
        print(f"  {name}: cache of {size / 1e6:.1f} MB")

    def print_structure(self, name, command):
        runs = [self.time(command) for _ in range(RUNS)]
        wall, cpu = (statistics.median(run[i] for run in runs) for i in (0, 1))
        self.save(f"structure-{name.split(',')[0]}-{len(command)}", [run[:2] for run in runs])
        found = runs[0][2].stdout.splitlines()[-1].split(": ")[1]
        print(f"  {name:22} {wall:.3f} s, {cpu:.3f} s CPU: {found}", flush=True)

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
                shutil.rmtree(self.cache_home, ignore_errors=True)
                walls.append(self.time([self.viewer, out, "report"])[0])
            again = statistics.median(self.time([self.viewer, f"{out}.db", "report"])[0] for _ in range(5))
            print(f"  {name:12} {statistics.median(walls):.2f} s (of it opening the finished database {again:.3f} s)")
        self.large_view()

    def large_view(self):
        """Whole commands on a database of 1 000 000 contexts and 100 000 ranks, in the page cache: wall and CPU time."""
        contexts, ranks = os.environ.get("CULPRIT_BENCH_LARGE", "1000000x100000").split("x")
        database = self.fresh("large.db")
        wall, cpu, done = self.time([self.build / "tests" / "bench" / "large_database", database, contexts, ranks])
        print(f"large view: {done.stdout.strip()}, {database.stat().st_size / 1e6:.0f} MB, written in {wall:.0f} s ({cpu:.0f} s CPU)")
        self.into_page_cache(database)
        deepest = json.loads(self.time([self.viewer, database, "hot-path", "--format", "json"])[2].stdout)["path"]
        commands = {f"view {view}": ["view", view] for view in ("calling-context", "callers", "flat")}
        commands["one node over all ranks, the root"] = ["threads", "c0"]
        commands["one node over all ranks, the end of the hot path"] = ["threads", deepest[-1]["id"]]
        commands["one node over all ranks, the program's module"] = ["threads", "f1"]
        commands["the same, exclusive values"] = ["threads", "f1", "--metric", "REALTIME:sum (E)"]
        commands["one node over all ranks, a file of many procedures"] = ["threads", "f2"]
        commands["one node over all ranks, a procedure with many callers"] = ["threads", "p7"]
        commands |= {name: [name] for name in ("hot-path", "report", "blame")}
        for name, command in commands.items():
            runs = [self.time([self.viewer, database, *command])[:2] for _ in range(RUNS)]
            walls, cpus = (statistics.median(column) for column in zip(*runs))
            print(f"  {name:50} {walls:.3f} s, {cpus:.3f} s CPU", flush=True)
        database.unlink()

    def html_page(self):
        """The page of a traced run of 1 000 000 contexts on 10 000 ranks: making it, and from its address until its script is
        done, in headless Chromium; then from tab to tab."""
        sys.path.insert(0, str(APPS.parent / "integration"))
        from chromium import Chromium

        contexts, ranks = map(int, os.environ.get("CULPRIT_BENCH_KEYS", "1000000x10000").split("x"))
        database, page = self.here / "page.db", self.here / "page.html"
        generator = self.build / "tests" / "bench" / "large_database"
        print("html page:", self.time([generator, database, contexts, ranks, "traced"])[2].stdout.strip())
        self.into_page_cache(database)
        wall, cpu, _ = self.time([self.viewer, database, "export", "html", "-o", page])
        print(f"  written in {wall:.1f} s ({cpu:.1f} s CPU), {page.stat().st_size / 1e6:.2f} MB")
        with Chromium() as browser:
            opened = [browser.open(page.as_uri()) for _ in range(RUNS)]
            print(f"  opened in {statistics.median(opened):.2f} s (slowest of {RUNS}: {max(opened):.2f} s)")
            for tab in ("calls", "callers", "flat", "flame", "ranks", "time", "waits/matrix", "source"):
                begin = time.monotonic()
                browser.ask(f"location.hash = {tab!r}")
                browser.settle()
                print(f"  {tab:14} {time.monotonic() - begin:.2f} s")
        database.unlink()
        page.unlink()

    @staticmethod
    def into_page_cache(path):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass

    def keys(self):
        """The browser without a terminal on a traced run of 1 000 000 contexts and 10 000 ranks, and compared with one of a
        fifth of the ranks, in the page cache: until its first screen is drawn, and every key."""
        contexts, ranks = map(int, os.environ.get("CULPRIT_BENCH_KEYS", "1000000x10000").split("x"))
        large, other = self.here / "keys.db", self.here / "keys.other.db"
        generator = self.build / "tests" / "bench" / "large_database"
        print("keys:", self.time([generator, large, contexts, ranks, "traced"])[2].stdout.strip())
        print("compared with:", self.time([generator, other, contexts * 19 // 20, ranks // 5])[2].stdout.strip())
        self.into_page_cache(large)
        self.into_page_cache(other)
        self.press(large, other)
        large.unlink()
        other.unlink()
        self.keys_on_single_calls()

    def press(self, *arguments):
        done = subprocess.run([self.build / "tests" / "bench" / "bench_keys", *arguments], stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="")
        if done.returncode != 0:
            sys.exit("bench: keys: something took too long")

    def keys_on_single_calls(self):
        """LAMMPS on 4 ranks, copied and repeated for 1 024 ranks with 100 000 MPI calls each: 2 GB of time lines."""
        ranks, calls = os.environ.get("CULPRIT_BENCH_CALLS", "1024x100000").split("x")
        source, made = self.fresh("calls.source"), self.fresh("calls")
        lammps = ["lmp", "-in", APPS / "melt.in", "-log", "none", "-screen", "none"]
        self.time(["mpirun.openmpi", "--oversubscribe", "-n", "4", self.hpcrun, "-q", "--trace", "-o", source, *lammps])
        print("single calls:", self.time([self.generator, "--calls", calls, source, made, ranks])[2].stdout.strip())
        wall = self.time([self.prof_mpi, "-q", "--force", made])[0]
        print(f"merged in {wall:.0f} s")
        self.press("--calls", made.with_name("calls.db"))
        shutil.rmtree(made)

    # -- one-sided --------------------------------------------------------------------------------------------------

    def fresh(self, name):
        """A path in the bench's directory where nothing is."""
        path = self.here / name
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        return path

    def one_sided(self):
        one_sided.measure(self)

    def waits(self):
        waits.measure(self)

    def follow(self):
        follow.measure(self, ENVIRONMENT)

    def many_threads(self):
        many_threads.measure(self)

    # -- transfers --------------------------------------------------------------------------------------------------

    def transfers(self):
        transfers.measure(self)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = sys.argv[2:] or list(BENCHMARKS)
    unknown = set(wanted) - {*BENCHMARKS, "large-view", "html-page", "keys"}
    if unknown:
        print(f"bench: {' '.join(unknown)}: unknown ({', '.join(BENCHMARKS)})", file=sys.stderr)
        sys.exit(2)
    bench = Bench(sys.argv[1])
    for name in wanted:
        getattr(bench, name.replace("-", "_"))()


if __name__ == "__main__":
    main()
