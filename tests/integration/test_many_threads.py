"""Threads that wait are not woken for samples, in whatever they wait, and none of their time is lost or laid on what they do
next: waiting_threads says how long each of its functions took by its own clock."""

import pathlib
import re
import resource
import subprocess
import sys
import unittest

import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import waiting_threads  # noqa: E402

PERIOD = 0.005
WAITS = ["sem", "cond", "read", "barrier", "mutex", "poll", "futex"]


class ManyThreads(harness.Workspace):
    def measured(self, kind, threads, seconds, *options):
        """What the program says it spent by function, what was measured, and `info`."""
        program = [harness.PROGRAMS / "waiting_threads", kind, threads, seconds]
        done = harness.run([harness.HPCRUN, "-o", self.here / "run", *options, *program])
        self.assertIn(f"{threads} of {threads} returned", done.stdout)
        spent = waiting_threads.spent(done.stdout)
        database = self.merge(self.here / "run")
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "REALTIME:sum (I)")
        found = waiting_threads.found(view["roots"], spent)
        return spent, found, harness.viewer_json(database, "info")

    def assert_spent(self, spent, found, threads, share=0.02):
        self.assertEqual(set(spent), set(found))
        for name, seconds in spent.items():
            self.assertAlmostEqual(found[name], seconds, delta=share * seconds + 2 * PERIOD * threads, msg=name)

    def test_no_thread_is_woken_while_it_waits(self):
        threads, seconds = 50 * len(WAITS), 3
        spent, found, info = self.measured("mixed", threads, seconds)
        self.assertEqual(len(spent), len(WAITS) + 1)
        self.assert_spent(spent, found, 50)
        # Each a few, until it is found to wait, and the one that works; woken at each tick they were 210 000.
        self.assertLess(info["samples"], 20 * threads + seconds / PERIOD)
        self.assertEqual(info["dropped"], 0)

    def test_threads_whose_wait_nobody_sees_end_are_left_asleep(self):
        """As libgomp's workers and Go's threads: what they use to fall asleep again is no sign that they run."""
        threads, seconds = 300, 4
        spent, found, info = self.measured("futex", threads, seconds)
        self.assert_spent(spent, found, threads)
        self.assertLess(info["samples"], 10 * threads + seconds / PERIOD)

    def test_who_waits_for_input_makes_nobody_idle(self):
        """Threads in read() of a pipe and in poll() wait outside of the process: what others idle is the doing of who works. Of
        system calls of the program's own it is not seen that they wait."""
        self.measured("mixed", 2 * len(WAITS), 2)
        view = harness.viewer_json(self.here / "run.db", "view", "calling-context", "--metrics", "idleness-caused:sum (I)")
        caused = waiting_threads.found(view["roots"], [f"waits_in_{wait}" for wait in WAITS] + ["works"], "idleness-caused:sum (I)")
        self.assertGreater(caused["works"], 0.3 * sum(caused.values()))
        for name in ("waits_in_read", "waits_in_poll"):
            self.assertLess(caused.get(name, 0), 0.05 * caused["works"], caused)

    def test_time_lines_have_the_same_waits(self):
        spent, found, info = self.measured("mixed", len(WAITS), 2, "--trace")
        self.assert_spent(spent, found, 1, share=0.05)
        # Woken at each tick they were 2 800.
        self.assertLess(info["samples"], 20 * len(WAITS) + 2 * 2 / PERIOD)

    def test_a_wait_is_not_laid_on_the_next_one(self):
        """Waits of which nobody sees the end, one after the other, without work between that a tick could meet."""
        spent, found, _ = self.measured("turns", 40, 3)
        self.assert_spent(spent, found, 40, share=0.05)

    def check_file_locks(self, kind):
        """A signal to one that waits for a file lock wakes all behind it."""
        threads = 300
        spent, found, info = self.measured(kind, threads, 1)
        self.assert_spent(spent, found, threads)
        # Woken at each tick they were 60 000.
        self.assertLess(info["samples"], 20 * threads + 1 / PERIOD)

    def test_flock(self):
        self.check_file_locks("flock")

    def test_fcntl(self):
        self.check_file_locks("fcntl")

    def test_threads_without_room_are_left_asleep_and_reported(self):
        """The file has room for some of the threads; the others, or all of a file that there is not, are not sampled."""
        threads, size = 300, 512 << 10
        for mapping in ("", "1"):
            run = self.here / f"run{mapping}"
            done = harness.run(
                [harness.HPCRUN, "-o", run, harness.PROGRAMS / "waiting_threads", "sem", threads, 2],
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
                env=dict(harness.ENVIRONMENT, CULPRIT_NO_SHARED_MAPPING=mapping),
            )
            self.assertRegex(done.stderr, r"; \d+ threads were not measured: no room \(a full disk, or more than 12288 ")
            # Each only until its first tick; woken at each tick they were 100 000.
            self.assertLess(int(re.search(r"(\d+) dropped", done.stderr).group(1)), 20 * threads)
            merged = harness.run([harness.PROF_MPI, run], expect=3)
            self.assertRegex(merged.stderr, r"\.culprit: \d+ threads were not measured: no room")

    def test_without_descriptors_threads_are_measured_and_left_asleep(self):
        threads = 300
        done = harness.run(
            [harness.HPCRUN, "-o", self.here / "run", harness.PROGRAMS / "waiting_threads", "without-descriptors", threads, 2],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)),
        )
        # Each until the flusher thread has made its part of the file; woken at each tick they were 100 000.
        self.assertLess(int(re.search(r"(\d+) dropped", done.stderr).group(1)), 20 * threads)
        self.assertNotIn("no room", done.stderr)
        info = harness.viewer_json(self.merge(self.here / "run"), "info")
        self.assertEqual(info["threads"], threads + 1)
        self.assertLess(info["samples"], 20 * threads + 2 / PERIOD)

    def test_no_room_for_any_thread_is_no_short_program(self):
        disk = self.here / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("this machine does not let root mount a tmpfs")
        self.addCleanup(subprocess.run, ["umount", disk])
        done = harness.run([harness.HPCRUN, "-o", disk / "run", harness.PROGRAMS / "spin", "0.5"])
        self.assertIn("no samples: 1 thread was not measured: no room (a full disk", done.stderr)

    def test_ten_thousand_threads(self):
        spent, found, info = self.measured("mixed", 10_000, 2)
        # Of threads whose first sample was their last, some share a tree.
        self.assertGreater(info["threads"], 9000)
        self.assert_spent(spent, found, 10_000 / len(WAITS))


if __name__ == "__main__":
    unittest.main()
