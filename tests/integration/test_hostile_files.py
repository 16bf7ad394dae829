"""What files and directories that others made, or that a program names, can do to the tools: nothing but be reported."""

import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import unittest

import harness

NOBODY = 65534


def program_naming(sources, directory):
    """A program that spends a tenth of a second in a function of each source that its debug information names."""
    text = "#include <time.h>\nstatic volatile double x;\n"
    for number, source in enumerate(sources):
        text += f'#line 1 "{source}"\n' + "__attribute__((noinline)) static void f%d(void) {\n" % number
        text += "  clock_t end = clock() + CLOCKS_PER_SEC / 10;\n  while (clock() < end) for (int i = 0; i < 1000; ++i) x += i;\n}\n"
    calls = " ".join(f"f{number}();" for number in range(len(sources)))
    text += '#line 1 "main.c"\nint main(void) { ' + calls + " return 0; }\n"
    (directory / "names.c").write_text(text)
    harness.run(["cc", "-g", "-O1", "-o", directory / "names", directory / "names.c"])
    return directory / "names"


@unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
class NamedSources(harness.Workspace):
    def measured(self, *sources):
        harness.run([harness.HPCRUN, "-o", self.here / "run", program_naming(sources, self.here)])
        return self.here / "run"

    def holds(self, text):
        return text.encode() in (self.here / "run.db").read_bytes()

    def test_what_is_no_source_is_neither_waited_for_nor_copied(self):
        plain, fifo, binary = self.here / "plain.c", self.here / "fifo.c", self.here / "key.bin"
        plain.write_text("int plainly_a_source;\n")
        binary.write_bytes(b"\0\1\2secretly_a_key\n")
        os.mkfifo(fifo)
        directory = self.measured("/proc/kmsg", fifo, binary, "/dev/zero", "/proc/self/mem", self.here, "/nowhere/x.c", plain)
        harness.run([harness.PROF_MPI, "-q", directory], timeout=300)
        self.assertTrue(self.holds("plainly_a_source"))
        self.assertFalse(self.holds("secretly_a_key"))

    def test_a_database_is_not_for_those_who_may_not_read_what_is_in_it(self):
        secret = self.here / "secret.c"
        secret.write_text("int known_to_few;\n")
        secret.chmod(0o600)
        self.here.chmod(0o755)
        directory = self.measured(secret)
        done = harness.run([harness.PROF_MPI, directory])
        self.assertTrue(self.holds("known_to_few"))
        self.assertEqual(stat.S_IMODE((self.here / "run.db").stat().st_mode), 0o600)
        self.assertIn("not everybody may read", done.stdout)
        harness.run([harness.PROF_MPI, "-q", "--force", "--no-source", directory])
        self.assertFalse(self.holds("known_to_few"))

    @unittest.skipUnless(os.geteuid() == 0, "measurements of somebody else need root")
    def test_root_copies_for_a_user_only_what_the_user_may_read(self):
        secret, plain = self.here / "secret.c", self.here / "plain.c"
        secret.write_text("int known_to_root;\n")
        secret.chmod(0o600)
        plain.write_text("int known_to_all;\n")
        plain.chmod(0o644)
        self.here.chmod(0o755)
        directory = self.measured(secret, plain)
        for path in [directory, *directory.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)
        harness.run([harness.PROF_MPI, "-q", directory])
        self.assertTrue(self.holds("known_to_all"))
        self.assertFalse(self.holds("known_to_root"))


