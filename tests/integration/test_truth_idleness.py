"""Truth: idleness, call by call and in all, is what the truth programs' own logs say, under both MPIs, spinning,
yielding and with more ranks than processors.

What is compared. Every sample under a call that blocks is idle unless it moves data or computes; so the idleness of a
call is the time inside it by the program's own clock. Where a call also moves a lot of data (LARGE) the logs bound it:
at least the waiting (truth.py), at most the time inside. The tolerance is 2 % (against_logs.py).
"""

import collections
import math
import unittest

import harness
from against_logs import OPTIONS, Measured, tolerance, truth

WORK = {  # calls that do not wait by definition
    "MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Issend", "MPI_Start", "MPI_Ibarrier", "MPI_Iallreduce",
    "MPI_Put", "MPI_Accumulate", "MPI_Win_post", "MPI_Cancel",
}  # fmt: skip
POLLS = {"MPI_Test", "MPI_Iprobe", "MPI_Win_test"}  # asked again and again at once: the log knows the loop, not the calls
# Procedures some of whose calls move or complete bulk transfers; Open MPI's pt2pt puts no bulk before the target posts.
LARGE = {"late_receiver_large", "late_receivers", "complete", "put_bulk"}


def part_of(*cells):
    """All but the last, which another test has under the other MPI or with fewer ranks; ./dev test --thorough has them all."""
    return cells if harness.THOROUGH else cells[:-1]


class Idleness(harness.Workspace):
    def check(self, mpi, ranks, program, *arguments, settings=()):
        environment = dict(harness.ENVIRONMENT, **dict(settings))
        around = self.here
        self.here = around / program
        self.here.mkdir()

        def measure():
            logs = self.here / "logs"
            logs.mkdir()
            command = harness.PROGRAMS / f"truth_{program}.{mpi}"
            self.merge(self.measure(mpi, ranks, command, logs, *arguments, options=OPTIONS, env=environment))

        def compare():
            measured = Measured(self.here / "run.db")
            logs = truth.Truth(truth.read(self.here / "logs"))
            self.assertEqual(logs.unmatched, {})
            self.check_calls(measured, logs)
            self.check_finalize(measured, logs)

        try:
            self.against_clock(measure, compare)
        finally:
            self.here = around

    def check_calls(self, measured, logs):
        """Each call, and all of them together; but for threads that lost their processor while they moved data."""
        keys = {(c.function, c.label) for log in logs.ranks for c in log.calls if c.function.startswith("MPI_")}
        sums = collections.Counter()
        for function, label in sorted(key for key in keys if key[0] != "MPI_Finalize"):
            inside = logs.inside({function}, label=label)
            made = [c for log in logs.ranks for c in log.calls if c.function == function and c.label == label]
            calls = len(made)
            low = logs.sum(function=function, label=label) if label in LARGE else inside
            idle = measured.idle[function, label]
            if function in WORK and label not in LARGE:
                self.assertEqual(idle, 0, (function, label))
                continue
            if function in POLLS:  # all but the first of a loop, and but the first after a lost processor
                # How much of a loop that yields its processor is left then, nobody knows.
                least = 0 if any(call.preempted for call in made) else 0.5 * measured.all[function, label]
                self.assertGreater(idle, 0, (function, label))
                self.assertGreaterEqual(idle, least, (function, label))
                self.assertLessEqual(idle, inside + tolerance(inside, calls), (function, label))
                continue
            preempted = measured.preempted[function, label]
            least, most = low - tolerance(inside, calls), inside + tolerance(inside, calls)
            self.assert_time(idle + preempted, least, math.inf, made, (function, label))
            self.assert_time(idle, 0, most, made, (function, label))
            sums.update({"idle": idle, "preempted": preempted, "low": low, "high": inside, "calls": calls})
        self.assertGreater(sums["idle"], 0)
        self.assertGreaterEqual(sums["idle"] + sums["preempted"], sums["low"] - tolerance(sums["low"], sums["calls"]))
        self.assertLessEqual(sums["idle"], sums["high"] + tolerance(sums["high"], sums["calls"]))

    def check_finalize(self, measured, logs):
        """Idle at most until the last rank comes; what MPI_Finalize then does is work."""
        (key,) = {(c.function, c.label) for log in logs.ranks for c in log.calls if c.function == "MPI_Finalize"}
        inside, ranks = logs.inside({key[0]}), len(logs.ranks)
        self.assertGreaterEqual(measured.idle[key], logs.sum(function=key[0]) - tolerance(inside, ranks))
        self.assertLessEqual(measured.idle[key], inside + tolerance(inside, ranks))

    def test_openmpi_point_to_point(self):
        self.check("openmpi", 2, "point_to_point", 3, 30)

    def test_openmpi_collectives(self):
        self.check("openmpi", 2, "collectives", 3, 30)

    def test_openmpi_yielding(self):
        for program in part_of("requests", "point_to_point"):
            with self.subTest(program):
                self.check("openmpi", 2, program, 3, 30, settings=[("OMPI_MCA_mpi_yield_when_idle", "1")])

    def test_openmpi_oversubscribed(self):
        for program in part_of("requests", "collectives", "active_target"):
            with self.subTest(program):
                self.check("openmpi", 4, program, 2, 30)

    def test_mpich(self):
        for program in ("point_to_point", "requests", "passive_target"):
            with self.subTest(program):
                self.check("mpich", 2, program, 3, 30)

    def test_mpich_oversubscribed(self):
        for program in part_of("chain", "active_target", "collectives"):
            with self.subTest(program):
                self.check("mpich", 4, program, 2, 30)

    def check_fortran(self, mpi, interfaces):
        for interface in interfaces:
            with self.subTest(interface):
                # Open MPI's default component needs what containers forbid to make a window of given memory.
                self.check(mpi, 2, f"fortran_{interface}", 3, 20, settings=[("OMPI_MCA_osc", "pt2pt")])

    def test_openmpi_fortran(self):
        self.check_fortran("openmpi", part_of("mpif", "f08"))

    def test_mpich_fortran(self):
        self.check_fortran("mpich", part_of("f08", "mpif"))


if __name__ == "__main__":
    unittest.main()
