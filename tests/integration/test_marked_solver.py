"""A real solver that marks its iterations and a region: variation over them, of procedures by name, their efficiencies, and
what waits, causes and the critical path tell as metrics of exports and comparisons. Its first process takes much longer."""

import collections
import csv
import io
import pathlib
import re
import sys
import unittest

import harness

RANKS = 4
READ_DB = pathlib.Path(__file__).resolve().parents[2] / "docs" / "read_db.py"


def names(path):
    return [frame["name"].partition("(")[0] for frame in path]


def mean(values):
    return sum(values) / len(values)


class MarkedSolver(harness.Workspace):
    def solve(self, mpi, exchange, *options, expect=0):
        program = harness.PROGRAMS / f"sor_marked.{mpi}"
        command = [harness.HPCRUN, "--trace", "-o", self.here / "run", program, exchange, 60, 25, 30]
        done = harness.launch(mpi, RANKS, command, cwd=self.here)
        self.iterations = int(re.search(r"(\d+) iterations", done.stdout)[1])
        self.database = self.merge(self.here / "run", *options, expect=expect)

    def viewer(self, *arguments):
        return harness.viewer_json(self.database, *arguments)

    def text(self, *arguments):
        return " ".join(harness.run([harness.VIEWER, self.database, *arguments]).stdout.split())

    def check_marked_iterations(self):
        found = self.viewer("variation")
        self.assertEqual((found["invocations"], found["segment"]), ("marked", "iteration"))
        self.assertEqual(found["ranks"], list(range(RANKS)))
        self.assertEqual([len(row) for row in found["sos_s"]], [self.iterations] * RANKS)
        sums = [sum(row) for row in found["sos_s"]]
        self.assertGreater(sums[0], max(sums[1:]), "the first process takes thirty-one times as long for each cell")
        self.assertIn(0, {outlier["rank"] for outlier in found["outliers"]})
        self.assertIn("relax", {name for outlier in found["outliers"] for name in names(outlier["path"])})
        self.assertIn("Iterations that the program marked", self.text("variation"))
        rows = list(csv.DictReader(io.StringIO(harness.run([harness.VIEWER, self.database, "variation", "--format", "csv"]).stdout)))
        self.assertEqual(len(rows), RANKS * self.iterations)
        bins = harness.run([sys.executable, READ_DB, self.database, "time"]).stdout.splitlines()
        self.assertEqual([line.rpartition(", ")[2] for line in bins], [f"{self.iterations} segments"] * RANKS)

    def check_efficiencies(self):
        """Regions by the profile, iterations by time lines: products of their factors, and what the tables say."""
        found = self.viewer("efficiency")
        self.assertEqual([region["name"] for region in found["regions"]], ["sweep"])
        iterations = found["iterations"]
        for one in (found, found["regions"][0], iterations, *iterations["each"]):
            self.assertAlmostEqual(one["parallel"], one["load_balance"] * one["communication"], places=9)
            self.assertLessEqual(one["parallel"], 1)
        self.assertEqual([one["iteration"] for one in iterations["each"]], list(range(self.iterations)))
        sos = list(zip(*self.viewer("variation")["sos_s"]))
        self.assertAlmostEqual(
            iterations["load_balance"], sum(mean(ranks) for ranks in sos) / sum(max(ranks) for ranks in sos), places=6
        )
        for one, ranks in zip(iterations["each"], sos):
            self.assertAlmostEqual(one["load_balance"], mean(ranks) / max(ranks), places=6)
            self.assertGreaterEqual(one["time_s"], max(ranks) - 1e-9)
        self.assertAlmostEqual(iterations["time_s"], sum(one["time_s"] for one in iterations["each"]), places=6)
        self.assertLess(iterations["load_balance"], 0.9)
        self.assertLess(found["regions"][0]["load_balance"], 0.9)
        text = self.text("efficiency")
        self.assertRegex(text, rf"The {self.iterations} iterations that the program marked, each by itself")
        self.assertRegex(text, r"parallel load balance communication time region .* sweep")

    def check_procedures(self, exchange):
        found = self.viewer("variation", "--procedure", exchange)
        self.assertEqual((found["invocations"], found["segment"]), ("inferred", "procedure"))
        self.assertEqual(names(found["path"])[-1], exchange)
        self.assertEqual([len(row) for row in found["sos_s"]], [2 * self.iterations] * RANKS)  # once for each colour
        self.assertIn(f"Invocations of {exchange}", self.text("variation", "--procedure", exchange))
        refused = harness.run([harness.VIEWER, self.database, "variation", "--procedure", "relax"], expect=2)
        self.assert_one_line(refused.stderr, "relax", exchange, "prof-mpi --segment")
        # A procedure that was named is no level.
        levels = 0
        while harness.run([harness.VIEWER, self.database, "variation", "--finer", levels], expect=None).returncode == 0:
            levels += 1
        self.assertLessEqual(levels, 4)
        self.assertGreaterEqual(levels, 1)

    def check_metrics_elsewhere(self):
        """Exports and comparisons hold the sums of what the commands show."""
        expected = collections.Counter()
        for row in self.viewer("waits"):
            if row["exact"]:
                expected[row["pattern"]] += row["seconds"]
        for row in self.viewer("causes"):
            if row["path"]:
                expected["delay-cost-short"] += row["short_term_s"]
                expected["delay-cost-long"] += row["long_term_s"]
        expected["critical-path"] = self.viewer("critical-path")["length_s"]
        expected = +expected
        self.assertGreaterEqual(
            expected.keys(), {"late-post", "early-wait", "wait-at-nxn", "delay-cost-short", "delay-cost-long"}
        )
        exported = harness.run([harness.VIEWER, self.database, "export", "csv"]).stdout
        rows = list(csv.DictReader(io.StringIO(exported)))
        for metric, seconds in expected.items():
            self.assertAlmostEqual(float(rows[0][f"{metric}:sum (I)"]), seconds, delta=1e-6, msg=metric)
            own = sum(float(row[f"{metric}:sum (E)"] or 0) for row in rows if row["kind"] in ("procedure", "region"))
            self.assertGreater(own, 0.5 * seconds, metric)
        for metric in ("late-post", "delay-cost-short", "delay-cost-long", "critical-path"):
            nodes = self.viewer("diff", self.database, "--metric", metric)["nodes"]
            whole = next(node for node in nodes if len(node["path"]) == 1)
            self.assertAlmostEqual(whole["a"], expected[metric], delta=1e-6, msg=metric)
            self.assertTrue(all(node["change"] == 0 for node in nodes), metric)

    def test_by_post(self):
        self.solve("openmpi", "post", "--segment", "exchange_by_post", "--segment", "relax", "--segment", "nothing", expect=3)
        reported = harness.run([harness.PROF_MPI, self.here / "run", "--dry-run", "--segment", "relax", "--segment", "nothing"], expect=3)
        self.assertIn("--segment: relax: no MPI calls below it", reported.stderr)
        self.assertIn("--segment: nothing: no procedure of that name", reported.stderr)
        self.check_marked_iterations()
        self.check_efficiencies()
        self.check_procedures("exchange_by_post")
        self.check_metrics_elsewhere()

    def test_by_fence_mpich(self):
        self.solve("mpich", "fence", "--segment", "exchange_by_fence")
        self.check_marked_iterations()
        self.check_efficiencies()
        self.check_procedures("exchange_by_fence")


if __name__ == "__main__":
    unittest.main()
