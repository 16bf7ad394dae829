"""`what-if` against truth: programs of sleeping work are measured, replayed with a change, and run with that change made.

Three figures are compared, all from programs' own logs: the prediction with what a referee (tests/truth/scenarios/replay.py)
makes of the log of the very run that was measured, its sleeps changed; with the gain that the changed program's log shows; and
the replay of the unchanged run with that run.
"""

import collections
import concurrent.futures
import copy
import sys
import unittest

import harness
from against_logs import truth

sys.path.insert(0, str(harness.TRUTH / "scenarios"))
from replay import Replay  # noqa: E402

REPETITIONS, DELAY = 16, 30  # ms: what a busy machine adds to each repetition is a small part of it
ACCURACY = 0.05  # of the gain
# What the change of each scenario is called, and which code it is in.
CHANGES = {
    "barrier": ("--remove", "extra"),
    "uneven_ranks": ("--balance", "uneven"),
    "moves": ("--balance", "uneven"),
    "alternating": ("--balance", "uneven", "--each"),
    "chain": ("--speedup", "produce=2"),
    "overlap": ("--speedup", "produce=2"),
    "rendezvous": ("--remove", "consume"),
    "broadcast": ("--speedup", "produce=2"),
    "reduction": ("--remove", "extra"),
    "fences": ("--remove", "extra"),
    "epochs": ("--speedup", "produce=2"),
}
# What waits vanish, and what appear where there were (next to) none.
VANISHES = {
    "barrier": "wait-at-barrier", "uneven_ranks": "wait-at-barrier", "moves": "wait-at-barrier", "alternating": "wait-at-barrier",
    "chain": "late-sender", "overlap": "late-sender", "rendezvous": "late-receiver", "broadcast": "late-broadcast",
    "reduction": "early-reduce", "fences": "wait-at-fence", "epochs": "late-post",
}  # fmt: skip


def changed_sleeps(logs, kind, name, each):
    """{call: ns} of the sleeps in a procedure, as the change makes them."""
    sleeps = [[call for call in log.calls if call.label == name and call.function == "truth_sleep"] for log in logs]
    if kind == "--remove":
        return {call: 0 for calls in sleeps for call in calls}
    if kind == "--speedup":
        return {call: call.duration / 2 for calls in sleeps for call in calls}
    if each:
        return {call: sum(one.duration for one in alike) / len(logs) for alike in zip(*sleeps, strict=True) for call in alike}
    totals = [sum(call.duration for call in calls) for calls in sleeps]
    mean = sum(totals) / len(totals)
    return {call: call.duration * mean / total for calls, total in zip(sleeps, totals) for call in calls}


class Sleeps(Replay):
    """The log of a run as if calls of MPI took no time of their own, nor what lies between calls: how long ranks slept, and
    who waited for whom. What a busy machine adds to calls is not in it."""

    def __init__(self, ranks):
        super().__init__(copy.deepcopy(ranks))
        for calls in self.calls:
            for before, call in zip(calls, calls[1:]):
                call.enter, call.exit = before.exit, before.exit + call.duration

    def end(self, call, entered, without, changed):
        if not call.function.startswith("MPI_"):
            return super().end(call, entered, without, changed)
        if any(other not in entered for other in self.needs[call]):
            return None
        return max([entered[call], *(entered[other] for other in self.needs[call])])


