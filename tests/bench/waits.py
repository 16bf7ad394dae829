"""How fast time lines are analysed for waits and their causes: generated ones of many shapes, in CPU seconds, which other
programs on the machine hardly change. Every run also checks that costs are all of the waiting, and the critical path."""

import json
import os
import subprocess
import sys

EVENTS = 5_000_000
LARGEST = int(os.environ.get("CULPRIT_BENCH_EVENTS", "100000000"))
MOST = 1_000_000  # events of what naive analyses take quadratic time for: they would take hours

# pattern, ranks, events, ranks of the analysis
RUNS = (
    [("ring", ranks, EVENTS, 2) for ranks in (16, 64, 256, 1024, 4096)]
    + [("ring", 1024, EVENTS, 1)]
    + [("master", ranks, events, 2) for ranks, events in ((64, MOST), (1024, MOST), (1024, 4 * MOST), (4096, 4 * MOST))]
    + [("unmatched", ranks, events, 2) for ranks, events in ((2, MOST), (64, MOST), (64, 4 * MOST))]
    + [("truncated", 64, events, 2) for events in (MOST, 4 * MOST)]
)  # fmt: skip


def row(bench, pattern, ranks, events, analysts):
    tool = bench.build / "tests" / "bench" / "bench_waits"
    done = subprocess.run([tool, pattern, str(ranks), str(events), str(analysts)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: waits: {pattern} of {ranks} ranks: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    count, cpu = found["events"], found["cpu"]
    print(f"| {pattern}, {ranks} ranks, {count / 1e6:.1f} M events, {analysts} analyst{'s' if analysts > 1 else ''} "
          f"| {1e9 * cpu / count:.0f} | {count / cpu * 2 / 1e6:.1f} "
          f"| {' / '.join(f'{1e9 * found[phase] / count:.0f}' for phase in ('forward', 'sums', 'delays', 'path', 'hotspots'))} "
          f"| {found['wall']:.1f} | {found['peak'] / 1e6:.0f} | {found['spilled'] / 1e6:.0f} |", flush=True)
    return found


def measure(bench):
    print("| time lines | ns of CPU time an event | M events/s on 2 processors, from it "
          "| forward / sums / delay costs / critical path / hotspots | wall s | peak MB | MB to the file |")
    print("|---|---|---|---|---|---|---|")
    found = [row(bench, *run) for run in (*RUNS, ("ring", 1024, LARGEST, 2))]
    bench.save("waits", found)
