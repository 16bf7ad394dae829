"""Truth: blame for waiting in a collective lands on the balanced loop, the slow function is suspected on its rank, two
functions that compensate each other are not, and the idleness agrees with what the program itself logged."""

import json
import unittest

import harness


ITERATIONS, FACTOR = 50, 4  # pieces of work of 16 to 32 ms: longer than a host takes a processor away


class CollectiveImbalance(harness.Workspace):
    def check(self, mpi, ranks, slow, how):
        program = harness.PROGRAMS / f"collective_imbalance.{mpi}"
        directory = self.measure(mpi, ranks, program, self.here / "log", ITERATIONS, slow, how, FACTOR)
        database = self.merge(directory)
        logs = [json.loads((self.here / f"log.{rank}").read_text()) for rank in range(ranks)]
        inside = sum(log["allreduce_s"] for log in logs)

        self.check_idleness(database, inside, logs)
        self.check_blame(database, inside)
        self.check_suspects(database, slow, inside, logs)

    def check_idleness(self, database, inside, logs):
        view = harness.viewer_json(database, "view", "flat", "--metrics", "idleness:sum (I)")
        allreduce = [
            node
            for node in harness.walk(view["roots"])
            if node["frame"]["kind"] == "procedure" and node["frame"]["name"] == "MPI_Allreduce"
        ]
        self.assertEqual(len(allreduce), 1)
        measured = allreduce[0]["values"]["idleness:sum (I)"]
        # A tenth, and the granularity of sampling: some periods per rank where the host keeps the processor.
        self.assertAlmostEqual(measured, inside, delta=0.1 * inside + 0.02 * len(logs))
        threads = harness.viewer_json(database, "threads", str(allreduce_context(database)), "--metric",
                                      "idleness:sum (I)")
        by_rank = {value["rank"]: value["value"] for value in threads["values"]}
        for log in logs:
            delta = 0.1 * log["allreduce_s"] + 0.05
            self.assertAlmostEqual(by_rank[log["rank"]], log["allreduce_s"], delta=delta)

    def check_blame(self, database, inside):
        blame = harness.viewer_json(database, "blame")
        self.assertGreater(len(blame), 0)
        top = blame[0]
        self.assertIn(top["path"][-1]["kind"], ("loop", "procedure"))
        self.assertIn("main", harness.names(top["path"]))
        self.assertAlmostEqual(top["idleness_s"], inside, delta=0.1 * inside + 0.02 * len(top["waiters"]))

    def check_suspects(self, database, slow, inside, logs):
        suspects = harness.viewer_json(database, "suspects")
        self.assertGreater(len(suspects), 0)
        top = suspects[0]
        self.assertIn("slow_part", harness.names(top["suspect"]))
        self.assertEqual(top["ranks"], [slow])
        self.assertAlmostEqual(top["explains_s"], explained(logs, "slow_s", inside), delta=0.2 * inside)
        # What makes up for each other is innocent, but for what the machine itself delayed there.
        pair = [s for s in suspects if {"first_part", "second_part"} & set(harness.names(s["suspect"]))]
        self.assertLess(sum(s["explains_s"] for s in pair), explained(logs, "pair_s", inside) + 0.2 * inside)

    def test_openmpi_spinning(self):
        self.check("openmpi", 2, 1, "spin")

    def test_mpich_spinning(self):
        self.check("mpich", 2, 0, "spin")

    def test_openmpi_oversubscribed(self):
        self.check("openmpi", 4, 2, "sleep")

    def test_mpich_oversubscribed(self):
        self.check("mpich", 4, 3, "sleep")


def explained(logs, part, inside):
    """How much of the waiting a part of the loop explains, from the program's own clock: what a profile can know is by
    how much each rank's work exceeds the mean, and how much of that is the part's."""
    works = [log["loop_s"] - log["allreduce_s"] for log in logs]
    mean = sum(works) / len(works)
    excess = sum(max(0, work - mean) for work in works)
    mean_part = sum(log[part] for log in logs) / len(logs)
    of_part = sum(min(max(0, log[part] - mean_part), max(0, work - mean)) for log, work in zip(logs, works))
    return min(inside, len(works) * (max(works) - mean)) * of_part / excess


def allreduce_context(database):
    """The id of the calling context of MPI_Allreduce with the most idleness."""
    view = harness.viewer_json(database, "view", "calling-context", "--metrics", "idleness:sum (I)")
    nodes = [
        node
        for node in harness.walk(view["roots"])
        if node["frame"]["kind"] == "procedure" and node["frame"]["name"] == "MPI_Allreduce"
    ]
    return max(nodes, key=lambda node: node["values"].get("idleness:sum (I)", 0))["id"]


if __name__ == "__main__":
    unittest.main()
