"""Files of earlier versions (stored/README.md) are read as they were then: databases by the viewer and the Python package,
measurements and time lines by the merger, though the program is not there any more."""

import collections
import pathlib
import sys
import tarfile
import unittest

import harness

STORED = pathlib.Path(__file__).parent / "stored"
# What each version said itself, of its own files: of `report` and of `waits`.
SAID = {"0.1.0": {"ranks": 2, "samples": 1251, "idle_s": 1.539178166, "total_s": 6.648937144, "waits_s": 1.503265452, "waits": 105}}
# The same of time lines alone, by the format's version: samples and waits, how long each rank's main thread waited for others of
# its process, and the sum of each rank's parallel regions.
LINES_SAID = {
    "trace-4": {
        "samples": 1621, "wait-at-barrier": 1.699075741, "barrier-completion": 0.111684856, "wait-at-init": 0.003561459,
        "thread_waits_s": [0.941153516, 0.667459599], "regions_s": [0.208048748, 0.272176699],
    },
}  # fmt: skip
# Of killed ranks, whose measurements are live ones, by the format's version.
LIVE_SAID = {"live-2": {"ranks": 2, "samples": 449, "idle_s": 1.517454449, "total_s": 4.755385425}}
PATTERNS = ("wait-at-barrier", "barrier-completion", "wait-at-init")
REGIONS = 40
STAMPS_S = 0.0001  # between the program's stamps and ours, in these measurements


class StoredFiles(harness.Workspace):
    def unpack(self, version):
        here = self.here / version
        with tarfile.open(STORED / f"{version}.tar.xz") as archive:
            archive.extractall(here)
        return here

    def merge_again(self, measurement):
        database = measurement.with_name(f"{measurement.name}.again.db")
        harness.run([harness.PROF_MPI, "-q", measurement, "-o", database], expect=None)
        return database

    def test_each_is_known(self):
        self.assertEqual({path.name.removesuffix(".tar.xz") for path in STORED.glob("*.tar.xz")}, {*SAID, *LINES_SAID, *LIVE_SAID})

    def said_of(self, database):
        report = harness.viewer_json(database, "report")
        waits = harness.viewer_json(database, "waits")
        return {
            "ranks": report["quality"]["ranks"], "samples": report["quality"]["samples"], "idle_s": report["idle_s"],
            "total_s": report["total_s"], "waits_s": sum(row["seconds"] for row in waits), "waits": sum(row["count"] for row in waits),
        }  # fmt: skip

    def test_all_versions_of_live_measurements(self):
        for version, said in LIVE_SAID.items():
            with self.subTest(version):
                run = self.unpack(version) / "run"
                for file in run.rglob("*.culprit"):
                    magic, number = file.read_bytes()[:8], int.from_bytes(file.read_bytes()[8:12], "little")
                    self.assertEqual((magic, number), (b"CULPRITA", int(version.removeprefix("live-"))))
                self.compare(self.said_of(self.merge_again(run)), said)

    def test_databases_of_other_versions_are_refused(self):
        database = self.unpack("0.1.0") / "run.db"
        for version in (1, 9):
            with open(database, "r+b") as file:
                file.seek(8)
                file.write(version.to_bytes(4, "little"))
            done = harness.run([harness.VIEWER, database, "report"], expect=1)
            self.assertEqual(done.stdout, "")
            self.assert_one_line(done.stderr, str(database), f"database format {version}, this version reads 2 (merge again")

    def compare(self, found, said):
        for key, value in said.items():
            self.assertAlmostEqual(found[key], value, delta=1e-6, msg=key)

    def test_all_versions(self):
        for version, said in SAID.items():
            with self.subTest(version):
                here = self.unpack(version)
                database = here / "run.db"
                self.compare(self.said_of(database), said)
                with self.culprit().open(database) as read:
                    self.assertEqual((read.ranks, read.quality["samples"]), (said["ranks"], said["samples"]))
                self.compare(self.said_of(self.merge_again(here / "run")), said)

    def test_all_versions_of_time_lines(self):
        for version, said in LINES_SAID.items():
            with self.subTest(version):
                here = self.unpack(version)
                for file in (here / "run").rglob("*.trace"):
                    self.assertEqual(int.from_bytes(file.read_bytes()[8:12], "little"), int(version.removeprefix("trace-")))
                database, regions = self.merge_again(here / "run"), self.merge_again(here / "regions")
                self.compare_lines(database, regions, said)
                self.compare_with_logs(here, database, regions)

    def test_other_versions_are_refused(self):
        """Neither 2, which no tool reads any more, nor one that is still to come: a line for each file, and the rest is merged."""
        run = self.unpack("trace-4") / "run"
        for version, written in ((2, "an older"), (6, "a newer")):
            files = sorted(run.rglob("*.trace"))
            for file in files:
                with open(file, "r+b") as bytes_of_it:
                    bytes_of_it.seek(8)
                    bytes_of_it.write(version.to_bytes(4, "little"))
            done = harness.run([harness.PROF_MPI, "-q", run, "-o", run.with_name(f"{version}.db")], expect=3)
            lines = done.stderr.splitlines()
            self.assertEqual(len(lines), len(files), lines)
            for line in lines:
                self.assertIn(f"has format version {version}, written by {written} Culprit (use the tools of that version", line)

    def compare_lines(self, database, regions, said):
        quality = harness.viewer_json(database, "report")["quality"]
        self.assertEqual((quality["samples"], quality["traced_ranks"]), (said["samples"], 2))
        found = collections.Counter()
        for row in harness.viewer_json(database, "waits"):
            found[row["pattern"]] += row["seconds"]
        self.compare(found, {name: seconds for name, seconds in said.items() if name in PATTERNS})
        segments = harness.viewer_json(regions, "variation")["sos_s"]
        waits = harness.viewer_json(database, "variation")["thread_waits_s"]
        for rank in range(2):
            self.assertAlmostEqual(waits[rank], said["thread_waits_s"][rank], delta=1e-6)
            self.assertAlmostEqual(sum(segments[rank]), said["regions_s"][rank], delta=1e-6)

    def compare_with_logs(self, here, database, regions):
        """The main thread of rank 0 waits for a thread that works as long as the log says; each region is one of the log's."""
        worked = sum(sum(map(int, line.split()[2:])) for line in (here / "late-0.log").read_text().splitlines())
        self.assertAlmostEqual(harness.viewer_json(database, "variation")["thread_waits_s"][0], 1e-9 * worked, delta=0.02)
        found = harness.viewer_json(regions, "variation")
        self.assertEqual(found["invocations"], "marked")
        for rank, row in enumerate(found["sos_s"]):
            log = [list(map(int, line.split())) for line in (here / f"regions-{rank}.log").read_text().splitlines()]
            self.assertEqual((len(row), len(log)), (REGIONS, REGIONS))
            for seconds, (begin, end) in zip(row, log):
                self.assertAlmostEqual(seconds, 1e-9 * (end - begin), delta=STAMPS_S)

    def culprit(self):
        sys.path.insert(0, str(harness.PREFIX / "lib" / "python3" / "dist-packages"))
        import culprit

        return culprit


if __name__ == "__main__":
    unittest.main()
