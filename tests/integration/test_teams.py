"""Programs whose teams, tasks and locks are followed behave as they do when they are not: they fork and end in the middle of a
team, are cancelled and jump out of waits, nest teams and tasks, and load libraries that bring their own OpenMP. What is
counted adds up all the same."""

import pathlib
import shutil
import subprocess
import unittest

import harness


class Teams(harness.Workspace):
    def run_both(self, *command):
        """Not measured, and measured: the same output and exit status. Returns the measurement."""
        alone = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, env=harness.ENVIRONMENT)
        directory = self.here / "run"
        shutil.rmtree(directory, ignore_errors=True)
        directory.with_name("run.db").unlink(missing_ok=True)
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

    def test_a_program_whose_calls_are_bound_at_its_start(self):
        """The loader has closed the page then that says where they go."""
        self.run_both(harness.PROGRAMS / "teams_bound", "tasks")
        self.assertGreater(self.check_sums()["idle_s"], 0)

    def run_host(self, *arguments):
        """A signal ends the host where it hangs. What threads of plug-ins idle is seen, unless the loader binds what creates
        them to the C library before us."""
        _, alone = self.run_both(harness.PROGRAMS / "teams_host", *arguments)
        self.assertEqual(alone.returncode, 0, "the host itself fails")
        if "-d" not in arguments:
            self.assertGreater(self.check_sums()["idle_s"], 0)

    def copies(self, *names):
        """Plug-ins, each linked with a copy of libgomp of its own."""
        return [self.plugin(name, f"libgom{letter}.so.1") for name, letter in zip(names, "pqr")]

    def test_plugins_with_openmp(self):
        """Three libraries, each with an OpenMP run-time library of its own, which the program does not know."""
        self.run_host(*self.copies("plugin", "plugin", "bound"))

    def test_plugins_that_are_bound_at_their_first_calls(self):
        self.run_host("-l", *self.copies("plugin", "plugin", "bound"))

    def test_a_plugin_whose_openmp_all_see_another_copy_of(self):
        """The loader binds all of the plug-in to the copy that was loaded for all before, and none to its own. (At first calls
        of threads that a constructor waits for, it hangs by itself then.)"""
        self.run_host("-g", self.openmp(), *self.copies("plugin", "bound"), self.plugin("outer", "libgomq.so.1"))

    def test_plugins_that_see_their_own_openmp_first(self):
        """RTLD_DEEPBIND: the loader binds them to their own copies, though all see another one."""
        self.run_host("-d", "-g", self.openmp(), self.plugin("outer", "libgomq.so.1"), self.plugin("bound", "libgomr.so.1"))

    def test_plugins_with_an_old_c_library(self):
        """One that cannot be asked without a lock where an address lies."""
        self.run_both("env", "CULPRIT_NO_DL_FIND_OBJECT=1", harness.PROGRAMS / "teams_host", *self.copies("plugin", "bound"),
                      harness.PROGRAMS / "libteams_outer.so")  # fmt: skip

    def test_a_library_that_is_called_first_within_a_constructor(self):
        self.run_host(harness.PROGRAMS / "libteams_outer.so")
        self.run_host("-l", harness.PROGRAMS / "libteams_outer.so")

    def test_a_library_and_one_that_it_needs_with_different_copies(self):
        """The loader binds both to the copy of the first: what one begins the other goes on with."""
        outer = self.plugin("outer", "libgomp.so.1")
        self.plugin("inner", "libgomq.so.1", outer.parent)
        self.run_host(outer)

    def test_a_constructor_that_waits_for_a_thread_that_calls_first(self):
        """Nothing that the thread calls may wait for the loader, which waits for the constructor."""
        self.run_host(harness.PROGRAMS / "libteams_first.so")
        self.run_host("-l", harness.PROGRAMS / "libteams_first.so")

    def test_a_region_in_a_constructor_that_calls_another_copy_first(self):
        for when in ("-l", ""):
            with self.subTest(when):
                inner = self.plugin("inner", "libgomq.so.1")
                host = [harness.PROGRAMS / "teams_host", *filter(None, [when]), harness.PROGRAMS / "libteams_other.so"]
                self.run_both("env", f"TEAMS_INNER={inner}", *host)
                self.assertGreater(self.check_sums()["idle_s"], 0)

    def test_a_plugin_that_is_closed_before_its_last_call_returns(self):
        """Its functions end in jumps to OpenMP, so nothing of it is needed when those are over; its calls are bound at the first."""
        self.run_both("env", "OMP_WAIT_POLICY=passive", harness.PROGRAMS / "teams_closer", harness.PROGRAMS / "libteams_tail.so", 400)
        self.assertGreater(self.check_sums()["idle_s"], 0)

    def test_libgomp_and_libomp_in_one_process(self):
        omp = harness.PROGRAMS / "libteams_omp.so"
        if not omp.exists():
            self.skipTest("there is no clang with libomp")
        for options in ([], ["-l"], ["-d"]):
            with self.subTest(options):
                self.run_host(*options, omp, harness.PROGRAMS / "libteams_plugin.so", *self.copies("plugin", "bound")[1:])

    def test_plugins_in_a_process_that_is_not_measured(self):
        """It has the runtime loaded all the same: a child of one that is measured, for instance."""
        runtime = harness.PREFIX / "lib" / "culprit" / "libculprit-runtime.so"
        plugins = [*self.copies("plugin", "bound"), harness.PROGRAMS / "libteams_outer.so"]
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

    def plugin(self, name, library, folder=None):
        """A copy of a plug-in, linked with a copy of libgomp that has that name, of the same length as libgomp's own."""
        folder = folder or self.here / library.split(".")[0]
        folder.mkdir(exist_ok=True)
        plugin = folder / f"libteams_{name}.so"
        plugin.write_bytes((harness.PROGRAMS / plugin.name).read_bytes().replace(b"libgomp.so.1", library.encode()))
        if library != "libgomp.so.1":
            (folder / library).write_bytes(self.openmp().read_bytes().replace(b"libgomp.so.1\0", library.encode() + b"\0"))
        if name == "outer":
            self.plugin("inner", library, folder)
        return plugin

    def test_a_program_that_looks_for_openmp_in_vain(self):
        """By weak references, and by asking the loader: it finds what it finds without us."""
        _, alone = self.run_both(harness.PROGRAMS / "teams_host")
        self.assertIn("GOMP_parallel: none", alone.stdout)

    def test_a_program_without_threads_has_no_such_metrics(self):
        directory, _ = self.run_both("/bin/sleep", "0.2")
        metrics = harness.viewer_json(self.merge(directory), "view", "flat")["metrics"]
        self.assertFalse([metric for metric in metrics if "idleness-caused" in metric])


if __name__ == "__main__":
    unittest.main()
