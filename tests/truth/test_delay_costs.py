"""delay_costs.py and critical_path.py against logs made by hand, in which who is to blame is plain."""

import unittest

import critical_path
import delay_costs
import test_truth_analyser

MS = 1000  # test_truth_analyser's logs are in microseconds


class Ranks:
    """Ranks that work and communicate, each with a clock of its own; times in ms. Calls last 0.01 ms beyond their waits."""

    def __init__(self, ranks):
        self.logs = test_truth_analyser.Logs(ranks)
        self.now = [0.0] * ranks
        self.all("MPI_Init", "collective:0,0,0,0", "main")

    def work(self, rank, at, time):
        self.call(rank, self.now[rank] + time, "work", label=at)

    def call(self, rank, end, function, *facts, label="main"):
        begin, self.now[rank] = self.now[rank], end
        self.logs.call(rank, round(begin * MS), round(end * MS), function, *facts, label=label)

    def message(self, sender, receiver, tag=1, label="main"):
        sent = self.now[sender]
        self.call(sender, sent + 0.01, "MPI_Send", f"sends:0,{receiver},{tag},0,4,0", label=label)
        end = max(self.now[receiver], sent) + 0.01
        self.call(receiver, end, "MPI_Recv", f"receives:0,{sender},{tag},0,4", label=label)

    def all(self, function, fact, label="main"):
        end = max(self.now) + 0.01
        for rank in range(len(self.now)):
            self.call(rank, end, function, fact, label=label)

    def allreduce(self, label="main"):
        self.all("MPI_Allreduce", "collective:3,0,0,0", label)

    def truth(self):
        self.all("MPI_Finalize", "collective:1,0,0,0")
        return self.logs.truth()


def share(costs, *names):
    """Of all costs, those at these procedures, in %."""
    found = sum(costs.short.values()) + sum(costs.long.values()) + sum(costs.undetermined.values())
    at = sum(time for part in (costs.short, costs.long) for (_, place), time in part.items() if set(names) & set(place))
    return 100 * at / found


