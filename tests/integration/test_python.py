"""The installed Python package says of measured programs what viewer-cli says: with and without traces, ranks, threads, MPI."""

import os
import pathlib
import subprocess
import sys

import harness

PACKAGE = harness.PREFIX / "lib" / "python3" / "dist-packages"
sys.path[:0] = [str(PACKAGE), str(pathlib.Path(__file__).resolve().parent.parent / "python")]

import against_viewer  # noqa: E402
import culprit  # noqa: E402
import damage  # noqa: E402


class Python(harness.Workspace):
    def compare(self, directory, traced=False):
        harness.run([harness.PROF_MPI, "-q", directory], expect=None)
        path = directory.with_name(directory.name + ".db")
        found = against_viewer.Comparison(self, harness.VIEWER, path)
        self.assertEqual(found.traced, traced)
        found.everything()
        return culprit.open(path)

    def test_traced_iterations(self):
        directory = self.measure("openmpi", 3, harness.PROGRAMS / "sor_marked.openmpi", "post", 40, 25, 30, options=("-q", "--trace"))
        db = self.compare(directory, traced=True)
        self.assertTrue(db.levels and db.levels[0].marked)
        self.assertEqual(len(db.time_map.rows), 3)
        self.assertEqual(sum(db.partners["messages"]) > 0, True)
        self.check_cuts(db)

    def check_cuts(self, db):
        """Cut anywhere, a real database is refused."""
        data = pathlib.Path(db.path).read_bytes()
        cut = self.here / "cut.db"
        cut.write_bytes(data)
        for size in reversed(range(0, len(data), max(1, len(data) // 500))):
            os.truncate(cut, size)
            with self.assertRaises(culprit.FormatError, msg=size):
                damage.look_at_everything(culprit.open(cut))

    def test_all_patterns_of_waits(self):
        directory = self.measure("mpich", 2, harness.PROGRAMS / "every_wait.mpich", options=("--trace",))
        db = self.compare(directory, traced=True)
        self.assertGreater(len(set(db.waits["pattern"])), 2)

    def test_threads_without_trace(self):
        db = self.compare(self.measure("openmpi", 2, harness.PROGRAMS / "threads.openmpi"))
        self.assertGreater(len(db.threads), 2)

    def test_recursion(self):
        self.compare(self.measure("mpich", 2, harness.PROGRAMS / "recursion.mpich", "150", "200"))

    def test_without_mpi(self):
        directory = self.here / "alone"
        harness.run([harness.HPCRUN, "-q", "-o", directory, harness.PROGRAMS / "spin", "0.5"])
        db = self.compare(directory)
        self.assertEqual((db.ranks, set(db.threads["rank"])), (0, {None}))

    def test_import_needs_a_path_alone(self):
        environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
        script = "import culprit; print(culprit.__file__)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
        self.assertEqual(pathlib.Path(done.stdout.strip()).parent.parent, PACKAGE, done.stderr)
        with self.assertRaisesRegex(culprit.FormatError, "directory.*prof-mpi"):
            culprit.open(self.here)


if __name__ == "__main__":
    import unittest

    unittest.main()
