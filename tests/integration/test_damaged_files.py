"""The tools on files in which one byte is wrong, or the end is missing: what they give is right, or they report the file.

The unit tests damage every byte of each format (tests/fuzz/README.md says where); here whole tools meet a few bytes of each
file, spread evenly over what is used of it.
"""

import unittest

import harness

BYTES = 14  # of each file that are damaged
SECONDS = 60  # for one command; none takes one


def used(data):
    """BYTES places in it, none of them in a hole: a fixed stride over the bytes that are not zero."""
    places = [at for at, byte in enumerate(data) if byte]
    return places[:: max(1, len(places) // BYTES)]


def damages(path):
    """Damages the file in each way in turn, and says which. Afterwards it is whole."""
    whole = path.read_bytes()
    for number, at in enumerate(used(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << number % 8]) + whole[at + 1 :])
        yield f"{path.name}: bit {number % 8} of byte {at}"
        if number % 2 == 0:
            path.write_bytes(whole[:at])
            yield f"{path.name}: cut at {at}"
    path.write_bytes(whole)


class DamagedRun(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.run_directory, self.database = self.here / "run", self.here / "run.db"
        self.cache = self.here / "cache"

    def merged(self, *options):
        self.database.unlink(missing_ok=True)
        done = harness.run([harness.PROF_MPI, "-q", "--threads", 2, "--structure-cache", self.cache, "-v", *options, self.run_directory],
                           expect=None, timeout=SECONDS)  # fmt: skip
        return done, self.database.read_bytes() if self.database.exists() else None

    def remember(self):
        """What is merged while nothing is damaged; twice, because the structure cache is filled by the first."""
        self.merged()
        self.whole, self.whole_database = self.merged()
        self.assertIsNotNone(self.whole_database, self.whole.stderr)
        self.known = set(self.whole.stderr.splitlines())

    def check(self, path, what, ends=()):
        """The same database; or 3 and a line that names the file. 1 where a marker or all that there is may not be used."""
        done, database = self.merged()
        self.assertIn(done.returncode, (0, 3, *ends), f"{what}: {done.stderr}")
        new = [line for line in done.stderr.splitlines() if line not in self.known and " was cut short: " not in line]
        if done.returncode == self.whole.returncode and not new:
            self.assertTrue(database == self.whole_database, f"{what}: another database, and nothing is said")
        else:
            self.assertTrue(any(str(path) in line for line in new), f"{what}: no line names it: {done.stderr}")
        return bool(new)

    def damage(self, path, ends=()):
        """How many damages were reported."""
        reported = sum(self.check(path, what, ends) for what in damages(path))
        self.assertFalse(self.check(path, f"{path.name}: put right again"))
        return reported


class CleanRun(DamagedRun):
    def setUp(self):
        super().setUp()
        self.measure("mpich", 2, harness.PROGRAMS / "truth_point_to_point.mpich", self.here, 2, 5, options=("--trace",))
        self.remember()
        self.assertEqual(self.whole.returncode, 0, self.whole.stderr)

    def test_measurement(self):
        self.assertGreater(self.damage(sorted(self.run_directory.rglob("*.culprit"))[0]), BYTES)

    def test_time_lines(self):
        self.assertGreater(self.damage(sorted(self.run_directory.rglob("*.culprit.trace"))[0]), BYTES)

    def test_marker_and_register(self):
        self.assertGreater(self.damage(self.run_directory / "culprit.run", ends=(1,)), 0)
        self.assertEqual(self.damage(self.run_directory / "culprit.ranks"), 0)  # only running ranks read it

    def test_structure_cache(self):
        entry = max((path for path in self.cache.iterdir() if not path.name.startswith(".")), key=lambda path: path.stat().st_size)
        self.assertEqual(self.damage(entry), 0)  # what is damaged is recovered anew

    def test_database(self):
        """Each command prints the same, or one line that names the database."""
        commands = [["report", "--format", "json"], ["view", "flat", "--format", "csv"], ["waits", "--format", "json"], ["export", "json"]]
        good = [self.view(command).stdout for command in commands]
        refused = 0
        for what in damages(self.database):
            for command, text in zip(commands, good):
                done = self.view(command)
                if done.returncode == 0:
                    self.assertEqual(done.stdout, text, f"{what}: {command}")
                else:
                    self.assertEqual(done.returncode, 1, f"{what}: {command}: {done.stderr}")
                    self.assert_one_line(done.stderr, "viewer-cli: ", self.database.name)
                    refused += 1
        self.assertGreater(refused, BYTES)

    def view(self, command):
        return harness.run([harness.VIEWER, self.database, *command], expect=None, timeout=SECONDS)

    def test_texts_of_users(self):
        """Rules and metrics have no checksum: what is wrong in them is another text, or one line that names it."""
        rules, metrics = self.here / "my.rules", self.database.with_name("run.db.metrics")
        rules.write_text("wait mpi MPI_X*\n  MPI_Y\nmoves copy\n")
        for what in damages(rules):
            done, _ = self.merged("--idle-rules", rules)
            if done.returncode != 0:
                self.assertEqual(done.returncode, 1, f"{what}: {done.stderr}")
                self.assert_one_line(done.stderr, "prof-mpi: ", str(rules))
        self.merged()
        metrics.write_text("share=$idleness/$REALTIME\ntwice=2*$share\n")
        for what in damages(metrics):
            self.assertIn(self.view(["view", "flat"]).returncode, (0, 1, 2), what)


class KilledRun(DamagedRun):
    def setUp(self):
        super().setUp()
        self.measure("mpich", 2, harness.PROGRAMS / "dies.mpich", "KILL", options=("--trace",), expect=None)
        self.remember()
        self.assertEqual(self.whole.returncode, 3, self.whole.stderr)
        self.killed = self.live()

    def live(self):
        """The file of the rank that killed itself: its launcher ended the other one, perhaps by SIGTERM."""
        files = [path for path in sorted(self.run_directory.rglob("*.culprit")) if path.read_bytes()[:8] == b"CULPRITA"]
        self.assertTrue(files)
        return files[-1]

    def test_measurement(self):
        self.assertGreater(self.damage(self.killed, ends=(1,)), BYTES)

    def test_time_lines(self):
        self.assertGreater(self.damage(self.killed.with_name(self.killed.name + ".trace"), ends=(1,)), BYTES)

    def test_stuck(self):
        """Calls in progress have no checksum: the answer may be another one, but there is one."""
        for what in damages(self.killed):
            done = harness.run([harness.VIEWER, "stuck", self.run_directory], expect=None, timeout=SECONDS)
            self.assertIn(done.returncode, (0, 1, 2, 3), f"{what}: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
