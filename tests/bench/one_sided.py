"""The error of the one-sided waits that are approximated without a trace, against the truth programs' own logs of the same
runs: by pattern, MPI, Open MPI's component, and length of the epochs."""

import collections
import json
import os
import pathlib
import subprocess
import sys

TRUTH = pathlib.Path(__file__).resolve().parent.parent / "truth"
sys.path.insert(0, str(TRUTH))
import truth  # noqa: E402

RANKS = 2  # as many as any machine has processors: waiting for one is no wait state
LENGTHS = {"long": (10, 20), "short": (600, 0.2)}  # epochs per scenario, delay in ms
ACTIVE = (
    "wait_at_fence", "early_fence", "late_post", "early_transfer", "early_wait", "late_complete", "test_loop",
    "many_origins", "mixed"
)  # fmt: skip
PASSIVE = ("lock_wait", "shared_lock_wait", "lock_all_wait", "get_under_lock")
LONG_ONLY = ("create_and_free", "fence_kinds")  # making a thousand windows takes long
# rdma and ucx cannot make shared windows, which are left to sm.
COMPONENTS = {"rdma": "rdma,sm", "pt2pt": "pt2pt", "sm": "sm", "ucx": "ucx,sm", "monitoring": "monitoring,rdma,sm"}
PATTERNS = (
    "late-post", "early-transfer", "early-wait", "late-complete", "wait-at-fence", "early-fence", "wait-at-create",
    "wait-at-free", "lock-wait"
)  # fmt: skip
LEAST = 0.02  # seconds of waiting below which a share of it says nothing


def kinds():
    """(name, MPI, launcher)"""
    for name, components in COMPONENTS.items():
        yield f"Open MPI {name}", "openmpi", ["mpirun.openmpi", "--oversubscribe", "--mca", "osc", components]
    yield "MPICH", "mpich", ["mpiexec.mpich"]


def build(here, mpi, program):
    out = here / f"{program}.{mpi}"
    if not out.exists():
        command = [f"mpicc.{mpi}", "-O2", "-g", "-Wno-stringop-overflow", TRUTH / f"{program}.c", TRUTH / "truth_log.c", "-pthread", "-o", out]
        subprocess.run(command, check=True)
    return out


class Errors:
    """Of one kind of run: seconds found and true, and the sum of their differences, by pattern."""

    def __init__(self):
        self.found, self.true, self.off = (collections.Counter() for _ in range(3))

    def add(self, found, true):
        for pattern in PATTERNS:
            self.found[pattern] += found.get(pattern, 0)
            self.true[pattern] += true.get(pattern, 0)
            self.off[pattern] += abs(found.get(pattern, 0) - true.get(pattern, 0))

    def text(self, pattern):
        if self.true[pattern] < LEAST:
            return "–"
        return f"{100 * self.off[pattern] / self.true[pattern]:.1f} % of {self.true[pattern]:.2f} s"


def one_run(bench, launcher, program, scenario, epochs, delay):
    """Seconds by pattern, found and true."""
    out, logs = bench.fresh("one-sided"), bench.fresh("one-sided-logs")
    logs.mkdir()
    ranks = [*launcher, "-n", RANKS]
    bench.time([*ranks, bench.hpcrun, "-o", out, program, logs, epochs, delay, scenario])
    database = bench.fresh("one-sided.db")
    bench.time([bench.prof_mpi, out, "-o", database])
    found = collections.Counter()
    for row in json.loads(bench.time([bench.viewer, database, "waits", "--format", "json"])[2].stdout):
        found[row["pattern"]] += row["seconds"]
    return found, truth.Truth(truth.read(logs)).patterns()


def row(words):
    """Of the table, seen at once: the whole takes minutes."""
    print("| " + " | ".join(words) + " |", flush=True)


def measure(bench):
    table = {}
    row([f"epochs, {RANKS} ranks", *PATTERNS])
    row(["---"] * (1 + len(PATTERNS)))
    for name, mpi, launcher in kinds():
        for length, (epochs, delay) in LENGTHS.items():
            errors = table[f"{name}, {length}"] = Errors()
            scenarios = [("active_target", s) for s in ACTIVE] + [("passive_target", s) for s in PASSIVE]
            scenarios += [("active_target", s) for s in LONG_ONLY if length == "long"]
            for program, scenario in scenarios:
                print(f"bench: one-sided: {name}, {length}, {scenario}", file=sys.stderr, flush=True)
                errors.add(*one_run(bench, launcher, build(bench.here, mpi, program), scenario, epochs, delay))
            row([f"{name}, {length}", *(errors.text(pattern) for pattern in PATTERNS)])
    bench.save("one-sided", {name: vars(errors) for name, errors in table.items()})
    if os.cpu_count() < RANKS:
        print(f"bench: one-sided: fewer than {RANKS} processors; these figures hold the waiting for one", file=sys.stderr)
