"""What of large transfers is taken for waiting, beside what the truth program's own logs of the same runs say: by operation,
MPI and number of ranks, with all ranks on time and with one late."""

import collections
import json
import os
import pathlib
import subprocess
import sys

TRUTH = pathlib.Path(__file__).resolve().parent.parent / "truth"
sys.path.insert(0, str(TRUTH))
import truth  # noqa: E402

REPETITIONS = {2: 20, 4: 10, 8: 6}  # by ranks: on two processors, more than two are too many
DELAY = 10  # ms
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpiexec.mpich"]}
OPERATIONS = ("exchange", "send_receive", "packed", "waitall", "test_loop", "bcast", "reduce", "allreduce", "alltoall",
              "iallreduce", "neighbors", "put_fence", "write_file")
COMPLETIONS = ("barrier-completion", "nxn-completion")  # a wait state, yet nobody is late: either answer is right
STARTS = ("MPI_Iallreduce", "MPI_Put")


# Whom these wait for is the library's choice, beside what the wait states name: the root of a broadcast or a sender to a
# root for those who come late, a file's writers for each other.
OPEN = ("bcast", "reduce", "iallreduce", "neighbors", "write_file")
FILES = ("write_file",)  # need not wait for anybody


class Share:
    """Seconds inside the calls of one operation, those found to be waiting, and what the logs say: at least, at most."""

    def __init__(self, inside, found, least, most):
        self.inside, self.found, self.least, self.most = inside, found, least, most

    @property
    def error(self):
        """Waiting found too much, less than nothing where it is too little, as a share of the time inside."""
        return (self.found - min(max(self.found, self.least), self.most)) / self.inside

    def text(self):
        found, least, most = (100 * part / self.inside for part in (self.found, self.least, self.most))
        return f"{found:.1f} ({least:.1f}-{most:.1f}) of {self.inside:.2f} s"


def until_all_came(reported, scenario):
    """Seconds in the calls of a collective before the last rank began it."""
    calls = [[c for c in log.calls if c.label == scenario and c.function not in STARTS] for log in reported.ranks]
    total = 0
    for together in zip(*calls):
        last = max(call.enter for call in together)
        total += sum(min(last, call.exit) - call.enter for call in together)
    return 1e-9 * total


def build(here, mpi):
    out = here / f"transfers.{mpi}"
    if not out.exists():
        sources = [TRUTH / "transfers.c", TRUTH / "truth_log.c"]
        command = [f"mpicc.{mpi}", "-O2", "-g", "-Wno-stringop-overflow", *sources, "-pthread", "-o", out]
        subprocess.run(command, check=True)
    return out


def idle_by_caller(roots):
    """Seconds of idleness inside MPI, by the procedure that called it."""
    idle = collections.Counter()

    def walk(node, caller):
        frame = node["frame"]
        if frame["kind"] in ("procedure", "inlined"):
            if frame["name"].startswith("MPI_"):
                idle[caller] += node["values"].get("idleness:sum (I)", 0)
                return
            caller = frame["name"]
        for child in node["children"]:
            walk(child, caller)

    for root in roots:
        walk(root, "")
    return idle


def one_run(bench, mpi, ranks):
    """Share by scenario."""
    out, logs, database = bench.fresh("transfers"), bench.fresh("transfers-logs"), bench.fresh("transfers.db")
    logs.mkdir()
    measure = [bench.hpcrun, "-q", "-o", out, "-e", "REALTIME@f1000"]
    bench.time([*LAUNCHERS[mpi], "-n", ranks, *measure, build(bench.here, mpi), logs, REPETITIONS[ranks], DELAY])
    bench.time([bench.prof_mpi, "-q", out, "-o", database])
    view = ["view", "calling-context", "--metrics", "idleness:sum (I)", "--format", "json"]
    idle = idle_by_caller(json.loads(bench.time([bench.viewer, database, *view])[2].stdout)["roots"])
    reported = truth.Truth(truth.read(logs))
    shares = {}
    for scenario in [name for operation in OPERATIONS for name in (operation, f"late_{operation}")]:
        functions = {c.function for log in reported.ranks for c in log.calls if c.label == scenario}
        completion = sum(reported.sum(label=scenario, pattern=pattern) for pattern in COMPLETIONS)
        least = reported.sum(label=scenario) - completion
        operation = scenario.removeprefix("late_")
        most = least + completion
        if operation in OPEN:
            most = max(most, until_all_came(reported, scenario))
        if operation in FILES:
            least = 0
        shares[scenario] = Share(reported.inside(functions, label=scenario), idle[scenario], least, most)
    return shares


def measure(bench):
    print("transfers: waiting found (at least and at most by the program's logs), % of the time in the calls")
    figures = {}
    for mpi in LAUNCHERS:
        table = {ranks: one_run(bench, mpi, ranks) for ranks in REPETITIONS}
        columns = [f"{ranks} ranks{when}" for ranks in REPETITIONS for when in ("", ", one late")]
        print(f"| {mpi} | " + " | ".join(columns) + " |\n" + "|---" * (1 + len(columns)) + "|")
        for operation in OPERATIONS:
            cells = [table[ranks][f"{late}{operation}"].text() for ranks in REPETITIONS for late in ("", "late_")]
            print(f"| {operation} | " + " | ".join(cells) + " |")
        for ranks, shares in table.items():
            worst = max(shares, key=lambda scenario: abs(shares[scenario].error))
            mean = sum(abs(share.error) * share.inside for share in shares.values()) / sum(
                share.inside for share in shares.values()
            )
            print(f"  {mpi}, {ranks} ranks: off by {100 * mean:.1f} % of the time in the calls, at most by "
                  f"{100 * shares[worst].error:.1f} % ({worst})", flush=True)
            figures[f"{mpi}-{ranks}"] = {scenario: vars(share) for scenario, share in shares.items()}
    bench.save("transfers", figures)
    if os.cpu_count() < 2:
        print("bench: transfers: fewer than 2 processors: no ranks come on time", file=sys.stderr)
