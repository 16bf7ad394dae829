"""What thousands of threads that wait cost while two work: the work that gets done, CPU time, and whether all time is there.

Runs are pairs, one measured and one not, in changing order. Each lasts SECONDS by the clock: what measuring takes meanwhile is
missing in the work. What it takes while threads start and end, and after them, is in the wall clock; it is the same however long
the threads wait, so that its ratio is one for this many seconds only.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import waiting_threads  # noqa: E402

APP = pathlib.Path(__file__).resolve().parent.parent / "apps" / "waiting_threads.cpp"
SECONDS = int(os.environ.get("CULPRIT_BENCH_SECONDS", "30"))
PAIRS = int(os.environ.get("CULPRIT_BENCH_PAIRS", "3"))
CELLS = [("sem", 1000), ("read", 1000), ("futex", 1000), ("sem", 10000), ("read", 10000), ("futex", 10000), ("mixed", 10000)]
WORKERS = 2


def measure(bench):
    program = bench.here / "waiting_threads"
    subprocess.run(["g++", "-std=c++20", "-O2", "-g", "-pthread", APP, "-o", program], check=True)
    print(f"many-threads: {WORKERS} threads work for {SECONDS} s, the others wait; medians of {PAIRS} pairs, measured / unmeasured")
    print("  waiting in   threads   work done    wall   (more)   CPU time   CPU per thread   samples per thread   time found")
    for kind, threads in CELLS:
        pairs = [pair(bench, program, kind, threads, i) for i in range(PAIRS)]
        bench.save(f"many-threads-{kind}-{threads}", pairs)
        middle = {name: statistics.median(each[name] for each in pairs) for name in pairs[0]}
        print(
            f"  {kind:<10} {threads:9}   {middle['work']:9.4f}   {middle['wall']:.3f}   {middle['more']:4.2f} s"
            f"   {middle['cpu']:8.3f}   {middle['per_thread'] * 1e6:11.0f} us   {middle['samples']:18.1f}   {middle['found']:10.4f}",
            flush=True,
        )


def pair(bench, program, kind, threads, number):
    """Ratios measured / unmeasured, and of the time that was measured in waits to what the program says of them."""
    out = bench.fresh("many-threads")
    bench.fresh("many-threads.db")
    command = [program, kind, threads, SECONDS, WORKERS]
    kinds = {"plain": command, "measured": [bench.hpcrun, "-q", "-o", out, *command]}
    wall, cpu, text = {}, {}, {}
    for name in list(kinds)[:: 1 if number % 2 == 0 else -1]:
        wall[name], cpu[name], done = bench.time(kinds[name])
        text[name] = done.stdout
    rounds = {name: int(re.search(r"rounds of work: (\d+)", text[name]).group(1)) for name in text}
    found, samples = waits_found(bench, out, text["measured"])
    return {
        "work": rounds["measured"] / rounds["plain"],
        "wall": wall["measured"] / wall["plain"],
        "more": wall["measured"] - wall["plain"],
        "cpu": cpu["measured"] / cpu["plain"],
        "per_thread": (cpu["measured"] - cpu["plain"]) / threads,
        "samples": max(0, samples - WORKERS * SECONDS * 200) / threads,
        "found": found,
    }


def waits_found(bench, directory, text):
    """The time that was measured in waits / the time that the program says, and the number of samples."""
    spent = {name: time for name, time in waiting_threads.spent(text).items() if name.startswith("waits")}
    view = [bench.viewer, directory, "view", "calling-context", "--metrics", "REALTIME:sum (I)", "--format", "json"]
    found = waiting_threads.found(json.loads(bench.time(view)[2].stdout)["roots"], spent)
    info = bench.time([bench.viewer, f"{directory}.db", "info", "--format", "json"])[2].stdout
    return sum(found.values()) / sum(spent.values()), json.loads(info)["samples"]
