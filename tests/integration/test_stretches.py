"""Calls that wait and the gaps between them are exact in a profile of few samples: at 20 Hz, what the tools say is what the
program's own clock says, and the gap that varies is named. Both clocks see what a busy machine does."""

import math
import unittest

import harness

RATE = 20  # Hz: some two hundred samples
HARDLY = 2  # Hz: some ten samples; of most calls none
ROUNDS = 400
EXPECTED_LARGEST = 1 / math.sqrt(math.pi)  # of two standard normal numbers
CALLS = {"MPI_Barrier": ("barrier", 1 / RATE), "MPI_Allreduce": ("allreduce", 1 / RATE)}  # one sample that met no waiting
WORK = {"work_alike": ("alike", 2 / RATE), "work_by_lot": ("by_lot", 2 / RATE)}  # samples divide it
METRICS = "REALTIME:sum (I),REALTIME:max (I)"


class Stretches(harness.UnderBothMpis, harness.Workspace):
    def measured(self, mpi, rate):
        directory = self.here / mpi
        done = harness.launch(mpi, 2, [harness.HPCRUN, "-e", f"REALTIME@f{rate}", "-o", directory,
                                       harness.PROGRAMS / f"stretches.{mpi}"], cwd=self.here)
        rows = [[float(word) for word in line.split()] for line in done.stdout.splitlines() if len(line.split()) == 6]
        self.assertEqual(len(rows), 2, done.stdout)
        return self.merge(directory), dict(zip(("rank", "alike", "barrier", "by_lot", "allreduce", "deviation"), zip(*rows)))

    def check_times(self, database, log, columns):
        """`columns`: of a function, its name in the log and by how many seconds more than 5 % it may differ: what a wrapper takes,
        and where the host took the processor between the program's clock and ours."""
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", METRICS)
        values = {}
        for node in harness.walk(view["roots"]):
            values.setdefault(node["frame"]["name"], node["values"])
        for name, (column, most) in columns.items():
            for found, true in ((values[name]["REALTIME:sum (I)"], sum(log[column])),
                                (values[name]["REALTIME:max (I)"], max(log[column]))):
                with self.subTest(name, log=log):
                    self.assertAlmostEqual(found, true, delta=0.05 * true + most + 0.002)

    def check_gap(self, database, log):
        """Between barrier and allreduce the ranks work by lots; of the other gap nothing is asked: the machine may vary. Where it
        varies so much that lots hardly explain the waiting, the gap need not be named, but is as the log has it if it is."""
        deviation = math.sqrt(sum(each * each for each in log["deviation"]) / 2)
        lasting, idle = 2 * max(log["by_lot"]) - sum(log["by_lot"]), sum(log["allreduce"])
        disturbed = lasting > 0.4 * idle or 2 * ROUNDS * EXPECTED_LARGEST * deviation < 0.6 * (idle - lasting)
        gaps = {gap["path"][-1]["name"]: gap for gap in harness.viewer_json(database, "report")["varying_gaps"]}
        if disturbed and "MPI_Allreduce" not in gaps:
            return
        gap = gaps["MPI_Allreduce"]
        self.assertEqual(gap["after_path"][-1]["name"], "MPI_Barrier")
        self.assertEqual((gap["threads"], gap["count"]), (2, 2 * ROUNDS))
        self.assertAlmostEqual(gap["mean_s"], sum(log["by_lot"]) / (2 * ROUNDS), delta=0.05 * gap["mean_s"])
        self.assertAlmostEqual(gap["deviation_s"], deviation, delta=0.1 * deviation)
        # Some samples may have seen work in the call, each for as long as no other came.
        self.assertLess(gap["idle_s"], 1.05 * idle + 1 / RATE)
        self.assertGreater(gap["idle_s"], 0.6 * idle)
        if disturbed:
            return
        text = harness.run([harness.VIEWER, database, "report"]).stdout
        self.assertIn("varies from one iteration to the next", " ".join(text.split()))

    def check(self, mpi):
        measured = self.measured(mpi, RATE)
        self.check_times(*measured, CALLS | WORK)
        self.check_gap(*measured)

    def test_calls_that_no_sample_met(self):
        for mpi in ("openmpi", "mpich"):
            with self.subTest(mpi):
                self.check_times(*self.measured(mpi, HARDLY), {name: (column, 0) for name, (column, _) in CALLS.items()})


if __name__ == "__main__":
    unittest.main()
