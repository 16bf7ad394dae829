"""What sampling may cost is bounded: a handler that takes too long is called less often, a thread's memory ends at its
limit. Neither loses time, and both are reported."""

import shutil
import unittest

import harness


class BoundedCost(harness.Workspace):
    def measured(self, seconds, *events, **settings):
        """Measures some seconds of CPU time of a program without MPI; returns `info`."""
        info, printed = self.measure([harness.PROGRAMS / "many_paths", seconds], *events, **settings)
        self.assertEqual(printed, "done\n")
        return info

    def measure(self, program, *events, **settings):
        """Returns `info`, and what the program prints."""
        directory = self.here / "run"
        shutil.rmtree(directory, ignore_errors=True)
        options = [word for event in events for word in ("-e", event)]
        done = harness.run(
            [harness.HPCRUN, "-q", "-o", directory, *options, *program], env=dict(harness.ENVIRONMENT, **settings)
        )
        merged = harness.run([harness.PROF_MPI, "--force", directory])
        self.database = self.here / "run.db"
        info = harness.run([harness.VIEWER, self.database, "info"])
        report = harness.run([harness.VIEWER, self.database, "report"])
        self.reported = [" ".join(text.split()) for text in (merged.stderr, info.stdout, report.stdout)]
        return harness.viewer_json(self.database, "info"), done.stdout

    def charged(self, event):
        view = harness.viewer_json(self.database, "view", "calling-context", "--metrics", f"{event}:sum (I)")
        return sum(root["values"][f"{event}:sum (I)"] for root in view["roots"])

    def assert_time_kept(self, info):
        """The time of the only thread, but for its last period and what the process does before it begins and after its end: on
        a machine that pages slowly some tenths of a second."""
        charged = self.charged("REALTIME")
        self.assertLessEqual(charged, info["duration_s"] + info["slowest_period_s"])
        self.assertGreater(charged, info["duration_s"] * 0.75 - info["slowest_period_s"])

    def assert_told(self, sentence):
        for text in self.reported:
            self.assertRegex(text, sentence)

    def test_too_costly_a_handler_is_called_less_often(self):
        # Each run of the handler pretends to have taken a second more.
        info = self.measured(3, "REALTIME@f10000", CULPRIT_ADDED_COST="1000000000")
        self.assertEqual(info["slowed_threads"], 1)
        self.assertIn(info["slowest_period_s"], [1e-4 * 2**times for times in range(1, 10)])
        self.assert_time_kept(info)
        self.assert_told("sampling cost more than it may .*: 1 threads? (was|were) sampled more slowly")

    def test_so_is_one_without_realtime(self):
        # The brake decides after 272 signals. A program that shares its processor gets fewer in the same CPU time.
        for seconds in (3, 12, 48):
            info = self.measured(seconds, "none", "CPUTIME@1000", CULPRIT_ADDED_COST="1000000000")
            if info["samples"] >= 300 or info["slowed_threads"] > 0:
                break
        self.assertEqual(info["slowed_threads"], 1)
        # What it computes, but for its last period (1 ms, doubled up to nine times; info knows that of REALTIME alone), and what
        # loading it and the machine's interrupts take.
        self.assertGreater(self.charged("CPUTIME"), seconds * 0.8 - 1e-3 * 2**9)
        self.assertLess(self.charged("CPUTIME"), seconds * 1.5)
        self.assert_told("sampling cost more than it may .*: 1 threads? (was|were) sampled more slowly")

    def test_signals_of_a_kernel_event_come_less_often(self):
        """Each handler pretends to have taken a second more: soon, only every 64th fault brings a signal. All are counted."""
        program = [harness.PROGRAMS / "events", 1]
        info, printed = self.measure(program, "none", "perf::PAGE-FAULTS@1", CULPRIT_ADDED_COST="1000000000")
        faults = int(printed.split()[1])
        self.assertGreaterEqual(info["slowed_threads"], 1)
        self.assertGreater(self.charged("perf::PAGE-FAULTS"), faults * 0.9)
        self.assertLess(self.charged("perf::PAGE-FAULTS"), faults * 1.05)
        self.assertLess(info["samples"] * info["sampling_us"] * 1e-6, faults / 4)  # a second for each signal
        self.assert_told("sampling cost more than it may .*: [1-9] threads? (was|were) sampled more slowly")

    def test_threads_that_wait_in_short_turns_are_braked_together(self):
        """Each run of the handler pretends to take 1.5 ms more: 20 threads that nap for 20 ms would take one and a half
        processors, each of them less than a tenth of its time."""
        program = [harness.PROGRAMS / "waiting_threads", "naps", 20, 4]
        environment = dict(harness.ENVIRONMENT, CULPRIT_ADDED_COST="1500000")
        harness.run([harness.HPCRUN, "-q", "-o", self.here / "run", *program], env=environment)
        info = harness.viewer_json(self.merge(self.here / "run"), "info")
        self.assertGreaterEqual(info["slowed_threads"], 20)
        self.assertGreater(info["slowest_period_s"], 0.02)

    def test_the_brake_goes_further_than_a_thread_would(self):
        """Where thousands of threads cost too much, a 64th of the rate may still be too much."""
        program = [harness.PROGRAMS / "waiting_threads", "naps", 20, 4]
        environment = dict(harness.ENVIRONMENT, CULPRIT_ADDED_COST="100000000")
        harness.run([harness.HPCRUN, "-q", "-e", "REALTIME@f2000", "-o", self.here / "run", *program], env=environment)
        info = harness.viewer_json(self.merge(self.here / "run"), "info")
        self.assertGreater(info["slowest_period_s"], 64 / 2000)

    def test_the_share_is_of_a_processor_not_of_the_little_that_a_waiting_program_computes(self):
        """Threads that only wait use hardly any CPU time besides what their samples cost: that is no reason to sample
        more slowly."""
        harness.run([harness.HPCRUN, "-q", "-o", self.here / "run", harness.PROGRAMS / "waiting_threads", "sem", 100, 2, 0])
        report = harness.run([harness.VIEWER, self.merge(self.here / "run"), "report"]).stdout
        self.assertNotIn("sample more slowly", report)

    def test_an_ordinary_handler_is_left_alone(self):
        # Some virtual machines take 50 us for a signal: at 1 000 Hz that would be too costly.
        info = self.measured(2, "REALTIME@f200")
        self.assertEqual(info["slowed_threads"], 0)
        self.assertEqual(info["slowest_period_s"], 5e-3)
        self.assertGreater(info["sampling_us"], 0)
        self.assert_time_kept(info)
        self.assertRegex(self.reported[1], r"sampling [\d ]+ samples, [\d.]+ µs each: .*% of the CPU time")

    def test_memory_of_a_thread_ends_at_its_limit(self):
        info = self.measured(2, "REALTIME@f2000", CULPRIT_TREE_BYTES="131072")
        self.assertGreater(info["full"], 0)
        self.assertLess(info["full"], info["samples"])
        self.assertEqual(info["dropped"], 0)
        self.assert_time_kept(info)
        self.assert_told("samples had no room for their call path and are shown at a caller")


if __name__ == "__main__":
    unittest.main()
