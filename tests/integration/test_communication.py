"""What MPI calls moved, and between whom, is what the program moved, to the byte, under both MPIs."""

import re
import unittest

import harness

RANKS = 4
MESSAGES, BYTES, PAIR_BYTES, PUT, GET, REDUCED = 20, 1000, 64, 4096, 512, 80  # of tests/apps/traffic.c
RING = MESSAGES * BYTES * 3 // 2  # half of the messages are twice as long
WORLD = 1
# Of tests/apps/counted_requests.c, for each of its 2 ranks: messages and bytes that arrive in a call.
SEVERAL = (3, 51 + 52 + 53)
ARRIVED = {
    "MPI_Request_get_status": (5, 500), "MPI_Wait": (5 + 10 + 1, 500 + 700 + 40), "MPI_Recv": (10 + 1, 80 + 60), "MPI_Waitall": (10, 2000),
    "MPI_Waitany": SEVERAL, "MPI_Waitsome": SEVERAL, "MPI_Test": SEVERAL, "MPI_Testany": SEVERAL, "MPI_Testsome": SEVERAL,
    "MPI_Testall": SEVERAL}
STARTED = {"MPI_Send": (22, 1000 + 700 + 30 + 40), "MPI_Isend": (18 + 10, 6 * 156 + 80), "MPI_Startall": (10, 2000), "MPI_Start": (1, 60)}
COMPLETING = (
    "MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Test", "MPI_Testany", "MPI_Testall", "MPI_Request_get_status", "MPI_Request_free")
