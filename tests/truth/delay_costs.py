"""The referee for `causes`: what the code of each rank cost the others, from the logs of generated programs alone.

    costs = DelayCosts(truth.Truth(logs))
    costs.short[rank, place], costs.long[rank, place]     ns; place: procedures from main on, an MPI call's name last
    costs.unattributed                                    ns that have no cause

The rules are those of docs/waits.md, computed without samples: a log states how long each piece of work took, and where.

A wait of p for q is explained by what both did since they last synchronized: p until it began to wait, q until it entered the
call that ended the wait. Ranks synchronize at the moment that ends a wait of one for the other (the enter of the call that the wait was
for), and all members at the last enter of a collective operation or fence that nobody leaves before all have entered. So both
intervals begin at one moment, and what is left of the calls then belongs to them. Both rows of calls are divided into *kinds*: the gap between two calls, by the places of both, and the
call itself without its wait. R = what q took longer than p, for each kind. Kinds that both have: A+ and A- are the sums of
R above and below zero; kinds that one has: B, the sum of R. D = A+ + max(0, B - A-) if B >= 0, else max(0, A+ + B): so much did
q's own doing delay p. whole = max(D + q's own waits, w); the wait w, and what later waits passed on to it, fall to D and to q's
own waits in proportion: D bears w / whole * D as short-term cost, the rest as long-term cost.

D says how much, not which code. That is summed over all waits of an account (q, q's call, p, p's call), each with its weight: time
of q less time of p, place by place. (Accounts that pool all waiters would mix those that run the same code as q with those that
run its alternative: then neither is netted.) Of the children of a place, those that only q ran stand for those that only p ran,
the most alike in length first. What is left of one of q's goes first to the places in it that took q longer than other ranks that ran them took
on average over the whole run, by as large a part of their time; the rest to all of it alike. What is left above zero bears the account's cost in
proportion; where nothing is left, it is `undetermined`, and stays at q's call."""

import bisect
import collections
import itertools

NO_WAITS = ("barrier-completion", "nxn-completion")


def place_of(call):
    """("main", "step", "MPI_Send")"""
    names = tuple(call.label.split("/"))
    return (*names, call.function) if call.function.startswith("MPI_") else names


class Row:
    """One rank's calls to MPI, and the work between them."""

    def __init__(self, log, waits):
        self.calls, self.work = [], [collections.Counter()]  # work[i]: before call i, by place
        for call in (call for call in log.calls if call.thread == 0):
            if call.function.startswith("MPI_"):
                self.calls.append(call)
                self.work.append(collections.Counter())
            else:
                self.work[-1][place_of(call)] += call.duration
        self.places = [place_of(call) for call in self.calls]
        self.index = {call: index for index, call in enumerate(self.calls)}
        self.wait = [waits.get(call) for call in self.calls]
        for index in range(1, len(self.calls)):  # what the log has no piece for lies around the calls
            rest = self.calls[index].enter - self.calls[index - 1].exit - sum(self.work[index].values())
            self.work[index][self.places[index - 1][:-1]] += rest

    def kinds(self, first, last):
        """{kind: ns} from call `first`, without its wait, to the enter of call `last`."""
        found = collections.Counter()
        for index in range(first, last):
            found[self.places[index]] += self.busy(index)
        for index in range(first + 1, last + 1):
            found[self.places[index - 1], self.places[index]] += self.calls[index].enter - self.calls[index - 1].exit
        return found

    def busy(self, index):
        """A call without its wait."""
        return self.calls[index].duration - (self.wait[index].nanoseconds if self.wait[index] else 0)

    def times(self, first, last):
        """{place: ns} of the same."""
        found = collections.Counter()
        for index in range(first, last):
            found[self.places[index]] += self.busy(index)
        for index in range(first + 1, last + 1):
            found.update(self.work[index])
        return found

    def waits(self, first, entering, last):
        """Those within; of call `first` itself only if it was being entered when the interval began."""
        inside = self.wait[first if entering else first + 1 : last]
        return [wait for wait in inside if wait is not None]


