"""Python programs: their functions stand in call paths with their lines, and take the times that the program says."""

import collections
import os
import unittest

import harness

PROGRAM = harness.TRUTH.parent / "apps" / "python_calls.py"
MPI_PROGRAM = harness.TRUTH.parent / "apps" / "python_mpi.py"
PYTHON = os.environ.get("CULPRIT_PYTHON", "/usr/bin/python3")
VERSION = harness.run([PYTHON, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]).stdout.strip()
KNOWN = ("3.11", "3.13", "3.14")


def line_of(text, program=PROGRAM):
    """Of the first line of the program that holds this."""
    return next(number for number, line in enumerate(program.read_text().splitlines(), 1) if text in line)


@unittest.skipUnless(VERSION in KNOWN, f"{PYTHON} is Python {VERSION}")
class PythonFunctions(harness.Workspace):
    def measure_mode(self, mode):
        done = harness.run([harness.HPCRUN, "-o", self.here / "run", PYTHON, PROGRAM, mode])
        self.database = self.merge(self.here / "run")
        view = harness.viewer_json(self.database, "view", "calling-context", "--metrics", "REALTIME:sum (I)")
        self.nodes = list(harness.walk(view["roots"]))
        return {name: float(seconds) for name, seconds in (line.split() for line in done.stdout.splitlines() if " " in line)}

    def functions(self):
        """Inclusive times by name, of the outermost calls of each."""
        found = collections.Counter()

        def visit(node, around):
            frame = node["frame"]
            if frame["kind"] == "procedure" and frame["module"] == "<python>":
                if frame["name"] not in around:
                    found[frame["name"]] += node["values"].get("REALTIME:sum (I)", 0)
                around = around | {frame["name"]}
            for child in node["children"]:
                visit(child, around)

        for root in harness.viewer_json(self.database, "view", "calling-context", "--metrics", "REALTIME:sum (I)")["roots"]:
            visit(root, frozenset())
        return found

    def check_times(self, spent):
        found = self.functions()
        for name, seconds in spent.items():
            self.assertAlmostEqual(found[name], seconds, delta=0.05 + 0.07 * seconds, msg=f"{name}: {dict(found)}")

    def test_functions_methods_generators_and_calls_by_c(self):
        self.check_times(self.measure_mode("all"))
        # Who calls whom, and where.
        (step,) = [node for node in self.nodes if node["frame"]["name"] == "Solver.step"]
        self.assertEqual(step["frame"]["line"], line_of("def step"))
        self.assertTrue(step["frame"]["file"].endswith("tests/apps/python_calls.py"))
        calls = {(node["frame"].get("line"), child["frame"]["name"]) for node in self.nodes for child in node["children"]
                 if node["frame"]["kind"] == "call"}  # fmt: skip
        self.assertIn((line_of("solver.step()"), "Solver.step"), calls)
        self.assertIn((line_of("    inner()"), "nested.<locals>.inner"), calls)
        # What the interpreter has between a class and its initializer is not shown.
        names = {node["frame"].get("name") for node in self.nodes}
        self.assertIn("Made.__init__", names)
        self.assertNotIn("__init__", names)
        # To interpret a function is its own work.
        self.assertFalse([node for node in self.nodes if "_PyEval_EvalFrameDefault" in node["frame"].get("name", "")])
        # How the interpreter got to the program is passed over, as the C library's start is.
        shown = harness.run([harness.VIEWER, self.database, "view", "calling-context"]).stdout
        self.assertNotIn("Py_RunMain", shown)
        # What it does for a function is that function's own time.
        self.assertNotRegex(shown, r"PyNumber_|PyObject_|[├└│] python3[.0-9]*@")
        whole = harness.run([harness.VIEWER, self.database, "view", "calling-context", "--all"]).stdout
        self.assertRegex(whole, r"Py[A-Z]\w+_|python3[.0-9]*@")
        report = harness.run([harness.VIEWER, self.database, "report"]).stdout
        self.assertNotRegex(report[report.index("Most work is done") :].split("\n\n")[0], r"PyNumber_|PyObject_|python3[.0-9]*@")
        self.assertIn("everything  ← python_calls.py", shown)
        flat = harness.viewer_json(self.database, "view", "flat", "--metrics", "REALTIME:sum (E)")
        own = {node["frame"].get("name"): node["values"].get("REALTIME:sum (E)", 0) for node in harness.walk(flat["roots"])}
        self.assertGreater(own["burn"], 0.5 * sum(self.functions()[name] for name in ("by_function", "Solver.step")))

    def test_a_recursion_deeper_than_what_is_kept(self):
        spent = self.measure_mode("deep")
        self.assertAlmostEqual(self.functions()["recurse"], spent["recurse"], delta=0.1 + 0.07 * spent["recurse"])

    def test_code_that_takes_the_place_of_other_code(self):
        spent = self.measure_mode("replaced")
        found = {node["frame"]["file"]: node["values"].get("REALTIME:sum (I)", 0) for node in self.nodes
                 if node["frame"]["kind"] == "procedure" and node["frame"]["name"] == "step"}  # fmt: skip
        self.assertEqual(found.keys(), spent.keys())
        for file, seconds in spent.items():
            self.assertAlmostEqual(found[file], seconds, delta=0.05, msg=found)

    def test_threads(self):
        self.check_times(self.measure_mode("threads"))

    def test_functions_that_come_and_go(self):
        self.assertEqual(harness.run([PYTHON, PROGRAM, "churn"]).stdout.split()[0], "churned")
        for rate in (200, 5000):
            with self.subTest(rate):
                done = harness.run([harness.HPCRUN, "-q", "-e", f"REALTIME@{rate}", "-o", self.here / f"run{rate}", PYTHON, PROGRAM, "churn"])
                self.assertEqual(done.stdout.split()[0], "churned")
                self.merge(self.here / f"run{rate}")


