"""The map of code from near, in a real terminal: single MPI calls of a traced run, with whom they exchanged what and for whom
they waited, as the program's log has it."""

import re
import shutil
import tempfile
import unittest

import harness
from terminal import Terminal

DELAY = 60  # ms
STATUS = re.compile(r"rank (?P<rank>\d+), at (?P<at>[\d.]+) s: (?P<call>\w+), (?P<long>[\d.]+) [mµn]s(?P<rest>.*)")
FOR = re.compile(r"; waits (?P<ms>[\d.]+) ms for rank (?P<rank>\d+) \((?P<pattern>[\w-]+)\)")


class SingleCalls(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(dir="/tmp", prefix="calls.")  # sockets need short paths
        self.addCleanup(shutil.rmtree, self.folder, True)

    def open(self, database):
        """The map of code."""
        terminal = Terminal(self.folder, f"{harness.VIEWER} {database}; echo ended $?; sleep 1000", 160, 40)
        self.addCleanup(terminal.close)
        terminal.wait_for("1 Start", "FROM THE TIME LINES")
        terminal.keys("7", "m")
        terminal.wait_for("Over time")
        terminal.keys("c", "o", "d", "e", "Enter")
        terminal.wait_for("Where each rank spent most of its time")
        return terminal

    def come_near(self, terminal):
        """At the end of the cursor's rank, no nearer than single calls need."""
        terminal.keys("End")
        for _ in range(12):
            if "whom it waited for" in terminal.settled(0.1):
                return
            terminal.keys("+")
        self.fail(terminal.capture())

    def status(self, terminal):
        return STATUS.search(terminal.settled())

    def measure_waits(self, mpi):
        logs = self.here / "logs"
        logs.mkdir()
        program = harness.PROGRAMS / f"truth_point_to_point.{mpi}"
        return self.merge(self.measure(mpi, 2, program, logs, 2, DELAY, options=("--trace",)))

    def check_calls(self, mpi):
        terminal = self.open(self.measure_waits(mpi))
        self.come_near(terminal)
        terminal.wait_for("What each rank did, call by call")
        for _ in range(100):
            if "(late-receiver)" in terminal.settled(0.1):
                break
            terminal.keys("Left")
        found = self.status(terminal)
        waits = found and FOR.search(found["rest"])
        self.assertTrue(waits, terminal.capture())
        # It waited as long as its partner slept, and no longer than it took.
        self.assertRegex(found["call"], "MPI_(Send|Ssend|Wait)")
        self.assertGreater(float(waits["ms"]), DELAY / 2)
        self.assertLessEqual(float(waits["ms"]), float(found["long"]))
        self.assertIn(f"with rank {waits['rank']}", found["rest"])
        self.assertEqual({found["rank"], waits["rank"]}, {"0", "1"})
        terminal.keys("p")
        there = self.status(terminal)
        self.assertEqual(there["rank"], waits["rank"])
        self.assertRegex(there["call"], "MPI_(Recv|Irecv|Mrecv|Probe)")
        # A line to who waited, or in the same cell the message that came with the wait's end.
        drawn = [line for line in terminal.capture().splitlines() if "message" not in line and ("▲" in line or "▼" in line)]
        self.assertTrue(drawn, terminal.capture())
        terminal.keys("0")  # the whole run again
        terminal.wait_for("Where each rank spent most of its time")
        terminal.keys("q")
        terminal.wait_for("ended 0")

    def test_openmpi(self):
        self.check_calls("openmpi")

    def test_mpich(self):
        self.check_calls("mpich")

    def test_without_the_measurement(self):
        database = self.measure_waits("openmpi")
        database.with_suffix("").rename(self.here / "elsewhere")
        terminal = self.open(database)
        self.come_near(terminal)
        terminal.wait_for("single calls: ", "give that instead")
        terminal.keys("q")
        terminal.wait_for("ended 0")


if __name__ == "__main__":
    unittest.main()
