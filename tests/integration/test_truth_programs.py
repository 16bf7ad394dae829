"""The truth programs hold what they promise: every wait pattern that made.py lists occurs, and nothing is left unmatched."""

import unittest

import harness
from against_logs import truth

from made import MADE  # beside truth.py

PROGRAMS = ("point_to_point", "requests", "collectives", "active_target", "passive_target", "chain")


class Programs(harness.Workspace):
    twins = False  # the wrappers of each MPI are made from its own headers

    def logs(self, mpi, ranks, program):
        here = self.here / program
        here.mkdir()
        harness.launch(mpi, ranks, [harness.PROGRAMS / f"truth_{program}.{mpi}", here, 3, 20])
        return truth.Truth(truth.read(here))

    def check(self, mpi, ranks, programs):
        for program in programs:
            with self.subTest(program):
                logs = self.logs(mpi, ranks, program)
                self.assertEqual(logs.unmatched, {})
                self.assertEqual((MADE[program] | {"wait-at-finalize"}) - set(logs.patterns()), set())
                self.check_bounds(logs)
                if program == "chain":
                    self.check_chain(logs)

    def check_bounds(self, logs):
        """A wait lies inside its call, and a part inside its whole."""
        whole = {(wait.call, wait.pattern): wait for wait in logs.waits if not wait.part_of}
        for wait in logs.waits:
            self.assertGreaterEqual(wait.nanoseconds, 0)
            self.assertLess(wait.nanoseconds, wait.call.duration)
            if wait.part_of:
                self.assertLessEqual(wait.nanoseconds, whole[wait.call, wait.part_of].nanoseconds)

    def check_chain(self, logs):
        """In each chain of three, everyone waits for the one before."""
        for wait in logs.waits:
            if wait.pattern in ("late-sender", "late-post"):
                self.assertEqual(wait.cause.rank, wait.call.rank - 1)
                self.assertEqual(wait.call.rank % 3, 1 if wait.pattern == "late-sender" else 2)

    def test_openmpi(self):
        self.check("openmpi", 5, PROGRAMS)

    def test_mpich(self):
        self.check("mpich", 3, PROGRAMS)


if __name__ == "__main__":
    unittest.main()
