"""Events beside the clocks, from the kernel to every view: each is found in the function that causes it.

Kernel events run everywhere. PAPI's run on its real library: where the machine has no hardware counters, a preloaded
stand-in makes the kernel count processor time in their place.
"""

import os
import pathlib
import unittest

import harness

PROGRAM = harness.PROGRAMS / "events"
STAND_IN = harness.PROGRAMS / "perf_stand_in.so"
PAGES, SHARED_PAGES = 20000, 2000  # touched by the program
SECONDS = 0.5  # computed by it

WITH_STAND_IN = dict(
    harness.ENVIRONMENT, LD_PRELOAD=str(STAND_IN), LIBPFM_ENCODE_INACTIVE="1", LIBPFM_FORCE_PMU="skl"
)
WITHOUT_COUNTERS = dict(harness.ENVIRONMENT)
for variable in ("LIBPFM_ENCODE_INACTIVE", "LIBPFM_FORCE_PMU"):
    WITHOUT_COUNTERS.pop(variable, None)


def paranoid():
    return int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())


def may_count_in_kernel():
    return os.geteuid() == 0 or paranoid() <= 1


def papi_installed():
    return any(pathlib.Path("/usr/lib").glob("*/libpapi.so*"))


def listed(environment):
    return harness.run([harness.HPCRUN, "--list-events"], env=environment).stdout


class Measuring(harness.Workspace):
    def measure_events(self, *events, environment=None, program=(PROGRAM,), name="run"):
        """Measures the program with these events; returns the database and what the program printed."""
        directory = self.here / name
        options = [word for event in events for word in ("-e", event)]
        done = harness.run(
            [harness.HPCRUN, "-o", directory, *options, *program],
            env=environment or harness.ENVIRONMENT,
            cwd=self.here,
        )
        return self.merge(directory), done.stdout

    def by_procedure(self, database, metric):
        """The largest inclusive value of a metric under each procedure name, the total, and the unit."""
        title = f"{metric}:sum (I)"
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", title)
        values = {}
        for node in harness.walk(view["roots"]):
            if node["frame"]["kind"] in ("procedure", "inlined"):
                name = node["frame"]["name"]
                values[name] = max(values.get(name, 0), node["values"][title])
        return values, sum(root["values"][title] for root in view["roots"]), view["units"][title]

    def value_in(self, values, part):
        """That of the procedure whose name holds `part`; 0 without one."""
        return max((value for name, value in values.items() if part in name), default=0)


