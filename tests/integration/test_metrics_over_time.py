"""What events besides the wall clock counted in each iteration, against what the program itself counted there: page faults and
processor time, on ranks and in iterations that are known, in the trace, the analysis and what is shown of it."""

import csv
import io
import unittest

import harness
import traces

RANKS, ITERATIONS = 4, 14
FAULTING, COMPUTING = 2, 1
UNLIKE = [i for i in range(ITERATIONS) if i % 5 == 3]
FAULTS, CPU = "perf::PAGE-FAULTS", "CPUTIME"
# Between two readings, some ticks apart where the host takes the processor, a value may be charged to the MPI call behind
# it: a third of what an iteration that is unlike has more than the others.
A_FEW_TICKS = 0.045


def median(values):
    return sorted(values)[len(values) // 2]


def correlation(xs, ys):
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
    return xy / (sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys)) ** 0.5


class MetricsOverTime(harness.Workspace):
    def iterate(self, mpi, *events):
        program = harness.PROGRAMS / f"counted_iterations.{mpi}"
        options = ["--trace", *(word for event in events for word in ("-e", event))]
        directory = self.measure(mpi, RANKS, program, ITERATIONS, FAULTING, COMPUTING, options=options)
        self.truth = []
        for rank in range(RANKS):
            lines = (self.here / f"counted_iterations.{rank}").read_text().splitlines()
            self.truth.append([tuple(map(int, line.split())) for line in lines])
        return directory

    def viewer(self, *arguments):
        return harness.viewer_json(self.database, "variation", *arguments)

    def check_faults(self):
        found = self.viewer("--metric", FAULTS)
        self.assertEqual((found["metric"], found["unit"], found["segment"]), (FAULTS, "count", "iteration"))
        self.assertEqual([len(row) for row in found["values"]], [ITERATIONS] * RANKS)
        for rank, row in enumerate(found["values"]):
            for i, value in enumerate(row[:-1]):
                self.assertLess(value, self.truth[rank][i][0] + 200, (rank, i))
                if rank == FAULTING and i in UNLIKE:
                    self.assertGreater(value, 0.8 * self.truth[rank][i][0], (rank, i))
        high = {(one["rank"], one["iteration"]) for one in found["metric_outliers"]}
        self.assertLessEqual({(FAULTING, i) for i in UNLIKE[:-1]}, high)
        self.assertEqual([one["rank"] for one in found["metric_outliers"]][: len(UNLIKE) - 1], [FAULTING] * (len(UNLIKE) - 1))

        for one in found["metric_outliers"]:
            if (one["rank"], one["iteration"]) in {(FAULTING, i) for i in UNLIKE}:
                self.check_path(one, "touch")

    def check_path(self, outlier, procedure):
        self.assertIn(procedure, [frame["name"] for frame in outlier["path"]], outlier)

    def check_processor_time(self):
        found = self.viewer("--metric", CPU)
        self.assertEqual(found["unit"], "s")
        for rank, row in enumerate(found["values"]):
            for i, value in enumerate(row[:-1]):
                self.assertAlmostEqual(value, self.truth[rank][i][1] / 1e9, delta=A_FEW_TICKS, msg=(rank, i))
        high = {(one["rank"], one["iteration"]) for one in found["metric_outliers"]}
        self.assertLessEqual({(COMPUTING, i) for i in UNLIKE if i + 1 < ITERATIONS}, high)
        for one in found["metric_outliers"]:
            if one["rank"] == COMPUTING and one["iteration"] in UNLIKE:
                self.check_path(one, "compute")

    def check_summary(self):
        """The figures beside each other follow from the matrices."""
        plain = self.viewer()
        self.assertEqual([one["metric"] for one in plain["metrics"]], [CPU, FAULTS])
        slow = {(one["rank"], one["iteration"]) for one in plain["outliers"]}
        for one in plain["metrics"]:
            found = self.viewer("--metric", one["metric"])
            self.assertEqual(found["sos_s"], plain["sos_s"])
            times = [t for row in found["sos_s"] for t in row[:-1]]
            values = [v for row in found["values"] for v in row[:-1]]
            self.assertAlmostEqual(one["correlation"], correlation(times, values), places=6)
            self.assertAlmostEqual(one["median"], median(values), places=9)
            of_slow = [found["values"][found["ranks"].index(rank)][i] for rank, i in slow]
            if of_slow:
                self.assertAlmostEqual(one["median_of_outliers"], median(of_slow), places=9)
            else:
                self.assertIsNone(one["median_of_outliers"])
        rows = list(csv.DictReader(io.StringIO(harness.run([harness.VIEWER, self.database, "variation", "--format", "csv"]).stdout)))
        matrix = self.viewer("--metric", FAULTS)
        self.assertEqual([float(row[FAULTS]) for row in rows], [v for row in matrix["values"] for v in row])

    def check_text(self):
        text = harness.run([harness.VIEWER, self.database, "variation"]).stdout
        self.assertIn("correlation with time", text)
        self.assertRegex(text, rf"{FAULTS} +\d+ ")
        text = harness.run([harness.VIEWER, self.database, "variation", "--metric", FAULTS]).stdout
        self.assertRegex(text, rf"rank {FAULTING}, iteration {UNLIKE[0]}.*\n +mostly in .*touch")
        refused = harness.run([harness.VIEWER, self.database, "variation", "--metric", "CPUTIM"], expect=2)
        self.assert_one_line(refused.stderr, "CPUTIM", "did you mean CPUTIME", FAULTS)

    def check_all(self, mpi):
        directory = self.iterate(mpi, CPU, f"{FAULTS}@50")
        for process in traces.read(directory):
            self.assertEqual({reading["event"] for reading in process.readings}, {0, 1})
        self.database = self.merge(directory)
        self.check_faults()
        self.check_processor_time()
        self.check_summary()
        self.check_text()

    def test_open_mpi(self):
        self.check_all("openmpi")

    def test_mpich(self):
        self.check_all("mpich")

    def test_a_run_with_one_event_has_no_readings_and_says_how_to_get_some(self):
        directory = self.iterate("openmpi")
        for process in traces.read(directory):
            self.assertEqual(process.readings, [])
        self.database = self.merge(directory)
        self.assertNotIn("metrics", self.viewer())
        refused = harness.run([harness.VIEWER, self.database, "variation", "--metric", FAULTS], expect=2)
        self.assert_one_line(refused.stderr, "REALTIME", "--trace", FAULTS)


if __name__ == "__main__":
    unittest.main()
