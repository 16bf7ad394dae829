"""The papers' cases: of programs with the structure of the codes in which the papers showed their analyses, the tool says
what the papers said (docs/case-studies.md)."""

import collections
import unittest

import harness

RANKS = 8
START_AND_END = ("wait-at-init", "wait-at-create", "wait-at-free", "wait-at-finalize")
LONG_STEPS = ("40", "5")  # work of 15 to 30 ms, so that turns on shared processors matter less


def seconds_by(rows, key, amount):
    sums = collections.Counter()
    for row in rows:
        sums[key(row)] += amount(row)
    return sums


def cost_of(row):
    return row["short_term_s"] + row["long_term_s"]


class PapersCases(harness.Workspace):
    def database(self, program, *arguments, ranks=RANKS, options=("--trace",)):
        # Open MPI: where there are more ranks than processors, its waits give way. MPICH's would take the processors.
        program = harness.PROGRAMS / f"{program}.openmpi"
        run = self.measure("openmpi", ranks, program, *arguments, name=arguments[0], options=options)
        return self.merge(run)

    def test_uneven_particles_are_suspected_where_the_field_solver_waits(self):
        """Tallent 2010: idleness in a reduction, blame on the loop above it, the particles' movement suspected."""
        database = self.database("particles", "80", options=())
        blamed = harness.viewer_json(database, "blame")[0]
        self.assertIn("advance", harness.names(blamed["path"]))
        suspects = harness.viewer_json(database, "suspects")
        self.assertIn("move_particles", harness.names(suspects[0]["suspect"]))
        self.assertLessEqual({3, 4}, set(suspects[0]["ranks"]))
        for suspect in suspects:
            if "multiply_matrix" in harness.names(suspect["suspect"]):  # as long everywhere
                self.assertLess(suspect["explains_s"], 0.2 * suspects[0]["explains_s"])

    def waits(self, program, *arguments):
        """Seconds by pattern, without start-up and end: these take as long as the machine likes."""
        self.last = self.database(program, *arguments)
        rows = [row for row in harness.viewer_json(self.last, "waits") if row["pattern"] not in START_AND_END]
        return seconds_by(rows, lambda row: row["pattern"], lambda row: row["seconds"])

    def test_fences_wait_at_fences_and_epochs_for_posts(self):
        """Hermanns 2009, 5.2: what synchronizes everybody waits for everybody."""
        fence = self.waits("block_tridiagonal", "fence", "60")
        self.assertGreater(fence["wait-at-fence"], 0.5 * sum(fence.values()), fence)
        epochs = self.waits("block_tridiagonal", "epochs", "60")
        self.assertEqual(epochs["wait-at-fence"], 0)
        self.assertGreater(epochs["late-post"] + epochs["early-wait"], 0.5 * sum(epochs.values()), epochs)

    def causes(self, database, procedure):
        """Those in the program's own code below a procedure: how long ranks take to start, and MPI calls of ranks that are more
        than the processors, depends on the machine."""
        paths = [(row, harness.names(row["path"])) for row in harness.viewer_json(database, "causes")]
        return [row for row, names in paths if procedure in names and not any(name.startswith("MPI_") for name in names)]

    def check_ocean(self):
        causes = self.causes(self.last, "pcg_chrongear_linear")
        costs = seconds_by(causes, lambda row: (row["rank"], "matrix_mod_matvec" in harness.names(row["path"])), cost_of)
        largest = {key for key, _ in costs.most_common(2)}
        self.assertEqual(largest, {(1, True), (RANKS // 2, True)}, costs)

    def test_a_barrier_hides_what_is_late_post_without_it(self):
        """Hermanns 2013, 5.3: waiting moves from one paradigm to another; its cause stays."""
        barrier = self.waits("conjugate_gradient", "barrier", *LONG_STEPS)
        self.assertEqual(barrier.most_common(1)[0][0], "wait-at-barrier", barrier)
        self.check_ocean()
        light = self.waits("conjugate_gradient", "light", *LONG_STEPS)
        self.assertEqual(light["wait-at-barrier"], 0)
        self.assertGreater(light["late-post"], 0.1 * sum(light.values()), light)
        self.assertGreater(light["late-post"], barrier["late-post"], light)
        self.check_ocean()

    def test_a_slow_rank_in_a_pipeline_costs_the_most(self):
        """Wu 2020, Böhme 2010: a delay travels through a mesh of wavefronts."""
        waits = self.waits("sweep", "8", "8")
        self.assertEqual(waits.most_common(1)[0][0], "late-sender", waits)
        first = max(self.causes(self.last, "inner"), key=cost_of)
        self.assertIn("fixup", harness.names(first["path"]))
        self.assertEqual(first["rank"], 4)  # of a mesh of 4 x 2: the third row's first

    def test_an_interrupted_call_is_the_largest_outlier(self):
        """Weber 2016, V.B: one call of many takes longer, on one rank."""
        database = self.database("clouds", "balanced", "90", ranks=2)
        variation = harness.viewer_json(database, "variation")
        longest = max(variation["outliers"], key=lambda outlier: outlier["sos_s"] - outlier["median_s"])
        self.assertEqual(longest["rank"], 1)
        self.assertGreater(longest["sos_s"] - longest["median_s"], 0.2)
        self.assertAlmostEqual(longest["iteration"], 30, delta=2)

    def test_growing_clouds_are_the_suspect(self):
        """Weber 2016, V.A: the microphysics of the rank in the middle takes longer and longer."""
        database = self.database("clouds", "growing", "90", ranks=2)
        first = max(self.causes(database, "time_step"), key=cost_of)
        self.assertIn("condense", harness.names(first["path"]))
        self.assertEqual(first["rank"], 1)


if __name__ == "__main__":
    unittest.main()
