"""scenarios/thread_truth.py against logs made by hand, in which who idles because of whom is plain."""

import pathlib
import sys
import unittest

import truth
from test_truth_analyser import Logs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "scenarios"))
import thread_truth  # noqa: E402

MS = 1000  # Logs are in microseconds


class Team(Logs):
    """Ranks with teams; times in ms."""

    def at(self, thread, begin, end, function, label, *facts, rank=0):
        self.call(rank, begin * MS, end * MS, function, *facts, label=label, thread=thread)

    def begun(self, threads, rank=0):
        for thread in range(threads):
            self.at(thread, 0, 10, "team", "main", rank=rank)

    def ranks(self):
        return [truth.parse(self.text(rank)) for rank in range(len(self.lines))]

    def blame(self, threads):
        """Both blames as {role function: ms}, of what is not nothing."""
        return [
            {f"{role} {'/'.join(place[1:])}": round(1e3 * seconds) for (role, place), seconds in blame.items() if seconds > 1e-6}
            for blame in thread_truth.blame_of(self.ranks(), threads)
        ]


class Idleness(unittest.TestCase):
    def setUp(self):
        self.logs = Team(1)
        self.logs.begun(3)

    def end(self, begin):
        self.logs.at(0, begin, begin + 1, "MPI_Finalize", "main", "collective:1,0,0,0")

    def test_work_of_the_main_thread_alone(self):
        self.logs.at(0, 10, 20, "work", "main/assemble")
        self.end(20)
        self.assertEqual(self.logs.blame(3), [{"main assemble": 20, "main MPI_Finalize": 2}, {}])

    def test_threads_that_work_bear_equal_parts(self):
        self.logs.at(0, 10, 40, "region", "main/sweep")
        for thread, end in enumerate((20, 30, 40)):
            self.logs.at(thread, 10, end, "work", "main/sweep")
        self.end(40)
        # From 20 to 30 ms one idles beside two workers, from 30 on two beside one.
        self.assertEqual(self.logs.blame(3), [{"worker sweep": 30, "main MPI_Finalize": 2}, {}])

    def test_a_call_of_mpi_bears_what_nobody_who_works_does(self):
        self.logs.at(0, 10, 15, "MPI_Recv", "main/exchange", "receives:0,0,1,0,4")
        self.logs.at(0, 18, 20, "work", "main/assemble")
        self.end(20)
        expected = {"main exchange/MPI_Recv": 10, "main exchange/(between)": 6, "main assemble": 4, "main MPI_Finalize": 2}
        self.assertEqual(self.logs.blame(3), [expected, {}])

    def test_a_lock_is_its_holders(self):
        self.logs.at(0, 10, 25, "region", "main/gather")
        for thread, (asks, begin, end) in enumerate(((10, 10, 15), (11, 15, 20), (12, 20, 22))):
            self.logs.at(thread, asks, begin, "lock", "main/gather")
            self.logs.at(thread, begin, end, "hold", "main/gather")
            self.logs.at(thread, begin, end, "work", "main/gather")
        self.end(25)
        idleness, locks = self.logs.blame(3)
        self.assertEqual(locks, {"main gather": 4 + 3, "worker gather": 5})
        # One idles from 10 to 11 and to 12 ms, and who has given the lock back; from 22 ms on nobody works.
        self.assertEqual(idleness, {"main gather": 1 + 2, "worker gather": 5 + 4, "main MPI_Finalize": 2})


class Delay(unittest.TestCase):
    def test_a_region_is_as_short_as_its_longest_thread_without_the_cause(self):
        logs = Team(2)
        for rank, longest in enumerate((20, 50)):
            logs.begun(2, rank)
            logs.at(0, 10, 11, "MPI_Init", "main", "collective:0,0,0,0", rank=rank)
            logs.at(0, 11, longest, "region", "main/sweep", rank=rank)
            logs.at(0, 11, 20, "work", "main/sweep", rank=rank)
            logs.at(1, 11, 18, "work", "main/sweep", rank=rank)
            logs.at(0, longest, 51, "MPI_Barrier", "main", "collective:2,0,0,0", rank=rank)
            logs.at(0, 51, 52, "MPI_Finalize", "main", "collective:1,0,0,0", rank=rank)
        logs.at(1, 18, 50, "cause-0", "main/sweep", rank=1)
        replay = thread_truth.TeamReplay(logs.ranks())
        self.assertAlmostEqual(replay.waiting(), 0.030)
        self.assertAlmostEqual(replay.waiting(without=("cause-0",)), 0)
        self.assertAlmostEqual(replay.seconds() - replay.seconds(without=("cause-0",)), 0.030)
        self.assertEqual(replay.extra("cause-0"), [0, 0.032])


if __name__ == "__main__":
    unittest.main()
