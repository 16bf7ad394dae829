"""The waits of a run and their sums. The definitions are in truth.py."""

import collections
import dataclasses

from truth_logs import Call, FOREVER, work_in


@dataclasses.dataclass(frozen=True, eq=False)
class Wait:
    pattern: str
    call: Call
    nanoseconds: int
    cause: Call  # whose enter ended the wait
    part_of: str = ""  # the pattern that contains this one

    @property
    def seconds(self):
        return 1e-9 * self.nanoseconds

    def as_json(self):
        return {
            "pattern": self.pattern,
            "part_of": self.part_of or None,
            "rank": self.call.rank,
            "thread": self.call.thread,
            "function": self.call.function,
            "label": self.call.label,
            "enter": self.call.enter,
            "seconds": self.seconds,
            "polling": self.call.one("polls") is not None,
            "cause": {"rank": self.cause.rank, "function": self.cause.function, "label": self.cause.label},
        }


class Waits:
    """The waits of a run; each subclass adds those of one kind of operation. `waits`: a list of Wait; `unmatched`:
    the number of operations without a partner, by kind; `ranks`: the logs."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.by_rank = {rank.rank: rank for rank in ranks}
        self.unmatched = collections.Counter()
        self.waits = []

    def sum(self, **which):
        """Seconds of the waits whose pattern, rank, function, label, cause_rank, part_of are those given. Without
        `pattern`, waits that are part of another one do not count."""
        total = 0
        for wait in self.waits:
            seen = {
                "pattern": wait.pattern,
                "rank": wait.call.rank,
                "function": wait.call.function,
                "label": wait.call.label,
                "cause_rank": wait.cause.rank,
            }
            if "pattern" not in which and wait.part_of:
                continue
            if all(seen[key] == value for key, value in which.items()):
                total += wait.nanoseconds
        return 1e-9 * total

    def patterns(self):
        """Seconds by pattern."""
        sums = collections.Counter()
        for wait in self.waits:
            sums[wait.pattern] += wait.nanoseconds
        return {pattern: 1e-9 * total for pattern, total in sorted(sums.items())}

    def inside(self, functions, rank=None, label=None, work=False):
        """Seconds inside calls of these functions, without what is work by construction (marked calls, and marked
        calls nested in them); with `work`, that work only. Calls that never ended do not count."""
        total = 0
        for log in self.ranks:
            for call in log.calls:
                wrong = (rank is not None and log.rank != rank) or (label is not None and call.label != label)
                if call.function not in functions or wrong or call.exit == FOREVER:
                    continue
                working = work_in(call)
                total += working if work else call.duration - working
        return 1e-9 * total

    def count(self, functions):
        """How many calls of these functions ended."""
        return sum(call.function in functions and call.exit != FOREVER for log in self.ranks for call in log.calls)

    def _was_outside(self, call, since):
        """Whether its thread was outside MPI for half of the time from `since` to the call, or more."""
        left = max(
            (other.exit for other in self.by_rank[call.rank].calls
             if other.thread == call.thread and other.function.startswith("MPI_") and other.exit <= call.enter),
            default=0,
        )  # fmt: skip
        return 2 * (call.enter - max(left, since)) >= call.enter - since

    def _add(self, pattern, call, until, cause, part_of="", since=None):
        """A wait of `call` until `until`, if that falls into it. Returns whether it did."""
        since = call.enter if since is None else since
        if cause is None or cause is call or not since < until < call.exit:
            return False
        self.waits.append(Wait(pattern, call, until - since, cause, part_of))
        return True
