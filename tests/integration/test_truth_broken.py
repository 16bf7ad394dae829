"""Truth: programs that are wrong or end badly leave usable measurements, and what is missing is said."""

import collections
import unittest

import harness
from against_logs import OPTIONS, Measured, tolerance, truth

RANKS = 3
SECONDS = 0.3  # of work on rank 0, while the others wait


class Broken(harness.Workspace):
    def run_broken(self, mpi, how, program_ends_well):
        program = harness.PROGRAMS / f"truth_broken.{mpi}"
        command = [harness.HPCRUN, "-o", self.here / "run", *OPTIONS, program, self.here, SECONDS, how]
        done = harness.launch(mpi, RANKS, command, cwd=self.here, expect=None)
        if program_ends_well is not None:
            self.assertEqual(done.returncode == 0, program_ends_well, done.stderr)
        merged = harness.run([harness.PROF_MPI, self.here / "run"], expect=None)
        self.assertEqual(merged.returncode == 0, done.returncode == 0, merged.stderr)
        self.assertEqual("cut short" in merged.stderr, done.returncode != 0, merged.stderr)
        self.info = harness.viewer_json(self.here / "run.db", "info")
        self.assertEqual(self.info["ranks"], RANKS)
        self.assertLessEqual(self.info["partial"], max(2, self.info["samples"] // 200))
        return Measured(self.here / "run.db")

    def check_idleness(self, measured, functions):
        """As in programs that are right: what the logs say, but for threads that a busy machine took off their processors
        in the middle of handling a message, or that met pages there that nobody had touched."""
        logs = truth.Truth(truth.read(self.here))
        inside, idle, preempted = logs.inside(functions), 0, 0
        for key in measured.idle:
            if key[0] in functions:
                idle += measured.idle[key]
                preempted += measured.preempted[key]
        allowed = tolerance(inside, logs.count(functions))
        self.assertLessEqual(idle, inside + allowed)
        self.assertGreaterEqual(idle + preempted, 0.9 * inside - allowed)
        return logs

    def check_what_was_before(self, measured):
        """The work until the end and the waiting for it are there, and blamed."""
        work = self.threads_of("truth_compute")
        self.assertGreaterEqual(work[0], 0.75 * SECONDS)
        self.assertGreaterEqual(measured.idle["MPI_Barrier", "align"], 0.75 * SECONDS * (RANKS - 1))
        self.assertGreater(len(harness.viewer_json(self.here / "run.db", "blame")), 0)

    def threads_of(self, procedure):
        """Seconds below all calls of a procedure, by rank."""
        view = harness.viewer_json(self.here / "run.db", "view", "calling-context")
        sums = collections.Counter()
        for node in harness.walk(view["roots"]):
            if node["frame"]["name"] == procedure and node["frame"]["kind"] in ("procedure", "inlined"):
                for value in harness.viewer_json(self.here / "run.db", "threads", str(node["id"]))["values"]:
                    sums[value["rank"]] += value["value"]
        return sums

    def check_unmatched(self, mpi):
        measured = self.run_broken(mpi, "unmatched", True)
        logs = self.check_idleness(measured, {"MPI_Barrier"})
        self.assertEqual(logs.unmatched, {"send": 3 * RANKS, "receive": RANKS})

    def check_death(self, mpi, how):
        measured = self.run_broken(mpi, how, False)
        self.check_what_was_before(measured)
        self.assertGreaterEqual(self.info["cut_short"], 1)

    def test_openmpi_unmatched_messages(self):
        self.check_unmatched("openmpi")

    def test_mpich_unmatched_messages(self):
        self.check_unmatched("mpich")

    def test_openmpi_a_rank_exits(self):
        self.check_death("openmpi", "exit")

    def test_mpich_a_rank_exits(self):
        self.check_death("mpich", "exit")

    def test_openmpi_a_rank_is_killed(self):
        self.check_death("openmpi", "kill")

    def test_mpich_a_rank_is_killed(self):
        self.check_death("mpich", "kill")

    def test_openmpi_windows_are_never_freed(self):
        measured = self.run_broken("openmpi", "window", True)
        self.check_idleness(measured, {"MPI_Barrier", "MPI_Win_fence"})

    def test_mpich_windows_are_never_freed(self):
        measured = self.run_broken("mpich", "window", None)  # MPICH over UCX aborts in MPI_Finalize
        self.check_idleness(measured, {"MPI_Barrier", "MPI_Win_fence"})

    def check_threads(self, mpi):
        measured = self.run_broken(mpi, "threads", True)
        self.assertEqual(self.info["threads"], 4 * RANKS)
        self.check_idleness(measured, {"MPI_Barrier"})

    def test_openmpi_concurrent_calls(self):
        self.check_threads("openmpi")

    def test_mpich_concurrent_calls(self):
        self.check_threads("mpich")


if __name__ == "__main__":
    unittest.main()
