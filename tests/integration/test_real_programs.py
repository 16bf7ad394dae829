"""Programs that none of us wrote, as Debian ships them, stripped and optimized: LAMMPS and HPCC (Open MPI)."""

import pathlib
import shutil
import unittest

import harness

APPS = pathlib.Path(__file__).parent.parent / "apps"


class RealPrograms(harness.Workspace):
    def check_quality(self, database, ranks):
        info = harness.viewer_json(database, "info")
        self.assertEqual(info["ranks"], ranks)
        self.assertEqual(info["threads"], ranks)  # none of the MPI library's own threads
        self.assertGreater(info["samples"], 100 * ranks)
        self.assertLessEqual(info["partial"], max(2, info["samples"] / 500))
        self.assertEqual(info["cut_short"], 0)

    def test_lammps(self):
        lammps = shutil.which("lmp")
        options = ["-in", APPS / "melt.in", "-log", "none", "-screen", "none", "-var", "steps", "120"]
        directory = self.measure("openmpi", 2, lammps, *options)
        database = self.merge(directory)
        self.check_quality(database, 2)
        report = harness.viewer_json(database, "report")
        self.assertGreater(harness.idle_share(report), 0.15)
        suspects = harness.viewer_json(database, "suspects")
        self.assertGreater(len(suspects), 0)
        self.assertEqual(suspects[0]["ranks"], [0])  # the left of the box holds the atoms
        self.assertIn("LAMMPS_NS::PairLJCut::compute(int, int)", harness.names(suspects[0]["suspect"]))

    def test_hpcc(self):
        (self.here / "hpccinf.txt").write_text((APPS / "hpccinf.txt").read_text())
        directory = self.measure("openmpi", 2, shutil.which("hpcc"), timeout=500)
        database = self.merge(directory)
        self.check_quality(database, 2)
        view = harness.viewer_json(database, "view", "flat", "--metrics", "REALTIME:sum (I)")
        procedures = [n["frame"]["name"] for n in harness.walk(view["roots"]) if n["frame"]["kind"] == "procedure"]
        self.assertIn("main", procedures)


if __name__ == "__main__":
    unittest.main()
