"""However a process ends, its status, signal and output are those of the unmeasured run, and what it recorded is
there: complete where it ended itself, cut short (prof-mpi exits with 3) where it was killed or aborted."""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

import harness

ENDS = harness.PROGRAMS / "ends"
SECONDS = 0.3
COPIED = {"CULPRIT_NO_SHARED_MAPPING": "1"}
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in a shell's background
OLD_C_LIBRARY = {"CULPRIT_NO_DL_FIND_OBJECT": "1"}
# Not setpriv, which keeps root's capabilities until it executes the program: what is sampled meanwhile is written.
BECOME_NOBODY = """
import os, sys
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
os.execv(sys.argv[1], sys.argv[1:])
"""


def limit(kind, value):
    """A function that lowers a resource limit in the process to be."""
    return lambda: resource.setrlimit(kind, (value, value))


class Process(harness.Workspace):
    launcher = harness.HPCRUN
    program = (ENDS,)  # and what starts it

    def run_both(self, how, seconds=SECONDS, argument="", options=(), variables=None, **more):
        """Runs the program alone and measured; what it prints and how it ends must be the same. Returns the measured
        run, the measurement directory as its attribute."""
        more.setdefault("expect", None)
        program = [*self.program, how]
        alone = harness.run([*program, min(seconds, 0.02), argument], **more)
        environment = dict(harness.ENVIRONMENT, **(variables or {}))
        directory = self.here / "run"
        shutil.rmtree(directory, ignore_errors=True)
        command = [self.launcher, "-o", directory, *options, *program, seconds, argument]
        measured = harness.run(command, env=environment, **more)
        self.assertEqual(measured.returncode, alone.returncode, measured.stderr)
        self.assertEqual(measured.stdout, alone.stdout)
        measured.directory = directory
        return measured

    def read(self, directory, cut_short=0):
        """Merges and returns (info, seconds recorded); `cut_short` processes are to be labelled so."""
        done = harness.run([harness.PROF_MPI, "--force", directory], expect=3 if cut_short else 0)
        if cut_short:
            self.assertIn("cut short", done.stderr)
        database = directory.with_name(directory.name + ".db")
        info = harness.viewer_json(database, "info")
        self.assertEqual(info["cut_short"], cut_short)
        self.assertEqual(info["dropped"], 0)
        return info, harness.viewer_json(database, "report")["total_s"]

    def check(self, how, cut_short=0, status=None, **more):
        measured = self.run_both(how, **more)
        if status is not None:
            self.assertEqual(measured.returncode, status)
        info, seconds = self.read(measured.directory, cut_short)
        self.assertGreater(seconds, SECONDS / 2)
        return info


