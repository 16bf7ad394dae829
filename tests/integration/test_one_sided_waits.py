"""The waits of one-sided communication, approximated without a trace, against what the program's own log says, under
both MPIs."""

import json
import sys
import unittest

import harness

TRUTH = harness.pathlib.Path(__file__).resolve().parent.parent / "truth" / "truth.py"
# Open MPI 4.1 has no one-sided component for a node without it.
WITH_SINGLE_COPY = {k: v for k, v in harness.ENVIRONMENT.items() if "single_copy" not in k}
# And the calls that wait so.
PATTERNS = {
    "late-post": ("MPI_Win_start", "MPI_Win_complete"),
    "early-wait": ("MPI_Win_wait", "MPI_Win_test"),
    "late-complete": ("MPI_Win_wait", "MPI_Win_test"),
    "wait-at-fence": ("MPI_Win_fence",),
}


def time_in(logs, functions):
    """Seconds that all ranks spent in calls of these functions, by their own clock."""
    calls = (line.split() for log in logs.glob("truth-*.log") for line in log.read_text().splitlines())
    return sum(int(call[3]) - int(call[2]) for call in calls if call[0] == "call" and call[4] in functions) / 1e9


def sums(rows):
    by_pattern = {pattern: 0 for pattern in PATTERNS}
    for row in rows:
        if row["pattern"] in by_pattern:
            by_pattern[row["pattern"]] += row["seconds"]
    return by_pattern


class OneSidedWaits(harness.Workspace):
    def check(self, mpi, scenario, *patterns):
        logs = self.here / "logs"
        logs.mkdir()
        program = harness.PROGRAMS / f"truth_active_target.{mpi}"
        # Eight times a delay of 40 ms.
        self.measure(mpi, 2, program, logs, 8, 40, scenario, env=WITH_SINGLE_COPY)
        database = self.merge(self.here / "run")
        waits = harness.viewer_json(database, "waits")
        self.assertTrue(all(row["exact"] is False and row["seconds"] > 0 for row in waits))
        truth = json.loads(harness.run([sys.executable, TRUTH, logs, "--format", "json"]).stdout)
        found, true = sums(waits), sums(truth["waits"])
        for pattern in patterns:
            # What waits longer than the truth says is what a busy machine adds.
            self.assertGreater(true[pattern], 0.1, pattern)
            self.assertGreater(found[pattern], 0.6 * true[pattern], (found, true))
            self.assertLess(found[pattern], time_in(logs, PATTERNS[pattern]) * 1.001, (found, true))
        self.check_idleness(database, waits)

    def check_idleness(self, database, waits):
        """The patterns divide idleness, they never add to it; parts are contained in their wholes."""
        parts = ("late-complete", "early-fence")
        idle = harness.viewer_json(database, "report")["idle_s"]
        self.assertLessEqual(sum(row["seconds"] for row in waits if row["pattern"] not in parts), idle * 1.001)
        for row in waits:
            self.assertTrue(any(frame["name"].startswith("MPI_Win_") or frame["name"] in ("MPI_Put", "MPI_Get")
                                for frame in row["path"]), row["path"])
        by_pattern = sums(waits)
        self.assertLessEqual(by_pattern["late-complete"], by_pattern["early-wait"] * 1.001)


for mpi in harness.LAUNCHERS:
    for scenario, patterns in (
        ("late_post", ("late-post",)),
        ("early_wait", ("early-wait",)),
        ("late_complete", ("early-wait", "late-complete")),
        ("test_loop", ("early-wait",)),
        ("wait_at_fence", ("wait-at-fence",)),
    ):
        setattr(
            OneSidedWaits,
            f"test_{scenario}_{mpi}",
            lambda self, mpi=mpi, scenario=scenario, patterns=patterns: self.check(mpi, scenario, *patterns),
        )

if __name__ == "__main__":
    unittest.main()