class DelayCosts:
    def __init__(self, truth):
        self.truth = truth
        self.waits = {wait.call: wait for wait in truth.waits if not wait.part_of and wait.pattern not in NO_WAITS}
        self.rows = {log.rank: Row(log, self.waits) for log in truth.ranks}
        self.short, self.long, self.undetermined = (collections.Counter() for _ in range(3))
        self.unattributed = 0.0
        self.synchronized = self._synchronizations()
        self._passed = collections.Counter()
        self._accounts = collections.defaultdict(Account)
        self._surplus = self._surpluses()
        for wait in sorted(self.waits.values(), key=lambda wait: -wait.cause.enter):
            self._explain(wait)
        for (rank, caused, *_), account in self._accounts.items():
            self._divide(rank, caused, account)

    def of(self, rank, place):
        return self.short[rank, place] + self.long[rank, place]

    # -- since when

    def _synchronizations(self):
        """{(rank, other): [(own call, at its enter, other's call, at its enter)]} in the order of time."""
        of_pair, joined = collections.defaultdict(list), set()
        for called in self._joining():
            if max(call.enter for call in called.values()) > min(call.exit for call in called.values()):
                continue
            joined.update(called.values())
            for rank, other in itertools.permutations(called, 2):
                of_pair[rank, other].append((self._index(called[rank]), False, self._index(called[other]), False))
        for wait in self.waits.values():
            if wait.call not in joined:
                waiter, cause = self._index(wait.call), self._index(wait.cause)
                of_pair[wait.call.rank, wait.cause.rank].append((waiter, False, cause, True))
                of_pair[wait.cause.rank, wait.call.rank].append((cause, True, waiter, False))
        for points in of_pair.values():
            points.sort(key=lambda point: (*point_order(point), point[2]))
        return of_pair

    def _joining(self):
        """{rank: call} of each blocking operation that all need, and of each fence."""
        fences = collections.defaultdict(dict)
        for log in self.truth.ranks:
            count = collections.Counter()
            for call in log.calls:
                for (window,) in call.all("fence"):
                    fences[window, count[window]][log.rank] = call
                    count[window] += 1
        yield from fences.values()
        for kind, _, _, calls in self.truth._match_collectives()["instances"]:
            if kind not in ("bcast", "reduce", "scan") and not any(operation for _, operation in calls.values()):
                yield {rank: call for rank, (call, _) in calls.items()}

    def _index(self, call):
        return self.rows[call.rank].index[call]

    def _since(self, wait):
        """The last point before the wait at which both ranks were known to be: as in _synchronizations; or None."""
        waiter, cause = self._index(wait.call), self._index(wait.cause)
        points = self.synchronized[wait.call.rank, wait.cause.rank]
        place = bisect.bisect_left(points, (waiter, 1), key=point_order)
        return next((point for point in reversed(points[:place]) if point[2] < cause), None)

    # -- how much

    def _explain(self, wait):
        amount = wait.nanoseconds + self._passed[wait]
        since = self._since(wait)
        if since is None:
            self.unattributed += amount
            return
        p, q = self.rows[wait.call.rank], self.rows[wait.cause.rank]
        of_p, of_q = (since[0], self._index(wait.call)), (since[2], self._index(wait.cause))
        delay = excess(q.kinds(*of_q), p.kinds(*of_p))
        own = q.waits(since[2], since[3], self._index(wait.cause))
        whole = max(delay + sum(one.nanoseconds for one in own), wait.nanoseconds)
        share = amount / whole
        for one in own:
            self._passed[one] += share * one.nanoseconds
        self.unattributed += amount - share * (delay + sum(one.nanoseconds for one in own))
        account = self._accounts[wait.cause.rank, place_of(wait.cause), wait.call.rank, place_of(wait.call)]
        account.short += wait.nanoseconds / whole * delay
        account.long += (share - wait.nanoseconds / whole) * delay
        account.add(account.delayer, share, q.times(*of_q))
        account.add(account.waiter, share, p.times(*of_p))

    # -- which code

    def _surpluses(self):
        """{(rank, place): what share of its work there a rank does more than the others that ran the place, on average}"""
        took = collections.defaultdict(dict)
        for rank, row in self.rows.items():
            for place, time in sum(row.work, collections.Counter()).items():
                if time > 0:
                    took[place][rank] = time
        return {
            (rank, place): max(0, 1 - (sum(times.values()) - time) / (len(times) - 1) / time)
            for place, times in took.items() if len(times) > 1 for rank, time in times.items()
        }

    def _divide(self, rank, caused, account):
        left = net(account.delayer, account.waiter, lambda place: self._surplus.get((rank, place), 0))
        total = sum(left.values())
        if total <= 0:
            self.undetermined[rank, caused] += account.short + account.long
            return
        for place, time in left.items():
            self.short[rank, place] += account.short * time / total
            self.long[rank, place] += account.long * time / total


