"""The referee for root causes: what each rank's code cost the others, from the logs of truth programs alone.

    Costs(Truth(logs)).of(rank, before)      (short-term, long-term) ns that the time before calls of this function cost

The definitions. A wait is explained by what the rank that caused it did since the two last met, up to the call that
ended the wait: its own waits, and all other time. Two ranks meet at the end of a wait of one for the other, and in a
collective that nobody leaves before all have entered it. If what the causer did is at least as long as the wait, the wait is
divided among it in proportion; else what is missing has no cause. What falls to the causer's own waits is divided among
their causes in turn, as long-term cost; the rest is short-term cost of the time between two calls, or of the call. (The
rules also leave out what the waiter did just as long. The ranks of a program that is judged here do different things between
different calls, so there is nothing to leave out.)"""

import collections
import itertools

NO_WAITS = ("barrier-completion", "nxn-completion")


class Costs:
    def __init__(self, truth):
        self.truth = truth
        self.calls = {log.rank: [call for call in log.calls if call.function.startswith("MPI_")] for log in truth.ranks}
        self.place = {call: index for calls in self.calls.values() for index, call in enumerate(calls)}
        self.waits = {wait.call: wait for wait in truth.waits if not wait.part_of and wait.pattern not in NO_WAITS}
        self.met = self._meetings()
        self.short, self.long = collections.Counter(), collections.Counter()  # by (rank, function after the gap)
        for wait in self.waits.values():
            self._divide(wait, wait.nanoseconds, self.short)

    def of(self, rank, before):
        return self.short[rank, before], self.long[rank, before]

    def _meetings(self):
        """{(rank, other rank): [(place of own call, entering it, place of the other's call, entering it)]}"""
        met = collections.defaultdict(list)
        joining = set()
        for kind, _, members, calls in self.truth._match_collectives()["instances"]:
            called = [call for call, _ in calls.values()]
            apart = max(call.enter for call in called) > min(call.exit for call in called)
            if apart or kind in ("bcast", "reduce", "scan") or any(operation for _, operation in calls.values()):
                continue
            joining.update(called)
            for a, b in itertools.permutations(members, 2):
                met[a, b].append((self.place[calls[a][0]], False, self.place[calls[b][0]], False))
        for wait in self.waits.values():
            if wait.call in joining:  # all leave it about as late
                continue
            waiter, cause = self.place[wait.call], self.place[wait.cause]
            met[wait.call.rank, wait.cause.rank].append((waiter, False, cause, True))
            met[wait.cause.rank, wait.call.rank].append((cause, True, waiter, False))
        return met

    def _begin(self, wait):
        """The causer's call in which the two had last met, and whether it was entering it then."""
        waiter, cause = self.place[wait.call], self.place[wait.cause]
        before = [
            (own, not own_enters, other, other_enters)
            for own, own_enters, other, other_enters in self.met[wait.call.rank, wait.cause.rank]
            if (own < waiter or (own == waiter and own_enters)) and other < cause
        ]
        return max(before)[2:] if before else None

    def _divide(self, wait, amount, costs):
        rank, begin = wait.cause.rank, self._begin(wait)
        if begin is None:
            return  # they had not met: at the very beginning
        first, entering = begin
        calls = self.calls[rank][first : self.place[wait.cause] + 1]
        whole = max(wait.cause.enter - (calls[0].enter if entering else calls[0].exit), wait.nanoseconds)
        for previous, call in zip(calls, calls[1:]):
            costs[rank, call.function] += amount * (call.enter - previous.exit) / whole
        for call in calls[:-1] if entering else calls[1:-1]:
            if call in self.waits:
                inner = self.waits[call]
                self._divide(inner, amount * inner.nanoseconds / whole, self.long)
