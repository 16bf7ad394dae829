"""From a seed, a hybrid program: `program_of(seed, seconds)`. As generate.py makes it, but each rank has a team of threads.

The main thread does some of the work alone; most is done in parallel regions whose threads take equally long, some in loops with a
static schedule whose iterations are uneven, and some partly under a lock. What makes threads idle is then noise, that much,
and the causes. Every way of doing a piece of work takes as long as the piece is planned, so ranks stay alike.
"""

from generate import Generator
from program import Cause, Loop, Team, Work, callees_first, place_counts

KINDS = ("serial", "thread", "loop", "lock", "rank", "late thread")
KIND_WEIGHTS = (3, 2, 2, 3, 2, 2)
DELAYING = ("rank", "late thread")  # on one rank, so that others wait: all threads of a region, or one
WAYS = ("serial", "even", "uneven", "locked")
WAY_WEIGHTS = (1, 6, 2, 1)
SERIAL_PART = 0.3  # of what the piece would be in a team
LOCKED = (0.02, 0.1)


class ThreadedGenerator(Generator):
    least_piece = 3  # ms: beside it, what it takes to wake a team is little

    def __init__(self, seed, seconds):
        super().__init__(seed, seconds)
        self.ranks, self.threads = self.draw.choice((2, 2, 3, 4)), self.draw.choice((2, 3, 4))
        self.functions = int(8 * 10 ** self.draw.uniform(0, 0.5))
        self.wide = False

    def program(self):
        program = super().program()
        program.threads, program.compiler = self.threads, self.draw.choice(("gcc", "clang"))
        return program

    def pipeline(self, budget):
        """Ranks that fill a pipeline wait, and so do their threads: not for a cause."""
        return self.ring(budget)

    def work(self, factors=None):
        work, way = super().work(factors), self.draw.choices(WAYS, WAY_WEIGHTS)[0]
        if way == "serial":
            work.units *= SERIAL_PART
        else:
            work.team = self.team(way)
        return work

    def compensating(self):
        pair = super().compensating()
        for invoke in pair:
            own_work(invoke.function.body).team = Team()
        return pair

    def team(self, way):
        if way == "uneven":
            each, longest = self.draw.randint(1, 3), [self.draw.uniform(0.9, 1) for _ in range(self.threads)]
            return Team(iterations=tuple(time / max(longest) / each for time in longest for _ in range(each)))
        return Team(locked=self.draw.uniform(*LOCKED) if way == "locked" else 0)

    # -- causes

    def add_cause(self, program):
        kind = self.draw.choices(KINDS, KIND_WEIGHTS)[0]
        share = min(0.4, max(0.01, self.draw.lognormvariate(-2.4, 0.7)))
        taken, counts = {cause.place[-1] for cause in program.causes}, place_counts(program)
        able = self.comparable if kind in DELAYING else self.alike
        work = {function.name: own_work(function.body) for function in callees_first(program.main)}
        # Of work that differs among ranks anyway nobody could say which part of it is too long.
        places = sorted(
            place for place, count in counts.items() if place[-1] not in taken and able(count) and not work[place[-1]].factors
        )
        if not places:
            return
        cause = Cause(kind, self.draw.choice(places), [], share)
        if kind != "serial":
            work[cause.place[-1]].team = self.team({"loop": "uneven", "lock": "locked"}.get(kind, "even"))
        if kind in ("thread", "late thread"):
            cause.member = self.draw.randrange(self.threads)
        self.set_sizes(program, cause, counts[cause.place])
        if kind == "lock":  # held by each, one after the other
            cause.extra = [milliseconds / self.threads for milliseconds in cause.extra]

    @staticmethod
    def alike(counts):
        """Whether all ranks run it, equally often: then it delays none of them."""
        return min(counts) > 1 and min(counts) == max(counts)

    def weights(self, cause, able):
        if cause.kind in DELAYING:
            return [(self.draw.choice(able), 1)]
        return [(rank, 1) for rank in able]


def own_work(body):
    """The first work of these statements that is not that of a function which they call."""
    for statement in body:
        if isinstance(statement, Work):
            return statement
        if isinstance(statement, Loop) and (found := own_work(statement.body)):
            return found
    return None


def program_of(seed, seconds=10):
    return ThreadedGenerator(seed, seconds).program()
