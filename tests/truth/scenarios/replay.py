"""What a cause cost, by replaying the log of a generated program without it.

    replay = Replay(truth.read(DIRECTORY))
    replay.waiting(), replay.waiting(without="cause-0")      seconds over all ranks
    replay.seconds(without="cause-0")                        the run's length

Each rank is a row of calls: pieces of work, which last as long as the log says or, taken away, not at all; calls to MPI,
which last until the last of the calls that they depended on has begun, and then as long as they took beyond that in the log; and
what lies between calls. With nothing taken away, the replay gives the log's own times.

What a call depends on follows from what it is (a receive: the send; a collective operation that everyone needs: all
others), as truth.py defines, as far as the log shows it: who began only after the call's end delayed nobody. Libraries make
ranks wait for more than that: a late rank in the middle of a broadcast's, a reduction's or a scan's tree holds up others, and a
nonblocking collective operation goes on only inside calls. Whose call ends right after the last of the others came to such an
operation, or to complete it, depended on that one.
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import truth  # noqa: E402

EVERYONE = {"init", "finalize", "barrier", "nxn", "create", "free"}
RIGHT_AFTER = 1_000_000  # ns: a call that ends so long after another began


def is_mpi(call):
    return call.function.startswith("MPI_")


def outermost(log):
    """The main thread's calls that are in no other."""
    inner = {one for call in log.calls for one in call.inner}
    return [call for call in log.calls if call.thread == 0 and call not in inner]


class Replay:
    def __init__(self, ranks):
        self.ranks = ranks
        self.calls = [outermost(log) for log in ranks]
        found = Dependencies(ranks)
        self.needs = {call: found.of(call) for calls in self.calls for call in calls if is_mpi(call)}
        self.done = {}

    def waiting(self, without=(), changed=None):
        """Seconds that ranks wait after MPI_Init."""
        times = self.run(without, changed)
        total = 0
        for call, needed in self.needs.items():
            if needed and call.function != "MPI_Init":
                total += max(0, max(times[other][0] for other in needed) - times[call][0])
        return total / 1e9

    def seconds(self, without=(), changed=None):
        """From the end of the last MPI_Init to the last enter of MPI_Finalize."""
        times = self.run(without, changed)
        return (max(times[calls[-1]][0] for calls in self.calls) - max(times[calls[0]][1] for calls in self.calls)) / 1e9

    def total(self):
        """Rank-seconds of the run as it was."""
        return len(self.ranks) * self.seconds()

    def run(self, without=(), changed=None):
        """{call: (enter, exit)}; `without` names causes, `changed` gives pieces another duration in ns."""
        if changed:
            return self.simulate(without, changed)
        if without not in self.done:
            self.done[without] = self.simulate(without, {})
        return self.done[without]

    def simulate(self, without, changed):
        times, place, now = {}, [0] * len(self.calls), [calls[0].enter for calls in self.calls]
        entered = {}
        moving = True
        while moving:
            moving = False
            for rank, calls in enumerate(self.calls):
                while place[rank] < len(calls):
                    call = calls[place[rank]]
                    if call not in entered:
                        if place[rank] > 0:
                            now[rank] += max(0, call.enter - calls[place[rank] - 1].exit)
                        entered[call] = now[rank]
                        moving = True
                    end = self.end(call, entered, without, changed)
                    if end is None:
                        break
                    times[call] = (entered[call], end)
                    now[rank] = end
                    place[rank] += 1
                    moving = True
        stuck = [calls[place[rank]] for rank, calls in enumerate(self.calls) if place[rank] < len(calls)]
        if stuck:
            raise truth.LogError(f"the replay does not end: {stuck}")
        return times

    def extra(self, name):
        """Seconds that each rank works because of a cause."""
        return [sum(call.duration for call in log.calls if call.function == name) / 1e9 for log in self.ranks]

    def lasts(self, call, without, changed):
        """A piece of work."""
        return 0 if call.function in without else changed.get(call, call.duration)

    def end(self, call, entered, without, changed):
        """When the call ends; None where that is not known yet."""
        enter = entered[call]
        if not is_mpi(call):
            return enter + self.lasts(call, without, changed)
        needed = self.needs[call]
        if any(other not in entered for other in needed):
            return None
        free = max([call.enter, *(other.enter for other in needed)])
        return max([enter, *(entered[other] for other in needed)]) + call.exit - free


