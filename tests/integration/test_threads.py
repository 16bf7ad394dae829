"""A program with OpenMP workers and a std::thread: threads are measured under their roles, the MPI library's own
helper threads are not."""

import os
import unittest

import harness

ITERATIONS = 30


class Threads(harness.UnderBothMpis, harness.Workspace):
    def check(self, mpi):
        program = harness.PROGRAMS / f"threads.{mpi}"
        environment = dict(harness.ENVIRONMENT, OMP_NUM_THREADS="2")
        unmeasured = harness.launch(mpi, 2, [program, ITERATIONS], env=environment).stdout
        directory = self.here / "run"
        measured = harness.launch(mpi, 2, [harness.HPCRUN, "-o", directory, program, ITERATIONS], env=environment)
        self.assertEqual(measured.stdout, unmeasured)
        database = self.merge(directory)

        info = harness.viewer_json(database, "info")
        self.assertEqual(info["ranks"], 2)
        self.assertEqual(info["threads"], 6)  # on each rank: main, one OpenMP worker, the std::thread
        self.assertLess(info["partial"], max(2, info["samples"] // 200))

        node = self.program_node(database, "prefetch")
        values = harness.viewer_json(database, "threads", str(node["id"]))["values"]
        busy = [value for value in values if value["value"] > 0]
        self.assertEqual(len(busy), 2)
        self.assertTrue(all(value["thread"] > 0 and value["role"] != "main" for value in busy))

        node = self.program_node(database, "uneven_work")
        self.assertGreater(node["values"]["REALTIME:sum (I)"], 0)

    def program_node(self, database, name):
        """The heaviest procedure node of this name in the calling context tree."""
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "REALTIME:sum (I)")
        nodes = [
            node
            for node in harness.walk(view["roots"])
            if node["frame"]["kind"] in ("procedure", "inlined") and name in node["frame"]["name"]
        ]
        self.assertGreater(len(nodes), 0, name)
        return max(nodes, key=lambda node: node["values"].get("REALTIME:sum (I)", 0))


if __name__ == "__main__":
    unittest.main()
