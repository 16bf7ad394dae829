"""Waits that are broken into (by a stop of sampling, a vfork, a jump, a handler of the program's, the end of the process) are
charged to where they were, and take nothing from the program."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import waiting_threads  # noqa: E402


def command(directory, mode):
    return [str(word) for word in (harness.HPCRUN, "-q", "-o", directory, harness.PROGRAMS / "broken_waits", mode)]


class BrokenWaits(harness.Workspace):
    @classmethod
    def setUpClass(cls):
        """These hardly compute: they are measured at the same time."""
        directory = tempfile.TemporaryDirectory(prefix="culprit-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.measured = pathlib.Path(directory.name)
        running = {
            mode: subprocess.Popen(
                command(cls.measured / mode, mode), env=harness.ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for mode in ("stop", "jump", "handler", "alternate", "vfork")
        }
        cls.done = {mode: (*process.communicate(timeout=240), process.returncode) for mode, process in running.items()}

    def check(self, mode):
        printed, errors, status = self.done[mode]
        self.assertEqual(status, 0, errors)
        return self.compare(self.measured / mode, printed)

    def compare(self, directory, printed):
        spent = waiting_threads.spent(printed)
        self.assertGreater(len(spent), 0)
        database = self.merge(directory)
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "REALTIME:sum (I),idleness:sum (I)")
        found = waiting_threads.found(view["roots"], spent)
        # What a handler does in the middle of a wait lies below it.
        below = {name: waiting_threads.found(view["roots"], [name]).get(name, 0) for name in spent}
        for name, seconds in spent.items():
            self.assertAlmostEqual(found.get(name, below[name]), seconds, delta=0.05 + 0.07 * seconds, msg=name)
        return view["roots"], spent

    def test_a_stop_of_sampling(self):
        self.check("stop")

    def test_a_child_that_shares_memory(self):
        self.check("vfork")

    def test_a_jump_out_of_a_wait(self):
        self.check("jump")

    def test_a_handler_that_waits_in_a_wait(self):
        roots, spent = self.check("handler")
        idle = waiting_threads.found(roots, ["waits_in_sem"], "idleness:sum (I)")["waits_in_sem"]
        # All but what the handler does in 80 ms, or longer.
        self.assertLess(idle, spent["waits_in_sem"] - 0.03)
        self.assertGreater(idle, spent["waits_in_sem"] - 0.4)

    def test_a_handler_that_waits_on_a_stack_of_its_own(self):
        roots, spent = self.check("alternate")
        idle = waiting_threads.found(roots, ["waits_in_sem"], "idleness:sum (I)")["waits_in_sem"]
        # All but what the handler does in 20 ms, or longer.
        self.assertGreater(idle, 0.9 * spent["waits_in_sem"])

    def test_the_end_of_the_process(self):
        run = self.here / "run"
        self.compare(run, harness.run(command(run, "exit")).stdout)

    def test_timers_are_left_to_the_program(self):
        limited = ["sh", "-c", 'ulimit -i 100; exec "$@"', "sh", harness.HPCRUN, "-q", "-o", self.here / "run"]
        done = harness.run([*limited, harness.PROGRAMS / "broken_waits", "timers"])
        self.assertIn("20 of 20 timers", done.stdout)

    def test_threads_that_end_leave_their_memory_to_others(self):
        grown = int(re.search(r"grew by (-?\d+) kB", harness.run(command(self.here / "run", "churn")).stdout).group(1))
        self.assertLess(grown, 4096)


if __name__ == "__main__":
    unittest.main()
