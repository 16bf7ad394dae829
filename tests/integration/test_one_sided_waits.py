"""The waits of one-sided communication, approximated without a trace, against what the program's own log says, under
both MPIs: all styles of synchronization and all ways to make a window."""

import collections
import types
import unittest

import harness
from against_logs import OPTIONS, Measured, truth

FLUSHES = (
    "MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all", "MPI_Win_unlock",
    "MPI_Win_unlock_all"
)  # fmt: skip

# And the calls that wait so.
PATTERNS = {
    "late-post": ("MPI_Win_start", "MPI_Win_complete"),
    "early-transfer": ("MPI_Put",),
    "early-wait": ("MPI_Win_wait", "MPI_Win_test"),
    "late-complete": ("MPI_Win_wait", "MPI_Win_test"),
    "wait-at-fence": ("MPI_Win_fence",),
    "early-fence": ("MPI_Win_fence",),
    "wait-at-create": ("MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_create_dynamic"),
    "wait-at-free": ("MPI_Win_free",),
    "lock-wait": ("MPI_Win_lock", "MPI_Win_lock_all", "MPI_Accumulate", *FLUSHES),
    "flush-wait": FLUSHES,
}  # fmt: skip
PARTS = {"late-complete": "early-wait", "early-fence": "wait-at-fence"}
DELAY = 30  # ms
REPETITIONS = 4


