"""Root causes of one-sided waits in an application: a Poisson solver that exchanges halos by general active target
synchronization or fences, and whose first process takes longer for its cells. Its neighbours wait for it, theirs for
them; all of it is the source term's fault, on the first process."""

import collections
import unittest

import harness

RANKS = 4
WAITS = {
    "post": {"late-post": {"MPI_Win_start", "MPI_Win_complete"}, "early-wait": {"MPI_Win_wait"}},
    "fence": {"wait-at-fence": {"MPI_Win_fence"}},
}


def names(row):
    return {frame["name"] for frame in row["path"]}


class OneSidedCauses(harness.Workspace):
    def check(self, mpi, exchange):
        program = harness.PROGRAMS / f"sor.{mpi}"
        # Thirty-one times as long for a cell: more than what turns on a processor that others use too can take.
        run = self.measure(mpi, RANKS, program, exchange, 80, 40, 30, options=("--trace",))
        database = self.merge(run)
        self.check_waits(harness.viewer_json(database, "waits"), WAITS[exchange])
        self.check_causes(harness.viewer_json(database, "causes"))

    def check_waits(self, waits, expected):
        for pattern, calls in expected.items():
            rows = [row for row in waits if row["pattern"] == pattern]
            self.assertTrue(rows, f"no {pattern}")
            for row in rows:
                self.assertTrue(names(row) & calls, f"{pattern} in {names(row)}")

    def check_causes(self, causes):
        costs = collections.Counter()
        for row in causes:
            name = "relax" if "relax" in names(row) else "other"
            costs[row["rank"], name] += row["short_term_s"] + row["long_term_s"]
        self.assertEqual(costs.most_common(1)[0][0], (0, "relax"), f"{costs}")
        self.assertGreater(costs[0, "relax"], sum(costs.values()) / 3, f"{costs}")

    def test_the_slow_process_is_the_cause_of_late_posts_and_early_waits_openmpi(self):
        self.check("openmpi", "post")

    def test_the_slow_process_is_the_cause_of_late_posts_and_early_waits_mpich(self):
        self.check("mpich", "post")

    def test_the_slow_process_is_the_cause_of_waits_at_fences(self):
        self.check("openmpi", "fence")


if __name__ == "__main__":
    unittest.main()