class WhatIf(harness.UnderBothMpis, harness.Workspace):
    def run_logged(self, mpi, scenario, *changed, measured=True):
        logs = self.here / ("logs-" + "-".join([scenario, *changed]))
        logs.mkdir()
        program = harness.PROGRAMS / f"truth_what_if.{mpi}"
        arguments = (logs, REPETITIONS, DELAY, scenario, *changed)
        if measured:
            self.directory = self.measure(mpi, 4, program, *arguments, name=scenario, options=["--trace"])
        else:
            harness.launch(mpi, 4, [program, *arguments], cwd=self.here)
        return truth.read(logs)

    def compare(self, scenario, before, after):
        kind, path, *each = CHANGES[scenario]
        found = harness.viewer_json(self.directory, "what-if", kind, path, *each)
        gain = found["run_s"] - found["predicted_s"]
        # The run as it was.
        waits = harness.viewer_json(self.directory, "waits")
        parts = ("late-sender-wrong-order", "late-complete", "early-fence", "barrier-completion", "nxn-completion")
        waiting = sum(row["seconds"] for row in waits if row["pattern"] not in parts)
        self.assertAlmostEqual(found["waiting_s"], waiting, delta=0.01 * waiting + 0.01)
        self.assertAlmostEqual(sum(row["before_s"] for row in found["changes"]), found["waiting_s"], delta=1e-6)
        self.assertAlmostEqual(sum(row["after_s"] for row in found["changes"]), found["predicted_waiting_s"], delta=1e-6)
        # The same change of the same run, by its log.
        referee = Replay(before)
        changed = changed_sleeps(before, kind, path.partition("=")[0], bool(each))
        self.assertTrue(changed)
        expected = referee.seconds() - referee.seconds(changed=changed)
        # With the change made.
        measured = Sleeps(before).seconds() - Sleeps(after).seconds()
        by_clock = referee.seconds() - Replay(after).seconds()
        others = {"by its log": expected, "with the change made": measured, "the same by the clock": by_clock}
        print(
            f"{self.id().rpartition('_')[2]} {scenario}: predicted {gain:.4f} s",
            *(f"{name} {other:.4f} s ({100 * (gain / other - 1):+.1f} %)" for name, other in others.items()),
            sep=", ",
            file=sys.stderr,
        )
        calls = [call for logs in (before, after) for log in logs for call in log.calls]
        self.assert_time(gain, (1 - ACCURACY) * expected, (1 + ACCURACY) * expected, calls, f"{scenario}: gain by the log")
        self.assert_time(gain, (1 - ACCURACY) * measured, (1 + ACCURACY) * measured, calls, f"{scenario}: gain with the change")
        if scenario == "uneven_ranks":
            self.check_report(path, gain)
        # Who waits no more.
        sums = collections.defaultdict(lambda: [0.0, 0.0])
        for row in found["changes"]:
            sums[row["pattern"]][0] += row["before_s"]
            sums[row["pattern"]][1] += row["after_s"]
        self.assertLess(sums[VANISHES[scenario]][1], 0.7 * sums[VANISHES[scenario]][0])

    def check_report(self, path, gain):
        """The report's saving is what a replay says, of the same code."""
        report = harness.viewer_json(self.directory, "report")
        replayed = report["replayed_savings"][0]
        names = {row["suspect_id"]: row["name"] for row in report["suspects"]}
        self.assertEqual(len(replayed["suspect_ids"]), 1, names)
        suspect = replayed["suspect_ids"][0]
        self.assertIn(path, names[suspect])
        asked = harness.viewer_json(self.directory, "what-if", "--balance", suspect)
        # A suspect's id is one of its call paths: a sample or two of the procedure may lie at others.
        self.assertAlmostEqual(replayed["save_balanced_s"], asked["run_s"] - asked["predicted_s"], delta=0.002 * gain)
        self.assertAlmostEqual(replayed["save_balanced_s"], gain, delta=ACCURACY * gain)
        text = " ".join(harness.run([harness.VIEWER, self.directory, "report"]).stdout.split())
        self.assertRegex(text, "it would save [0-9]+ % of the run time \\([0-9.]+ s, by a replay of the time lines\\)")
        # Without the measurement it is an estimate again.
        alone = harness.viewer_json(self.directory.with_name(self.directory.name + ".db").rename(self.here / "alone.db"), "report")
        self.assertEqual(alone["replayed_savings"], [])

    def check(self, mpi):
        # The replay knows no MPI: half of the scenarios under each.
        asked = list(CHANGES) if harness.THOROUGH else list(CHANGES)[list(harness.LAUNCHERS).index(mpi) :: 2]
        for scenario in asked:
            with self.subTest(scenario):
                logs = {}

                def measure(scenario=scenario, logs=logs):
                    with concurrent.futures.ThreadPoolExecutor() as pool:  # both sleep
                        after = pool.submit(self.run_logged, mpi, scenario, "changed", measured=False)
                        logs["before"] = self.run_logged(mpi, scenario)
                        logs["after"] = after.result()

                self.against_clock(measure, lambda scenario=scenario, logs=logs: self.compare(scenario, logs["before"], logs["after"]))


if __name__ == "__main__":
    unittest.main()
