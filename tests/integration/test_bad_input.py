"""Whatever is wrong, each tool says it in one line, exits with the documented status, and loses nothing."""

import gzip
import os
import pathlib
import resource
import shutil
import subprocess
import unittest

import harness

SLOT = 32768  # bytes of a block of a time line (docs/formats.md)


class Launcher(harness.Workspace):
    def hpcrun(self, *arguments, expect, **options):
        return harness.run([harness.HPCRUN, *arguments], expect=expect, **options)

    def test_no_such_program(self):
        done = self.hpcrun(self.here / "absent", expect=127)
        self.assert_one_line(done.stderr, "hpcrun-lite: ", "absent")

    def test_not_executable(self):
        (self.here / "text").write_text("hello")
        done = self.hpcrun(self.here / "text", expect=126)
        self.assert_one_line(done.stderr, "hpcrun-lite: ", "text")

    def test_no_program_at_all(self):
        done = self.hpcrun(expect=2)
        self.assertIn("hpcrun-lite", done.stderr)

    def test_static_program(self):
        done = self.hpcrun(harness.PROGRAMS / "static", expect=126)
        self.assert_one_line(done.stderr, "hpcrun-lite: ", "static")

    def test_reversed_order(self):
        done = self.hpcrun("mpirun", "-n", "2", "true", expect=2)
        self.assert_one_line(done.stderr, "mpirun", "hpcrun-lite")

    def test_bad_events(self):
        for event in ("REALTIME@", "REALTIME@fast", "REALTIME@0", "A NAME@7", "REALTIME@f0"):
            done = self.hpcrun("-e", event, "true", expect=2)
            self.assert_one_line(done.stderr, "hpcrun-lite: ", event)

    def test_unknown_event(self):
        done = self.hpcrun("-e", "NO_SUCH_EVENT@7", "true", expect=1)
        self.assert_one_line(done.stderr, "hpcrun-lite: ", "NO_SUCH_EVENT: ")

    def test_output_holds_another_run(self):
        program = harness.PROGRAMS / "spin"
        directory = self.here / "run"
        self.hpcrun("-o", directory, program, "0.2", expect=0)
        before = sorted(directory.rglob("*"))
        done = self.hpcrun("-o", directory, program, "0.2", expect=1)
        self.assert_one_line(done.stderr, "hpcrun-lite: ", str(directory))
        self.assertEqual(sorted(directory.rglob("*")), before)

    def test_database_of_an_older_run_is_not_shown_for_a_new_one(self):
        program = harness.PROGRAMS / "spin"
        directory = self.here / "run"
        self.hpcrun("-o", directory, program, "0.1", expect=0)
        harness.run([harness.VIEWER, directory], expect=0)
        shutil.rmtree(directory)
        self.hpcrun("-o", directory, program, "0.1", expect=0)
        done = harness.run([harness.VIEWER, directory], expect=1)
        self.assert_one_line(done.stderr, "viewer-cli: ", "run.db", "prof-mpi --force")
        os.utime(self.here / "run.db")  # as a copy is: written last, and still of the other run
        done = harness.run([harness.VIEWER, directory], expect=1)
        self.assert_one_line(done.stderr, "viewer-cli: ", "run.db", "belongs to another run", "prof-mpi --force")
        harness.run([harness.VIEWER, self.here / "run.db"], expect=0)
        harness.run([harness.PROF_MPI, "-q", "--force", directory], expect=0)
        harness.run([harness.VIEWER, directory], expect=0)

    def test_output_cannot_be_written(self):
        blocked = self.here / "file"
        blocked.write_text("")
        done = self.hpcrun("-o", blocked / "run", "true", expect=1)
        self.assert_one_line(done.stderr, "hpcrun-lite: ", "run")

    def test_status_and_output_are_the_programs(self):
        done = self.hpcrun("-o", self.here / "run", "sh", "-c", "echo out; echo err >&2; exit 7", expect=7)
        self.assertEqual(done.stdout, "out\n")
        self.assertIn("err\n", done.stderr)
        done = self.hpcrun("-o", self.here / "run2", "sh", "-c", "kill -TERM $$", expect=None)
        self.assertEqual(done.returncode, -15)

    def test_no_samples_is_said(self):
        # However long it takes to end on a busy machine, this program does not use a minute of processor time.
        directory = self.here / "run"
        self.hpcrun("-e", "none", "-e", "CPUTIME@60000000", "-o", directory, "true", expect=0)
        done = harness.run([harness.PROF_MPI, directory], expect=1)
        self.assert_one_line(done.stderr, "prof-mpi: ", str(directory))

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system needs root")
    def test_disk_full(self):
        disk = self.here / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("this machine does not let root mount a tmpfs")
        self.addCleanup(subprocess.run, ["umount", disk])
        done = self.hpcrun("-o", disk / "run", harness.PROGRAMS / "spin", "0.5", expect=0)
        self.assertIn("No space left", done.stderr)
        self.assertEqual(done.stdout, "done\n")


