"""The referee for root causes: what each rank's code cost the others, from the logs of truth programs alone.

    Costs(Truth(logs)).of(rank, before)      (short-term, long-term) ns that the time before calls of this function cost

The definitions. A wait is explained by what the rank that caused it did longer than the waiter since the two last synchronized,
up to the call that ended the wait, and by its own waits. Two ranks synchronize at the end of a wait of one for the other, and
in a collective that nobody leaves before all have entered it. What each did is divided into gaps, by the calls around them, and
calls without their waits; what is left of the call in which they synchronized is the same for both. R is what the delayer took
longer for each: A+ and A- are the sums above and below zero over what both did, B the sum over what one did. D = A+ + max(0, B
- A-) if B >= 0, else max(0, A+ + B). If D and the delayer's waits are at least as long as the wait, it is divided among them in
proportion; else what is missing has no cause. What falls to the delayer's own waits is divided among their causes in turn, as
long-term cost; the rest is short-term cost of what it did longer. What only the delayer did is less by what only the waiter
did, the most alike in length first. (The programs that are judged here do something else in each gap.)"""

import collections
import itertools

NO_WAITS = ("barrier-completion", "nxn-completion")


class Costs:
    def __init__(self, truth):
        self.truth = truth
        self.calls = {log.rank: [call for call in log.calls if call.function.startswith("MPI_")] for log in truth.ranks}
        self.place = {call: index for calls in self.calls.values() for index, call in enumerate(calls)}
        self.waits = {wait.call: wait for wait in truth.waits if not wait.part_of and wait.pattern not in NO_WAITS}
        self.synchronized = self._synchronizations()
        self.short, self.long = collections.Counter(), collections.Counter()  # by (rank, function after the gap)
        for wait in self.waits.values():
            self._divide(wait, wait.nanoseconds, self.short)

    def of(self, rank, before):
        return self.short[rank, before], self.long[rank, before]

    def _synchronizations(self):
        """{(rank, other rank): [(place of own call, entering it, place of the other's call, entering it)]}"""
        points = collections.defaultdict(list)
        joining = set()
        for kind, _, members, calls in self.truth._match_collectives()["instances"]:
            called = [call for call, _ in calls.values()]
            apart = max(call.enter for call in called) > min(call.exit for call in called)
            if apart or kind in ("bcast", "reduce", "scan") or any(operation for _, operation in calls.values()):
                continue
            joining.update(called)
            for a, b in itertools.permutations(members, 2):
                points[a, b].append((self.place[calls[a][0]], False, self.place[calls[b][0]], False))
        for wait in self.waits.values():
            if wait.call in joining:  # all leave it about as late
                continue
            waiter, cause = self.place[wait.call], self.place[wait.cause]
            points[wait.call.rank, wait.cause.rank].append((waiter, False, cause, True))
            points[wait.cause.rank, wait.call.rank].append((cause, True, waiter, False))
        return points

    def _begin(self, wait):
        """The calls in which the two had last synchronized, the waiter's and the delayer's, each with whether its rank was entering
        it then."""
        waiter, cause = self.place[wait.call], self.place[wait.cause]
        before = [
            (own, not own_enters, other, other_enters)
            for own, own_enters, other, other_enters in self.synchronized[wait.call.rank, wait.cause.rank]
            if (own < waiter or (own == waiter and own_enters)) and other < cause
        ]
        if not before:
            return None
        own, own_left, other, other_enters = max(before)
        return (own, not own_left), (other, other_enters)

    def _times(self, rank, begin, last):
        """{(call before, call after) or call: ns} up to the enter of call `last`; and the waits in them."""
        first, entering = begin
        calls = self.calls[rank][first : last + 1]
        times, waits = collections.Counter(), []
        for previous, call in zip(calls, calls[1:]):
            times[previous.function, call.function] += call.enter - previous.exit
        for call in calls[:-1]:
            wait = self.waits.get(call)
            times["synchronized" if call is calls[0] else call.function] += call.duration - (wait.nanoseconds if wait else 0)
            waits.extend([wait] if wait and (entering or call is not calls[0]) else [])
        return times, waits

    def _divide(self, wait, amount, costs):
        rank, begin = wait.cause.rank, self._begin(wait)
        if begin is None:
            return  # they had not synchronized: at the very beginning
        theirs, _ = self._times(wait.call.rank, begin[0], self.place[wait.call])
        times, waits = self._times(rank, begin[1], self.place[wait.cause])
        longer, delay = longer_in(times, theirs), excess(times, theirs)
        whole = max(delay + sum(inner.nanoseconds for inner in waits), wait.nanoseconds)
        for kind, ns in longer.items():
            if isinstance(kind, tuple):
                costs[rank, kind[1]] += amount * delay / whole * ns / sum(longer.values())
        for inner in waits:
            self._divide(inner, amount * inner.nanoseconds / whole, self.long)


def excess(delayer, waiter):
    both = [delayer[kind] - waiter[kind] for kind in delayer.keys() & waiter.keys()]
    more, less = sum(ns for ns in both if ns > 0), -sum(ns for ns in both if ns < 0)
    one = sum(delayer[kind] - waiter[kind] for kind in delayer.keys() ^ waiter.keys())
    return more + max(0, one - less) if one >= 0 else max(0, more + one)


def longer_in(delayer, waiter):
    """{kind: ns that the delayer took longer}, what only one of them did set against each other."""
    longer = {kind: delayer[kind] - waiter[kind] for kind in delayer.keys() & waiter.keys()}
    own = {kind: delayer[kind] for kind in delayer.keys() - waiter.keys() if delayer[kind] > 0}
    others = {kind: waiter[kind] for kind in waiter.keys() - delayer.keys() if waiter[kind] > 0}
    while own and others:
        pairs = ((abs(own[a] - others[b]) / max(own[a], others[b]), str(a), str(b), a, b) for a in own for b in others)
        *_, a, b = min(pairs)
        less = min(own[a], others[b])
        for left, kind in ((own, a), (others, b)):
            left[kind] -= less
            if left[kind] == 0:
                del left[kind]
    return {kind: ns for kind, ns in (longer | own).items() if ns > 0}
