"""The database is the same, byte for byte, for any number of ranks, under either MPI, and for threads in-process."""

import hashlib
import unittest

import harness


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class SameBytes(harness.Workspace):
    def test_ranks_and_threads(self):
        self.merge_in_all_ways(self.measure("openmpi", 4, harness.PROGRAMS / "stencil.openmpi", 40, 512, 512), (1, 2, 3, 7))

    def test_ranks_and_threads_with_time_lines(self):
        """What only the time lines tell, exact waits and their causes among it, is found by ranks that each follow some of them."""
        program = harness.PROGRAMS / "stencil.openmpi"
        directory = self.measure("openmpi", 4, program, 40, 512, 512, options=["--trace"])
        self.merge_in_all_ways(directory, (1, 2, 3))
        waits = harness.viewer_json(directory.with_name("run.db"), "waits")
        self.assertTrue(any(wait["exact"] for wait in waits), "no wait from time stamps: the traces were not followed")

    def merge_in_all_ways(self, directory, some_ranks):
        expected = None
        for mpi in harness.LAUNCHERS:
            for ranks in some_ranks:
                database = self.here / f"{mpi}.{ranks}.db"
                harness.launch(mpi, ranks, [harness.PROF_MPI, directory, "-o", database])
                expected = expected or digest(database)
                self.assertEqual(digest(database), expected, f"{mpi}, {ranks} ranks")
        harness.run([harness.VIEWER, directory, "info"])
        self.assertEqual(digest(directory.with_name("run.db")), expected, "viewer-cli in-process")
        alone = self.here / "alone.db"
        harness.run([harness.PROF_MPI, directory, "-o", alone])
        self.assertEqual(digest(alone), expected, "prof-mpi without a launcher")


if __name__ == "__main__":
    unittest.main()
