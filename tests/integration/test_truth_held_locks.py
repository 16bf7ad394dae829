"""Truth: of a rank whose main thread waits for a lock or a thread's end, what others wait costs the code of the thread that
held it, or was awaited, as long as the program's own log says; threads that work beside it bear none of it."""

import collections
import unittest

import harness
from against_logs import OPTIONS, noise, slowest_period

REPETITIONS = 40
SHARE = 0.05
# By barrier: the parts that rank 0 comes to it late for.
PARTS = (("hold_long",), ("after_hold",), ("in_critical",), ("deep_hold", "after_wait"))
INNOCENT = ("innocent", "innocent_member")


class HeldLocks(harness.UnderBothMpis, harness.Workspace):
    def waits(self):
        """By part: how long rank 1 waited because of it, and at most because of something else; in seconds."""
        late, early = ([tuple(map(int, line.split())) for line in (self.here / f"held-{rank}.log").read_text().splitlines()]
                       for rank in (0, 1))
        found, first = {}, len(PARTS)
        for barrier, names in enumerate(PARTS):
            waits = [max(0, there[barrier] - here[barrier]) for there, here in zip(late, early)]
            took = [there[first:first + len(names)] for there in late]
            others = 2 * sum(abs(wait - sum(own)) for wait, own in zip(waits, took))
            for i, name in enumerate(names):
                share = sum(own[i] for own in took) / sum(map(sum, took))
                found[name] = share * sum(waits) / 1e9, others / 1e9
            first += len(names)
        return found

    def check(self, mpi, program="truth_held_locks"):
        if not (harness.PROGRAMS / f"{program}.{mpi}").exists():
            self.skipTest("needs clang with libomp")
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY="passive")
        directory = self.measure(mpi, 2, harness.PROGRAMS / f"{program}.{mpi}", self.here, REPETITIONS,
                                 options=("--trace", *OPTIONS), env=environment)
        database = self.merge(directory)
        waits = self.waits()
        costs, on_path = collections.Counter(), collections.Counter()
        for row in harness.viewer_json(database, "causes"):
            names = [name for name in harness.names(row["path"]) if name in waits or name in INNOCENT]
            costs[names[0] if names else "else", row["rank"]] += row["short_term_s"] + row["long_term_s"]
        for step in harness.viewer_json(database, "critical-path")["paths"]:
            for name in {*waits, *INNOCENT} & set(harness.names(step["path"])):
                on_path[name] += step["seconds"]
        most, unsampled = 0, noise(REPETITIONS, slowest_period(harness.viewer_json(database, "info")))
        for name, (waited, others) in waits.items():
            apart = SHARE * waited + others + unsampled
            most += apart
            self.assertAlmostEqual(costs.pop((name, 0)), waited, delta=apart, msg=(name, costs))
            self.assertGreater(on_path[name], waited - apart, name)
        self.assertLess(sum(costs.values()), most, costs)
        whole = sum(waited for waited, _ in waits.values())
        for name in INNOCENT:
            self.assertLess(costs[name, 0], SHARE * whole, name)
            self.assertLess(on_path[name], SHARE * whole, name)

    def test_libomp(self):
        self.check("mpich", "truth_held_locks_clang")


if __name__ == "__main__":
    unittest.main()