class Merging(harness.Workspace):
    def prof_mpi(self, *arguments, expect):
        return harness.run([harness.PROF_MPI, *arguments], expect=expect)

    def measured(self, ranks=3):
        return self.measure("mpich", ranks, harness.PROGRAMS / "stencil.mpich", 30, 512, 512)

    def files(self, directory):
        return sorted(directory.rglob("*.culprit"))

    def test_absent_empty_and_foreign_directories(self):
        (self.here / "empty").mkdir()
        (self.here / "foreign").mkdir()
        (self.here / "foreign" / "notes.txt").write_text("hello")
        for name in ("absent", "empty", "foreign"):
            for tool in (harness.PROF_MPI, harness.VIEWER):
                done = harness.run([tool, self.here / name], expect=1)
                self.assert_one_line(done.stderr, f"{tool.name}: ", name)

    def test_no_arguments(self):
        self.assertIn("prof-mpi", self.prof_mpi(expect=2).stderr)
        self.assertIn("viewer-cli", harness.run([harness.VIEWER], expect=2).stderr)

    def test_garbage_and_truncated_measurements_lose_nothing_else(self):
        directory = self.measured()
        first, second, _ = self.files(directory)
        first.write_bytes(b"garbage" * 1000)
        second.write_bytes(second.read_bytes()[:-100])
        done = self.prof_mpi(directory, expect=3)
        self.assertIn(first.name, done.stderr)
        self.assertIn(second.name, done.stderr)
        info = harness.viewer_json(self.here / "run.db", "info")
        self.assertEqual(info["ranks"], 1)

    def test_each_bad_file_costs_a_line_and_nothing_else_whoever_meets_it(self):
        directory = self.measured(9)
        damaged, short, empty, noise, folder, pipe, link, *good = self.files(directory)
        data = bytearray(damaged.read_bytes())
        data[len(data) // 2] ^= 4
        damaged.write_bytes(data)
        short.write_bytes(short.read_bytes()[:500])
        empty.write_bytes(b"")
        noise.write_bytes(os.urandom(5000))
        for path in (folder, pipe, link):
            path.unlink()
        folder.mkdir()
        os.mkfifo(pipe)
        link.symlink_to("nowhere")
        databases = []
        for name, launcher in {"alone": [], **harness.LAUNCHERS}.items():
            database = self.here / f"{name}.db"
            ranks = ["-n", 2] if launcher else []
            done = harness.run([*launcher, *ranks, harness.PROF_MPI, "-q", directory, "-o", database], expect=3, timeout=300)
            for path in (damaged, short, empty, noise, folder, pipe, link):
                self.assertEqual(done.stderr.count(path.name), 1, done.stderr)
            for path in good:
                self.assertNotIn(path.name, done.stderr)
            self.assertEqual(harness.viewer_json(database, "info")["ranks"], len(good))
            databases.append(database.read_bytes())
        self.assertEqual(databases, databases[:1] * len(databases))

    def test_a_damaged_time_line_is_used_as_far_as_it_goes_and_told(self):
        directory = self.measure("mpich", 2, harness.PROGRAMS / "truth_point_to_point.mpich", self.here, 2, 5, options=("--trace",))
        path = sorted(directory.rglob("*.culprit.trace"))[1]
        data = bytearray(path.read_bytes())
        slots = (slot for slot in range(SLOT, len(data), SLOT) if data[slot : slot + 4] == b"CTRB")
        line = next(slot for slot in slots if data[slot + 8 : slot + 12] != bytes(4 * [255]))  # not the process's stream
        data[line + 100] ^= 4
        path.write_bytes(data)
        done = self.prof_mpi("-q", directory, expect=3)
        self.assert_one_line(done.stderr, path.name, "the checksum of a block is wrong")
        quality = harness.viewer_json(self.here / "run.db", "report")["quality"]
        self.assertEqual(quality["traces_stopped"], 1)
        self.assertGreater(sum(quality["unmatched"].values()), 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody who may not read")
    def test_files_and_directories_that_may_not_be_read_are_left_out(self):
        directory = self.measured(3)
        closed, file, _ = self.files(directory)
        for path in (self.here, directory, *directory.iterdir()):
            path.chmod(0o777 if path.is_dir() else 0o644)
        file.chmod(0)
        closed.parent.chmod(0)
        # The installed tool may lie where only root may look.
        tool = shutil.copy(harness.PROF_MPI, self.here)
        try:
            done = harness.run([tool, "-q", directory], expect=3, user=65534, group=65534, extra_groups=[])
        except PermissionError as refused:
            self.skipTest(f"root may not become somebody else here, or nobody else may run what is in {self.here}: {refused}")
        for path in (closed.parent, file):
            self.assertEqual(done.stderr.count(f"{path}: "), 1, done.stderr)
        self.assertEqual(harness.viewer_json(self.here / "run.db", "info")["ranks"], 1)

    def test_many_threads_with_few_file_descriptors_lose_no_file(self):
        directory = self.here / "run"
        for _ in range(100):  # processes of one run
            harness.run([harness.HPCRUN, "-o", directory, harness.PROGRAMS / "spin", "0.03"],
                        env=dict(harness.ENVIRONMENT, PMI_RANK="0", PMIX_NAMESPACE="one"))
        done = harness.run([harness.PROF_MPI, "--threads", 8, directory], expect=None,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)))
        self.assertNotIn("open files", done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"merged 100 profiles, .* by \d+ threads? of prof-mpi")

    def test_devices_are_not_replaced(self):
        directory = self.measured(1)
        pipe = self.here / "pipe"
        os.mkfifo(pipe)
        for name in (pipe, self.here):
            done = self.prof_mpi(directory, "--force", "-o", name, expect=1)
            self.assert_one_line(done.stderr, "prof-mpi: ", str(name), "no regular file")
        self.assertTrue(pipe.is_fifo())

    def test_names_that_are_no_utf8(self):
        strange = os.fsencode(self.here) + b"/na\xffme"
        os.mkdir(strange)
        program = strange + b"/sp\xe4n"
        shutil.copy(harness.PROGRAMS / "spin", program)
        database = strange + b"/run.db"
        for command in ([harness.HPCRUN, "-o", strange + b"/run", program, "0.3"], [harness.PROF_MPI, strange + b"/run"]):
            subprocess.run(command, check=True, capture_output=True, timeout=300)
        for words in (["view", "--format", "json"], ["view", "--format", "csv"], ["info", "--format", "json"],
                      *(["export", form] for form in ("collapsed", "speedscope", "pprof", "hatchet", "caliper"))):
            done = subprocess.run([harness.VIEWER, database, *words], capture_output=True, timeout=300)
            self.assertEqual((done.returncode, done.stderr), (0, b""), words)
            data = gzip.decompress(done.stdout) if "pprof" in words else done.stdout
            self.assertNotIn(b"sp\xe4n", data, words)
            if "pprof" in words or words[0] != "export":
                self.assertIn(rb"sp\\xe4n" if "json" in words else rb"sp\xe4n", data, words)  # the others name no modules
            if "pprof" not in words:
                data.decode()

    def test_nothing_readable(self):
        directory = self.measured(1)
        for path in self.files(directory):
            path.write_bytes(b"")
        done = self.prof_mpi(directory, expect=1)
        self.assertIn("prof-mpi: ", done.stderr)
        self.assertFalse((self.here / "run.db").exists())

    def test_database_exists(self):
        directory = self.measured(1)
        database = self.merge(directory)
        before = database.read_bytes()
        done = self.prof_mpi(directory, expect=1)
        self.assert_one_line(done.stderr, "prof-mpi: ", "run.db", "--force")
        self.assertEqual(database.read_bytes(), before)
        self.prof_mpi(directory, "--force", expect=0)
        page = self.here / "page.html"  # somebody's, which took an hour
        page.write_text("<html>")
        done = self.prof_mpi(directory, "--force", "-o", page, expect=1)
        self.assert_one_line(done.stderr, "prof-mpi: ", "page.html", "is no database")
        self.assertEqual(page.read_text(), "<html>")
        page.write_text("")
        self.prof_mpi(directory, "--force", "-o", page, expect=0)

    def test_a_killed_rank_is_labelled(self):
        directory = self.here / "run"
        done = harness.launch(
            "mpich", 2, [harness.HPCRUN, "-o", directory, harness.PROGRAMS / "dies.mpich", "KILL"], expect=None
        )
        self.assertNotEqual(done.returncode, 0)
        done = self.prof_mpi(directory, expect=3)
        self.assertIn("cut short", done.stderr)
        info = harness.viewer_json(self.here / "run.db", "info")
        self.assertGreaterEqual(info["cut_short"], 1)
        self.assertEqual(info["ranks"], 2)

    def test_damaged_database(self):
        database = self.merge(self.measured(1))
        whole = database.read_bytes()
        for damaged in (b"", whole[:100], whole[: len(whole) // 2], b"x" * len(whole)):
            database.write_bytes(damaged)
            done = harness.run([harness.VIEWER, database, "report"], expect=1)
            self.assert_one_line(done.stderr, "viewer-cli: ", "run.db")

    def test_unknown_metric_node_and_command(self):
        database = self.merge(self.measured(1))
        done = harness.run([harness.VIEWER, database, "view", "flat", "--sort", "NOPE"], expect=2)
        self.assert_one_line(done.stderr, "viewer-cli: ", "NOPE")
        done = harness.run([harness.VIEWER, database, "threads", "no/such/node"], expect=2)
        self.assert_one_line(done.stderr, "viewer-cli: ", "no/such/node")
        done = harness.run([harness.VIEWER, database, "frobnicate"], expect=2)
        self.assertIn("frobnicate", done.stderr)

    def test_unreadable_source_is_no_failure(self):
        source = self.here / "stencil.cpp"
        shutil.copy(pathlib.Path(__file__).parent.parent / "apps" / "stencil.cpp", source)
        program = self.here / "stencil"
        harness.run(["mpicxx.mpich", "-std=c++20", "-O2", "-g", source, "-o", program])
        directory = self.measure("mpich", 1, program, 30, 512, 512)
        source.unlink()
        self.merge(directory)

    def test_a_program_without_mpi(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "-o", directory, harness.PROGRAMS / "spin", "0.5"])
        database = self.merge(directory)
        report = harness.viewer_json(database, "report")
        self.assertEqual(report["idle_s"], 0)
        self.assertGreater(report["total_s"], 0.4)

    def copies_started_as_ranks(self, mpi):
        """Debian's mrbayes-mpi 3.2.7a is such a program: its ranks do the same work, each alone."""
        def noted(ranks):
            database = self.merge(self.measure(mpi, ranks, harness.PROGRAMS / "spin", "0.5", name=f"run-{ranks}"))
            verdict = harness.viewer_json(database, "report")["verdict"]
            said = "started as several ranks that call no MPI" in verdict["text"]
            self.assertEqual(said, ranks > 1 and verdict["kind"] == "healthy", verdict["text"])
            return "no call of MPI was seen" in " ".join(harness.run([harness.VIEWER, database, "report"]).stdout.split())

        self.assertFalse(noted(1))
        self.assertTrue(noted(2))

    def test_copies_started_as_ranks_openmpi(self):
        self.copies_started_as_ranks("openmpi")

    def test_copies_started_as_ranks_mpich(self):
        self.copies_started_as_ranks("mpich")


if __name__ == "__main__":
    unittest.main()