class OneSidedWaits(harness.Workspace):
    def run_truth(self, mpi, ranks, program, scenario, **options):
        """Runs, merges; sets the rows of `waits`, the truth, and seconds by pattern of both."""
        logs = self.here / "logs"
        logs.mkdir()
        program = harness.PROGRAMS / f"truth_{program}.{mpi}"
        self.database = self.merge(self.measure(mpi, ranks, program, logs, REPETITIONS, DELAY, scenario, **options))
        self.waits = harness.viewer_json(self.database, "waits")
        self.truth = truth.Truth(truth.read(logs))
        self.true = self.truth.patterns()
        self.found = dict.fromkeys(PATTERNS, 0)
        for row in self.waits:
            self.found[row["pattern"]] += row["seconds"]
        self.figures = f"found {self.found}, true {self.true}"
        self.check_idleness()

    def check_idleness(self):
        """The patterns divide idleness, they never add to it; parts are contained in their wholes."""
        report = harness.viewer_json(self.database, "report")
        sums = sum(row["seconds"] for row in self.waits if row["pattern"] not in PARTS)
        self.assertLessEqual(sums + report["quality"]["unclassified_wait_s"], report["idle_s"] * 1.001)
        self.assertEqual(report["quality"]["epochs_lost"], 0)
        for row in self.waits:
            self.assertIs(row["exact"], False)
            self.assertGreater(row["seconds"], 0)
            self.assertIn(harness.names(row["path"])[-1], PATTERNS[row["pattern"]])
        for part, whole in PARTS.items():
            self.assertLessEqual(self.found[part], self.found[whole] * 1.001)
        for pattern, calls in PATTERNS.items():
            self.assertLessEqual(self.found[pattern], self.truth.inside(calls) * 1.001, pattern)

    def assert_seconds(self, pattern, low, high, reported=""):
        """Of a pattern, the seconds that were found, against the log of the calls that wait so and of those they wait for."""
        calls = [call for log in self.truth.ranks for call in log.calls if call.function in PATTERNS[pattern]]
        calls += [wait.cause for wait in self.truth.waits if wait.pattern == pattern]
        self.assert_time(self.found[pattern], low, high, calls, f"{pattern} {reported}: {self.figures}")

    def assert_found(self, *patterns):
        """Every epoch of so short a run has stamps: what is found is what was, as far as it was sampled as idle."""
        idle = collections.Counter()
        for (function, _), seconds in Measured(self.database).idle.items():
            idle[function] += seconds
        for pattern in patterns:
            true = self.true.get(pattern, 0)
            sampled = sum(idle[function] for function in PATTERNS[pattern])
            self.assertGreater(true, 0.02, (pattern, self.figures))
            self.assertGreater(sampled, 0.5 * true, (pattern, self.figures))
            self.assert_seconds(pattern, 0.75 * min(true, sampled), 1.1 * true + 0.02, f"{sampled} s idle")

    def assert_cause(self, pattern):
        """The rank that most of a thread's waiting at a call path was for is named."""
        longest = max((row for row in self.waits if row["pattern"] == pattern), key=lambda row: row["seconds"])
        by_cause = {}
        for wait in self.truth.waits:
            if wait.pattern == pattern and wait.call.rank == longest["rank"]:
                by_cause[wait.cause.rank] = by_cause.get(wait.cause.rank, 0) + wait.nanoseconds
        self.assertIn(longest["cause"]["rank"], by_cause)
        self.assertTrue(longest["cause_path"])

    def check_found(self, mpi, ranks, scenario, *patterns, cause):
        def compare():
            self.assert_found(*patterns)
            self.assert_cause(cause)

        self.against_clock(lambda: self.run_truth(mpi, ranks, "active_target", scenario), compare)

    def epochs(self, mpi, scenario, *patterns):
        self.check_found(mpi, 2, scenario, *patterns, cause=patterns[0])

    def turns(self, mpi):
        """Ranks take turns in being late: sums over the run do not tell whom their fences waited for."""
        self.check_found(mpi, 3, "early_fence", "wait-at-fence", "early-fence", cause="early-fence")

    def locks(self, mpi, scenario):
        """Processes of one host tell each other when they give locks back: what is found is what was, as far as it was
        sampled as idle."""
        self.check_exactly(mpi, "passive_target", scenario, "lock-wait")

    def check_exactly(self, mpi, program, scenario, pattern, **options):
        def compare():
            true = self.true[pattern]
            self.assertGreater(true, 0.02)
            self.assert_seconds(pattern, 0.9 * true - 0.01, true + 0.02)
            self.assert_cause(pattern)

        self.against_clock(lambda: self.run_truth(mpi, 2, program, scenario, options=OPTIONS, **options), compare)

    def locks_of_several_hosts(self, mpi):
        """These cannot: a lock waits for as long as it took beyond the shortest one, for nobody knows whom."""
        environment = dict(harness.ENVIRONMENT, CULPRIT_WRONG_CLOCKS="2,0,0")
        self.run_truth(mpi, 2, "passive_target", "lock_wait", env=environment)
        self.assertGreater(self.found["lock-wait"] + self.found["flush-wait"], 0.75 * self.true["lock-wait"])
        self.assertEqual([row["cause"] for row in self.waits if row["pattern"] == "lock-wait" and row["cause"]], [])

    def early_transfer(self, mpi):
        """Of Debian's libraries only Open MPI's component pt2pt ever waits for the target in an operation itself."""
        environment = dict(harness.ENVIRONMENT, OMPI_MCA_osc="pt2pt")
        pattern = "early-transfer" if mpi == "openmpi" else "late-post"
        self.check_exactly(mpi, "active_target", "early_transfer", pattern, env=environment)

    def refused(self, component, function):
        """Processes come together, and wait for each other, also for a window that the library then refuses to make."""
        environment = dict(harness.ENVIRONMENT, OMPI_MCA_osc=component)
        self.run_truth("openmpi", 2, "active_target", "create_and_free", env=environment)
        self.assert_found("wait-at-create", "wait-at-free")
        made, freed = (self.truth.count(functions) for functions in (PATTERNS["wait-at-create"], ("MPI_Win_free",)))
        self.assertGreater(made, freed)
        found = [row for row in self.waits if row["pattern"] == "wait-at-create" and harness.names(row["path"])[-1] == function]
        true = self.truth.sum(pattern="wait-at-create", function=function)
        self.assertGreater(true, DELAY / 1e3)
        self.assertGreater(sum(row["seconds"] for row in found), 0.75 * true)

    def test_refused_by_pt2pt(self):
        self.refused("pt2pt", "MPI_Win_allocate_shared")

    def test_refused_by_sm(self):
        self.refused("sm", "MPI_Win_create_dynamic")

    def failed_creations(self, mpi):
        """Windows that could not be made leave nothing behind, and no process waiting."""
        program = harness.PROGRAMS / f"failing_windows.{mpi}"
        plain = harness.launch(mpi, 2, [program]).stdout
        measured = harness.launch(mpi, 2, [harness.HPCRUN, "-o", self.here / "run", *OPTIONS, program]).stdout
        self.assertEqual(sorted(measured.splitlines()), sorted(plain.splitlines()))
        self.assertRegex(plain, "0 descriptors and 0 tables left")
        waits = harness.viewer_json(self.merge(self.here / "run"), "waits")
        locks = [row for row in waits if row["pattern"] == "lock-wait"]
        self.assertEqual([(row["rank"], row["cause"]["rank"]) for row in locks], [(1, 0)])
        self.assertGreater(locks[0]["seconds"], 0.05)  # of 0.1

    def windows_in_turns(self, mpi):
        """Who asks for several windows in turns waits once at a time, and for each until it is complete."""
        self.against_clock(lambda: self.run_turns(mpi), self.compare_turns)

    def run_turns(self, mpi):
        command = [harness.HPCRUN, "-o", self.here / "run", *OPTIONS, harness.PROGRAMS / f"windows_in_turns.{mpi}"]
        self.printed = [line.split() for line in harness.launch(mpi, 2, command, cwd=self.here).stdout.splitlines()]
        self.database = self.merge(self.here / "run")

    def compare_turns(self):
        origin, target = (
            {window: (int(begin), int(end)) for who, window, begin, end, _ in self.printed if who == side}
            for side in ("origin", "target")
        )
        calls = [types.SimpleNamespace(preempted=preempted != "0") for *_, preempted in self.printed]
        whole = sum(max(0, completed - target[w][0]) for w, (_, completed) in origin.items()) / 1e9
        late = sum(max(0, completed - max(put, target[w][0])) for w, (put, completed) in origin.items()) / 1e9
        idle = sum(seconds for (function, _), seconds in Measured(self.database).idle.items() if function == "MPI_Win_test")
        found = collections.Counter()
        for row in harness.viewer_json(self.database, "waits"):
            found[row["pattern"]] += row["seconds"]
        inside = sum(end - begin for begin, end in target.values()) / 1e9
        self.assertGreater(idle, 0.5 * inside)
        reported = f"{found}, {whole} s until completions, {late} s of them after the puts, {idle} s idle"
        self.assert_time(found["early-wait"], 0.9 * min(whole, idle), inside + 0.005, calls, reported)
        self.assert_time(found["late-complete"], 0.9 * late * min(1, idle / whole), late + 0.005, calls, reported)

    def nobody_waits(self, mpi):
        """Everything that MPI has for passive targets, under locks that exclude nobody."""
        for scenario in ("lock_all", "requests"):
            self.here = self.here / scenario
            self.here.mkdir()
            self.run_truth(mpi, 2, "passive_target", scenario)
            self.assertNotIn("lock-wait", self.true)
            self.assertEqual(self.found["lock-wait"], 0)


