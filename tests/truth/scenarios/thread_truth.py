"""Who made threads idle, or wait for a lock, by the log of a generated program with teams; and what a cause there cost other ranks.

    blame = Blame(log, threads)      one rank's
    blame.idleness, blame.locks      {(role, place): s}
    TeamReplay(logs)                 replay.py's, whose regions are as short as they were without a cause

docs/algorithms.md 12 is the rule. At any time those threads that neither work nor wait for the lock nor are in MPI idle, and each
thread that works bears an equal share of that; where none works, the call of MPI that the main thread is in. Who holds the
lock bears what the others wait for it, from when it was given back before.

A place is the path of a piece of work in the log, with the call of MPI below it, or `(between)`: what the main thread does behind a
piece that is logged. Roles: `main`, `worker`.
"""

import bisect
import collections

import replay

REGION, LOCK, HOLD = "region", "lock", "hold"
BETWEEN = "(between)"


def role_of(call):
    return "worker" if call.thread else "main"


def place_of(call):
    path = tuple(call.label.split("/"))
    return (*path, call.function) if replay.is_mpi(call) else path


def behind(call):
    return "works", ("main", (*call.label.split("/"), BETWEEN))


def is_piece(call):
    return call.function == "work" or call.function.startswith("cause-")


class Blame:
    def __init__(self, log, threads):
        self.idleness, self.locks = collections.Counter(), collections.Counter()
        self.threads = threads
        begin = max(call.exit for call in log.calls if call.function == "team")
        calls = [call for call in log.calls if call.enter >= begin]
        self.divide(self.changes(calls, begin))
        self.divide_locks(calls)

    def changes(self, calls, begin):
        """(time, thread, what it does from then on): ("works", key), ("MPI", key), ("lock", None), or None where it idles."""
        found = [(begin, 0, ("works", ("main", ("main", BETWEEN))))]
        region = begin  # the end of the last one
        for call in calls:
            key = role_of(call), place_of(call)
            if call.function == REGION:
                region = call.exit
                found.append((call.exit, 0, behind(call)))
                continue
            if is_piece(call):
                found.append((call.enter, call.thread, ("works", key)))
            elif replay.is_mpi(call):
                found.append((call.enter, call.thread, ("MPI", key)))
            elif call.function == LOCK:
                found.append((call.enter, call.thread, ("lock", None)))
            else:
                continue
            alone = call.thread == 0 and call.enter >= region
            found.append((call.exit, call.thread, behind(call) if alone else None))
        end = max(call.exit for call in calls if call.function == "MPI_Finalize")
        return sorted((change for change in found if change[0] <= end), key=lambda change: change[0])

    def divide(self, changes):
        does, last = {}, changes[0][0]
        for time, thread, what in changes:
            if time > last:
                self.bear((time - last) / 1e9, list(does.values()))
                last = time
            does[thread] = what

    def bear(self, seconds, does):
        working = [what[1] for what in does if what and what[0] == "works"]
        outside = [what[1] for what in does if what and what[0] == "MPI"]
        idle = self.threads - sum(what is not None for what in does)
        for key in working or outside:
            self.idleness[key] += seconds * idle / len(working or outside)

    def divide_locks(self, calls):
        holds = sorted((call for call in calls if call.function == HOLD), key=lambda call: call.enter)
        waits = sorted((call for call in calls if call.function == LOCK), key=lambda call: call.enter)
        begins, back = [wait.enter for wait in waits], 0
        for hold in holds:
            # A thread waits for the lock once in a region: those that still wait are among the last so many.
            last = bisect.bisect_left(begins, hold.exit)
            for wait in waits[max(0, last - 2 * self.threads):last]:
                if wait.thread != hold.thread:
                    key = role_of(hold), place_of(hold)
                    self.locks[key] += max(0, min(wait.exit, hold.exit) - max(wait.enter, back)) / 1e9
            back = hold.exit


def blame_of(logs, threads):
    """(idleness, waits for locks) of all ranks: {(role, place): s}."""
    idleness, locks = collections.Counter(), collections.Counter()
    for log in logs:
        blame = Blame(log, threads)
        idleness.update(blame.idleness)
        locks.update(blame.locks)
    return idleness, locks


class TeamReplay(replay.Replay):
    """Without a cause a region is shorter by what its longest thread then does less."""

    def __init__(self, ranks):
        super().__init__(ranks)
        self.pieces = [sorted(filter(is_piece, log.calls), key=lambda call: call.enter) for log in ranks]
        self.begins = [[piece.enter for piece in pieces] for pieces in self.pieces]

    def lasts(self, call, without, changed):
        if call.function != REGION or not without:
            return super().lasts(call, without, changed)
        with_it, without_it = collections.Counter(), collections.Counter()
        begins = self.begins[call.rank]
        first, last = bisect.bisect_left(begins, call.enter), bisect.bisect_left(begins, call.exit)
        for piece in self.pieces[call.rank][first:last]:
            with_it[piece.thread] += piece.duration
            without_it[piece.thread] += 0 if piece.function in without else piece.duration
        return call.duration - max(with_it.values(), default=0) + max(without_it.values(), default=0)
