"""viewer-cli diff on real runs: one program on one and on two ranks, built twice."""

import unittest

from harness import PROGRAMS, VIEWER, Workspace, names, run, viewer_json

STEPS = "12"


class TwoRuns(Workspace):
    def compared(self):
        """Databases of the stencil on one and on two ranks."""
        program = PROGRAMS / "stencil.openmpi"
        return [
            self.merge(self.measure("openmpi", ranks, program, STEPS, name=f"on{ranks}", options=("-q",)), "-q")
            for ranks in (1, 2)
        ]

    def test_changes_are_those_of_the_views_and_scaling_is_told(self):
        one, two = self.compared()
        nodes = viewer_json(one, "diff", two)["nodes"]
        whole = [node for node in nodes if len(node["path"]) == 1]
        self.assertEqual(len(whole), 1)
        for side, database in (("a", one), ("b", two)):
            total = viewer_json(database, "view", "--depth", "0")["roots"][0]["values"]["REALTIME:sum (I)"]
            self.assertAlmostEqual(whole[0][side], total, places=6)
        self.assertAlmostEqual(whole[0]["change"], whole[0]["b"] - whole[0]["a"], places=6)

        # The same procedures on either side, although one rank exchanges nothing. Those that take a hundred samples and
        # more: conduct(), with a few, may have none in a run.
        for name in ("main", "advance(Plate&, int, int)", "react(Plate&)", "reaction_heat(double)"):
            rows = [node for node in nodes if names(node["path"])[-1] == name]
            self.assertEqual(len(rows), 1, name)
            self.assertGreater(rows[0]["a"], 0, name)
            self.assertGreater(rows[0]["b"], 0, name)
        losses = [node["scaling_loss"] for node in nodes]
        self.assertTrue(all(isinstance(loss, float) for loss in losses))

        text = run([VIEWER, one, "diff", two, "--scaling", "strong"]).stdout
        self.assertRegex(text, r"before  .*on1\.db: 1 rank, ")
        self.assertRegex(text, r"after   .*on2\.db: 2 ranks, ")
        self.assertIn("strong scaling", text)
        self.assertNotIn("\033", text)
        again = viewer_json(one, "diff", one)["nodes"]
        self.assertTrue(all(node["change"] == 0 for node in again))

    def test_wrong_use_is_refused_in_one_line(self):
        (self.here / "no.db").write_text("no database")
        self.assert_one_line(run([VIEWER, self.here / "no.db", "diff"], expect=2).stderr, "diff", "second database")
        refused = run([VIEWER, self.here / "no.db", "diff", self.here / "gone.db"], expect=1)
        self.assert_one_line(refused.stderr, "no.db")


if __name__ == "__main__":
    unittest.main()