class Written(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.here.chmod(0o755)
        harness.run([harness.HPCRUN, "-o", self.here / "run", harness.PROGRAMS / "spin", "0.2"])
        self.victim = self.here / "victim"
        self.victim.write_text("precious")

    def limited(self, size):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return limit

    def nothing_left(self):
        return [path.name for path in self.here.iterdir() if "tmp" in path.name]

    def test_temporary_files_do_not_follow_links(self):
        # The names that earlier versions gave them: whoever may write beside a database can make them beforehand.
        now = os.getpid()
        for process in range(now, now + 2000):
            os.symlink(self.victim, self.here / f".run.db.{process}.tmp")
        os.symlink(self.victim, self.here / "out.json.tmp")
        harness.run([harness.PROF_MPI, "-q", self.here / "run"])
        harness.run([harness.VIEWER, self.here / "run.db", "export", "json", "-o", self.here / "out.json"])
        self.assertEqual(self.victim.read_text(), "precious")
        self.assertFalse((self.here / "out.json").is_symlink())

    def test_a_register_that_is_a_link_is_refused(self):
        other = self.here / "other"
        other.mkdir()
        os.symlink(self.victim, other / "culprit.ranks")
        done = harness.run(["mpiexec.mpich", "-n", "1", harness.HPCRUN, "-o", other, harness.PROGRAMS / "spin", "0.1"], expect=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(str(other), done.stderr)
        self.assertEqual(self.victim.read_text(), "precious")

    def test_an_export_does_not_go_through_a_link(self):
        harness.run([harness.PROF_MPI, "-q", self.here / "run"])
        os.symlink(self.victim, self.here / "out.json")
        done = harness.run([harness.VIEWER, self.here / "run.db", "export", "json", "-o", self.here / "out.json"], expect=1)
        self.assert_one_line(done.stderr, "viewer-cli: export: ", "out.json", "link")
        self.assertEqual(self.victim.read_text(), "precious")

    def test_a_limit_on_file_sizes_is_told(self):
        done = harness.run([harness.PROF_MPI, "-q", self.here / "run"], expect=1, preexec_fn=self.limited(8000))
        self.assert_one_line(done.stderr, "prof-mpi: write: ", "run.db", "8000 bytes", "ulimit -f")
        done = harness.run([harness.VIEWER, self.here / "run", "report"], expect=1, preexec_fn=self.limited(8000))
        self.assert_one_line(done.stderr, "viewer-cli: write: ", "run.db", "8000 bytes")
        harness.run([harness.PROF_MPI, "-q", self.here / "run"])
        done = harness.run([harness.VIEWER, self.here / "run.db", "export", "json", "-o", self.here / "x.json"], expect=1,
                           preexec_fn=self.limited(8000))
        self.assert_one_line(done.stderr, "viewer-cli: export: ", "x.json", "8000 bytes")
        self.assertEqual(self.nothing_left(), [])
        self.assertFalse((self.here / "x.json").exists())

    def test_a_directory_that_cannot_be_written_has_its_database_elsewhere(self):
        (self.here / "beside").mkdir()
        (self.here / "run").rename(self.here / "beside" / "run")
        os.symlink("/nowhere/run.db", self.here / "beside" / "run.db.link")
        database = self.here / "elsewhere.db"
        arguments = [harness.VIEWER, self.here / "beside" / "run", "-q", "-o", database]
        first = harness.run([*arguments, "info"])
        self.assertTrue(database.exists())
        self.assertFalse((self.here / "beside" / "run.db").exists())
        before = database.stat().st_mtime_ns
        self.assertEqual(harness.run(["/usr/bin/env", *arguments, "info"]).stdout, first.stdout)
        self.assertEqual(database.stat().st_mtime_ns, before)
        done = harness.run([harness.VIEWER, database, "-o", self.here / "x.db", "info"], expect=2)
        self.assert_one_line(done.stderr, "viewer-cli: --output: ", "measurement directory")

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_a_read_only_directory_says_where_else(self):
        script = ('mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77\n'
                  'exec "$2" "$1/run" report')
        done = harness.run(["unshare", "-m", "sh", "-c", script, "sh", self.here, harness.VIEWER], expect=None)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("this machine does not let root mount")
        self.assertEqual(done.returncode, 1)
        self.assert_one_line(done.stderr, "viewer-cli: write: ", "run.db", "Read-only", "-o")

    @unittest.skipUnless(os.geteuid() == 0, "unmounting needs root")
    def test_without_proc(self):
        script = 'umount -l /proc || exit 77\nexec "$@"'
        done = harness.run(["unshare", "-m", "sh", "-c", script, "sh", harness.HPCRUN, "-o", self.here / "bare",
                            harness.PROGRAMS / "spin", "0.2"], expect=None)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("this machine does not let root unmount")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(list((self.here / "bare").rglob("*.culprit")))

    def test_little_memory_is_told(self):
        """Without a cache of structure, so that libdw meets it, too; what libraries say comes before our line."""
        for megabytes in range(20, 60):
            with self.subTest(megabytes=megabytes):
                def limit():
                    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
                environment = dict(harness.ENVIRONMENT, XDG_CACHE_HOME=self.here / f"cache{megabytes}")
                done = harness.run([harness.PROF_MPI, "-q", "--force", self.here / "run"], expect=None, preexec_fn=limit,
                                   env=environment)
                if done.returncode == 1:
                    self.assert_one_line(done.stderr.splitlines(True)[-1], "prof-mpi: ", "(")
                    self.assertNotIn("bad_alloc", done.stderr)
                else:
                    self.assertIn(done.returncode, (0, 127), done.stderr)

    def test_a_merge_that_is_ended_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV):
            merging = subprocess.Popen([str(word) for word in (harness.PROF_MPI, "-q", "--force", self.here / "run")])
            while merging.poll() is None and not self.nothing_left():
                pass
            merging.send_signal(number)
            merging.wait(60)
            self.assertEqual(self.nothing_left(), [])

    def test_rules_that_are_no_file(self):
        fifo = self.here / "fifo"
        os.mkfifo(fifo)
        for rules in (fifo, "/dev/zero", self.here):
            done = harness.run([harness.PROF_MPI, "-q", "--idle-rules", rules, self.here / "run"], expect=1, timeout=300)
            self.assert_one_line(done.stderr, "prof-mpi: idle rules: ", str(rules))


if __name__ == "__main__":
    unittest.main()