class Account:
    def __init__(self):
        self.short = self.long = 0.0
        self.delayer, self.waiter = collections.Counter(), collections.Counter()

    @staticmethod
    def add(times, weight, more):
        for place, time in more.items():
            times[place] += weight * time


def point_order(point):
    """By the own call, its enter before its exit."""
    return point[0], int(not point[1])


def excess(q, p):
    """D: ns by which q's own doing delays p."""
    longer = shorter = alone = 0
    for kind in q.keys() | p.keys():
        difference = q[kind] - p[kind]
        if kind not in q or kind not in p:
            alone += difference
        elif difference > 0:
            longer += difference
        else:
            shorter -= difference
    return longer + max(0, alone - shorter) if alone >= 0 else max(0, longer + alone)


def net(q, p, surplus=lambda place: 0):
    """{place: what q did more than p}, above zero, when alternatives are set against each other, from main down."""
    left = collections.Counter()
    _net_below((), dict(q), dict(p), left, surplus)
    return left


def _leave(times, places, rest, surplus):
    """So much is left of the time at these places: of what is more than others took there first."""
    more = {place: surplus(place) * times[place] for place in places}
    total = sum(times[place] for place in places)
    first = min(1, rest / sum(more.values())) if sum(more.values()) > 0 else 0
    taken = first * sum(more.values())
    alike = (rest - taken) / (total - taken) if total > taken else 0
    for place in places:
        times[place] = first * more[place] + alike * (times[place] - first * more[place])


def _net_below(scope, q, p, left, surplus):
    """Times of q and p at places in `scope` and below; changes them."""
    children_q, children_p = _children(scope, q), _children(scope, p)
    only_q, only_p = _only(children_q, children_p, q), _only(children_p, children_q, p)
    matched = []
    while only_q and only_p:
        a, b = min(
            ((a, b) for a in only_q for b in only_p),
            key=lambda pair: (abs(only_q[pair[0]] - only_p[pair[1]]) / max(only_q[pair[0]], only_p[pair[1]]), pair),
        )
        less = min(only_q[a], only_p[b])
        for only, child in ((only_q, a), (only_p, b)):
            only[child] -= less
            if only[child] <= 0:
                del only[child]
                matched.append((only is only_q, child))
    for of_q, child in matched:
        for place in (children_q if of_q else children_p)[child]:
            (q if of_q else p)[place] = 0
    for child, rest in only_q.items():
        _leave(q, children_q[child], rest, surplus)
    for child in children_q.keys() | children_p.keys():
        if child == "" or child not in children_q or child not in children_p:
            for place in children_q.get(child, ()):
                more = q[place] - p.get(place, 0)
                if more > 0:
                    left[place] += more
        else:
            below_q = {place: q[place] for place in children_q[child]}
            below_p = {place: p[place] for place in children_p[child]}
            _net_below((*scope, child), below_q, below_p, left, surplus)


def _children(scope, times):
    """{child of the scope, "" for itself: its places}"""
    found = collections.defaultdict(list)
    for place in times:
        found[place[len(scope)] if len(place) > len(scope) else ""].append(place)
    return found


def _only(own, others, times):
    found = {}
    for child, places in own.items():
        total = sum(times[place] for place in places)
        if child not in others and total > 0:
            found[child] = total
    return found