SENDING = ("MPI_Send", "MPI_Isend", "MPI_Start", "MPI_Isendrecv", "MPI_Isendrecv_replace")
PLACES = 2048  # of call_places, each four times
TOO_MANY = 100_000  # receives at one time, of which there is room for 98 304
# How many calls of these move all depends on when messages arrive.
AS_IT_COMES = {"MPI_Waitsome", "MPI_Testsome"}


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
        self.assertIn('communicator or window "pair of ranks" (2 processes): 128 B in 2 messages', text)
        self.assertIn('communicator or window "exposed" (4 processes): 4.61 kB in 2 messages', text)
        self.assertEqual({row["name"] for row in reported["partners"]}, {None, "pair of ranks", "exposed"})

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
        """Without a trace: all but partners of one-sided operations."""
        database = self.merge(self.measure(mpi, RANKS, harness.PROGRAMS / f"traffic.{mpi}"))
        reported = harness.viewer_json(database, "communication")
        self.assertFalse(reported["exact"])
        self.assertEqual({(row["members"], row["name"]) for row in reported["partners"]}, {(RANKS, None), (2, "pair of ranks")})
        self.check_counted_partners(reported["partners"])
        self.check_functions(reported)
        calls = self.calls(reported)
        self.check_sent(calls)
        for name in ("MPI_Sendrecv", "MPI_Allreduce"):
            self.assertEqual(calls[name]["received_bytes"], RANKS * (PAIR_BYTES if name == "MPI_Sendrecv" else REDUCED))
        waits = calls["MPI_Waitall"]
        self.assertEqual((waits["calls"], waits["messages"], waits["received_bytes"]), (RANKS * MESSAGES, RANKS * MESSAGES, RANKS * RING))
        for name, call in calls.items():  # those that wait are timed one by one
            if name in ("MPI_Sendrecv", "MPI_Allreduce", "MPI_Waitall"):
                self.assertLessEqual(call["seconds"] / call["calls"], call["max_s"] + 1e-6)
                self.assertLessEqual(call["max_s"], call["busiest_s"] + 1e-6)
            elif name in ("MPI_Isend", "MPI_Irecv"):
                self.assertIsNone(call["max_s"])
        self.assertEqual((calls["MPI_Isend"]["smallest_bytes"], calls["MPI_Isend"]["largest_bytes"]), (BYTES, 2 * BYTES))
        values = harness.viewer_json(database, "view", "calling-context", "--metrics", "calls,bytes-sent")["roots"][0]["values"]
        self.assertEqual(values["bytes-sent:sum (I)"], RANKS * (RING + PAIR_BYTES + REDUCED) + PUT)
        self.assertEqual(values["calls:sum (I)"], reported["calls"])
        self.assertIn("Counted without a trace", harness.run([harness.VIEWER, database, "communication"]).stdout)

    def moved(self, reported):
        """What does not depend on when messages arrive, by function."""
        return {row["call"]: (None if row["call"] in AS_IT_COMES else row["calls"], row["messages"], row["sent_bytes"], row["received_bytes"])
                for row in reported["mpi"] if row["call"] not in ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")}

    def between(self, reported):
        return sorted((row["members"], row["from"], row["to"], row["messages"], row["bytes"]) for row in reported["partners"])

    def both_ways(self, mpi, ranks, *command, name=""):
        """With a trace and without one."""
        for kind, options in (("traced", ["--trace"]), ("counted", [])):
            directory = self.measure(mpi, ranks, *command, name=name + kind, options=options)
            yield harness.viewer_json(self.merge(directory), "communication")

    def check_requests(self, mpi):
        """Requests count without a trace where they count with one, for as much as the program moved."""
        traced, counted = self.both_ways(mpi, 2, harness.PROGRAMS / f"counted_requests.{mpi}")
        self.assertTrue(traced["exact"] and not counted["exact"])
        moved = self.moved(counted)
        self.assertEqual(moved, self.moved(traced))
        self.assertEqual(self.between(counted), self.between(traced))
        zero = (0, 0)
        for name, (_, messages, sent, received) in moved.items():
            with self.subTest(name):
                arrived, started = ARRIVED.get(name, zero), STARTED.get(name, zero)
                self.assertEqual((messages, sent, received), (2 * (arrived[0] + started[0]), 2 * started[1], 2 * arrived[1]))

    def check_odd_requests(self, mpi):
        """What is easily counted wrongly, as often as the program saw it."""
        program = harness.PROGRAMS / f"odd_requests.{mpi}"
        messages, received, sent_messages, sent = map(int, harness.launch(mpi, 1, [program]).stdout.split())
        traced, counted = self.both_ways(mpi, 1, program)
        moved = self.moved(counted)
        self.assertEqual(moved, self.moved(traced))
        self.assertEqual(self.between(counted), self.between(traced))
        for functions, figures, numbers in ((COMPLETING, (messages, received), (1, 3)), (SENDING, (sent_messages, sent), (1, 2))):
            self.assertEqual(tuple(sum(moved[name][number] for name in functions if name in moved) for number in numbers), figures)

    def check_too_many(self, mpi):
        """More receives at one time than there is room for: counted, or said to be left out."""
        command = [harness.HPCRUN, "-q", "-o", self.here / "run", harness.PROGRAMS / f"odd_requests.{mpi}", TOO_MANY]
        said = re.search(r"hpcrun-lite: rank 0: (\d+) requests began while too many requests were open", harness.launch(mpi, 1, command).stderr)
        waits = self.moved(harness.viewer_json(self.merge(self.here / "run"), "communication"))["MPI_Waitall"]
        self.assertEqual(waits, (1, TOO_MANY - int(said[1]), 0, TOO_MANY - int(said[1])))

    def check_places(self, mpi):
        """Calls on as many paths as large programs have."""
        command = [harness.HPCRUN, "-q", "-o", self.here / "run", harness.PROGRAMS / f"call_places.{mpi}"]
        harness.launch(mpi, 1, command)
        communication = harness.viewer_json(self.merge(self.here / "run"), "communication")
        moved = self.moved(communication)
        self.assertEqual(moved["MPI_Isend"], (4 * PLACES, 4 * PLACES, 32 * PLACES, 0))
        paths = [path for path in communication["paths"] if path["path"][-1]["name"] == "MPI_Isend"]
        self.assertEqual([path["calls"] for path in paths], [4] * PLACES)
        self.assertNotIn("further call paths", moved)

    def check_languages(self, mpi):
        """Through each of the Fortran interfaces, whose statuses to be ignored are others than C's."""
        for name in ("every_wait", "every_wait_mpif", "every_wait_mpi", "every_wait_f08"):
            with self.subTest(name):
                traced, counted = self.both_ways(mpi, 2, harness.PROGRAMS / f"{name}.{mpi}", name=name)
                self.assertEqual(self.moved(counted), self.moved(traced))

    def check_threads(self, mpi):
        """Threads that reuse each other's handles."""
        traced, counted = self.both_ways(mpi, 2, harness.PROGRAMS / f"concurrent_calls.{mpi}", "200")
        self.assertEqual(self.moved(counted), self.moved(traced))
        # Their communicators are duplicates of MPI_COMM_WORLD, and so one where they are counted.
        for key in ("messages", "bytes"):
            self.assertEqual(*(sum(row[key] for row in reported["partners"]) for reported in (counted, traced)))

    def check_failing(self, mpi):
        """Requests that fail: the program sees what it sees unmeasured."""
        program = harness.PROGRAMS / f"failing_requests.{mpi}"
        plain = harness.launch(mpi, 1, [program]).stdout
        self.assertEqual(harness.launch(mpi, 1, [harness.HPCRUN, "-o", self.here / "plain", program]).stdout, plain)
        traced, counted = self.both_ways(mpi, 1, program)
        self.assertEqual(self.moved(counted), self.moved(traced))

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

    def test_requests_openmpi(self):
        self.check_requests("openmpi")

    def test_requests_mpich(self):
        self.check_requests("mpich")

    def test_odd_requests_openmpi(self):
        self.check_odd_requests("openmpi")

    def test_odd_requests_mpich(self):
        self.check_odd_requests("mpich")

    def test_too_many_openmpi(self):
        self.check_too_many("openmpi")

    def test_too_many_mpich(self):
        self.check_too_many("mpich")

    def test_places_openmpi(self):
        self.check_places("openmpi")

    def test_places_mpich(self):
        self.check_places("mpich")

    def test_languages_openmpi(self):
        self.check_languages("openmpi")

    def test_languages_mpich(self):
        self.check_languages("mpich")

    def test_threads_openmpi(self):
        self.check_threads("openmpi")

    def test_threads_mpich(self):
        self.check_threads("mpich")

    def test_failing_openmpi(self):
        self.check_failing("openmpi")

    def test_failing_mpich(self):
        self.check_failing("mpich")

    def test_without_a_trace_openmpi(self):
        self.check_counted("openmpi")

    def test_without_a_trace_mpich(self):
        self.check_counted("mpich")


if __name__ == "__main__":
    unittest.main()
