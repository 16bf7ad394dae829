"""Programs whose teams, tasks and locks are followed behave as they do when they are not: they fork and end in the middle of a
team, are cancelled and jump out of waits, nest teams and tasks, and load libraries that bring their own OpenMP. What is
counted adds up all the same."""

import pathlib
import subprocess
import unittest

import harness


class Teams(harness.Workspace):
    def run_both(self, *command):
        """Not measured, and measured: the same output and exit status. Returns the measurement."""
        alone = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, env=harness.ENVIRONMENT)
        directory = self.here / "run"
        measured = subprocess.run(
            [str(harness.HPCRUN), "-o", str(directory), *map(str, command)],
            capture_output=True, text=True, timeout=600, env=harness.ENVIRONMENT,
        )  # fmt: skip
        self.assertEqual((alone.returncode, alone.stdout), (measured.returncode, measured.stdout), measured.stderr)
        return directory, alone

    def check_case(self, case, sums=True):
        _, alone = self.run_both(harness.PROGRAMS / "teams", case)
        self.assertNotEqual(alone.returncode, 2, "no such case")
        if sums:
            self.check_sums()

    def check_sums(self):
        report = harness.viewer_json(self.merge(self.here / "run"), "report")
        causes = report["thread_causes"]
        slack = 0.005 + 0.02 * causes["idle_s"]
        self.assertAlmostEqual(causes["idle_s"], causes["caused_s"] + causes["unborne_s"], delta=slack)
        slack = 0.005 + 0.02 * causes["lock_waited_s"]
        self.assertAlmostEqual(causes["lock_waited_s"], causes["lock_caused_s"] + causes["lock_unborne_s"], delta=slack)
        return causes

    def test_forks(self):
        self.check_case("forks")

    def test_exits(self):
        self.check_case("exits", sums=False)  # threads go on while the process ends

    def test_cancels(self):
        self.check_case("cancels")

    def test_errno(self):
        self.check_case("errno")

    def test_jumps(self):
        self.check_case("jumps", sums=False)  # nobody tells of a wait that it was left

    def test_nests(self):
        self.check_case("nests")

    def test_tasks(self):
        self.check_case("tasks")

    def test_plugins_with_openmp(self):
        """Three libraries, each with an OpenMP run-time library of its own, which the program does not know."""
        plugins = [self.plugin("one", "libgomp.so.1"), self.plugin("two", "libgomq.so.1"), self.plugin("three", "libgomr.so.1")]
        self.run_both(harness.PROGRAMS / "teams_host", *plugins)
        self.assertGreater(self.check_sums()["idle_s"], 0)

    def test_a_plugin_whose_openmp_all_see_another_copy_of(self):
        """The loader binds all of the plug-in to the copy that was loaded for all before, and none to its own."""
        plugins = [self.plugin("one", "libgomq.so.1"), self.plugin("two", "libgomr.so.1")]
        self.run_both(harness.PROGRAMS / "teams_host", "-g", self.openmp(), *plugins)
        self.assertGreater(self.check_sums()["idle_s"], 0)

    def test_plugins_with_an_old_c_library(self):
        """One that cannot be asked without a lock where an address lies: what was loaded a moment ago is found all the same."""
        plugins = [self.plugin("one", "libgomp.so.1"), self.plugin("two", "libgomq.so.1"), harness.PROGRAMS / "libteams_outer.so"]
        self.run_both("env", "CULPRIT_NO_DL_FIND_OBJECT=1", harness.PROGRAMS / "teams_host", *plugins)

    def test_a_library_that_is_called_first_within_a_constructor(self):
        self.run_both(harness.PROGRAMS / "teams_host", harness.PROGRAMS / "libteams_outer.so")

    def test_plugins_in_a_process_that_is_not_measured(self):
        """It has the runtime loaded all the same: a child of one that is measured, for instance."""
        runtime = harness.PREFIX / "lib" / "culprit" / "libculprit-runtime.so"
        plugins = [
            self.plugin("one", "libgomp.so.1"), self.plugin("two", "libgomq.so.1"), harness.PROGRAMS / "libteams_outer.so",
        ]  # fmt: skip
        for options in ([], ["-g", self.openmp()]):
            command = list(map(str, [harness.PROGRAMS / "teams_host", *options, *plugins]))
            outputs = [
                subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=environment).stdout
                for environment in (harness.ENVIRONMENT, dict(harness.ENVIRONMENT, LD_PRELOAD=str(runtime)))
            ]
            self.assertEqual(*outputs)

    def openmp(self):
        """The compiler's own copy."""
        path = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True).stdout
        return pathlib.Path(path.strip()).resolve()

    def plugin(self, name, library):
        """A copy of the plug-in, linked with a copy of libgomp that has that name, of the same length as libgomp's own."""
        plugin = self.here / f"lib{name}.so"
        plugin.write_bytes((harness.PROGRAMS / "libteams_plugin.so").read_bytes().replace(b"libgomp.so.1", library.encode()))
        if library != "libgomp.so.1":
            (self.here / library).write_bytes(self.openmp().read_bytes().replace(b"libgomp.so.1\0", library.encode() + b"\0"))
        return plugin

    def test_a_program_that_looks_for_openmp_in_vain(self):
        self.run_both(harness.PROGRAMS / "teams_host")

    def test_a_program_without_threads_has_no_such_metrics(self):
        directory, _ = self.run_both("/bin/sleep", "0.2")
        metrics = harness.viewer_json(self.merge(directory), "view", "flat")["metrics"]
        self.assertFalse([metric for metric in metrics if "idleness-caused" in metric])


if __name__ == "__main__":
    unittest.main()