class Ends(Process):
    def test_ends_that_are_the_programs_own(self):
        for how, status in (
            ("return", 0),
            ("exit", 7),
            ("_exit", 7),
            ("_Exit", 7),
            ("quick_exit", 7),
            ("exec", 7),
            ("failed_exec", 4),
            ("survived_abort", 9),
            ("threads_left", 0),
            ("lowest_descriptor", 0),
        ):
            with self.subTest(how):
                self.check(how, status=status)

    def test_ends_by_force(self):
        for how, number in (
            ("abort", signal.SIGABRT),
            ("exception", signal.SIGABRT),
            ("SIGTERM", signal.SIGTERM),
            ("SIGINT", signal.SIGINT),
            ("SIGKILL", signal.SIGKILL),
            ("SIGALRM", signal.SIGALRM),
            ("SIGSEGV", signal.SIGSEGV),
            ("SIGFPE", signal.SIGFPE),
            ("stack_overflow", signal.SIGSEGV),
        ):
            with self.subTest(how):
                self.check(how, cut_short=1, status=-number)
                if how in ("SIGSEGV", "SIGFPE"):
                    merged = harness.run([harness.PROF_MPI, "--force", self.here / "run"], expect=3)
                    self.assertIn("a signal ended it; data is complete up to that point", merged.stderr)
                    report = harness.run([harness.VIEWER, self.here / "run.db", "report"]).stdout
                    self.assertTrue(report.startswith(f"A process was ended by {how} ("), report)

    def test_an_abort_is_noted_whatever_the_handler_does(self):
        for how, status, end in (
            ("abort", -signal.SIGABRT, "it aborted"),
            ("failed_assert", -signal.SIGABRT, "it aborted"),
            ("handled_assert", -signal.SIGABRT, "it aborted"),
            ("handled_abort", -signal.SIGABRT, "it aborted"),
            ("raised_again", -signal.SIGABRT, "it aborted"),
            ("exit_of_abort", 8, "it aborted"),
            ("killed_after_abort", -signal.SIGKILL, "its end was not recorded"),
        ):
            with self.subTest(how):
                self.check(how, cut_short=1, status=status)
                self.assertIn(end, harness.run([harness.PROF_MPI, "--force", self.here / "run"], expect=3).stderr)

    def report_of_stop(self, before):
        """After before(program), the program is stopped for four seconds, and soon after killed. Returns the report."""
        directory = self.here / "run"
        command = [str(word) for word in (self.launcher, "-o", directory, *self.program, "return", 120)]
        with subprocess.Popen(command, env=harness.ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
            before(program)
            program.send_signal(signal.SIGSTOP)
            time.sleep(4)
            program.send_signal(signal.SIGCONT)
            time.sleep(2)
            program.kill()
        harness.run([harness.PROF_MPI, directory], expect=3)
        return " ".join(harness.run([harness.VIEWER, self.here / "run.db", "report"]).stdout.split())

    def test_a_process_that_was_stopped_says_so(self):
        report = self.report_of_stop(lambda program: time.sleep(2))
        self.assertRegex(report, r"process \d+ stood still for [34]\.\d s, as when SIGSTOP or a debugger stops it")
        self.assertEqual(report.count("stood still"), 1)

    def starve_the_flusher_thread(self, program, seconds=1.5):
        """Until it has waited for a processor as long as that in all, in short waits."""
        end = time.monotonic() + 60
        threads = pathlib.Path("/proc", str(program.pid), "task")
        flusher = None
        while flusher is None and time.monotonic() < end:
            flusher = next((each for each in threads.glob("*") if (each / "comm").read_text() == "culprit\n"), None)
        processor = min(os.sched_getaffinity(0))
        processors, plain = os.sched_getaffinity(int(flusher.name)), os.sched_param(0)
        os.sched_setaffinity(int(flusher.name), {processor})
        os.sched_setscheduler(int(flusher.name), os.SCHED_IDLE, plain)
        busy = [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"]
        hogs = [subprocess.Popen(busy) for _ in range(3)]
        try:
            while int((flusher / "schedstat").read_text().split()[1]) < seconds * 1e9 and time.monotonic() < end:
                time.sleep(0.1)
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        os.sched_setscheduler(int(flusher.name), os.SCHED_OTHER, plain)
        os.sched_setaffinity(int(flusher.name), processors)
        time.sleep(1)

    def test_a_stop_is_told_from_waits_for_a_processor_long_before(self):
        report = self.report_of_stop(self.starve_the_flusher_thread)
        self.assertRegex(report, r"process \d+ stood still for [34]\.\d s, as when SIGSTOP or a debugger stops it")

    def test_a_forked_child_is_recorded_beside_its_parent(self):
        info = self.check("fork", status=5)
        self.assertEqual(info["threads"], 2)

    def test_main_thread_ends_before_the_others(self):
        info = self.check("pthread_exit", status=0)
        self.assertEqual(info["threads"], 2)

    def test_files_are_named_when_the_main_thread_has_ended(self):
        written = self.here / "written by the last"
        measured = self.run_both("write_last", argument=written, options=["--files"])
        self.read(measured.directory)
        view = harness.viewer_json(measured.directory.with_name("run.db"), "view", "calling-context")
        names = {node["frame"]["name"] for node in harness.walk(view["roots"])}
        self.assertIn(f"file {written}", {name for name in names if name.startswith("file ")})

    def test_out_of_memory(self):
        self.check("memory", cut_short=1, status=-signal.SIGABRT, preexec_fn=limit(resource.RLIMIT_AS, 400 << 20))

    def test_descriptors_used_up(self):
        info = self.check("descriptors", status=0, seconds=0.6, preexec_fn=limit(resource.RLIMIT_NOFILE, 40))
        self.assertEqual(info["threads"], 2)

    def test_file_size_limit_ends_the_program_only_where_the_program_exceeds_it(self):
        for bytes_ in (600 << 10, 100 << 10):  # room for a measurement, and none
            with self.subTest(bytes_):
                measured = self.run_both(
                    "file_size", argument=self.here / "big", preexec_fn=limit(resource.RLIMIT_FSIZE, bytes_)
                )
                self.assertEqual(measured.returncode, -signal.SIGXFSZ)
                measured = self.run_both("exit", preexec_fn=limit(resource.RLIMIT_FSIZE, bytes_))
                self.assertEqual(measured.returncode, 7)
                if bytes_ < 200 << 10:
                    self.assertIn("File too large", measured.stderr)
                else:
                    self.read(measured.directory)

    def test_standard_error_that_nobody_reads(self):
        ends = os.pipe()
        os.close(ends[0])
        directory = self.here / "run"
        command = [str(word) for word in (harness.HPCRUN, "-o", directory, ENDS, "exit", 0.1)]
        status = subprocess.run(command, env=harness.ENVIRONMENT, stderr=ends[1], timeout=300).returncode
        os.close(ends[1])
        self.assertEqual(status, 7)
        self.read(directory)

    def test_standard_error_that_is_full(self):
        """A program that prints nothing there itself ends as fast as ever."""
        for how, status in (("return", 0), ("SIGSEGV", -signal.SIGSEGV)):
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(writer, bytes(4096))
            os.set_blocking(writer, True)
            command = [self.launcher, "-o", self.here / how, *self.program, how, SECONDS]
            ended = subprocess.run([str(word) for word in command], env=harness.ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=writer, timeout=60)
            os.close(reader)
            os.close(writer)
            self.assertEqual(ended.returncode, status)

    def test_unwritable_directory(self):
        self.here.chmod(0o755)
        nobody = [sys.executable, "-S", "-c", BECOME_NOBODY]
        if os.geteuid() != 0 or harness.run([*nobody, ENDS, "exit", 0], expect=None).returncode != 7:
            self.skipTest("becoming another user needs root, and programs that this user may run")
        # The tree may lie where only its owner may look, such as in /root: the sampler is copied to where all may.
        for part in ("bin/hpcrun-lite", "lib/culprit/libculprit-runtime.so"):
            copy = self.here / "prefix" / part
            copy.parent.mkdir(parents=True)
            shutil.copy(harness.PREFIX / part, copy)
        self.launcher = self.here / "prefix" / "bin" / "hpcrun-lite"
        self.program = (*nobody, ENDS)
        # Whoever runs the tests may let others, or root's group, write into what is made.
        measured = self.run_both("exit", preexec_fn=lambda: os.umask(0o022))
        self.assertEqual(measured.returncode, 7)
        written = [f"{path.stat()} {path}" for path in [self.here, *self.here.rglob("*")]]
        self.assertIn("Permission denied", measured.stderr, "\n".join(written))

    def test_libraries_come_and_go_without_find_object(self):
        info = self.check("load", status=6, variables=OLD_C_LIBRARY, options=["-e", "REALTIME@f1000"])
        self.assertEqual(info["threads"], 4)
        self.assertLess(info["partial"], max(3, info["samples"] // 50))

    def test_ends_with_a_copied_file(self):
        for how, status in (("_exit", 7), ("exec", 7), ("failed_exec", 4)):
            with self.subTest(how):
                self.check(how, status=status, variables=COPIED)
        with self.subTest("fork"):
            info = self.check("fork", status=5, variables=COPIED)
            self.assertIn("copy", " ".join(info["notes"]))
        with self.subTest("SIGKILL"):
            measured = self.run_both("SIGKILL", seconds=2, variables=COPIED, options=["-v"])
            self.assertIn("copied twice a second", measured.stderr)
            _, seconds = self.read(measured.directory, cut_short=1)
            self.assertGreater(seconds, 0.5)

    def test_ten_thousand_threads(self):
        lives = self.here / "lives"
        measured = self.run_both("many_threads", argument=lives, options=["-e", "REALTIME@f5000"])
        self.assertEqual(measured.returncode, 0)
        info, seconds = self.read(measured.directory)
        lived = SECONDS + float(lives.read_text()) / 1e9
        self.assertLess(info["threads"], 100)
        self.assertIn("threads were recorded as", " ".join(info["notes"]))
        self.assertNotIn("were not measured", " ".join(info["notes"]))
        # A thread's life begins before its routine looks at the clock, and main waits for the others meanwhile.
        self.assertGreater(seconds, 0.9 * lived)


class KilledWhileItWaits(Process):
    def test_what_it_was_waiting_in_is_counted(self):
        processes = []
        for variables in ({}, COPIED):  # at the same time: they only wait
            directory = self.here / f"waiting{len(variables)}"
            command = [str(word) for word in (harness.HPCRUN, "-o", directory, ENDS, "sleep", 0.05)]
            start = time.monotonic()
            process = subprocess.Popen(command, env=dict(harness.ENVIRONMENT, **variables))
            processes.append((variables, directory, process, start))
        time.sleep(2.5)
        for variables, directory, process, start in processes:
            with self.subTest(variables):
                process.kill()
                lived = time.monotonic() - start
                self.assertEqual(process.wait(), -signal.SIGKILL)
                _, seconds = self.read(directory, cut_short=1)
                # One second may be missing; another one for a machine that is too busy to wake up the recorder.
                self.assertGreater(seconds, lived - 2)
                self.assertLess(seconds, lived + 0.1)


class FullDisk(Process):
    """On a file system of a few hundred kilobytes, which exists for the program alone."""

    NO_MOUNT = 99
    SCRIPT = """
        mount -t tmpfs -o size=512k tmpfs "$1" || exit 99
        "$2" -o "$1/run" "$3" full_disk "$4" "$1/fill"
        status=$?
        rm "$1/fill" && cp -r "$1/run" "$5" || exit 98
        exit $status
    """

    def fill(self, variables):
        disk = self.here / "disk"
        disk.mkdir(exist_ok=True)
        arguments = [disk, harness.HPCRUN, ENDS, SECONDS, self.here / "run"]
        for namespace in ("-m", "-rm"):  # root, or root in a user namespace of its own
            command = ["unshare", namespace, "sh", "-c", self.SCRIPT, "sh", *arguments]
            done = harness.run(command, expect=None, env=dict(harness.ENVIRONMENT, **variables))
            if done.returncode not in (1, self.NO_MOUNT):
                return done
        self.skipTest("this machine lets nobody mount a tmpfs, not even in a user namespace")

    def check(self, variables):
        done = self.fill(variables)
        self.assertEqual(done.returncode, 7, done.stderr)
        directory = self.here / "run"
        (file,) = directory.rglob("*.culprit")
        self.assertEqual(file.read_bytes()[:8], b"CULPRITA")  # there was no room for the sealed form
        self.assertEqual(list(directory.rglob("*.tmp")), [])
        _, seconds = self.read(directory)
        self.assertGreater(seconds, 1.5 * SECONDS)

    def test_mapped(self):
        self.check({})

    def test_copied(self):
        self.check(COPIED)


class Abort(harness.UnderBothMpis, harness.Workspace):
    def check(self, mpi):
        program = harness.PROGRAMS / f"dies.{mpi}"
        alone = harness.launch(mpi, 2, [program, "MPI"], expect=None)
        directory = self.here / "run"
        measured = harness.launch(mpi, 2, [harness.HPCRUN, "-o", directory, program, "MPI"], expect=None)
        self.assertEqual(measured.returncode, alone.returncode)
        self.assertEqual(measured.stdout, alone.stdout)
        done = harness.run([harness.PROF_MPI, directory], expect=3)
        self.assertIn("cut short", done.stderr)
        info = harness.viewer_json(self.here / "run.db", "info")
        self.assertEqual((info["ranks"], info["cut_short"]), (2, 2))
        report = harness.viewer_json(self.here / "run.db", "report")
        self.assertGreater(report["idle_s"], 0)  # the other rank waited in a barrier until the end


class AbortOfC(harness.UnderBothMpis, harness.Workspace):
    def check(self, mpi):
        """Open MPI has a handler of SIGABRT, MPICH has none."""
        directory = self.here / "run"
        harness.launch(mpi, 3, [harness.HPCRUN, "-o", directory, harness.PROGRAMS / f"dies.{mpi}", "ABRT"], expect=None)
        stuck = harness.run([harness.VIEWER, directory, "stuck"]).stdout
        place = "(MPI_Abort, abort or an uncaught exception), in abort (main at dies.c:"
        self.assertIn("Aborted: rank 2 ended the job " + place, " ".join(stuck.split()))


class Crash(harness.UnderBothMpis, harness.Workspace):
    def check(self, mpi):
        """Open MPI and UCX have handlers of SIGSEGV, which send it anew."""
        for how, place in (("FAULT", "in smooth at dies.c:"), ("SEGV", "in raise (main at dies.c:")):
            with self.subTest(how):
                self.check_signal(mpi, how, place)

    def check_signal(self, mpi, how, place):
        program = harness.PROGRAMS / f"dies.{mpi}"
        directory = self.here / how
        alone = harness.launch(mpi, 3, [program, how], expect=None)
        measured = harness.launch(mpi, 3, [harness.HPCRUN, "-o", directory, program, how], expect=None)
        self.assertEqual(measured.returncode, alone.returncode)
        stuck = " ".join(harness.run([harness.VIEWER, directory, "stuck"]).stdout.split())
        self.assertTrue(stuck.startswith("Crashed: SIGSEGV (Segmentation fault) ended rank 2, " + place), stuck)
        self.assertEqual(harness.viewer_json(directory, "stuck")["verdict"]["kind"], "crashed")
        done = harness.run([harness.PROF_MPI, directory], expect=3)
        self.assertIn("rank 2 was cut short: a signal ended it; data is complete up to that point", done.stderr)
        report = " ".join(harness.run([harness.VIEWER, self.here / f"{how}.db", "report"]).stdout.split())
        begin = "Rank 2 was ended by SIGSEGV (Segmentation fault), for which the launcher killed the others. "
        self.assertTrue(report.startswith(begin), report)
        # Of the directory, the first line says where, and the verdict not again that.
        report = " ".join(harness.run([harness.VIEWER, directory, "report"], expect=None).stdout.split())
        self.assertTrue(report.startswith("Crashed: SIGSEGV (Segmentation fault) ended rank 2, " + place), report)
        self.assertNotIn("was ended by SIGSEGV", report)


class Left(harness.UnderBothMpis, harness.Workspace):
    def check(self, mpi):
        for how, status in (("EXIT", 5), ("LEAVE", 3)):
            with self.subTest(how):
                self.check_status(mpi, how, status)

    def check_status(self, mpi, how, status):
        directory = self.here / how
        harness.launch(mpi, 3, [harness.HPCRUN, "-o", directory, harness.PROGRAMS / f"dies.{mpi}", how], expect=None)
        stuck = harness.run([harness.VIEWER, directory, "stuck"]).stdout
        self.assertTrue(stuck.startswith("Left: rank 2 ended without MPI_Finalize (exit or return from main).\n"), stuck)
        harness.run([harness.PROF_MPI, directory], expect=3)  # the launcher killed the others
        report = " ".join(harness.run([harness.VIEWER, self.here / f"{how}.db", "report"]).stdout.split())
        self.assertTrue(report.startswith(f"Rank 2 ended with exit status {status} without MPI_Finalize, for which the launcher killed the others. "), report)
        self.assertIn("Rank 2 had ended without MPI_Finalize", report)
        of_directory = " ".join(harness.run([harness.VIEWER, directory, "report"], expect=None).stdout.split())
        self.assertEqual(of_directory[:60], report[:60])


if __name__ == "__main__":
    unittest.main()
