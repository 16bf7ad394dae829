"""What becomes of code that was measured: names, lines and sources, wherever debug information lies and whatever happened
to the program before it was merged."""

import os
import pathlib
import re
import socket
import subprocess
import unittest

import harness


class StaticStructure(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.source = self.here / "work.cpp"
        self.source.write_text(pathlib.Path(__file__).parent.parent.joinpath("apps", "spin.cpp").read_text())
        self.program = self.here / "work"
        harness.run(["c++", "-std=c++20", "-O2", "-g", "-Wl,--build-id=sha1", self.source, "-o", self.program])

    def measured(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "-q", "-o", directory, self.program, "0.3"])
        return directory

    def loops(self, database):
        """The lines of work.cpp at which loops were found."""
        nodes = harness.walk(harness.viewer_json(database, "view", "flat")["roots"])
        frames = [node["frame"] for node in nodes]
        return {f["line"] for f in frames if f["kind"] == "loop" and f["file"] and f["file"].endswith("work.cpp")}

    def expected_loops(self):
        lines = self.source.read_text().splitlines()
        return {number for number, line in enumerate(lines, 1) if re.match(r" +(while|for) ", line)}

    def report(self, database):
        return " ".join(harness.run([harness.VIEWER, database, "report"]).stdout.split())

    def test_deleted_and_rebuilt_programs_are_told(self):
        directory = self.measured()
        kept = self.here / "kept"
        self.program.rename(kept)
        text = self.report(self.merge(directory))
        self.assertIn(f"no names for the procedures of {self.program} (cannot be read", text)
        harness.run(["c++", "-std=c++20", "-O1", "-g", "-Wl,--build-id=sha1", self.source, "-o", self.program])
        database = self.merge(directory, "--force")
        self.assertIn(f"no names for the procedures of {self.program} (changed since it was measured", self.report(database))
        self.assertEqual(self.loops(database), set())
        kept.replace(self.program)
        database = self.merge(directory, "--force")
        self.assertNotIn("no names", self.report(database))
        self.assertLessEqual(self.loops(database), self.expected_loops())
        self.assertTrue(self.loops(database))

    def test_lines_come_from_a_debuginfod_server(self):
        if not any(pathlib.Path("/usr/lib").rglob("libdebuginfod.so.1")):
            self.skipTest("debuginfod's client is not installed")
        notes = subprocess.run(["readelf", "-n", self.program], capture_output=True, text=True, check=True).stdout
        served = self.here / "server" / "buildid" / re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
        served.mkdir(parents=True)
        harness.run(["objcopy", "--only-keep-debug", self.program, served / "debuginfo"])
        harness.run(["strip", "-s", self.program])
        directory = self.measured()
        self.assertEqual(self.loops(self.merge(directory)), set())
        environment = dict(harness.ENVIRONMENT, DEBUGINFOD_URLS=f"file://{self.here}/server",
                           DEBUGINFOD_CACHE_PATH=str(self.here / "cache"))
        harness.run([harness.PROF_MPI, "--force", directory], env=environment)
        self.assertTrue(self.loops(self.here / "run.db"))

    def test_debuginfod_servers_that_do_not_answer_are_given_up(self):
        if not any(pathlib.Path("/usr/lib").rglob("libdebuginfod.so.1")):
            self.skipTest("debuginfod's client is not installed")
        harness.run(["strip", "-s", self.program])
        directory = self.measured()
        with socket.socket() as server:  # connections are made, and nothing else happens; or not even that
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            environment = dict(harness.ENVIRONMENT, DEBUGINFOD_URLS="http://127.0.0.1:%d" % server.getsockname()[1],
                               DEBUGINFOD_CACHE_PATH=str(self.here / "debug-files"), DEBUGINFOD_TIMEOUT="1")
            harness.run([harness.PROF_MPI, "--no-structure-cache", directory], env=environment)
        modules = harness.viewer_json(self.here / "run.db", "info")["modules"]
        notes = [note for module in modules for note in module["notes"]]
        self.assertIn("debuginfod's servers (DEBUGINFOD_URLS) did not answer", notes)

    def test_cached_structure_changes_no_byte_of_the_database(self):
        """Not cold, warm, known in part, damaged, unwritable, in use by two at once, nor under MPI."""
        directory = self.measured()
        other = self.here / "other"
        harness.run([harness.HPCRUN, "-q", "-o", other, self.program, "0.1"])
        cache = self.here / "cache"

        def merged(*options, name, launcher=()):
            database = self.here / f"{name}.db"
            harness.run([*launcher, harness.PROF_MPI, "-q", directory, "-o", database, *options])
            return database.read_bytes()

        expected = merged("--no-structure-cache", name="without")
        self.assertFalse(cache.exists())
        harness.run([harness.PROF_MPI, "-q", "--structure-cache", cache, other])
        known = {entry.name: entry.read_bytes() for entry in cache.iterdir() if entry.stat().st_size}
        self.assertTrue(known, "nothing was kept")
        self.assertEqual(merged("--structure-cache", cache, name="partly"), expected, "known in part from another run")
        entries = [cache / name for name in known]
        stamps = [(entry.stat().st_mtime_ns, entry.stat().st_ino) for entry in entries]
        self.assertEqual(merged("--structure-cache", cache, name="warm"), expected)
        self.assertEqual([(entry.stat().st_mtime_ns, entry.stat().st_ino) for entry in entries], stamps, "learnt twice")
        for entry in entries:
            data = bytearray(entry.read_bytes())
            data[len(data) // 2] ^= 0x40
            entry.write_bytes(data)
        self.assertEqual(merged("--structure-cache", cache, name="damaged"), expected)
        self.assertEqual(merged("--structure-cache", self.source, name="no-directory"), expected)
        cache.chmod(0o500)
        self.assertEqual(merged("--structure-cache", cache, name="read-only"), expected)
        cache.chmod(0o700)
        shared = self.here / "shared"
        both = [
            subprocess.Popen([harness.PROF_MPI, "-q", directory, "-o", self.here / f"at-once{i}.db", "--structure-cache", shared],
                             env=harness.ENVIRONMENT)
            for i in range(2)
        ]
        self.assertEqual([process.wait(240) for process in both], [0, 0])
        for i in range(2):
            self.assertEqual((self.here / f"at-once{i}.db").read_bytes(), expected, "two at once")
        self.assertFalse([entry.name for entry in shared.iterdir() if entry.name.startswith(".new-")])
        for mpi, launcher in harness.LAUNCHERS.items():
            self.assertEqual(merged("--structure-cache", shared, name=mpi, launcher=[*launcher, "-n", 3]), expected, mpi)
        harness.run([harness.PROF_MPI, "-q", "--dry-run", "--structure-cache", self.here / "dry", directory])
        self.assertFalse((self.here / "dry").exists())

    def test_sources_are_copied_unless_told_otherwise(self):
        padding = "// " + os.urandom(100_000).hex() + "\n"
        self.source.write_text(self.source.read_text() + padding)
        directory = self.measured()
        with_sources = self.merge(directory).stat().st_size
        without = self.merge(directory, "--force", "--no-source").stat().st_size
        self.assertGreater(with_sources - without, 90_000)


if __name__ == "__main__":
    unittest.main()
