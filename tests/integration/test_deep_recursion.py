"""Recursion deeper than call paths are kept: the outermost and the innermost frames are there, with a named gap between
them, and work and waiting at the bottom have one place, however deep that is."""

import json
import sys
import unittest

import harness

LEFT_OUT = "(recursion: frames left out)"
MOST_STEPS = 262144

sys.setrecursionlimit(20000)


def paths(nodes, above=()):
    """The names of every path, outermost first."""
    for node in nodes:
        here = (*above, node)
        yield here
        yield from paths(node["children"], here)


class DeepRecursion(harness.Workspace):
    def view(self, *arguments, mpi="openmpi", options=(), merged=0):
        program = harness.PROGRAMS / f"recursion.{mpi}"
        run = self.measure(mpi, 2, program, *arguments, options=options)
        harness.run([harness.PROF_MPI, "--force", run], expect=merged)
        self.database = run.with_name("run.db")
        return harness.viewer_json(self.database, "view", "calling-context")

    def info(self):
        return harness.viewer_json(self.database, "info")

    def places(self, view, name):
        """Frames of procedures with this name, each with those around it."""
        return [
            path
            for path in paths(view["roots"])
            if path[-1]["frame"]["name"] == name and path[-1]["frame"]["kind"] == "procedure"
        ]

    def bottom(self, view):
        """The one place of the function at the bottom, below the gap and the whole way to it."""
        (path,) = self.places(view, "at_bottom")
        names = [node["frame"]["name"] for node in path if node["frame"]["kind"] == "procedure"]
        self.assertEqual(names.count(LEFT_OUT), 1)
        gap = names.index(LEFT_OUT)
        self.assertEqual(names[gap:], [LEFT_OUT, *["descend"] * 257, "at_bottom"])
        self.assertIn("main", names[:gap])
        self.assertGreater(names[:gap].count("descend"), 490)
        self.assertEqual(names[:gap].index("begin"), names[:gap].index("main") + 1)
        return path[-1]

    def test_work_and_waiting_at_the_bottom(self):
        for mpi in harness.LAUNCHERS:
            view = self.view("100000", "600", mpi=mpi)
            bottom = self.bottom(view)
            self.assertGreater(bottom["values"]["REALTIME:sum (I)"], 0.8)
            self.assertGreater(bottom["values"]["idleness:sum (I)"], 0.3)
            self.assertLess(self.info()["partial"], 5)
            blame = harness.viewer_json(self.database, "blame")
            self.assertNotIn(LEFT_OUT, [row["path"][-1]["name"] for row in blame])
            harness.run(["rm", "-rf", self.here / "run", self.database])

    def test_time_lines_find_the_place_too(self):
        self.bottom(self.view("100000", "300", options=("--trace",)))
        (row,) = [
            row for row in harness.viewer_json(self.database, "waits") if row["seconds"] > 0.2 and row["rank"] == 1
        ]
        self.assertIn(LEFT_OUT, harness.names(row["path"]))

    def test_changing_depths_have_one_place(self):
        view = self.view("120000", "15", "vary")
        self.bottom(view)
        self.assertLess(sum(1 for _ in paths(view["roots"])), 4000)

    def test_shallower_recursion_has_no_gap(self):
        view = self.view("900", "200")
        self.assertEqual(self.places(view, LEFT_OUT), [])
        self.assertEqual(len(self.places(view, "at_bottom")), 1)

    def test_deeper_than_a_walk_is_long(self):
        # A sample on the way down would be complete, and the later ones with it: they are walked up to where it was.
        view = self.view(str(2 * MOST_STEPS), "500", "thread", options=("--delay",), merged=3)
        info = harness.run([harness.VIEWER, self.database, "info"]).stdout
        self.assertIn(f"deeper than {MOST_STEPS} frames", " ".join(info.split()))
        self.assertGreater(self.info()["partial"], 0)
        roots = {node["frame"]["kind"] for path in self.places(view, "at_bottom") for node in path}
        self.assertIn("partial", roots)

    def test_views_and_exports(self):
        self.view("50000", "200")
        for command in (["view", "callers"], ["view", "flat"], ["hot-path"], ["report"]):
            self.assertEqual(harness.run([harness.VIEWER, self.database, *command, "--format", "json"]).stderr, "")
        for form in ("collapsed", "speedscope", "pprof", "hatchet", "caliper", "json", "html", "perfetto", "firefox"):
            out = self.here / f"out.{form}"
            harness.run([harness.VIEWER, self.database, "export", form, "-o", out], expect=None)
        self.assertIn(LEFT_OUT, (self.here / "out.collapsed").read_text())
        self.assertIn(LEFT_OUT, json.dumps(json.loads((self.here / "out.speedscope").read_text())))


if __name__ == "__main__":
    unittest.main()
