"""Iterations are found where the loop is in main, and where it is below a procedure that is called a few times."""

import unittest

import harness

NUMBER = 60


class Iterations(harness.Workspace):
    def variation(self, mpi, kind):
        program = harness.PROGRAMS / f"iterations.{mpi}"
        database = self.merge(self.measure(mpi, 2, program, kind, NUMBER, options=["--trace"]))
        text = harness.run([harness.VIEWER, database, "variation"]).stdout
        return harness.viewer_json(database, "variation"), text

    def test_a_loop_in_main(self):
        found, text = self.variation("openmpi", "hydro")
        self.assertEqual([frame["name"] for frame in found["path"] if frame["kind"] == "procedure"][-1], "main")
        self.assertEqual((found["path"][-1]["kind"], found["segment"], found["invocations"]), ("loop", "iteration", "inferred"))
        self.assertEqual([len(row) for row in found["sos_s"]], [NUMBER, NUMBER])
        self.assertIn("Iterations of the loop at iterations.c:", text)

    def test_a_loop_below_a_procedure(self):
        found, _ = self.variation("mpich", "solver")
        self.assertEqual([frame["name"] for frame in found["path"] if frame["kind"] == "procedure"][-1], "solve")
        self.assertNotIn("test_solver", [frame["name"] for frame in found["path"]])
        self.assertEqual(found["path"][-1]["kind"], "loop")
        self.assertEqual([len(row) for row in found["sos_s"]], [3 * NUMBER] * 2)


if __name__ == "__main__":
    unittest.main()
