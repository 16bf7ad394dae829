"""The logs of truth programs, truth-RANK.log: their syntax and their reader.

truth_log.h writes them:

    truth 1 rank R of N from NS to NS       first line
    call THREAD ENTER EXIT FUNCTION LABEL [FACT...]
    run FACT
    end                                     last line; without it the log is refused

Times are in ns of CLOCK_MONOTONIC, which all ranks of one machine share. EXIT is 0 for a call that never ended.
LABEL is the procedure that made the call. Calls of one thread are in the order of their beginnings. A FACT is
NAME:NUMBER,...; ranks are those of MPI_COMM_WORLD; operations are numbered per rank, 0 for what begins and ends in
this call:

    sends:OPERATION,DESTINATION,TAG,COMMUNICATOR,BYTES,MODE       MODE 0 eager, 1 synchronous, 2 as the library likes
    receives:OPERATION,SOURCE,TAG,COMMUNICATOR,BYTES              SOURCE, TAG -1: known at completion
    probes:SOURCE,TAG,COMMUNICATOR
    completes:OPERATION[,SOURCE,TAG]
    collective:KIND,COMMUNICATOR,ROOT,OPERATION                   KIND: index into COLLECTIVES
    rma:WINDOW,TARGET,BYTES
    fence:WINDOW   post:WINDOW,ORIGIN   start:WINDOW,TARGET   complete:WINDOW   wait:WINDOW
    lock:WINDOW,TARGET,EXCLUSIVE   unlock:WINDOW,TARGET
    polls:CALLS,FIRST       the call is a loop of CALLS calls, none of which blocks (MPI_Test); the first of them was
                            over FIRST ns after the enter
    work:1                  the call's own time is work by construction
    preempted:TIMES         the thread lost its processor TIMES times, perhaps between a time stamp and the call
    awaits:KIND,EVENT       a thread waits until all who enable EVENT have done so; KIND: index into THREAD_WAITS
    enables:EVENT
    sees:EVENT              by the end of this call all who await the event were asleep in their calls
    communicator:COMMUNICATOR,RANK    window:WINDOW,COMMUNICATOR      (in `run` lines)
"""

import collections
import dataclasses
import pathlib
import re

COLLECTIVES = ("init", "finalize", "barrier", "nxn", "bcast", "reduce", "scan", "create", "free")
THREAD_WAITS = ("omp-barrier", "omp-idle", "lock-held", "condition-wait", "join-wait")
EAGER, SYNCHRONOUS, STANDARD = range(3)
FOREVER = 1 << 62


class LogError(Exception):
    """A log is incomplete or not a log."""


@dataclasses.dataclass(eq=False)
class Call:
    rank: int
    thread: int
    enter: int
    exit: int  # FOREVER where the call never ended
    function: str
    label: str
    facts: list  # (name, tuple of numbers)
    inner: list = dataclasses.field(default_factory=list)  # calls nested in this one
    preempted: bool = False  # its stamps may be farther from it than usual

    def all(self, name):
        return [numbers for fact, numbers in self.facts if fact == name]

    def one(self, name):
        found = self.all(name)
        return found[0] if found else None

    @property
    def duration(self):
        return self.exit - self.enter


@dataclasses.dataclass(eq=False)
class Rank:
    rank: int
    ranks: int
    begin: int
    end: int
    calls: list  # in the order of their beginnings, threads interleaved
    communicators: dict  # number: ranks in their order
    windows: dict  # number: communicator

    def members(self, communicator):
        return self.communicators.get(communicator, range(self.ranks))


def parse(text, name="log"):
    """One rank's log. Throws LogError."""
    lines = text.splitlines()
    head = re.fullmatch(r"truth 1 rank (\d+) of (\d+) from (\d+) to (\d+)", lines[0] if lines else "")
    if not head:
        raise LogError(f"{name}: no truth log (its first line is wrong)")
    if lines[-1] != "end":
        raise LogError(f"{name}: cut short (the program did not end its log)")
    rank = Rank(*map(int, head.groups()), [], collections.defaultdict(list), {})
    for line in lines[1:-1]:
        sort, *words = line.split()
        if sort == "call":
            thread, enter, leave, function, label, *facts = words
            leave = int(leave) or FOREVER
            facts = [fact_of(fact) for fact in facts]
            preempted = any(name == "preempted" for name, _ in facts)
            facts = [fact for fact in facts if fact[0] != "preempted"]
            call = Call(rank.rank, int(thread), int(enter), leave, function, label, facts, preempted=preempted)
            rank.calls.append(call)
        elif sort == "run":
            kind, numbers = fact_of(words[0])
            if kind == "communicator":
                rank.communicators[numbers[0]].append(numbers[1])
            else:
                rank.windows[numbers[0]] = numbers[1]
        else:
            raise LogError(f"{name}: unknown line: {line}")
    rank.calls.sort(key=lambda call: call.enter)
    nest(rank.calls)
    return rank


def fact_of(word):
    name, numbers = word.split(":")
    return name, tuple(map(int, numbers.split(",")))


def nest(calls):
    """Tells each call which others happened in it, directly."""
    open_calls = collections.defaultdict(list)
    for call in calls:
        stack = open_calls[call.thread]
        while stack and stack[-1].exit <= call.enter:
            stack.pop()
        if stack:
            stack[-1].inner.append(call)
        stack.append(call)


def read(directory):
    """All ranks' logs below `directory`, by rank. Throws LogError."""
    paths = sorted(pathlib.Path(directory).glob("truth-*.log"))
    if not paths:
        raise LogError(f"{directory}: no truth-*.log here")
    ranks = sorted((parse(path.read_text(), str(path)) for path in paths), key=lambda rank: rank.rank)
    return ranks


def work_in(call):
    """Nanoseconds of a call that are work by construction."""
    if call.one("work") is not None:
        return call.duration
    return sum(work_in(inner) for inner in call.inner)
