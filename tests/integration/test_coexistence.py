"""Programs that share with the sampler what there is but one of in a process - signals, timers, masks, stacks, descriptors,
limits, preloaded libraries - behave as they do without it, and their measurement can be read."""

import os
import pathlib
import shutil
import stat
import unittest

import harness

ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4")
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")


class Coexistence(harness.Workspace):
    def check(self, program, *arguments, rate=1000, readable=(0,), env=None, options=(), status=0):
        """Runs a program unmeasured and measured, compares, and merges. `status`: what it exits with."""
        env = env or harness.ENVIRONMENT
        command = [program, *arguments]
        expected = harness.run(command, expect=status, cwd=self.here, env=env)
        self.directory = self.here / "run"
        measure = [harness.HPCRUN, "-o", self.directory, "-e", f"REALTIME@f{rate}", *options]
        measured = harness.run([*measure, *command], expect=status, cwd=self.here, env=env)
        self.assertEqual(measured.stdout, expected.stdout)
        merged = harness.run([harness.PROF_MPI, "--force", self.directory], expect=None).returncode
        self.assertIn(merged, readable)
        return measured

    def deed(self, name, **options):
        return self.check(harness.PROGRAMS / "coexist", name, **options)

    # -- signals and timers

    def test_interval_timers_and_their_handlers(self):
        self.deed("interval-timers")

    def test_timers_on_every_real_time_signal(self):
        self.deed("own-timers")

    def test_a_handler_for_every_signal(self):
        self.deed("all-signals")

    def test_blocked_signals_stay_pending_and_masks_are_read_back(self):
        self.deed("blocked-signals")

    def test_real_time_signals_without_a_handler_are_deadly(self):
        self.deed("deadly-signals", readable=(0, 3))  # its children die of them: cut short

    def test_all_signals_blocked_and_waited_for(self):
        self.deed("wait-for-all")
        database = self.directory.with_name("run.db")
        # What the worker computes with all signals blocked is charged to what it computes.
        view = harness.viewer_json(database, "view", "calling-context")
        self.assertTrue(any("compute" in node["frame"]["name"] for node in harness.walk(view["roots"])))

    def test_jump_out_of_a_blocking_call(self):
        self.deed("jump-out-of-call")
        database = self.directory.with_name("run.db")
        view = harness.viewer_json(database, "view", "calling-context")
        self.assertTrue(any("compute" in node["frame"]["name"] for node in harness.walk(view["roots"])))

    def test_jump_out_of_the_counting_of_a_call(self):
        self.deed("jump-out-of-count")
        view = harness.viewer_json(self.directory.with_name("run.db"), "view", "calling-context")
        times = [
            node["values"]["REALTIME:sum (I)"] for node in harness.walk(view["roots"])
            if "compute" in node["frame"]["name"]
        ]  # fmt: skip
        self.assertGreater(max(times), 0.3)  # of the 0.5 s after the jumps

    # -- processes and stacks

    def test_call_paths_of_counted_calls_are_walked_once_and_never_taken_from_another_process(self):
        self.deed("call-paths")

    def test_crashes_and_what_a_program_sees_of_deadly_signals(self):
        self.deed("crashes", readable=(0, 3))

    def test_forks_that_run_no_handlers(self):
        self.deed("bare-forks")

    def test_stacks_smaller_than_a_signal_needs(self):
        self.deed("small-stacks")

    def test_handlers_on_small_stacks_that_move_bytes_and_end_the_process(self):
        self.deed("small-signal-stack", status=3, readable=(0, 3))  # the recursion may be too deep to unwind

    # -- descriptors, directories, limits, confinement

    def test_all_descriptors_closed_and_taken(self):
        self.deed("descriptors")

    def test_nothing_is_written_to_what_took_the_place_of_standard_error(self):
        # The worker of a program that gave its privileges away has no measurement, since it may not enter this directory.
        (self.here).chmod(0o700)
        self.deed("data-for-standard-error")
        self.assertEqual((self.here / "data").read_bytes(), b"data")

    def test_nothing_is_written_where_there_was_no_standard_error(self):
        command = [harness.HPCRUN, "-o", self.here / "run", harness.PROGRAMS / "coexist", "data-for-standard-error"]
        harness.run(["sh", "-c", 'exec "$0" "$@" 2>&-', *command], cwd=self.here)
        self.assertEqual((self.here / "data").read_bytes(), b"data")

    @unittest.skipUnless(shutil.which("strace"), "strace counts the system calls")
    def test_calls_that_never_wait_are_left_alone(self):
        self.deed("never-waits")
        count = ["strace", "-f", "-c", "-S", "name", "-e", "trace=rt_sigprocmask,getpid", "-o", self.here / "calls"]
        command = [harness.HPCRUN, "-q", "-o", self.here / "counted", harness.PROGRAMS / "coexist", "never-waits"]
        harness.run([*count, *command], cwd=self.here)
        rows = [line.split() for line in (self.here / "calls").read_text().splitlines()]
        calls = {row[-1]: int(row[3]) for row in rows if row and row[-1] in ("rt_sigprocmask", "getpid")}
        self.assertLess(sum(calls.values()), 1000, calls)  # of 6 000 calls

    def test_file_creation_mask_and_directory(self):
        self.deed("file-creation-mask")

    def test_no_descriptors_left(self):
        self.deed("no-descriptors")

    def test_little_address_space(self):
        self.deed("no-memory")

    def test_much_address_space_for_many_threads(self):
        self.deed("address-space")

    def test_no_timers_to_be_had(self):
        self.deed("no-signals", readable=(0, 3))

    def test_no_new_privileges(self):
        self.deed("no-new-privileges")

    def test_filtered_system_calls(self):
        self.deed("filtered-calls")

    def test_filtered_system_calls_by_number(self):
        self.deed("filtered-calls-by-syscall")

    def test_system_calls_that_the_program_has_handed_to_itself(self):
        self.deed("dispatched-calls")

    def test_namespaces_of_processes_with_one_thread(self):
        self.deed("namespaces")

    def test_namespaces_by_number(self):
        self.deed("namespaces-by-number")

    @unittest.skipUnless(os.geteuid() == 0, "only root has privileges to give away")
    def test_no_thread_keeps_privileges_that_the_program_gave_away(self):
        for name in ("become-nobody", "become-nobody-for-a-while", "become-nobody-by-number", "drop-capabilities"):
            with self.subTest(name):
                shutil.rmtree(self.here / "run", ignore_errors=True)
                self.deed(name)
                # It has the measurement open still, and goes on recording there, a further thread too.
                report = harness.viewer_json(self.directory.with_name("run.db"), "report")
                self.assertGreater(report["total_s"], 0.4)

    def test_asking_for_filters_does_not_end_the_measurement(self):
        self.deed("filters-asked-for")
        database = self.directory.with_name("run.db")
        self.assertGreater(harness.viewer_json(database, "report")["total_s"], 0.1)

    def test_handlers_that_end_the_process_in_an_exec(self):
        self.deed("ended-in-exec")

    # -- libraries

    def test_library_that_waits_for_a_thread_while_it_is_loaded(self):
        self.deed("constructor-waits")

    def test_own_preloaded_libraries_stay_and_keep_their_order(self):
        libraries = [harness.PROGRAMS / "libpreloaded.so", LIBRARIES / "libdl.so.2"]
        env = dict(harness.ENVIRONMENT, LD_PRELOAD=":".join(map(str, libraries)))
        program = [harness.PROGRAMS / "coexist", "preloaded"]
        expected = harness.run(program, env=env).stdout.splitlines()
        lines = harness.run([harness.HPCRUN, "-o", self.here / "run", *program], env=env).stdout.splitlines()
        self.assertEqual(expected, ["preloaded: libpreloaded.so libdl.so.2", "allocations were seen"])
        self.assertEqual(lines, ["preloaded: libculprit-runtime.so libpreloaded.so libdl.so.2", expected[1]])

    def test_allocators(self):
        found = [LIBRARIES / name for name in ALLOCATORS if (LIBRARIES / name).exists()]
        self.assertEqual(len(found), len(ALLOCATORS), "install what ./dev packages lists")
        for allocator in found:
            with self.subTest(allocator.name):
                env = dict(harness.ENVIRONMENT, LD_PRELOAD=str(allocator))
                shutil.rmtree(self.here / "run", ignore_errors=True)
                self.check(harness.PROGRAMS / "coexist", "allocations", env=env, rate=5000)

    def test_gprof(self):
        program = harness.PROGRAMS / "profiled"
        self.check(program)
        flat = harness.run(["gprof", "-b", "-p", program, self.here / "gmon.out"]).stdout
        rows = {row[-1]: row for row in map(str.split, flat.splitlines()) if row and row[-1] in ("much", "little")}
        self.assertEqual({name: int(row[3]) for name, row in rows.items()}, {"much": 80, "little": 80}, flat)
        self.assertGreater(float(rows["much"][0]), 50, flat)

    def test_c_plus_plus_unwinding_is_not_taken_over(self):
        for library in sorted((harness.PREFIX / "lib" / "culprit").glob("*.so")):
            with self.subTest(library.name):
                symbols = harness.run(["nm", "-D", library]).stdout.split()
                self.assertEqual([name for name in symbols if name.startswith("_Unwind_")], [])
                needed = harness.run(["readelf", "-d", library]).stdout
                for unwanted in ("libunwind", "libgcc_s", "libstdc++"):
                    self.assertNotIn(unwanted, needed)

    def test_exceptions_are_raised_by_the_compilers_own_library(self):
        env = dict(harness.ENVIRONMENT, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=str(self.here / "bindings"))
        command = [harness.HPCRUN, "-q", "-o", self.here / "run", harness.PROGRAMS / "coexist", "exceptions"]
        self.assertEqual(harness.run(command, env=env).stdout, "caught 1000\n")
        text = "".join(path.read_text(errors="replace") for path in self.here.glob("bindings.*"))
        raised = [line for line in text.splitlines() if "`_Unwind_RaiseException'" in line]
        self.assertGreater(len(raised), 0)
        for line in raised:
            self.assertRegex(line, r" to \S*/libgcc_s\.so\.1 ")

    # -- programs that the loader treats apart

    def test_a_script_is_measured_as_its_interpreter(self):
        script = self.here / "script"
        script.write_text(f"#!/bin/sh\necho begin\n{harness.PROGRAMS / 'spin'} 0.3\nexit 0\n")
        script.chmod(0o755)
        self.check(script)

    def test_a_static_program_is_refused(self):
        self.refused(harness.PROGRAMS / "static", "statically linked")

    @unittest.skipUnless(os.geteuid() == 0, "only root can make such programs")
    def test_programs_with_privileges_are_refused(self):
        other = 65534
        for bit, owner, group in ((stat.S_ISUID, other, 0), (stat.S_ISGID, 0, other)):
            program = self.here / f"privileged-{bit}"
            shutil.copy(harness.PROGRAMS / "spin", program)
            os.chown(program, owner, group)
            program.chmod(0o755 | bit)
            self.refused(program, "setuid" if bit == stat.S_ISUID else "setgid")

    @unittest.skipUnless(os.geteuid() == 0, "only root can make such programs")
    def test_a_program_that_is_setuid_to_its_caller_is_measured(self):
        program = self.here / "own"
        shutil.copy(harness.PROGRAMS / "spin", program)
        program.chmod(0o4755)
        self.check(program, 0.3)

    def refused(self, program, why):
        done = harness.run([harness.HPCRUN, "-o", self.here / "refused", program, 1], expect=126)
        self.assert_one_line(done.stderr, "hpcrun-lite: run: ", str(program), why)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.here / "refused").exists())


if __name__ == "__main__":
    unittest.main()
