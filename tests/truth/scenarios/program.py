"""What a generated program is: functions of statements, planned work, causes; and who runs which call path how often.

A *place* is a call path by procedures: ("main", "step", "solve"). Ranks run statements that communicate in pairs that
generate.py keeps whole; everything here only counts.
"""

import collections
import dataclasses


@dataclasses.dataclass(eq=False)
class Function:
    name: str
    body: list
    inlined: bool = False
    recursion: int = 0  # how often it calls itself, one level below the other
    tail: bool = False  # its last statement is a call that the compiler makes a jump

    def __hash__(self):
        return hash(self.name)


@dataclasses.dataclass(eq=False)
class Team:
    """How the threads of a parallel region do a piece of work: each takes as long as the piece is planned."""

    iterations: tuple = ()  # of a loop with a static schedule: which part each takes of what its longest thread does
    locked: float = 0  # which part they do under a lock, one after the other


@dataclasses.dataclass(eq=False)
class Work:
    units: float
    factors: list | None = None  # of each rank; None: alike
    style: str = "HERE"  # or SHARED, INLINED: which procedure passes the time
    milliseconds: list = None  # planned, by rank
    team: Team | None = None  # None: the main thread does it

    def of(self, rank):
        return self.units * (self.factors[rank] if self.factors else 1)


@dataclasses.dataclass(eq=False)
class Invoke:
    function: Function


@dataclasses.dataclass(eq=False)
class Loop:
    times: int
    body: list
    iterations: bool = False  # counts the program's iterations


@dataclasses.dataclass(eq=False)
class Branch:
    test: str  # in C
    ranks: frozenset  # for whom it holds
    then: list
    other: list


@dataclasses.dataclass(eq=False)
class Communication:
    text: str  # macros of scenario.h


@dataclasses.dataclass
class Cause:
    kind: str
    place: tuple  # () for a slow machine
    ranks: list  # those that it is planned for
    share: float  # of the run, planned
    extra: list = None  # ms of each invocation, by rank
    every: int = 1  # iterations per one in which it happens
    slower: float = 0  # a slow machine: by this factor
    member: int | None = None  # the one thread of the team that works so much longer; None: all do


@dataclasses.dataclass
class Program:
    seed: int
    ranks: int
    mpi: str
    noise: float
    main: Function
    functions: list  # callees before callers
    causes: list
    window: bool
    groups: bool = False  # communicators of every other rank
    helper: bool = False  # a second thread on each rank, all run long
    threads: int = 0  # of each rank's team; 0: there is none
    compiler: str = "gcc"  # whose run-time library has the team


def place_counts(program):
    """{place: [how often each rank runs it]} of places with work of their own."""
    found = {}

    def walk(function, path, rank, times, depth):
        path = path + (function.name,)
        statements(function.body, function, path, rank, times, depth)

    def statements(body, function, path, rank, times, depth):
        for statement in body:
            if isinstance(statement, Work):
                found.setdefault(path, [0] * program.ranks)[rank] += times
            elif isinstance(statement, Invoke):
                walk(statement.function, path, rank, times, statement.function.recursion)
            elif isinstance(statement, Loop):
                statements(statement.body, function, path, rank, times * statement.times, depth)
            elif isinstance(statement, Branch):
                side = statement.then if rank in statement.ranks else statement.other
                statements(side, function, path, rank, times, depth)
        if body is function.body and depth > 0:
            walk(function, path, rank, times, depth - 1)

    for rank in range(program.ranks):
        walk(program.main, (), rank, 1, 0)
    return found


def units(body, rank=0, times=1):
    """Planned work of a list of statements, on one rank."""
    total = 0
    for statement in body:
        if isinstance(statement, Work):
            total += times * statement.of(rank)
        elif isinstance(statement, Invoke):
            function = statement.function
            total += units(function.body, rank, times * (1 + function.recursion))
        elif isinstance(statement, Loop):
            total += units(statement.body, rank, times * statement.times)
        elif isinstance(statement, Branch):
            total += units(statement.then if rank in statement.ranks else statement.other, rank, times)
    return total


def pieces(body, rank=0):
    """How many pieces of work that is."""
    total = 0
    for statement in body:
        if isinstance(statement, Work):
            total += 1
        elif isinstance(statement, Invoke):
            total += (1 + statement.function.recursion) * pieces(statement.function.body, rank)
        elif isinstance(statement, Loop):
            total += statement.times * pieces(statement.body, rank)
        elif isinstance(statement, Branch):
            total += pieces(statement.then if rank in statement.ranks else statement.other, rank)
    return total


def works(body):
    """Every Work below these statements, once."""
    found = {}
    for statement in body:
        if isinstance(statement, Work):
            found[id(statement)] = statement
        elif isinstance(statement, Invoke):
            found.update(works(statement.function.body))
        elif isinstance(statement, Loop):
            found.update(works(statement.body))
        elif isinstance(statement, Branch):
            found.update(works(statement.then))
            found.update(works(statement.other))
    return found


def called(body):
    """The functions that these statements call themselves."""
    for statement in body:
        if isinstance(statement, Invoke):
            yield statement.function
        elif isinstance(statement, Loop):
            yield from called(statement.body)
        elif isinstance(statement, Branch):
            yield from called(statement.then)
            yield from called(statement.other)


def callees_first(function, found=None):
    """All functions below this one, each behind those that it calls."""
    found = {} if found is None else found
    for callee in called(function.body):
        if callee not in found:
            callees_first(callee, found)
    found.setdefault(function, None)
    return list(found)
