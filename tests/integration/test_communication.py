"""What MPI calls moved, and between whom, is what the program moved, to the byte, under both MPIs."""

import unittest

import harness

RANKS = 4
MESSAGES, BYTES, PAIR_BYTES, PUT, GET, REDUCED = 20, 1000, 64, 4096, 512, 80  # of tests/apps/traffic.c
RING = MESSAGES * BYTES * 3 // 2  # half of the messages are twice as long
WORLD = 1


class Communication(harness.Workspace):
    def calls(self, reported):
        """By the name of the MPI function."""
        return {call["path"][-1]["name"]: call for call in reported["paths"]}

    def check(self, mpi):
        database = self.merge(self.measure(mpi, RANKS, harness.PROGRAMS / f"traffic.{mpi}", options=["--trace"]))
        reported = harness.viewer_json(database, "communication")
        self.check_calls(self.calls(reported))
        self.check_functions(reported)
        self.assertTrue(reported["exact"])
        self.check_partners(reported["partners"])
        self.check_metrics(database)
        text = harness.run([harness.VIEWER, database, "communication"]).stdout
        self.assertIn(f"MPI_COMM_WORLD: 120 kB in {RANKS * MESSAGES} messages", text)
        self.assertIn("a communicator or window of 2 processes: 128 B in 2 messages", text)

    def check_functions(self, reported):
        """Sums by function."""
        functions = {row["call"]: row for row in reported["mpi"]}
        self.assertEqual(functions["MPI_Isend"]["ranks"], list(range(RANKS)))
        self.assertEqual((functions["MPI_Isend"]["calls"], functions["MPI_Isend"]["bytes"]), (RANKS * MESSAGES, RANKS * RING))
        self.assertEqual(functions["MPI_Put"]["ranks"], [0])
        self.assertEqual(reported["calls"], sum(row["calls"] for row in reported["mpi"]))
        self.assertEqual(reported["bytes"], RANKS * (RING + PAIR_BYTES + REDUCED) + PUT)
        for key in ("calls", "bytes", "seconds", "sent_bytes"):
            self.assertAlmostEqual(sum(row[key] for row in reported["mpi"]), sum(row[key] for row in reported["paths"]), places=6)
        for row in reported["mpi"]:
            self.assertAlmostEqual(row["mean_s"], row["seconds"] / row["calls"], places=9)

    def check_counted(self, mpi):
        """Without a trace: all but what nonblocking receives bring, and partners of one-sided operations."""
        database = self.merge(self.measure(mpi, RANKS, harness.PROGRAMS / f"traffic.{mpi}"))
        reported = harness.viewer_json(database, "communication")
        self.assertFalse(reported["exact"])
        self.check_counted_partners(reported["partners"])
        self.check_functions(reported)
        calls = self.calls(reported)
        self.check_sent(calls)
        for name in ("MPI_Sendrecv", "MPI_Allreduce"):
            self.assertEqual(calls[name]["received_bytes"], RANKS * (PAIR_BYTES if name == "MPI_Sendrecv" else REDUCED))
        self.assertEqual((calls["MPI_Waitall"]["calls"], calls["MPI_Waitall"]["messages"]), (RANKS * MESSAGES, 0))
        self.assertEqual({call["max_s"] for call in calls.values()}, {None})
        self.assertEqual((calls["MPI_Isend"]["smallest_bytes"], calls["MPI_Isend"]["largest_bytes"]), (BYTES, 2 * BYTES))
        values = harness.viewer_json(database, "view", "calling-context", "--metrics", "calls,bytes-sent")["roots"][0]["values"]
        self.assertEqual(values["bytes-sent:sum (I)"], RANKS * (RING + PAIR_BYTES + REDUCED) + PUT)
        self.assertEqual(values["calls:sum (I)"], reported["calls"])
        self.assertIn("Counted without a trace", harness.run([harness.VIEWER, database, "communication"]).stdout)

    def check_counted_partners(self, partners):
        found = {(row["members"], row["from"], row["to"]): (row["messages"], row["bytes"]) for row in partners}
        ring = {(RANKS, rank, (rank + 1) % RANKS): (MESSAGES, RING) for rank in range(RANKS)}
        self.assertEqual(found, ring | {(2, rank, rank ^ 1): (1, PAIR_BYTES) for rank in range(RANKS)})
        self.assertEqual({row["communicator"] == WORLD for row in partners if row["members"] == RANKS}, {True})

    def check_sent(self, calls):
        sent = {"MPI_Isend": (MESSAGES, RING), "MPI_Sendrecv": (1, PAIR_BYTES), "MPI_Allreduce": (1, REDUCED)}
        for name, (number, moved) in sent.items():
            with self.subTest(name):
                self.assertEqual((calls[name]["calls"], calls[name]["sent_bytes"]), (RANKS * number, RANKS * moved))
                self.assertEqual(calls[name]["threads"], RANKS)

    def check_calls(self, calls):
        self.check_sent(calls)
        received = {"MPI_Waitall": (MESSAGES, RING), "MPI_Sendrecv": (1, PAIR_BYTES), "MPI_Allreduce": (1, REDUCED)}
        for name, (number, moved) in received.items():
            with self.subTest(name):
                self.assertEqual((calls[name]["calls"], calls[name]["received_bytes"]), (RANKS * number, RANKS * moved))
        self.assertEqual((calls["MPI_Isend"]["smallest_bytes"], calls["MPI_Isend"]["largest_bytes"]), (BYTES, 2 * BYTES))
        self.assertEqual(calls["MPI_Isend"]["messages"], RANKS * MESSAGES)
        self.assertEqual((calls["MPI_Irecv"]["calls"], calls["MPI_Irecv"]["messages"]), (RANKS * MESSAGES, 0))
        self.assertEqual((calls["MPI_Put"]["calls"], calls["MPI_Put"]["sent_bytes"]), (1, PUT))
        self.assertEqual((calls["MPI_Put"]["threads"], calls["MPI_Put"]["busiest"]["rank"]), (1, 0))
        self.assertEqual((calls["MPI_Get"]["calls"], calls["MPI_Get"]["received_bytes"]), (1, GET))
        self.assertEqual((calls["MPI_Send"]["calls"], calls["MPI_Send"]["messages"]), (RANKS, 0))
        for call in calls.values():
            self.assertLessEqual(call["max_s"], call["busiest_s"])
            self.assertLessEqual(call["busiest_s"], call["seconds"] + 1e-9)

    def check_partners(self, partners):
        world = {(row["from"], row["to"]): (row["messages"], row["bytes"]) for row in partners if row["communicator"] == WORLD}
        self.assertEqual(world, {(rank, (rank + 1) % RANKS): (MESSAGES, RING) for rank in range(RANKS)})
        others = {(row["members"], row["from"], row["to"]): row["bytes"] for row in partners if row["communicator"] != WORLD}
        pairs = {(2, rank, rank ^ 1): PAIR_BYTES for rank in range(RANKS)}
        self.assertEqual(others, pairs | {(RANKS, 0, 1): PUT, (RANKS, 1, 0): GET})
        self.assertEqual({row["ranks"] for row in partners}, {1})

    def check_metrics(self, database):
        view = harness.viewer_json(database, "view", "calling-context", "--metrics",
                                   "calls:sum (I),bytes-sent:sum (I),bytes-received:sum (I)")
        self.assertEqual(list(view["units"].values()), ["count", "bytes", "bytes"])
        whole = {"sent": RING + PAIR_BYTES + REDUCED, "received": RING + PAIR_BYTES + REDUCED}
        values = view["roots"][0]["values"]
        self.assertEqual(values["bytes-sent:sum (I)"], RANKS * whole["sent"] + PUT)
        self.assertEqual(values["bytes-received:sum (I)"], RANKS * whole["received"] + GET)

    def test_openmpi(self):
        self.check("openmpi")

    def test_mpich(self):
        self.check("mpich")

    def test_without_a_trace_openmpi(self):
        self.check_counted("openmpi")

    def test_without_a_trace_mpich(self):
        self.check_counted("mpich")


if __name__ == "__main__":
    unittest.main()
