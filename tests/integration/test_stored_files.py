"""Files of released versions (stored/README.md) are read as they were then: databases by the viewer and the Python package,
measurements and time lines by the merger, though the program is not there any more."""

import pathlib
import sys
import tarfile
import unittest

import harness

STORED = pathlib.Path(__file__).parent / "stored"
# What each version said itself, of its own files: of `report` and of `waits`.
SAID = {"0.1.0": {"ranks": 2, "samples": 1251, "idle_s": 1.539178166, "total_s": 6.648937144, "waits_s": 1.503265452, "waits": 105}}


class StoredFiles(harness.Workspace):
    def said_of(self, database):
        report = harness.viewer_json(database, "report")
        waits = harness.viewer_json(database, "waits")
        return {
            "ranks": report["quality"]["ranks"], "samples": report["quality"]["samples"], "idle_s": report["idle_s"],
            "total_s": report["total_s"], "waits_s": sum(row["seconds"] for row in waits), "waits": sum(row["count"] for row in waits),
        }  # fmt: skip

    def compare(self, found, said):
        for key, value in said.items():
            self.assertAlmostEqual(found[key], value, delta=1e-6, msg=key)

    def test_all_versions(self):
        self.assertEqual({path.name.removesuffix(".tar.xz") for path in STORED.glob("*.tar.xz")}, set(SAID))
        for version, said in SAID.items():
            with self.subTest(version):
                here = self.here / version
                with tarfile.open(STORED / f"{version}.tar.xz") as archive:
                    archive.extractall(here)
                database = here / "run.db"
                self.compare(self.said_of(database), said)
                with self.culprit().open(database) as read:
                    self.assertEqual((read.ranks, read.quality["samples"]), (said["ranks"], said["samples"]))
                again = here / "again.db"
                harness.run([harness.PROF_MPI, "-q", here / "run", "-o", again], expect=None)
                self.compare(self.said_of(again), said)

    def culprit(self):
        sys.path.insert(0, str(harness.PREFIX / "lib" / "python3" / "dist-packages"))
        import culprit

        return culprit


if __name__ == "__main__":
    unittest.main()
