"""The referee for root causes: what each rank's code cost the others, from the logs of truth programs alone.

    Costs(Truth(logs)).of(rank, before)      (short-term, long-term) ns that the time before calls of this function cost

The definitions. A wait is explained by what the rank that caused it did since the two last met (a message, a collective or
an epoch of both), up to the call that ended the wait: its own waits, and all other time. If that is at least as long as
the wait, it is divided among them in proportion; else what is missing has no cause. What falls to the causer's own waits
is divided among their causes in turn, as long-term cost; the rest is short-term cost of the time between two calls, or of
the call. (The rules also leave out what the waiter did just as long. The ranks of a program that is judged here do different
things between different calls, so there is nothing to leave out.)"""

import collections

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
        """{(rank, other rank): [(own call, the other's)]}"""
        pairs = []
        for _, _, members, calls in self.truth._match_collectives()["instances"]:
            pairs += [(calls[a][0], calls[b][0]) for a in members for b in members if a < b]
        for key in self.truth._sends:
            pairs += [(send.posted, send.other.completed) for send in self.truth._sends[key] if send.other]
        posts, accesses, _ = self.truth._collect_epochs()
        for key in posts.keys() & accesses.keys():
            for (post, wait), access in zip(posts[key], accesses[key]):
                pairs += [(post, access["start"]), (wait, access["complete"])]
        met = collections.defaultdict(list)
        for one, other in pairs:
            met[one.rank, other.rank].append((one, other))
            met[other.rank, one.rank].append((other, one))
        return met

    def _begin(self, wait):
        """The causer's call at whose end the two had last met."""
        before = [
            (self.place[own], self.place[other])
            for own, other in self.met[wait.call.rank, wait.cause.rank]
            if self.place[own] < self.place[wait.call] and self.place[other] < self.place[wait.cause]
        ]
        return max(before)[1] if before else None

    def _divide(self, wait, amount, costs):
        rank, begin = wait.cause.rank, self._begin(wait)
        if begin is None:
            return  # they had not met: at the very beginning
        calls = self.calls[rank][begin : self.place[wait.cause] + 1]
        whole = max(wait.cause.enter - calls[0].exit, wait.nanoseconds)
        for previous, call in zip(calls, calls[1:]):
            costs[rank, call.function] += amount * (call.enter - previous.exit) / whole
            if call is not wait.cause and call in self.waits:
                inner = self.waits[call]
                self._divide(inner, amount * inner.nanoseconds / whole, self.long)
