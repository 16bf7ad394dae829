"""Truth: what a blocking call does instead of waiting is communication work: moving bytes, packing, reducing."""

import unittest

import harness
from against_logs import OPTIONS, Measured, tolerance, truth


class CommunicationWork(harness.Workspace):
    def check(self, mpi):
        program = harness.PROGRAMS / f"truth_communication_work.{mpi}"
        measured = Measured(self.merge(self.measure(mpi, 2, program, self.here, 3, 20, options=OPTIONS)))
        logs = truth.Truth(truth.read(self.here))
        self.assertEqual(logs.unmatched, {})
        for label in ("large_to_itself", "packed_to_itself"):
            self.check_all_work(measured, logs, label)
        self.check_operator(measured, logs)
        for label, alone in (("large_messages", "large_to_itself"), ("packing", "packed_to_itself")):
            self.check_some_work(measured, logs, label, alone)

    def check_all_work(self, measured, logs, label):
        """Who sends to himself waits for nobody."""
        key = "MPI_Sendrecv", label
        inside = logs.inside({key[0]}, label=label, work=True)
        calls = self.calls(logs, label)
        self.assertAlmostEqual(measured.all[key], inside, delta=tolerance(inside, len(calls)))
        self.assertLessEqual(measured.idle[key], tolerance(inside, len(calls)))

    def check_operator(self, measured, logs):
        """The program's own operator is work; the rest of the reduction is waiting for it on the other rank."""
        key = "MPI_Allreduce", "slow_operator"
        work = logs.inside({key[0]}, label=key[1], work=True)
        waiting = logs.inside({key[0]}, label=key[1])
        self.assertGreater(work, 0.05)
        delta = tolerance(work + waiting, 2 * len(self.calls(logs, key[1])))
        self.assertAlmostEqual(measured.all[key] - measured.idle[key], work, delta=delta)
        self.assertAlmostEqual(measured.idle[key], waiting, delta=delta)

    def check_some_work(self, measured, logs, label, alone):
        """Between two ranks each moves at least the bytes that it moves when it is alone; half of that may be the
        other rank's part, and half again is left to a busy machine."""
        key = "MPI_Sendrecv", label
        quickest = 1e-9 * min(call.duration for call in self.calls(logs, alone))
        self.assertGreaterEqual(
            measured.all[key] - measured.idle[key], 0.25 * quickest * len(self.calls(logs, label))
        )

    @staticmethod
    def calls(logs, label):
        return [
            call for log in logs.ranks for call in log.calls
            if call.label == label and call.function.startswith("MPI_")
        ]  # fmt: skip

    def test_openmpi(self):
        self.check("openmpi")

    def test_mpich(self):
        self.check("mpich")


if __name__ == "__main__":
    unittest.main()