SCENARIOS = {
    "late_post": ("late-post",),
    "late_complete": ("early-wait", "late-complete"),
    "early_wait": ("early-wait",),
    "test_loop": ("early-wait",),
    "fence_assertions": ("wait-at-fence",),
    "fence_kinds": ("wait-at-fence",),
    "create_and_free": ("wait-at-create", "wait-at-free"),
}

for mpi in harness.LAUNCHERS:
    for scenario, patterns in SCENARIOS.items():
        setattr(
            OneSidedWaits,
            f"test_{scenario}_{mpi}",
            lambda self, mpi=mpi, scenario=scenario, patterns=patterns: self.epochs(mpi, scenario, *patterns),
        )
    for scenario in ("lock_wait", "lock_all_wait", "lock_kinds"):
        setattr(OneSidedWaits, f"test_{scenario}_{mpi}", lambda self, mpi=mpi, scenario=scenario: self.locks(mpi, scenario))
    for check in (
        OneSidedWaits.turns, OneSidedWaits.early_transfer, OneSidedWaits.locks_of_several_hosts, OneSidedWaits.nobody_waits,
        OneSidedWaits.failed_creations, OneSidedWaits.windows_in_turns
    ):  # fmt: skip
        setattr(OneSidedWaits, f"test_{check.__name__}_{mpi}", lambda self, mpi=mpi, check=check: check(self, mpi))

if __name__ == "__main__":
    unittest.main()