class Dependencies:
    """On which calls of other ranks each call depends."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.needs = collections.defaultdict(list)
        self.messages()
        self.collectives()
        self.one_sided()

    def of(self, call):
        return [other for other in self.needs[call] if other is not call and other.enter < call.exit]

    def completing(self, log):
        """{operation: the call that completes it}"""
        return {operation: call for call in log.calls for operation, *_ in call.all("completes")}

    def messages(self):
        sends, receives = collections.defaultdict(list), collections.defaultdict(list)
        for log in self.ranks:
            completing = self.completing(log)
            for call in log.calls:
                for operation, peer, tag, communicator, _, mode in call.all("sends"):
                    end = completing[operation] if operation else call
                    sends[communicator, log.rank, peer, tag].append((call, end, mode))
                for operation, peer, tag, communicator, _ in call.all("receives"):
                    end = completing[operation] if operation else call
                    receives[communicator, peer, log.rank, tag].append((call, end))
        for key, sent in sends.items():
            for (send, send_end, mode), (receive, receive_end) in zip(sent, receives[key], strict=True):
                self.needs[receive_end].append(send)
                if mode == truth.SYNCHRONOUS:
                    self.needs[send_end].append(receive)

    def collectives(self):
        instances = collections.defaultdict(list)
        for log in self.ranks:
            count, completing = collections.Counter(), self.completing(log)
            for call in log.calls:
                for kind, communicator, root, operation in call.all("collective"):
                    end = completing[operation] if operation else call
                    instances[communicator, count[communicator]].append((log.rank, call, end, truth.COLLECTIVES[kind], root))
                    count[communicator] += 1
        for members in instances.values():
            for rank, call, end, kind, root in members:
                others = [(other, begin) for other, begin, *_ in members if other != rank]
                self.needs[end] += self.collective(kind, rank, root, others)
                if kind not in EVERYONE or end is not call:
                    self.needs[end] += self.held_up(end, [other_end for other, _, other_end, *_ in members if other != rank])

    @staticmethod
    def collective(kind, rank, root, others):
        if kind in EVERYONE:
            return [begin for _, begin in others]
        return {
            "bcast": [begin for other, begin in others if other == root],
            "reduce": [begin for _, begin in others if rank == root],
            "scan": [begin for other, begin in others if other < rank],
        }[kind]

    @staticmethod
    def held_up(call, others):
        """The last of these calls that began in this one, if this one ended right after."""
        inside = [other for other in others if call.enter < other.enter < call.exit]
        last = max(inside, key=lambda other: other.enter, default=None)
        return [last] if last is not None and call.exit - last.enter < RIGHT_AFTER else []

    def one_sided(self):
        fences, posts, starts = (collections.defaultdict(list) for _ in range(3))
        for log in self.ranks:
            count, posted, access = collections.Counter(), {}, {}
            for call in log.calls:
                for (window,) in call.all("fence"):
                    fences[window, count[window]].append(call)
                    count[window] += 1
                for window, origin in call.all("post"):
                    posted.setdefault(window, []).append((origin, call))
                for (window,) in call.all("wait"):
                    for origin, post in posted.pop(window, []):
                        posts[window, log.rank, origin].append((post, call))
                for window, target in call.all("start"):
                    access.setdefault(window, []).append((target, call))
                for (window,) in call.all("complete"):
                    for target, start in access.pop(window, []):
                        starts[window, target, log.rank].append((start, call))
        for calls in fences.values():
            for call in calls:
                self.needs[call] += calls
        for key, exposed in posts.items():
            for (post, wait), (start, complete) in zip(exposed, starts[key], strict=True):
                self.needs[start].append(post)
                self.needs[complete].append(post)
                self.needs[wait].append(complete)
