"""Truth: what a blocking call does instead of waiting is communication work: moving bytes, packing, reducing."""

import unittest

import harness
from against_logs import OPTIONS, Measured, tolerance, truth


class CommunicationWork(harness.Workspace):
    def check(self, mpi, settings=()):
        environment = dict(harness.ENVIRONMENT, **dict(settings))
        program = harness.PROGRAMS / f"truth_communication_work.{mpi}"
        directory = self.measure(mpi, 2, program, self.here, 3, 20, options=OPTIONS, env=environment)
        measured = Measured(self.merge(directory))
        logs = truth.Truth(truth.read(self.here))
        self.assertEqual(logs.unmatched, {})
        for label in ("large_to_itself", "packed_to_itself"):
            self.check_all_work(measured, logs, label)
        self.check_operator(measured, logs)
        self.check_transfers(measured, logs, {"MPI_Sendrecv": "packing"})
        self.check_transfers(measured, logs, {"MPI_Allreduce": "large_reduction"})
        # Of one size, and so of one cost.
        self.check_transfers(
            measured, logs, {"MPI_Sendrecv": "large_messages", "MPI_Waitall": "late_large_requests"}
        )

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

    def check_transfers(self, measured, logs, labels):
        """Between two ranks, what such transfers take at least is work in every call, whoever moves the bytes; and no
        more than that is taken off the waiting. The quickest calls tell it, as the log knows them; a busy machine makes
        the others slower."""
        durations = sorted(
            1e-9 * call.duration
            for function, label in labels.items()
            for call in self.calls(logs, label) if call.function == function
        )  # fmt: skip
        pure = durations[len(durations) // (4 * len(logs.ranks))]
        for function, label in labels.items():
            key = function, label
            calls = sum(call.function == function for call in self.calls(logs, label))
            inside = logs.inside({function}, label=label)
            work = measured.all[key] - measured.idle[key]
            self.assertGreaterEqual(work, 0.85 * pure * calls - tolerance(inside, calls), key)
            waiting = logs.sum(function=function, label=label)
            least = 0.9 * waiting - 0.1 * pure * calls - tolerance(inside, calls)
            self.assertGreaterEqual(measured.idle[key], least, key)

    @staticmethod
    def calls(logs, label):
        return [
            call for log in logs.ranks for call in log.calls
            if call.label == label and call.function.startswith("MPI_")
        ]  # fmt: skip

    def test_openmpi(self):
        self.check("openmpi")

    def test_openmpi_without_single_copies(self):
        self.check("openmpi", [("OMPI_MCA_btl_vader_single_copy_mechanism", "none")])

    def test_mpich(self):
        self.check("mpich")


if __name__ == "__main__":
    unittest.main()