class KernelEvents(Measuring):
    def test_page_faults_are_found_where_memory_is_first_touched(self):
        database, printed = self.measure_events("perf::PAGE-FAULTS@10")
        values, total, unit = self.by_procedure(database, "perf::PAGE-FAULTS")
        touched = self.value_in(values, "touch_fresh_memory")
        self.assertEqual(unit, "count")
        self.assertGreater(touched, 0.9 * PAGES)
        self.assertLess(touched, 1.05 * PAGES)
        # No event is counted twice: the program's own account is the upper bound.
        self.assertLessEqual(total, 1.05 * int(printed.split()[1]))

    def test_a_signal_for_every_page_fault_neither_keeps_it_from_being_served_nor_counts_it_twice(self):
        """Of shared memory, the kernel gives a fault up for a signal, and begins it again after it."""
        database, printed = self.measure_events("perf::PAGE-FAULTS@1")
        values, total, _ = self.by_procedure(database, "perf::PAGE-FAULTS")
        shared = self.value_in(values, "touch_shared_memory")
        self.assertGreater(shared, 0.9 * SHARED_PAGES)
        self.assertLess(shared, 1.05 * SHARED_PAGES)
        self.assertGreater(self.value_in(values, "touch_fresh_memory"), 0.9 * PAGES)
        self.assertLessEqual(total, 1.05 * int(printed.split()[1]))

    def test_processor_time_is_found_where_it_is_spent(self):
        database, printed = self.measure_events("perf::TASK-CLOCK@1000", "CPUTIME")
        values, total, unit = self.by_procedure(database, "perf::TASK-CLOCK")
        self.assertEqual(unit, "s")
        self.assertGreater(self.value_in(values, "spin"), 0.9 * SECONDS)
        self.assertLess(total, 1.5 * float(printed.split()[5]) + 0.5)

    @unittest.skipUnless(may_count_in_kernel(), "the kernel lets only root count context switches here")
    def test_context_switches_are_found_where_the_thread_waits_and_end(self):
        """With a signal for every switch, a wait that restarts after signals would never end, had nobody seen to it."""
        database, _ = self.measure_events("perf::CONTEXT-SWITCHES@1")
        values, total, _ = self.by_procedure(database, "perf::CONTEXT-SWITCHES")
        waits = self.value_in(values, "wait_often")
        self.assertGreater(waits, 100)
        self.assertLess(self.value_in(values, "touch_fresh_memory"), waits)
        self.assertLessEqual(waits, total)

    def test_a_frequency_lets_the_kernel_choose_the_period(self):
        """Each sample weighs as many events as happened since the one before; only those after the last are missing:
        on a machine that touches millions of pages a second, ten thousand."""
        times = 2
        database, printed = self.measure_events("perf::PAGE-FAULTS@f200", program=(PROGRAM, times))
        values, total, _ = self.by_procedure(database, "perf::PAGE-FAULTS")
        self.assertGreater(self.value_in(values, "touch_fresh_memory"), 0.5 * times * PAGES)
        self.assertLessEqual(total, 1.05 * int(printed.split()[1]))

    def test_events_without_a_clock(self):
        database, _ = self.measure_events("none", "perf::PAGE-FAULTS@10")
        path = harness.viewer_json(database, "hot-path")
        self.assertEqual(path["metric"], "perf::PAGE-FAULTS:sum (I)")
        self.assertTrue(any("touch_fresh_memory" in step["frame"]["name"] for step in path["path"]))

    def test_every_view_shows_every_event(self):
        database, _ = self.measure_events("perf::PAGE-FAULTS@10", "perf::TASK-CLOCK@1000")
        for view in ("calling-context", "callers", "flat"):
            shown = harness.viewer_json(database, "view", view, "--metrics", "perf::PAGE-FAULTS,perf::TASK-CLOCK:max (E)")
            best = max(
                (node["values"]["perf::PAGE-FAULTS:sum (I)"], node["frame"]["name"])
                for node in harness.walk(shown["roots"])
                if "touch_fresh_memory" in node["frame"]["name"]
            )
            self.assertGreater(best[0], 0.9 * PAGES, view)
        threads = harness.viewer_json(database, "threads", "main", "--metric", "perf::PAGE-FAULTS")
        self.assertGreater(max(value["value"] for value in threads["values"]), 0.9 * PAGES)
        self.assertEqual(threads["unit"], "count")
        collapsed = harness.run([harness.VIEWER, database, "export", "collapsed", "--metric", "perf::PAGE-FAULTS"]).stdout
        self.assertGreater(sum(int(line.rsplit(" ", 1)[1]) for line in collapsed.splitlines()), 0.9 * PAGES)
        derived = harness.viewer_json(
            database, "view", "flat", "--derive", "faults_per_s=$perf::PAGE-FAULTS/$REALTIME",
            "--metrics", "faults_per_s,REALTIME,perf::PAGE-FAULTS", "--sort", "faults_per_s",
        )  # fmt: skip
        for node in harness.walk(derived["roots"]):
            values = node["values"]
            if values["REALTIME:sum (I)"]:
                expected = values["perf::PAGE-FAULTS:sum (I)"] / values["REALTIME:sum (I)"]
                self.assertAlmostEqual(values["faults_per_s"], expected, delta=1e-9 * expected)

    def test_processes_that_fork_and_exec_keep_their_events_to_themselves(self):
        """A signal still on its way at an exec would kill the new program: it has no handler for it."""
        script = "import os\nfor i in range(40):\n  assert os.spawnv(os.P_WAIT, '/bin/true', ['true']) == 0"
        database, _ = self.measure_events(
            "perf::PAGE-FAULTS@1", "perf::TASK-CLOCK@100", program=("python3", "-c", script)
        )
        self.assertEqual(harness.viewer_json(database, "info")["cut_short"], 0)

    def test_a_full_queue_of_signals_does_not_end_the_program(self):
        command = f"ulimit -i 0; exec {harness.HPCRUN} -o {self.here}/run -e none -e perf::PAGE-FAULTS@10 {PROGRAM}"
        self.assertIn("faults", harness.run(["sh", "-c", command]).stdout)

    def test_descriptors_stay_the_programs_and_what_lacks_them_is_noted(self):
        command = f"ulimit -n 24; exec {harness.HPCRUN} -o {self.here}/run"
        events = " ".join(f"-e perf::{name}" for name in ("PAGE-FAULTS", "MINOR-FAULTS", "TASK-CLOCK", "CPU-CLOCK"))
        harness.run(["sh", "-c", f"{command} {events} {PROGRAM}"])
        info = harness.viewer_json(self.merge(self.here / "run"), "info")
        self.assertTrue(any("was not sampled in every thread: Too many open files" in note for note in info["notes"]))

    @unittest.skipUnless(os.geteuid() == 0 and paranoid() == 2, "needs root, and perf_event_paranoid at 2")
    def test_what_the_kernel_refuses_is_told_before_the_program_starts(self):
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        command = [*as_nobody, harness.HPCRUN, "-o", "/dev/null/none", "-e", "perf::CONTEXT-SWITCHES", "echo", "ran"]
        done = harness.run(command, expect=1)
        self.assertEqual(done.stdout, "")
        self.assert_one_line(
            done.stderr,
            "hpcrun-lite: event: perf::CONTEXT-SWITCHES: /proc/sys/kernel/perf_event_paranoid: set to 2",
            "sudo sysctl kernel.perf_event_paranoid=1",
        )

    def test_the_list_names_what_works_and_why_the_rest_does_not(self):
        text = listed(WITHOUT_COUNTERS)
        for name in ("REALTIME", "CPUTIME", "perf::TASK-CLOCK", "perf::PAGE-FAULTS"):
            self.assertIn(name, text)
        self.assertTrue("PAPI_TOT_CYC" in text or "none here: " in text, text)


