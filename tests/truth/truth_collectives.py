"""Waits in collective operations. The definitions are in truth.py."""

import collections

from truth_logs import COLLECTIVES, FOREVER, LogError
from truth_waits import Wait, Waits


class Collectives(Waits):
    def _match_collectives(self):
        """{"instances": [(kind, root, members, {rank: call}, operations)], "started": {(rank, operation): end},
        "returned": the same}."""
        found = collections.defaultdict(dict)
        kinds = {}
        for log in self.ranks:
            count = collections.Counter()
            for call in log.calls:
                for kind, communicator, root, operation in call.all("collective"):
                    key = (communicator, count[communicator])
                    count[communicator] += 1
                    found[key][log.rank] = (call, operation)
                    if kinds.setdefault(key, (kind, root)) != (kind, root):
                        raise LogError(f"collective {key}: ranks disagree about what it is")
        instances, started, returned = [], {}, {}
        completed = {log.rank: self._completed_operations(log) for log in self.ranks}
        for key, calls in sorted(found.items()):
            members = list(self.by_rank[min(calls)].members(key[0]))
            if set(members) != set(calls):
                self.unmatched["collective"] += 1
                continue
            kind, root = kinds[key]
            enters = {rank: call for rank, (call, _) in calls.items()}
            instances.append((COLLECTIVES[kind], root, members, calls))
            for rank, (_, operation) in calls.items():
                if operation:
                    end = self._collective_end(COLLECTIVES[kind], root, members, enters, rank)
                    started[rank, operation] = end
            inside = {rank: completed[rank][operation][0] for rank, (_, operation) in calls.items()
                      if operation in completed[rank]}  # fmt: skip
            for rank, (_, operation) in calls.items() if len(inside) == len(calls) else ():
                returned[rank, operation] = self._late_return(COLLECTIVES[kind], root, members, enters, inside, rank)
        return {"instances": instances, "started": started, "returned": returned}

    @staticmethod
    def _collective_end(kind, root, members, enters, rank):
        """What `rank` waits for in a collective: (pattern, time, cause, None), or None."""
        pattern = {"bcast": "late-broadcast", "reduce": "early-reduce", "scan": "early-scan"}.get(kind)
        if kind == "bcast":
            others = [root] if rank != root else []
        elif kind == "reduce":
            others = [other for other in members if other != root] if rank == root else []
        elif kind == "scan":
            others = members[: members.index(rank)]
        else:
            pattern, others = f"wait-at-{kind}", members
        if not others:
            return None
        cause = max((enters[other] for other in others), key=lambda call: call.enter)
        return pattern, cause.enter, cause, None

    def _held_up(self, kind, root, members, enters, rank):
        """The same where a rank was held up by one that it does not need by definition."""
        if kind not in ("bcast", "reduce", "scan") or (kind == "reduce" and rank == root):
            return None
        return self._kept_inside(kind, root, members, enters, enters, rank)

    def _late_return(self, kind, root, members, enters, inside, rank):
        """The same of a nonblocking one, which goes on only `inside` the calls that complete it."""
        kept = self._kept_inside(kind, root, members, enters, inside, rank)
        needed = self._collective_end(kind, root, members, enters, rank)
        if kept and not self._was_outside(kept[2], max(inside[rank].enter, needed[1] if needed else 0)):
            return None
        return kept and ("wait-at-root" if kind in ("bcast", "reduce", "scan") else f"wait-at-{kind}", *kept[1:])

    def _kept_inside(self, kind, root, members, enters, inside, rank):
        own = inside[rank]
        needed = self._collective_end(kind, root, members, enters, rank)
        free = max(own.enter, needed[1] if needed else 0)
        bytes_cost = min(call.duration for call in inside.values()) * (len(members) - 1).bit_length()
        others = [inside[other] for other in members if other != rank and inside[other].enter < own.exit]
        if not others:
            return None
        last = max(others, key=lambda call: (call.enter, members.index(call.rank)))
        wait = last.enter - free
        if wait <= bytes_cost or own.exit - last.enter > max(wait, bytes_cost):
            return None
        return "wait-at-root", last.enter - bytes_cost, last, None

    def _blocking_collectives(self, collectives):
        for kind, root, members, calls in collectives["instances"]:
            if any(operation for _, operation in calls.values()):
                continue
            enters = {rank: call for rank, (call, _) in calls.items()}
            for rank, call in enters.items():
                end = self._held_up(kind, root, members, enters, rank)
                end = end or self._collective_end(kind, root, members, enters, rank)
                if end is not None:
                    self._add(end[0], call, end[1], end[2])
            if kind in ("barrier", "nxn"):
                self._completion_of(kind, list(enters.values()))

    def _completion_of(self, kind, calls):
        """What calls still last after the first has left, once all have entered."""
        last_in = max(calls, key=lambda call: call.enter)
        first_out = min(calls, key=lambda call: call.exit)
        free = max(last_in.enter, first_out.exit)
        for call in calls:
            if call is not first_out and free < call.exit < FOREVER:
                self.waits.append(Wait(f"{kind}-completion", call, call.exit - free, first_out))
