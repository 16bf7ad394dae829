"""From a seed, a program: `program_of(seed, seconds)`. The same seed and seconds give the same program on any machine.

Phases of iterations; each iteration is a row of sections, each section work between two points at which ranks
communicate, all ranks the same amount (but for what stands for it under another name, or compensates it on the same
rank before the next communication). What makes ranks wait is then noise, the fill of pipelines, and the causes.
"""

import random

from program import (
    Branch, Cause, Communication, Function, Invoke, Loop, Program, Work, callees_first, pieces, place_counts, units, works,
)

VERBS = """advect apply assemble balance blend build cache clip collect compute copy correct count diffuse divide emit
evaluate exchange expand extract filter find fold form gather hash index inject insert integrate interpolate limit link map
mark merge move pack pair permute predict prepare probe project prune rank reconstruct reduce refine relax remap rotate
sample scale scan scatter search shift smooth solve sort spread step store stream sum swap sweep trace track transform
transport unpack update validate visit weigh""".split()
NOUNS = """atoms blocks bonds bounds bricks cells charges clouds columns cones corners edges elements energies faces fields
fluxes forces fronts ghosts gradients grains grids groups halos images jets kernels layers leaves levels limits lines links
loads masses meshes modes momenta moments nodes norms octants orbits pairs panels particles patches phases planes points
potentials powers pressures rays residuals rings rows shells sides sites slabs slopes sources spins states stencils strips
tables terms tiles tracers trees vectors velocities volumes waves weights zones""".split()
KINDS = ("one", "some", "half", "trend", "alternating", "iterations", "serial", "slow")
KIND_WEIGHTS = (5, 2, 2, 2, 1.5, 1.5, 2, 1)
LEAST_PIECE = 0.6  # ms, on average
WIDE = 1000  # seeds above have what the others leave out: passive target, large messages, part communicators, threads
TAIL_CALLS = 2000  # of these, seeds above also have functions whose last call is a jump