@unittest.skipUnless(papi_installed(), "PAPI is not installed")
class PapiEvents(Measuring):
    def environment(self):
        return WITHOUT_COUNTERS if "PAPI_TOT_CYC " in listed(WITHOUT_COUNTERS) else WITH_STAND_IN

    def test_papi_events_are_found_where_they_happen_each_in_its_metric(self):
        environment = self.environment()
        database, printed = self.measure_events(
            "PAPI_TOT_CYC@1000000", "PAPI_TOT_INS@2000000", "perf::PAGE-FAULTS@10", environment=environment
        )
        # How long the other parts take, the machine says: some take microseconds for the first touch of a page, some ten.
        share = SECONDS / float(printed.split()[5])
        for metric in ("PAPI_TOT_CYC", "PAPI_TOT_INS"):
            values, total, unit = self.by_procedure(database, metric)
            self.assertEqual(unit, "count")
            self.assertGreater(total, 100_000_000)
            self.assertGreater(self.value_in(values, "spin"), 0.6 * share * total)
        values, _, _ = self.by_procedure(database, "perf::PAGE-FAULTS")
        self.assertGreater(self.value_in(values, "touch_fresh_memory"), 0.9 * PAGES)

    def test_threads_forks_and_the_programs_own_signals(self):
        program = harness.PROGRAMS / "event_churn"
        unmeasured = harness.run([program]).stdout
        database, printed = self.measure_events(
            "PAPI_TOT_CYC@1000000", "perf::PAGE-FAULTS@1", environment=self.environment(), program=(program,)
        )
        self.assertEqual(printed, unmeasured)
        info = harness.viewer_json(database, "info")
        self.assertEqual(info["cut_short"], 0)
        # Children have their own counters: their work is found in them.
        values, _, _ = self.by_procedure(database, "PAPI_TOT_CYC")
        self.assertGreater(self.value_in(values, "work_in_child"), 10_000_000)

    def test_papi_is_not_loaded_for_other_events(self):
        program = ("grep", "-c", "libpapi", "/proc/self/maps")
        directory = self.here / "without"
        done = harness.run([harness.HPCRUN, "-o", directory, "-e", "perf::PAGE-FAULTS", *program], expect=1)
        self.assertEqual(done.stdout, "0\n")
        done = harness.run(
            [harness.HPCRUN, "-o", self.here / "with", "-e", "PAPI_TOT_CYC", *program], env=self.environment()
        )
        self.assertGreater(int(done.stdout), 0)

    def test_refusals_name_the_event_and_the_reason(self):
        environment = self.environment()
        for event in ("NO_SUCH_EVENT", "perf::NO-SUCH-EVENT"):
            done = harness.run([harness.HPCRUN, "-e", event, "echo", "ran"], env=environment, expect=1)
            self.assert_one_line(done.stderr, f"hpcrun-lite: event: {event}: no such event")
            self.assertEqual(done.stdout, "")
        done = harness.run([harness.HPCRUN, "-e", "PAPI_TOT_CYC@f100", "true"], env=environment, expect=2)
        self.assert_one_line(done.stderr, "PAPI_TOT_CYC@f100", "by count")
        if environment is WITH_STAND_IN:
            done = harness.run([harness.HPCRUN, "-e", "PAPI_TOT_CYC", "true"], env=WITHOUT_COUNTERS, expect=1)
            self.assert_one_line(done.stderr, "hpcrun-lite: event: PAPI_TOT_CYC: ")
            # Whether PAPI knows the processor, whose counters the host does not pass on, is another matter.
            self.assertRegex(done.stderr, "(PAPI has no counters|the kernel offers no such counter) here: ")


if __name__ == "__main__":
    unittest.main()
