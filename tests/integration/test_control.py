"""Measuring a part of a run: what runs while sampling is stopped has no samples, the time that is charged is the time
for which sampling went on, and of ranks that are not wanted nothing is kept."""

import unittest

import harness

# A period at either end; and the host may take the processor for longer, also where the program reads its clock.
SLACK_S = 0.04


def called(node):
    """The procedure's name: as C++, views give it with its parameter list, as C (pcontrol) without."""
    return node["frame"]["name"].partition("(")[0]


def time_below(view, name):
    """Inclusive seconds of the outermost frames called `name`, over all threads."""

    def sum_of(nodes):
        total = 0
        for node in nodes:
            if called(node) == name:
                total += node["values"].get("REALTIME:sum (I)", 0)
            else:
                total += sum_of(node["children"])
        return total

    return sum_of(view["roots"])


class Control(harness.Workspace):
    def measured(self, mode, *options, level="O2", expect=0):
        """The program's two numbers in seconds, the view of its measurement, and what hpcrun-lite said."""
        directory = self.here / f"run-{mode}"
        program = harness.PROGRAMS / f"control_{level}"
        done = harness.run([harness.HPCRUN, "-o", directory, *options, program, mode], expect=expect)
        at_least, at_most = (int(word) / 1e9 for word in done.stdout.split()[-2:])
        database = self.merge(directory, expect=None)
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "REALTIME:sum (I)")
        return at_least, at_most, view, done.stderr

    def assert_only_inside(self, view):
        self.assertGreater(time_below(view, "work_inside"), 0)
        self.assertEqual(time_below(view, "work_outside"), 0)

    def assert_conserved(self, view, name, at_least, at_most):
        self.assertGreaterEqual(time_below(view, name), at_least - SLACK_S)
        self.assertLessEqual(time_below(view, name), at_most + SLACK_S)

    def test_sections_without_optimization(self):
        at_least, at_most, view, _ = self.measured("sections", "--delay", level="O0")
        self.assert_only_inside(view)
        self.assert_conserved(view, "main", at_least, at_most)

    def test_sections_stopped_from_the_start_by_the_program(self):
        at_least, at_most, view, _ = self.measured("sections")
        self.assert_only_inside(view)
        self.assert_conserved(view, "measured_work", at_least, at_most)

    def test_threads_old_and_new(self):
        _, _, view, _ = self.measured("threads", "--delay")
        self.assert_only_inside(view)

    def test_all_events_stop(self):
        directory = self.here / "run"
        program = harness.PROGRAMS / "control_O2"
        events = ["-e", "none", "-e", "CPUTIME@1000", "-e", "perf::TASK-CLOCK@1000"]
        harness.run([harness.HPCRUN, "-o", directory, "--delay", *events, program, "threads"])
        view = harness.viewer_json(self.merge(directory), "view", "calling-context")
        names = {called(node) for node in harness.walk(view["roots"])}
        self.assertIn("work_inside", names)
        self.assertNotIn("work_outside", names)

    def test_a_blocked_call_is_cut_at_the_border(self):
        at_least, at_most, view, _ = self.measured("blocked")
        self.assert_conserved(view, "poll", at_least, at_most)
        self.assertEqual(time_below(view, "work_outside"), 0)

    def test_a_killed_process_is_not_charged_for_what_came_after_the_stop(self):
        at_least, at_most, view, _ = self.measured("killed", expect=-9)
        self.assert_conserved(view, "poll", at_least, at_most)

    def test_from_signal_handlers_and_threads_at_once(self):
        _, _, view, _ = self.measured("storm", "--delay")
        self.assertGreater(time_below(view, "work_inside"), 0)

    def test_a_child_goes_on_as_its_parent_was(self):
        _, _, view, _ = self.measured("forks", "--delay")
        self.assert_only_inside(view)

    def test_never_started(self):
        directory = self.here / "run"
        done = harness.run([harness.HPCRUN, "-o", directory, "--delay", harness.PROGRAMS / "control_O2", "never"])
        self.assert_one_line(done.stderr, "no samples", "--delay", "culprit_start()")
        self.assertEqual(list(directory.rglob("*.culprit")), [])

    def test_unmeasured(self):
        harness.run([harness.PROGRAMS / "control_O0", "sections"])

    def test_lists_of_ranks_that_are_none(self):
        for ranks in ("a", "3-1", "1,,2", "1-", ",", "99999999999", "1" * 2000):
            done = harness.run([harness.HPCRUN, "-o", self.here / "run", "--ranks", ranks, "true"], expect=2)
            self.assert_one_line(done.stderr, "ranks:")

    def check_pcontrol(self, mpi):
        directory = self.measure(mpi, 2, harness.PROGRAMS / f"pcontrol.{mpi}", options=["--delay"])
        view = harness.viewer_json(self.merge(directory), "view", "calling-context", "--metrics", "REALTIME:sum (I)")
        self.assert_only_inside(view)

    def critical_path_of_requests(self, mpi, *options):
        """Of persistent requests that were made before MPI_Pcontrol(1)."""
        directory = self.measure(mpi, 2, harness.PROGRAMS / f"late_requests.{mpi}", *options, options=["--delay", "--trace"])
        return " ".join(harness.run([harness.VIEWER, self.merge(directory), "critical-path"]).stdout.split())

    def check_late_requests(self, mpi):
        self.assertNotIn("partitioned", self.critical_path_of_requests(mpi))

    def test_partitioned_messages_say_so(self):
        self.assertIn("Waits for partitioned messages (MPI_Psend_init) are not matched",
                      self.critical_path_of_requests("mpich", "partitioned"))

    def check_forwarding(self, mpi):
        program = harness.PROGRAMS / f"pcontrol.{mpi}"
        preload = ["env", f"LD_PRELOAD={harness.PROGRAMS / f'pcontrol_tool.{mpi}'}"]
        plain = harness.launch(mpi, 1, [*preload, program]).stdout
        self.assertIn("PI_Pcontrol 7 42 2.5 text 12.0\n", plain)
        measured = harness.launch(mpi, 1, [*preload, harness.HPCRUN, "-o", self.here / "run", program]).stdout
        self.assertEqual(measured, plain)

    def check_ranks(self, mpi):
        directory = self.here / "run"
        program = harness.PROGRAMS / f"pcontrol.{mpi}"
        done = harness.launch(mpi, 3, [harness.HPCRUN, "-o", directory, "--ranks", "0,2-9", program])
        self.assert_one_line(done.stderr, "on 2 of 3 ranks")
        files = sorted(path.name[:11] for path in directory.rglob("*.culprit"))
        self.assertEqual(files, ["rank-000000", "rank-000002"])
        merged = harness.run([harness.PROF_MPI, directory]).stdout
        self.assertIn("only ranks 0, 2 of 3 were measured", merged)
        one = self.measure(mpi, 2, program, name="one", options=("--ranks", "1"))
        self.assertIn("only rank 1 of 2 was measured", harness.run([harness.PROF_MPI, one]).stdout)
        self.assertEqual(harness.viewer_json(f"{directory}.db", "info")["ranks"], 2)

    def check_no_rank(self, mpi):
        directory = self.here / "run"
        program = harness.PROGRAMS / f"pcontrol.{mpi}"
        environment = dict(harness.ENVIRONMENT, CULPRIT_RANKS="7-9")
        done = harness.launch(mpi, 2, [harness.HPCRUN, "-o", directory, program], env=environment)
        self.assert_one_line(done.stderr, "no samples", "--ranks names none of the 2 ranks")
        self.assertEqual(list(directory.rglob("*.culprit*")), [])


for mpi in harness.LAUNCHERS:
    for check in ("pcontrol", "late_requests", "forwarding", "ranks", "no_rank"):
        setattr(
            Control, f"test_{check}_{mpi}", lambda self, mpi=mpi, check=check: getattr(self, f"check_{check}")(mpi)
        )

if __name__ == "__main__":
    unittest.main()
