"""How fast time lines are analysed, by all analyses that prof-mpi makes of them: generated ones of many shapes, in CPU seconds,
which other programs on the machine hardly change, and by the clock, which they do. Every run also checks that costs are all of the waiting, and the critical
path. And what the analysis of a real run takes beside the run itself: a Poisson solver that exchanges halos one-sidedly."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

EVENTS = 5_000_000
LARGEST = int(os.environ.get("CULPRIT_BENCH_EVENTS", "100000000"))
MOST = 1_000_000  # events of what naive analyses take quadratic time for: they would take hours

# pattern, ranks, events, ranks of the analysis
RUNS = (
    [("ring", ranks, EVENTS, 2) for ranks in (16, 64, 256, 1024, 4096)]
    + [("ring", 1024, EVENTS, 1)]
    + [("scattered", ranks, EVENTS, 2) for ranks in (64, 1024, 4096)]
    + [("master", ranks, events, 2) for ranks, events in ((64, MOST), (1024, MOST), (1024, 4 * MOST), (4096, 4 * MOST))]
    + [("unmatched", ranks, events, 2) for ranks, events in ((2, MOST), (64, MOST), (64, 4 * MOST))]
    + [("truncated", 64, events, 2) for events in (MOST, 4 * MOST)]
)  # fmt: skip


# What an analysis takes: so much for an event, until calls are packed.
MEMORY_OF_EVENT, MOST_MEMORY = 80, 3_500_000_000

PHASES = ("matching", "delays", "path", "hotspots", "map", "variation")


TOUCH = """
import mmap, sys
with mmap.mmap(-1, int(sys.argv[1]), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
    memory.madvise(mmap.MADV_HUGEPAGE)
    for page in range(0, len(memory), mmap.PAGESIZE):
        memory[page] = 1
"""


def touch_memory(size):
    """Uses `size` bytes once, in a process of its own, as what a process used before counts as what its programs use. The host of
    a virtual machine takes back what lies free for seconds, and to give it again costs several times what the system's
    zeroing does: a tenth of an analysis that is none of its work."""
    subprocess.run([sys.executable, "-c", TOUCH, str(size)], check=True)


def row(bench, pattern, ranks, events, analysts):
    tool = bench.build / "tests" / "bench" / "bench_waits"
    touch_memory(min(MEMORY_OF_EVENT * events, MOST_MEMORY))
    done = subprocess.run([tool, pattern, str(ranks), str(events), str(analysts)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: waits: {pattern} of {ranks} ranks: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    count, cpu = found["events"], found["cpu"]
    print(f"| {pattern}, {ranks} ranks, {count / 1e6:.1f} M events, {analysts} analyst{'s' if analysts > 1 else ''} "
          f"| {1e9 * cpu / count:.0f} | {count / found['wall'] / 1e6:.1f} "
          f"| {' / '.join(f'{1e9 * found[phase] / count:.0f}' for phase in PHASES)} "
          f"| {found['wall']:.2f} | {found['peak'] / 1e6:.0f} | {found['spilled'] / 1e6:.0f} |", flush=True)
    return found


SOR = pathlib.Path(__file__).resolve().parent.parent / "apps" / "sor.c"
SOR_RANKS = 16
SOR_ITERATIONS = (300, 2000)


def sor(bench):
    """CPU seconds of all ranks of a traced run, and of merging and analysing it; how much of it the time lines took, opening
    them included, prof-mpi says itself."""
    program = bench.here / "sor"
    subprocess.run(["mpicc.openmpi", "-O2", "-g", SOR, "-lm", "-o", program], check=True)
    launch = ["mpirun.openmpi", "--oversubscribe", "-n", SOR_RANKS]
    for exchange, iterations in itertools.product(("post", "fence"), SOR_ITERATIONS):
        out, database = bench.fresh("sor.run"), bench.fresh("sor.db")
        run = bench.time([*launch, bench.hpcrun, "-q", "-t", "-o", out, program, exchange, 200, iterations, 0.5])[1]
        _, merged, done = bench.time([bench.prof_mpi, "-v", out, "-o", database])
        reported = done.stdout + done.stderr
        analysed = float(re.search(r"time lines: [0-9.]+ s, ([0-9.]+) s of CPU time", reported).group(1))
        traces = sum(file.stat().st_size for file in out.rglob("*.trace"))
        print(f"sor {exchange}, {SOR_RANKS} ranks, {iterations} iterations, {traces / 1e6:.1f} MB of traces: run {run:.1f} s of "
              f"CPU time; time lines {analysed:.2f} s ({100 * analysed / run:.2f} %), all of prof-mpi {merged:.2f} s "
              f"({100 * merged / run:.2f} %)", flush=True)


def recorded(bench):
    """Time lines that were recorded, read from their files: ranks that send messages to themselves."""
    program = bench.here / "message_rate"
    subprocess.run(["mpicc.openmpi", "-O2", "-g", pathlib.Path(__file__).with_name("message_rate.c"), "-o", program], check=True)
    out, database = bench.fresh("recorded.run"), bench.fresh("recorded.db")
    launch = ["mpirun.openmpi", "--oversubscribe", "-n"]
    reported = bench.time([*launch, 4, bench.hpcrun, "-q", "-t", "--trace-limit", "16G", "-o", out, program, 100_000])[2].stdout
    calls = sum(int(line.split()[0]) for line in reported.splitlines())
    for ranks in (1, 2):
        done = bench.time([*launch, ranks, bench.prof_mpi, "-v", "--force", out, "-o", database])[2]
        seconds = float(re.search(r"time lines: ([0-9.]+) s", done.stdout + done.stderr).group(1))
        print(f"recorded, 4 ranks, {calls / 1e6:.1f} M calls, {ranks} ranks of prof-mpi: {seconds:.2f} s, "
              f"{calls / seconds / 1e6:.1f} M events/s", flush=True)


def measure(bench):
    print("| time lines | ns of CPU time an event | M events/s by the clock "
          "| matching and sums / delay costs, hotspots compared / critical path / hotspots / map and efficiencies / variation "
          "| wall s | peak MB | MB to the file |")
    print("|---|---|---|---|---|---|---|")
    found = [row(bench, *run) for run in (*RUNS, ("ring", 1024, LARGEST, 2))]
    bench.save("waits", found)
    recorded(bench)
    sor(bench)
