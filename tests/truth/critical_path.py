"""The referee for `critical-path`: the path taken, from the logs of generated programs alone.

    critical_path(truth.Truth(logs))      {(rank, place): ns}, places as in delay_costs.py

Backwards from the rank that enters MPI_Finalize last (ties: the lowest); at every wait it goes to the delayer, to the enter of
the call that ended the wait; until MPI_Init's end."""

import bisect
import collections

from delay_costs import NO_WAITS, place_of


def critical_path(truth):
    found = collections.Counter()
    waits = waits_by_rank(truth)
    last = {log.rank: log.calls[-1].enter for log in truth.ranks}  # MPI_Finalize
    rank = min(last, key=lambda rank: (-last[rank], rank))
    begun = {log.rank: next(call.exit for call in log.calls if call.function == "MPI_Init") for log in truth.ranks}
    until = last[rank]
    while True:
        ends, of_rank = waits[rank]
        place = bisect.bisect_left(ends, until) - 1
        since = max(ends[place], begun[rank]) if place >= 0 else begun[rank]
        spend(found, truth.by_rank[rank], since, until)
        if place < 0 or ends[place] <= begun[rank]:
            return found
        rank, until = of_rank[place].cause.rank, ends[place]


def waits_by_rank(truth):
    """{rank: (ends of its waits, the waits)} in the order of time."""
    found = {}
    for log in truth.ranks:
        own = [
            wait
            for wait in truth.waits
            if wait.call.rank == log.rank and not wait.part_of and wait.pattern not in NO_WAITS
        ]
        own.sort(key=lambda wait: wait.cause.enter)
        found[log.rank] = [wait.cause.enter for wait in own], own
    return found


def spend(found, log, since, until):
    """Adds a part of a rank's time to the places where it was."""
    end = since
    for call in log.calls[max(0, bisect.bisect_left(log.calls, since, key=lambda call: call.enter) - 1) :]:
        if call.enter >= until:
            break
        begin, leave = max(call.enter, since), min(call.exit, until)
        if leave > begin:
            found[log.rank, place_of(call)] += leave - begin
            found[log.rank, ("main",)] += begin - end
            end = leave
    found[log.rank, ("main",)] += until - end