class Costs(unittest.TestCase):
    def costs(self, ranks):
        truth = ranks.truth()
        costs = delay_costs.DelayCosts(truth)
        given = sum(costs.short.values()) + sum(costs.long.values()) + sum(costs.undetermined.values())
        waiting = sum(wait.nanoseconds for wait in costs.waits.values())
        self.assertAlmostEqual(given + costs.unattributed, waiting, delta=1)
        self.assertGreater(waiting, 0)
        return costs

    def test_what_the_waiter_did_elsewhere_is_no_delay(self):
        """Common work between different calls on each rank, as in a chain of messages."""
        ranks = Ranks(3)
        for _ in range(10):
            for rank in range(3):
                ranks.work(rank, "main/common", 30)
            ranks.work(0, "main/first", 10)
            ranks.message(0, 1)
            ranks.work(1, "main/second", 5)
            ranks.message(1, 2)
            ranks.allreduce()
        costs = self.costs(ranks)
        self.assertLess(share(costs, "common"), 1)
        self.assertGreater(share(costs, "first"), 60)
        self.assertGreater(share(costs, "second"), 15)

    def test_alternatives_of_one_length_are_innocent(self):
        ranks = Ranks(4)
        for _ in range(10):
            for rank in range(4):
                ranks.work(rank, "main/f" if rank == 0 else "main/g", 20)
            ranks.work(0, "main/h", 5)
            ranks.allreduce()
        self.assertGreater(share(self.costs(ranks), "h"), 98)

    def test_a_slow_alternative_is_the_cause(self):
        ranks = Ranks(2)
        for _ in range(5):
            ranks.work(0, "main/f", 30)
            ranks.work(1, "main/g", 20)
            ranks.allreduce()
        self.assertGreater(share(self.costs(ranks), "f"), 99)

    def test_a_part_of_an_alternative(self):
        """Of what rank 0 runs instead of ranks 2 and 3, the part that takes it longer than rank 1 is the cause; what takes both longer
        than the others' code is nobody's surplus, and all of it."""
        for slower in (0, 6):
            ranks = Ranks(4)
            for _ in range(10):
                for rank in (0, 1):
                    ranks.work(rank, "main/f/a", 20 + slower)
                    ranks.work(rank, "main/f/b", 20 + 8 * (rank == 0))
                for rank in (2, 3):
                    ranks.work(rank, "main/g", 40)
                ranks.allreduce()
            costs = self.costs(ranks)
            # Rank 1 waits 8 ms, ranks 2 and 3 8 + slower each.
            alike = slower / (40 + slower)
            b = (8 + 2 * (8 + alike * 20)) / (8 + 2 * (8 + slower))
            self.assertAlmostEqual(share(costs, "b"), 100 * b, delta=1)

    def test_two_causes_below_one_caller(self):
        ranks = Ranks(4)
        for _ in range(5):
            for rank in range(4):
                ranks.work(rank, "main/step/a", 10 + 4 * (rank == 1))
                ranks.work(rank, "main/step/b", 10 + 2 * (rank == 1))
            ranks.allreduce("main/step")
        costs = self.costs(ranks)
        self.assertAlmostEqual(share(costs, "a"), 67, delta=1)
        self.assertAlmostEqual(share(costs, "b"), 33, delta=1)

    def test_what_travels_is_long_term(self):
        ranks = Ranks(3)
        ranks.work(0, "main/foo", 20)
        ranks.message(0, 1)
        ranks.work(1, "main/own", 10)
        ranks.message(1, 2)
        ranks.work(0, "main/after", 30)
        costs = self.costs(ranks)
        foo, own = (0, ("main", "foo")), (1, ("main", "own"))
        # In MPI_Finalize rank 2 synchronizes with rank 0 for the first time: of its 20 ms there foo bears 20 of 50, too.
        self.assertAlmostEqual(costs.short[foo] / 1e6, 20 + 8, delta=0.1)
        self.assertAlmostEqual(costs.long[foo] / 1e6, 20, delta=0.1)
        self.assertAlmostEqual(costs.short[own] / 1e6, 10, delta=0.1)

    def test_even_ranks_against_odd_ones(self):
        ranks = Ranks(4)
        for _ in range(10):
            for rank in range(4):
                ranks.work(rank, "main/step/even" if rank % 2 == 0 else "main/step/odd", 20)
                ranks.work(rank, "main/step/smooth", 10 + 3 * (rank == 2))
            for rank in (0, 2):
                ranks.message(rank, rank + 1, label="main/step")
                ranks.message(rank + 1, rank, label="main/step")
            ranks.allreduce("main/step")
        self.assertGreater(share(self.costs(ranks), "smooth"), 95)

    def test_a_holder_of_nothing_leaves_its_call_to_bear_it(self):
        """A call that takes longer is a place, too."""
        ranks = Ranks(2)
        ranks.allreduce()
        ranks.call(0, ranks.now[0] + 10, "MPI_Isend", label="main/send")
        ranks.allreduce()
        self.assertGreater(share(self.costs(ranks), "MPI_Isend"), 99)


class Path(unittest.TestCase):
    def test_it_goes_to_who_delays_and_no_further(self):
        ranks = Ranks(2)
        ranks.work(0, "main/early", 5)
        ranks.work(1, "main/long", 20)
        ranks.allreduce()
        ranks.work(0, "main/late", 10)
        ranks.work(1, "main/short", 1)
        found = critical_path.critical_path(ranks.truth())
        seconds = {key: time / 1e6 for key, time in found.items() if time > 1e5}
        self.assertEqual(set(seconds), {(1, ("main", "long")), (0, ("main", "late"))})
        self.assertAlmostEqual(seconds[1, ("main", "long")], 20, delta=0.1)
        self.assertAlmostEqual(seconds[0, ("main", "late")], 10, delta=0.1)


if __name__ == "__main__":
    unittest.main()
