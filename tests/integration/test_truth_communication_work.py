"""Truth: what a blocking call does instead of waiting is communication work: moving bytes, packing, reducing.

What is waiting is in the program's logs: until the last of those whom a call depends on has begun. That a rank leaves an
all-to-all collective later than the first is a wait state of its own (COMPLETIONS), in which it moves data or lost its
processor: either answer is right.
"""

import unittest

import harness
from against_logs import OPTIONS, Measured, tolerance, truth


COMPLETIONS = ("barrier-completion", "nxn-completion")
# Of these it is certain whom they wait for, and they are one call of one function.
CERTAIN = {
    "exchange": "MPI_Sendrecv", "packed": "MPI_Sendrecv", "waitall": "MPI_Waitall", "allreduce": "MPI_Allreduce",
    "alltoall": "MPI_Alltoall", "iallreduce": "MPI_Wait",
}  # fmt: skip
# Libraries may wait for others here, too; and of polls, the first one does not count as waiting.
AT_LEAST = {"bcast": "MPI_Bcast", "reduce": "MPI_Reduce", "neighbors": "MPI_Neighbor_alltoall"}
AT_MOST = {"test_loop": "MPI_Testall"}


class AgainstLogs(harness.Workspace):
    def run_checked(self, check, mpi, ranks, program, *arguments, **options):
        """Measures the program and checks it against its logs."""
        program = harness.PROGRAMS / f"{program}.{mpi}"
        directory = self.measure(mpi, ranks, program, self.here, *arguments, options=OPTIONS, **options)
        measured = Measured(self.merge(directory))
        logs = truth.Truth(truth.read(self.here))
        self.assertEqual(logs.unmatched, {})
        check(measured, logs)

    def check_waiting(self, measured, logs, function, label, least=True, most=True):
        inside = logs.inside({function}, label=label)
        completion = sum(logs.sum(function=function, label=label, pattern=pattern) for pattern in COMPLETIONS)
        late = logs.sum(function=function, label=label) - completion
        delta = tolerance(inside, len(calls_of(logs, label)))
        idle = measured.idle[function, label]
        # While one rank is off its processor in the middle of moving data, the other one waits for it.
        lost = measured.preempted[function, label]
        beginning = seconds_of_beginning(logs, function, label)
        reported = (
            f"{function} in {label}: {idle:.4f} s idle, {late:.4f} s waiting, {completion:.4f} s completion, "
            f"{lost:.4f} s off the processor, {beginning:.4f} s until the last one had begun, {inside:.4f} s in all"
        )
        if least:
            self.assertGreaterEqual(idle, late - delta, reported)
        if most:
            self.assertLessEqual(idle, late + completion + lost + beginning + delta, reported)


def calls_of(logs, label):
    return [
        call for log in logs.ranks for call in log.calls
        if call.label == label and call.function.startswith("MPI_")
    ]  # fmt: skip


def seconds_of_beginning(logs, function, label):
    """In the call that begins a nonblocking operation, the last participant may copy all its data before it lets the others
    go on (MPICH's MPI_Iallreduce does): they wait for longer than until its enter."""
    return 1e-9 * sum(
        wait.cause.duration for wait in logs.waits
        if wait.call.function == function and wait.call.label == label and wait.cause.function != function
    )  # fmt: skip


class CommunicationWork(AgainstLogs):
    def check(self, mpi, settings=()):
        environment = dict(harness.ENVIRONMENT, **dict(settings))
        self.run_checked(self.check_logs, mpi, 2, "truth_communication_work", 3, 20, env=environment)

    def check_logs(self, measured, logs):
        for label in ("large_to_itself", "packed_to_itself"):
            self.check_all_work(measured, logs, label)
        self.check_operator(measured, logs)
        self.check_waiting(measured, logs, "MPI_Sendrecv", "packing")
        self.check_waiting(measured, logs, "MPI_Allreduce", "large_reduction")
        self.check_waiting(measured, logs, "MPI_Sendrecv", "large_messages")
        self.check_waiting(measured, logs, "MPI_Waitall", "late_large_requests")

    def check_all_work(self, measured, logs, label):
        """Who sends to himself waits for nobody."""
        key = "MPI_Sendrecv", label
        inside = logs.inside({key[0]}, label=label, work=True)
        calls = calls_of(logs, label)
        self.assertAlmostEqual(measured.all[key], inside, delta=tolerance(inside, len(calls)))
        self.assertLessEqual(measured.idle[key], tolerance(inside, len(calls)))

    def check_operator(self, measured, logs):
        """The program's own operator is work; the rest of the reduction is waiting for it on the other rank."""
        key = "MPI_Allreduce", "slow_operator"
        work = logs.inside({key[0]}, label=key[1], work=True)
        waiting = logs.inside({key[0]}, label=key[1])
        self.assertGreater(work, 0.05)
        delta = tolerance(work + waiting, 2 * len(calls_of(logs, key[1])))
        self.assertAlmostEqual(measured.all[key] - measured.idle[key], work, delta=delta)
        self.assertAlmostEqual(measured.idle[key], waiting, delta=delta)

    def test_openmpi(self):
        self.check("openmpi")

    def test_openmpi_without_single_copies(self):
        self.check("openmpi", [("OMPI_MCA_btl_vader_single_copy_mechanism", "none")])

    def test_mpich(self):
        self.check("mpich")


class Transfers(AgainstLogs):
    """The same operations with all ranks on time, and with one late."""

    def check_all(self, measured, logs):
        for late in ("", "late_"):
            for operation, function in CERTAIN.items():
                self.check_waiting(measured, logs, function, late + operation)
            for operation, function in AT_LEAST.items():
                self.check_waiting(measured, logs, function, late + operation, most=False)
            for operation, function in AT_MOST.items():
                self.check_waiting(measured, logs, function, late + operation, least=False)

    def test_openmpi(self):
        self.run_checked(self.check_all, "openmpi", 2, "truth_transfers", 3, 20)

    def test_mpich(self):
        self.run_checked(self.check_all, "mpich", 2, "truth_transfers", 3, 20)

    def check_late_reduction(self, measured, logs):
        """A late rank makes the others wait, also inside a reduction that takes as long itself, and with more ranks than
        processors, where no call is alike."""
        self.assertGreater(logs.sum(label="late_allreduce"), 0.3)
        self.check_waiting(measured, logs, "MPI_Allreduce", "late_allreduce")

    def test_late_reduction_openmpi(self):
        self.run_checked(self.check_late_reduction, "openmpi", 4, "truth_transfers", 6, 60, "late_allreduce")

    def test_late_reduction_mpich(self):
        self.run_checked(self.check_late_reduction, "mpich", 4, "truth_transfers", 6, 60, "late_allreduce")


if __name__ == "__main__":
    unittest.main()