@unittest.skipUnless(VERSION in KNOWN, f"{PYTHON} is Python {VERSION}")
class PythonMpi(harness.Workspace):
    def test_the_late_function_is_suspected(self):
        directory = self.here / "run"
        done = harness.launch("openmpi", 2, [harness.HPCRUN, "-o", directory, PYTHON, MPI_PROGRAM])
        waited = float(done.stdout)
        database = self.merge(directory)
        report = harness.viewer_json(database, "report")
        named = [frame.get("name") for suspect in report["suspects"] for frame in suspect["suspect"]]
        self.assertIn("late_part", named)
        self.assertNotIn("PyEval", harness.run([harness.VIEWER, database, "report"]).stdout)
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "idleness:sum (I)")
        idle = sum(node["values"].get("idleness:sum (I)", 0) for node in harness.walk(view["roots"])
                   if node["frame"].get("name") == "receive_halo")  # fmt: skip
        self.assertAlmostEqual(idle, waited, delta=0.05 + 0.1 * waited)

    def test_a_reductions_operator_is_work(self):
        directory = self.here / "run"
        spent = float(harness.launch("openmpi", 2, [harness.HPCRUN, "-o", directory, PYTHON, MPI_PROGRAM, "operator"]).stdout)
        view = harness.viewer_json(self.merge(directory), "view", "callers", "--metrics", "REALTIME:sum (I),idleness:sum (I)")
        (added,) = [node["values"] for node in view["roots"] if node["frame"].get("name") == "add_slowly"]
        self.assertAlmostEqual(added["REALTIME:sum (I)"], spent, delta=0.05 + 0.07 * spent)
        self.assertLess(added.get("idleness:sum (I)", 0), 0.05 * spent)


    def test_a_deadlock_is_placed_in_python(self):
        directory = self.here / "run"
        harness.run(["timeout", "6", *harness.LAUNCHERS["openmpi"], "-n", 2, harness.HPCRUN, "-o", directory, PYTHON, MPI_PROGRAM,
                     "crossed"], expect=None)  # fmt: skip
        said = harness.run([harness.VIEWER, directory, "stuck"]).stdout
        self.assertIn("Stuck: a deadlock of ranks 0, 1", said)
        self.assertIn(f"wait_for_the_other at python_mpi.py:{line_of('tag=7', MPI_PROGRAM)}", said)


@unittest.skipUnless(VERSION in KNOWN, f"{PYTHON} is Python {VERSION}")
class PythonLeftByAJump(harness.Workspace):
    def test_what_the_interpreter_left_behind_harms_nothing(self):
        for mpi in harness.LAUNCHERS:
            with self.subTest(mpi):
                directory = self.here / f"run.{mpi}"
                program = harness.PROGRAMS / f"python_jump.{mpi}"
                spent = float(harness.launch(mpi, 1, [harness.HPCRUN, "-o", directory, program]).stdout)
                view = harness.viewer_json(self.merge(directory), "view", "callers", "--metrics", "REALTIME:sum (I)")
                (after,) = [node["values"] for node in view["roots"] if node["frame"].get("name") == "after_jump"]
                self.assertAlmostEqual(after["REALTIME:sum (I)"], spent, delta=0.05 + 0.07 * spent)


if __name__ == "__main__":
    unittest.main()
