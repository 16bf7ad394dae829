"""Where the system refuses what sampling needs, the summary line and the measurement say which call, which error and which
remedy, and do not take the program for too short."""

import errno
import shutil
import unittest

import harness

TIMER_CREATE = 222
TIMER_SETTIME = 223
RT_SIGACTION = 13
SPIN = harness.PROGRAMS / "spin"
REFUSE = harness.PROGRAMS / "refuse"


class RefusedTimers(harness.Workspace):
    def measure_with(self, prefix, program=(SPIN,), options=()):
        shutil.rmtree(self.here / "run", ignore_errors=True)
        return harness.run([*prefix, harness.HPCRUN, "-o", self.here / "run", *options, *program]).stderr

    def limited(self, *command):
        words = " ".join(str(word) for word in command)
        return harness.run(["bash", "-c", f"ulimit -i 0; exec {words}"]).stderr

    def test_no_signal_may_be_pending(self):
        stderr = self.limited(harness.HPCRUN, "-o", self.here / "run", SPIN)
        self.assert_one_line(stderr, "no samples: 1 thread got no timer", "timer_create: Resource temporarily", "ulimit -i")
        self.assertNotIn("too short", stderr)

    def test_a_filter_refuses_timers(self):
        for error, words in ((errno.EPERM, "not permitted"), (errno.ENOSYS, "not implemented")):
            stderr = self.measure_with([REFUSE, TIMER_CREATE, error])
            self.assert_one_line(stderr, "no samples: ", "timer_create: ", words, "seccomp")

    def test_a_filter_refuses_to_set_timers(self):
        for error, words in ((errno.EPERM, "not permitted"), (errno.ENOSYS, "not implemented")):
            stderr = self.measure_with([REFUSE, TIMER_SETTIME, error])
            self.assert_one_line(stderr, "no samples: 1 thread got no timer", "timer_settime: ", words, "seccomp")

    def test_a_filter_refuses_handlers(self):
        stderr = self.measure_with([REFUSE, RT_SIGACTION, errno.EPERM])
        self.assert_one_line(stderr, "no samples: rt_sigaction: Operation not permitted", "seccomp")

    def test_some_threads_get_none(self):
        stderr = self.measure_with([], (harness.PROGRAMS / "few_timers", "3"))
        self.assert_one_line(stderr, " samples, ", "; 3 threads got no timer (timer_create: ", "ulimit -i")
        harness.run([harness.PROF_MPI, self.here / "run"])
        info = harness.run([harness.VIEWER, self.here / "run.db", "info"]).stdout
        self.assertIn("REALTIME was not sampled in every thread: timer_create: Resource temporarily", info)
        self.assertIn("3 threads got no timer and were not sampled", info)

    def test_ranks_without_timers_are_no_short_ranks(self):
        for mpi in harness.LAUNCHERS:
            program = harness.PROGRAMS / f"mpi_exchange.{mpi}"
            run = self.here / f"run-{mpi}"
            limited = ["bash", "-c", f"ulimit -i 0; exec {harness.HPCRUN} -o {run} {program}"]
            stderr = harness.launch(mpi, 2, limited).stderr
            self.assertIn("no samples: 2 threads got no timer (timer_create: ", stderr)
            report = " ".join(harness.run([harness.VIEWER, run, "report"]).stdout.split())
            self.assertIn("Nothing was sampled: the system refused it: timer_create: Resource temporarily", report)
            self.assertIn("Note: REALTIME was not sampled in every thread: timer_create", report)
            for wrong in ("Too short", "of the run is waiting", "longer run"):
                self.assertNotIn(wrong, report)
            verdict = harness.viewer_json(run, "report")["verdict"]
            self.assertEqual(verdict["kind"], "too-short")
            self.assertIn("ulimit -i", verdict["text"])


if __name__ == "__main__":
    unittest.main()
