"""A measured script calls mpirun: its ranks are a run of their own, with ranks and waiting known."""

import unittest

import harness


class InnerRun(harness.UnderBothMpis, harness.Workspace):
    def check(self, mpi):
        launcher = " ".join(harness.LAUNCHERS[mpi])
        program = harness.PROGRAMS / f"stencil.{mpi}"
        script = self.here / "job.sh"
        script.write_text(f"#!/bin/sh\n{launcher} -n 2 {program} 20 512 512\necho status $?\n")
        script.chmod(0o755)
        measured = harness.run([harness.HPCRUN, "-o", self.here / "run", script])
        self.assertTrue(measured.stdout.startswith("20 steps"), measured.stdout)
        self.assertTrue(measured.stdout.endswith("status 0\n"), measured.stdout)
        (inner,) = self.here.glob("run-*")
        self.assertRegex(measured.stderr, rf"0 dropped on rank 0 in {inner};")
        self.assertEqual(len(list(inner.rglob("rank-*.culprit"))), 2)
        database = self.merge(inner)
        info = harness.viewer_json(database, "info")
        self.assertEqual(info["ranks"], 2)
        self.assertFalse([note for note in info["notes"] if "not seen" in note])


if __name__ == "__main__":
    unittest.main()