class Generator:
    least_piece = LEAST_PIECE

    def __init__(self, seed, seconds, pipelines=True):
        self.draw, self.pipelines = random.Random(seed), pipelines
        self.seed, self.seconds = seed, seconds
        self.ranks = self.draw.choice((2, 3, 4, 4, 5, 6, 8, 8))
        self.mpi = self.draw.choice(("openmpi", "mpich"))
        self.functions = int(20 * 10 ** self.draw.uniform(0, 1))
        self.names, self.shared, self.tag = set(), [], 0
        self.window, self.groups = False, False
        self.wide = seed > WIDE

    def program(self):
        noise = self.draw.choice((0.005, 0.01, 0.02, 0.03))
        main, phases = Function("main", []), self.draw.choice((1, 1, 2, 3))
        self.names.add("main")
        for _ in range(phases):
            main.body.append(Invoke(self.phase(max(6, self.functions // phases), self.seconds / phases)))
        helper = self.wide and self.draw.random() < 0.5
        program = Program(self.seed, self.ranks, self.mpi, noise, main, [], [], self.window, self.groups, helper)
        causes = self.draw.choices((0, 1, 2), (20, 62, 18))[0]
        for _ in range(causes if self.pipelines else 0):
            self.add_cause(program)
        program.functions = callees_first(main)
        if self.seed > TAIL_CALLS:
            self.end_in_calls(program.functions)
        return program

    def end_in_calls(self, functions):
        """Half of the functions whose last statement is a call leave by a jump."""
        for function in functions[:-1]:
            last = function.body[-1] if function.body else None
            able = isinstance(last, Invoke) and not last.function.inlined and not function.inlined and not function.recursion
            function.tail = able and self.draw.random() < 0.5

    def name(self):
        while True:
            name = f"{self.draw.choice(VERBS)}_{self.draw.choice(NOUNS)}"
            if name not in self.names:
                self.names.add(name)
                return name

    # -- local functions, which do not communicate

    def work(self, factors=None):
        style = self.draw.choices(("HERE", "SHARED", "INLINED"), (7, 2, 1))[0]
        return Work(self.draw.lognormvariate(0, 0.8), factors, style)

    def leaf(self):
        function = Function(self.name(), [self.work()])
        chance = self.draw.random()
        if chance < 0.15:
            function.body = [Loop(self.draw.randint(2, 3), function.body)]
        elif chance < 0.22:
            function.recursion = self.draw.randint(1, 3)
        elif chance < 0.4:
            function.inlined = True
        return function

    def tree(self, budget, share=True, depth=0):
        """A function with about `budget` functions below it."""
        if budget <= 1 or depth > 6:
            function = self.leaf()
            if share and self.draw.random() < 0.4:
                self.shared.append(function)
            return function
        function, left = Function(self.name(), []), budget - 1
        for child in range(self.draw.randint(1, 4)):
            if left <= 0:
                break
            if share and self.shared and self.draw.random() < 0.2:
                function.body.append(Invoke(self.draw.choice(self.shared)))
                continue
            part = left if child == 3 else max(1, int(left * self.draw.uniform(0.2, 0.8)))
            function.body.append(Invoke(self.tree(part, share, depth + 1)))
            left -= part
        if self.draw.random() < 0.4:
            function.body.insert(self.draw.randint(0, len(function.body)), self.work())
        if self.draw.random() < 0.15 and pieces(function.body) < 6:
            function.body = [Loop(2, function.body)]
        return function

    # -- blocks: work, the same amount on every rank

    def block(self, budget):
        chance = self.draw.random()
        if chance < 0.12:
            return self.compensating()
        if chance < 0.4 and budget >= 2:
            return self.alternatives(budget)
        return [Invoke(self.tree(budget))]

    def compensating(self):
        """Two functions that are uneven, and together even."""
        swings = [self.draw.uniform(-0.6, 0.6) for _ in range(self.ranks)]
        first, second = Work(1.5, [1 + s for s in swings]), Work(1.5, [1 - s for s in swings])
        return [Invoke(Function(self.name(), [first])), Invoke(Function(self.name(), [second]))]

    def alternatives(self, budget):
        """The same amount of work in different code, or the same code from different places."""
        test, ranks = self.test()
        if self.draw.random() < 0.3:
            function = self.tree(budget)
            return [Branch(test, ranks, [Invoke(function)], [Invoke(function)])]
        then, other = self.tree(budget // 2, share=False), self.tree(budget - budget // 2, share=False)
        if not units(then.body) or not units(other.body):
            return [Invoke(then), Invoke(other)]
        factor = units([Invoke(then)]) / units([Invoke(other)])
        for work in works(other.body).values():
            work.units *= factor
        return [Branch(test, ranks, [Invoke(then)], [Invoke(other)])]

    def test(self):
        """A condition on ranks in C, and the ranks that meet it."""
        one = self.draw.randrange(self.ranks)
        tests = (
            (f"rank == {one}", lambda rank: rank == one),
            ("rank == 0", lambda rank: rank == 0),
            ("rank % 2 == 0", lambda rank: rank % 2 == 0),
            (f"rank < {self.ranks // 2}", lambda rank: rank < self.ranks // 2),
            ("rank == 0 || rank == ranks - 1", lambda rank: rank in (0, self.ranks - 1)),
        )
        text, holds = self.draw.choice(tests)
        return text, frozenset(filter(holds, range(self.ranks)))

    # -- sections: blocks, and what ranks communicate around them

    def section(self, budget):
        """A function of its own, which all ranks call."""
        kinds = (
            self.collective, self.halo, self.ring, self.pipeline, self.parity, self.master, self.chain, self.fence, self.epoch,
            self.begun,
        )
        weights = (5, 3, 1, 1, 3, 3, 3, 1, 1, 1)
        if self.wide:
            kinds, weights = (*kinds, self.passive, self.group, self.large), (*weights, 5, 6, 6)
        body = self.draw.choices(kinds, weights)[0](budget)
        return Function(self.name(), body)

    def next_tag(self):
        self.tag += 1
        return self.tag

    def collective(self, budget):
        root = self.draw.randrange(self.ranks)
        text = self.draw.choice((
            "ALLREDUCE();", "ALLREDUCE();", "BARRIER();", "ALLGATHER();", "ALLTOALL();", f"BCAST({root});", f"REDUCE({root});",
            f"GATHER({root});", "SCAN();",
        ))
        return [*self.block(budget), Communication(text)]

    def halo(self, budget):
        ring, tag = self.draw.randrange(2), self.next_tag()
        before, inside = self.halves(budget)
        return [*before, Communication(f"HALO_BEGIN({ring}, {tag});"), *inside, Communication("HALO_END();")]

    def halves(self, budget):
        """Two blocks, or one and nothing."""
        if budget < 4 or self.draw.random() < 0.5:
            return self.block(budget), []
        return self.block(budget // 2), self.block(budget - budget // 2)

    def ring(self, budget):
        return [*self.block(budget), Communication(f"SENDRECV(RIGHT, LEFT, {self.next_tag()});")]

    def pipeline(self, budget):
        """In small steps: the fill and the drain make ranks wait, which nothing but a shorter pipeline changes."""
        if not self.pipelines:
            return self.ring(budget)
        tag, part = self.next_tag(), self.tree(min(budget, 3), share=False)
        for work in works(part.body).values():
            work.units *= 0.15
        return [*self.block(max(1, budget - 3)), Loop(self.draw.randint(3, 5), [
            Communication(f"if (rank > 0) RECEIVE(rank - 1, {tag});"),
            Invoke(part),
            Communication(f"if (rank < ranks - 1) SEND(rank + 1, {tag});"),
        ])]

    def parity(self, budget):
        """Even ranks send first, odd ones receive first, to the right and then to the left."""
        tag = self.next_tag()
        send = "SYNCHRONOUS_SEND" if self.draw.random() < 0.3 else "SEND"
        even = f"if (rank < ranks - 1) {{ {send}(rank + 1, {tag}); RECEIVE(rank + 1, {tag}); }}"
        odd = f"RECEIVE(rank - 1, {tag}); {send}(rank - 1, {tag});"
        evens = frozenset(range(0, self.ranks, 2))
        if self.draw.random() < 0.5:
            return [*self.block(budget), Branch("rank % 2 == 0", evens, [Communication(even)], [Communication(odd)])]
        work = Function(self.name(), self.block(budget))
        return [Branch("rank % 2 == 0", evens, [Invoke(work), Communication(even)], [Invoke(work), Communication(odd)])]

    def master(self, budget):
        """Rank 0 takes a word from all others and answers; it works as much as they do, in the same code or in other."""
        tag = self.next_tag()
        serve, ask = f"SERVE({tag});", f"SEND(0, {tag}); RECEIVE(0, {tag});"
        first, second = self.tree(max(1, budget // 2), share=False), self.tree(max(1, budget // 2), share=False)
        if self.draw.random() < 0.5 or not units(first.body) or not units(second.body):
            second = first
        else:
            factor = units([Invoke(first)]) / units([Invoke(second)])
            for work in works(second.body).values():
                work.units *= factor
        return [Branch("rank == 0", frozenset((0,)), [Invoke(first), Communication(serve)], [Invoke(second), Communication(ask)])]

    def chain(self, budget):
        """A word goes from each rank to the next; the same work lies between different calls, or stands for other work."""
        tag, shared = self.next_tag(), Function(self.name(), self.block(max(1, budget // 2)))
        receive, send = Communication(f"RECEIVE(rank - 1, {tag});"), Communication(f"SEND(rank + 1, {tag});")
        first, between = self.alternatives(max(2, budget // 2)), frozenset(range(1, self.ranks - 1))
        middle = Branch("rank < ranks - 1", between, [Invoke(shared), receive, send], [Invoke(shared), receive])
        return [*first, Branch("rank == 0", frozenset((0,)), [Invoke(shared), send], [middle])]

    def fence(self, budget):
        self.window = True
        before, inside = self.halves(budget)
        put = Communication("PUT(RIGHT);")
        return [*before, Communication("FENCE();"), put, *inside, Communication("FENCE();")]

    def epoch(self, budget):
        self.window = True
        before, inside = self.halves(budget)
        access = Communication("START(); PUT(RIGHT);")
        return [*before, Communication("POST();"), access, *inside, Communication("COMPLETE(); WIN_WAIT();")]

    def passive(self, budget):
        """Nobody but the rank on the left locks a window, or all lock that of one rank, one after the other."""
        self.window = True
        target = self.draw.choice(("RIGHT", "0"))
        return [*self.block(budget), Communication(f"LOCKED_PUT({target});")]

    def group(self, budget):
        """Even ranks among themselves, and odd ones."""
        self.groups = True
        return [*self.block(budget), Communication(self.draw.choice(("GROUP_ALLREDUCE();", "GROUP_BARRIER();", "GROUP_BCAST();")))]

    def large(self, budget):
        """More than a library buffers."""
        root, tag = self.draw.randrange(self.ranks), self.next_tag()
        text = self.draw.choice((f"LARGE_SENDRECV(RIGHT, LEFT, {tag});", f"LARGE_BCAST({root});", "LARGE_ALLREDUCE();"))
        return [*self.block(budget), Communication(text)]

    def begun(self, budget):
        begin = self.draw.choice(("ALLREDUCE_BEGIN();", "BARRIER_BEGIN();"))
        before, inside = self.halves(budget)
        return [*before, Communication(begin), *(inside or self.block(1)), Communication("STARTED_END();")]

    # -- phases

    def phase(self, budget, seconds):
        self.shared = []
        sections = max(2, min(8, budget // self.draw.randint(4, 12)))
        step = [Invoke(self.section(max(1, budget // sections))) for _ in range(sections)]
        if not any("ALL" in text or "BARRIER" in text for text in texts(step)):
            step.append(Communication("ALLREDUCE();"))
        if self.draw.random() < 0.5:
            step = [Invoke(Function(self.name(), step))]
        long = max(self.draw.uniform(20, 80), self.least_piece * max(pieces(step, rank) for rank in range(self.ranks)))
        factor = long / max(units(step, rank) for rank in range(self.ranks))
        for work in works(step).values():
            work.milliseconds = [factor * work.of(rank) for rank in range(self.ranks)]
        return Function(self.name(), [Loop(max(4, round(seconds * 1e3 / long)), step, iterations=True)])

    # -- causes

    def add_cause(self, program):
        taken = {cause.place for cause in program.causes}
        kind = self.draw.choices(KINDS, KIND_WEIGHTS)[0]
        if program.causes and (kind == "slow" or program.causes[0].kind == "slow"):
            kind = "one" if program.causes[0].kind != "slow" else None
        if kind is None:
            return
        share = min(0.4, max(0.01, self.draw.lognormvariate(-2.7, 0.8)))
        if kind == "slow":
            one = self.draw.randrange(self.ranks)
            program.causes.append(Cause(kind, (), [one], share, slower=share / (1 - share)))
            return
        if kind == "serial":
            self.insert_serial(program)
        counts = {place: count for place, count in place_counts(program).items() if place not in taken}
        serial = {place for place in counts if place[-1].startswith("serial_")}
        if kind == "serial":
            place = next(iter(serial - taken))
        else:
            place = self.draw.choice(sorted(place for place in counts if place not in serial and self.comparable(counts[place])))
        self.set_sizes(program, Cause(kind, place, [], share), counts[place])

    @staticmethod
    def comparable(counts):
        """Whether two ranks run it, often: of code that one rank alone runs, nobody can say which part takes too long."""
        return sum(count > 1 for count in counts) > 1

    def insert_serial(self, program):
        one = self.draw.choice((0, 0, self.draw.randrange(self.ranks)))
        function = Function(f"serial_{self.name()}", [Work(0, None, "HERE", [0.0] * self.ranks)])
        phase = self.draw.choice(program.main.body).function
        body = phase.body[0].body
        while len(body) == 1 and isinstance(body[0], Invoke):
            body = body[0].function.body
        body.insert(self.draw.randint(0, len(body)), Branch(f"rank == {one}", frozenset((one,)), [Invoke(function)], []))

    def set_sizes(self, program, cause, counts):
        """Which ranks work how much too much in each invocation."""
        able = [rank for rank in range(self.ranks) if counts[rank] > 0]
        weights = [0.0] * self.ranks
        for rank, weight in self.weights(cause, able):
            weights[rank] = weight
        cause.ranks = [rank for rank in range(self.ranks) if weights[rank] > 0]
        seconds = self.seconds * cause.share / (1 - cause.share)
        if cause.kind == "iterations":
            cause.every = self.draw.choice((3, 5, 8))
        often = cause.every if cause.kind == "iterations" else len(able) if cause.kind == "alternating" else 1
        longest = max(cause.ranks, key=lambda rank: weights[rank])
        each = 1e3 * seconds * often / counts[longest] / weights[longest]
        if cause.kind == "alternating":
            each /= len(able)  # all of them together make the run so much longer
        cause.extra = [each * weight for weight in weights]
        program.causes.append(cause)

    def weights(self, cause, able):
        """[(rank, how much of the extra)]"""
        if cause.kind in ("one", "iterations", "serial"):
            return [(self.draw.choice(able), 1)]
        if cause.kind == "some" and len(able) > 2:
            return [(rank, 1) for rank in self.draw.sample(able, self.draw.randint(2, len(able) - 1))]
        if cause.kind == "half" and len(able) > 1:
            lower = [rank for rank in able if rank < self.ranks // 2] or able[:1]
            odd = [rank for rank in able if rank % 2] or able[:1]
            return [(rank, 1) for rank in self.draw.choice((lower, odd))]
        if cause.kind == "trend" and len(able) > 2:
            return [(rank, place / (len(able) - 1)) for place, rank in enumerate(able)]
        if cause.kind == "alternating" and len(able) > 1:
            return [(rank, 1) for rank in able]
        cause.kind = "one"
        return [(self.draw.choice(able), 1)]


def texts(body):
    """The communication below these statements, as macros."""
    for statement in body:
        if isinstance(statement, Communication):
            yield statement.text
        elif isinstance(statement, Invoke):
            yield from texts(statement.function.body)
        elif isinstance(statement, Loop):
            yield from texts(statement.body)
        elif isinstance(statement, Branch):
            yield from texts(statement.then)
            yield from texts(statement.other)


def program_of(seed, seconds=10):
    """In programs without a cause nothing makes ranks wait, so they have no pipelines."""
    program = Generator(seed, seconds).program()
    if program.causes or not any(text.startswith("if (rank > 0) RECEIVE") for text in texts(program.main.body)):
        return program
    return Generator(seed, seconds, pipelines=False).program()
