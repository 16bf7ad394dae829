"""How samples should divide the cost of short intervals over call paths: the alternatives, and how much of a cost each puts on the
wrong path. A model, as only a model knows the truth of every interval: time lines of two or more ranks whose gaps between
the same two MPI calls last about a millisecond, sampled every five. What is exact in the analysis (how long gaps are, and so
what each wait costs) is exact here; only call paths come from samples."""

import collections
import random
import statistics

PERIOD = 5.0  # ms between samples
INSTANCES = (100, 1_000, 10_000)  # intervals in all
TIMES = 5  # each, with other random numbers; means are told
BALANCED, EXCESS = 0.8, 0.2  # ms that a gap takes on all ranks, and on the one that is late besides


class Line:
    """A rank's time line: it samples itself at regular times, whatever it does."""

    def __init__(self, random_number):
        self.next = random_number * PERIOD

    def run(self, parts):
        """Samples by path, of code that runs one path after the other for so long (ms)."""
        found = collections.Counter()
        for path, length in parts:
            self.next -= length
            while self.next < 0:
                found[path] += 1
                self.next += PERIOD
        return found


def balanced_and_late(rank, gap):
    """Rank 1 is late at every gap, by code that only it runs; beside it all run the same."""
    return [("work", BALANCED), ("late", EXCESS)] if rank == 1 else [("work", BALANCED)]


def longer_here(rank, gap):
    """The same code takes rank 1 longer than others, beside something that takes all as long."""
    return [("other", BALANCED / 2), ("work", BALANCED / 2 + (EXCESS if rank == 1 else 0))]


def by_turns(rank, gap):
    """Ranks are late by turns, by the same code: one at the first gap, the other at the second."""
    return [("work", BALANCED), ("late", EXCESS)] if rank == gap else [("work", BALANCED)]


def late_otherwise(rank, gap):
    """Ranks are late by turns at the same gap, each by code of its own."""
    return [("work", BALANCED), (f"late {rank}", EXCESS)] if rank == gap else [("work", BALANCED)]


# what runs, the gaps that are told apart by their MPI calls, and what is late in truth at each turn: (rank, path)
SCENARIOS = (
    ("other code on the late rank", balanced_and_late, (0, 0), ((1, "late"), (1, "late"))),
    ("the same code, longer", longer_here, (0, 0), ((1, "work"), (1, "work"))),
    ("late by turns, at two calls", by_turns, (0, 1), ((0, "late"), (1, "late"))),
    ("late by turns, at one call", late_otherwise, (0, 0), ((0, "late 0"), (1, "late 1"))),
)


def own(causer, waiter):
    return causer


def excess(causer, waiter):
    return collections.Counter({path: causer[path] - waiter[path] for path in causer.keys() | waiter.keys()})


def clamped(causer, waiter):
    return +excess(causer, waiter)


# what one interval adds, and over what intervals it is summed: (rank, gap, instance) to a key
POOLINGS = {
    "each interval by itself, causer's samples": (own, lambda rank, gap, instance: (rank, gap, instance)),
    "each interval by itself, excess": (clamped, lambda rank, gap, instance: (rank, gap, instance)),
    "rank and gap, causer's samples": (own, lambda rank, gap, instance: (rank, gap)),
    "rank and gap, excess cut off in each interval": (clamped, lambda rank, gap, instance: (rank, gap)),
    "gap, excess": (excess, lambda rank, gap, instance: gap),
    "pair of ranks, excess over both directions": (None, None),
    "rank and gap, excess (ours)": (excess, lambda rank, gap, instance: (rank, gap)),
}


def divided(weights, fallback):
    """Shares of the paths; what was sampled more counts, else what was sampled, else nothing is known."""
    for candidate in (+weights, +fallback):
        whole = sum(candidate.values())
        if whole > 0:
            return {path: weight / whole for path, weight in candidate.items()}
    return {}


def errors(run, gaps, truth, instances, seed):
    """Of each pooling the share of all costs that falls to other paths than in truth, or to none."""
    numbers = random.Random(seed)
    lines = [Line(numbers.random()) for _ in range(2)]
    weights = {name: collections.defaultdict(collections.Counter) for name in POOLINGS}
    fallback = {name: collections.defaultdict(collections.Counter) for name in POOLINGS}
    costs = {name: collections.defaultdict(collections.Counter) for name in POOLINGS}
    for instance in range(2 * instances):
        turn = instance % 2
        rank, path = truth[turn]
        # No two iterations are quite alike, so that samples do not fall into step with them.
        scale = numbers.uniform(0.9, 1.1)
        found = [line.run([(path, scale * ms) for path, ms in run(at, turn)]) for at, line in enumerate(lines)]
        # Who waits is sampled as waiting meanwhile, and both are sampled in their calls: none of their gaps' paths.
        lines[1 - rank].run([("MPI", scale * EXCESS)])
        for line in lines:
            line.run([("MPI", numbers.uniform(0, 0.1))])
        for name, (add, key_of) in POOLINGS.items():
            pooled = excess if add is None else add
            key = "both" if key_of is None else key_of(rank, gaps[turn], instance)
            amount = pooled(found[rank], found[1 - rank])
            if add is None and rank == 0:
                amount = collections.Counter({one: -count for one, count in amount.items()})
            sums = weights[name][key]
            for one, count in amount.items():
                sums[one] += count
            fallback[name][key].update(found[rank])
            costs[name][key][(rank, path)] += scale * EXCESS
    return {name: wrong_share(weights[name], fallback[name], costs[name]) for name in POOLINGS}


def wrong_share(weights, fallback, costs):
    wrong = whole = 0.0
    for key, truths in costs.items():
        shares = divided(weights[key], fallback[key])
        for (_, path), cost in truths.items():
            whole += cost
            wrong += cost * (1 - shares.get(path, 0))
    return wrong / whole


def measure():
    for title, run, gaps, truth in SCENARIOS:
        print(f"\n{title}: % of the cost on the wrong path or on none\n")
        print("| samples pooled by | " + " | ".join(f"{instances} intervals" for instances in INSTANCES) + " |")
        print("|---|" + "---|" * len(INSTANCES))
        columns = [[errors(run, gaps, truth, instances // 2, seed) for seed in range(TIMES)] for instances in INSTANCES]
        for name in POOLINGS:
            means = [statistics.mean(100 * found[name] for found in column) for column in columns]
            print(f"| {name} | " + " | ".join(f"{mean:.0f}" for mean in means) + " |", flush=True)


if __name__ == "__main__":
    measure()
