"""Truth: regions that call no MPI, OpenMP's and those that the program marks, are segments below the iterations: as many as there
were, each as long as the program's own log says, and the one that was interrupted stands out (Weber 2016, V.B)."""

import unittest

import harness

ITERATIONS, STEPS = 30, 4
INTERRUPTED = (1, 7 * STEPS + 2)
STAMPS_S = 0.0005  # between the program's stamps and ours, where the kernel takes the processor away for a moment


class StampedRegions(harness.Workspace):
    def check(self, mpi, kind, program="truth_stamped_regions"):
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY="passive")
        directory = self.measure(mpi, 2, harness.PROGRAMS / f"{program}.{mpi}", self.here, kind, ITERATIONS,
                                 options=("--trace",), env=environment)
        database = self.merge(directory)
        found = harness.viewer_json(database, "variation", "--finer", 1)
        self.assertEqual(found["invocations"], "marked", found["path"])
        last = found["path"][-1]["name"]
        self.assertEqual(last, "microphysics") if kind == "marked" else self.assertIn("parallel_physics", last)
        self.assertEqual([len(row) for row in found["sos_s"]], [ITERATIONS * STEPS] * 2)
        apart = 0
        for rank, row in enumerate(found["sos_s"]):
            log = [list(map(int, line.split())) for line in (self.here / f"regions-{rank}.log").read_text().splitlines()]
            for seconds, (begin, end) in zip(row, log):
                self.assertLessEqual(seconds, 1e-9 * (end - begin))
                apart += 1e-9 * (end - begin) - seconds > STAMPS_S
        self.assertLessEqual(apart, ITERATIONS * STEPS // 10, "segments that are shorter than the program's log says")
        long = {(one["rank"], one["iteration"]): one["path"] for one in found["outliers"]}
        self.assertIn(INTERRUPTED, long)
        self.assertIn("truth_sleep", [frame["name"] for frame in long[INTERRUPTED]])
        text = " ".join(harness.run([harness.VIEWER, database, "variation", "--finer", 1]).stdout.split())
        self.assertIn("each with time stamps of its own", text)
        self.assertEqual(harness.viewer_json(database, "variation")["segment"], "iteration", "the loop around them comes first")

    def test_libomp(self):
        if not (harness.PROGRAMS / "truth_stamped_regions_clang.mpich").exists():
            self.skipTest("needs clang with libomp")
        self.check("mpich", "parallel", "truth_stamped_regions_clang")


for mpi in harness.LAUNCHERS:
    for kind in ("parallel", "marked"):
        def test(self, mpi=mpi, kind=kind):
            self.check(mpi, kind)
        setattr(StampedRegions, f"test_{kind}_{mpi}", test)


if __name__ == "__main__":
    unittest.main()
