"""Truth: what the main thread of a rank waits for other threads of its process, with a trace, is no work: not in SOS-times,
not in the efficiencies, and the time map shows it as what it is, as long as the program's own log says."""

import unittest

import harness

TOLERANCE = 0.05
ITERATIONS = 30


class WaitingMain(harness.Workspace):
    def read(self, rank):
        run, *iterations = [list(map(int, line.split()))
                            for line in (self.here / f"waiting-{rank}.log").read_text().splitlines()]
        begins = [begin for begin, _, _ in iterations] + [run[1]]
        sos = [until - begin - in_mpi - waited for (begin, in_mpi, waited), until in zip(iterations, begins[1:])]
        useful = run[1] - run[0] - sum(in_mpi + waited for _, in_mpi, waited in iterations)
        return run, sos, useful, sum(waited for _, _, waited in iterations)

    def assert_close(self, measured, logged, what):
        self.assertAlmostEqual(measured, logged, delta=TOLERANCE * logged, msg=what)

    def check(self, mpi, program="truth_waiting_main"):
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY="passive")
        directory = self.measure(mpi, 2, harness.PROGRAMS / f"{program}.{mpi}", self.here, ITERATIONS,
                                 options=("--trace",), env=environment)
        database = self.merge(directory)
        logs = [self.read(rank) for rank in range(2)]
        variation = harness.viewer_json(database, "variation")
        self.assertEqual(variation["invocations"], "marked")
        for row, waited, (_, sos, _, truly) in zip(variation["sos_s"], variation["thread_waits_s"], logs):
            self.assert_close(waited, 1e-9 * truly, "waits for threads")
            self.assertEqual(len(row), ITERATIONS)
            self.assert_close(sum(row), 1e-9 * sum(sos), "SOS-time")
            self.assert_close(sorted(row)[ITERATIONS // 2], 1e-9 * sorted(sos)[ITERATIONS // 2], "median SOS-time")
        run_ns = max(run[2] for run, *_ in logs) - min(run[0] for run, *_ in logs)
        useful_ns = sum(useful for _, _, useful, _ in logs) / len(logs)
        efficiency = harness.viewer_json(database, "efficiency")
        outside_ns = useful_ns + sum(waited for *_, waited in logs) / len(logs)
        self.assert_close(efficiency["parallel"], outside_ns / run_ns, "parallel efficiency, of processes")
        self.assert_close(efficiency["thread_waits"], useful_ns / outside_ns, "waits for threads")

    def test_openmpi(self):
        self.check("openmpi")

    def test_mpich(self):
        self.check("mpich")

    def test_libomp(self):
        if not (harness.PROGRAMS / "truth_waiting_main_clang.mpich").exists():
            self.skipTest("needs clang with libomp")
        self.check("mpich", "truth_waiting_main_clang")


if __name__ == "__main__":
    unittest.main()
