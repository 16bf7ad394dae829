#!/usr/bin/env python3
"""The referee: who waited for whom, computed from the logs of truth programs alone.

    truth.py DIR [--format text|json]

reads DIR/truth-*.log, one file per rank, and prints every wait and the sums. As a module: `Truth(read(DIR))`.

The log (truth_log.h writes it)
-------------------------------
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
    polls:CALLS,FIRST       the call is a loop of so many calls, none of which blocks (MPI_Test); the first of them was
                            over FIRST ns after the enter
    work:1                  the call's own time is work by construction
    preempted:TIMES         so often was the thread taken off its processor, perhaps between a time stamp and the call
    awaits:KIND,EVENT       a thread waits until all who enable EVENT have done so; KIND: index into THREAD_WAITS
    enables:EVENT
    sees:EVENT              by the end of this call all who await the event were asleep in their calls
    communicator:COMMUNICATOR,RANK    window:WINDOW,COMMUNICATOR      (in `run` lines)

The definitions
---------------
A call waits for another one only if that begins while it lasts: Enter(own) < Enter(other) < Exit(own); the wait is
then Enter(other) - Enter(own), and so never longer than the call. This holds for all patterns below; "until X"
stands for it.

Matching: the n-th send from p to q with (communicator, tag) belongs to the n-th receive posted on q for (p, tag,
communicator); a wildcard receive takes its place in the order of posting, with source and tag from its completion.
MPI_Mprobe takes a message like a receive. Collectives: the n-th on a communicator (or window), initiation order.
Epochs: the n-th post of a target for an origin belongs to the n-th start of that origin for that target.

late-sender          receive, completion or probe: until the send's enter.
  late-sender-wrong-order  (part of it) if another message, sent before this one and before the end of this wait, was
                     received by the same rank later than this one.
late-receiver        synchronous send or its completion: until the enter of the call that posted the receive. Sends
                     of mode 0 never wait; those of mode 2 by the overlap alone.
                     A call that completes several operations waits for the latest of them (MPI_Waitall), a Waitany
                     or Waitsome for the earliest of those it completed. The pattern is that of the operation which
                     decides; one wait per call.
wait-at-init, wait-at-finalize, wait-at-barrier, wait-at-nxn, wait-at-create, wait-at-free
                     until the latest enter of all participants (at the completing call if nonblocking: then until
                     the latest enter of a *starting* call).
barrier-completion, nxn-completion
                     own exit - earliest exit, counted from the latest enter at the earliest; blocking calls only.
late-broadcast       non-roots: until the root's enter.
early-reduce         root: until the latest enter of the others.
early-scan           until the latest enter among the lower ranks.
wait-at-root         blocking bcast, reduce, scan (of a reduction not the root): a rank is held up by one that it does not need by
                     definition. Let F be the moment by which it and all that it needs by definition have entered, B the shortest
                     stay of any member for each level of a binary tree (times ceil(log2 members)), and K the last enter of another
                     member before the own exit. If K - F > B, and exit - K <= max(K - F, B): until K, instead of the above.
late-post            MPI_Win_start: until the latest enter of the matching MPI_Win_post; where this does not fall into
                     the start, the same at MPI_Win_complete.
early-transfer       RMA operation: until the target's MPI_Win_post.
early-wait           MPI_Win_wait, or a loop of MPI_Win_test: until the latest enter of the origins' MPI_Win_complete.
  late-complete      (part of it) latest complete enter - max(latest RMA exit towards this target of all origins (the
                     exit of its MPI_Win_start where an origin had none), own enter).
wait-at-fence        until the latest enter of the window's fence, only if every enter precedes every exit.
  early-fence        (part of it) max over the others of (latest exit of an RMA operation towards this rank since
                     their last fence) - own enter, if it falls into the call; where the test of wait-at-fence fails,
                     it is counted as wait-at-fence too.
lock-wait            MPI_Win_lock, or an operation on the target after it up to the first that has to complete what
                     was begun (MPI_Win_flush, MPI_Win_unlock): until the enter of the last conflicting unlock of another
                     origin that had completed something under its lock, and so had it, or was done before this one's own.
omp-barrier, omp-idle, lock-held, condition-wait, join-wait
                     a thread: until the latest enter of the calls that enable the event.

Flush waits are no part of this: they are always approximated. What cannot be matched is counted (`unmatched`), by
kind, and waits for nobody.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import re
import sys

COLLECTIVES = ("init", "finalize", "barrier", "nxn", "bcast", "reduce", "scan", "create", "free")
THREAD_WAITS = ("omp-barrier", "omp-idle", "lock-held", "condition-wait", "join-wait")
EAGER, SYNCHRONOUS, STANDARD = range(3)
FOREVER = 1 << 62
FLUSHES = ("MPI_Win_flush", "MPI_Win_flush_all")
EARLIEST_COMPLETES = ("MPI_Waitany", "MPI_Waitsome", "MPI_Testany", "MPI_Testsome")


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


# ---- reading


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


# ---- the truth


@dataclasses.dataclass(eq=False)
class Message:
    """A send or a receive: the call that posted it and the one that completed it."""

    posted: Call
    completed: Call
    mode: int
    other: "Message" = None


class Truth:
    """All waits of a run. `waits`: a list of Wait in the order of their calls' beginnings; `unmatched`: how many
    operations found no partner, by kind; `ranks`: the logs."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.by_rank = {rank.rank: rank for rank in ranks}
        self.unmatched = collections.Counter()
        self.waits = []
        messages = self._match_messages()
        collectives = self._match_collectives()
        self._completions(messages, collectives)
        self._blocking_collectives(collectives)
        self._fences()
        self._epochs()
        self._locks()
        self._threads()
        self.waits.sort(key=lambda wait: (wait.call.enter, wait.call.rank, wait.call.thread, wait.part_of))

    # -- what others ask

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

    # -- adding

    def _add(self, pattern, call, until, cause, part_of="", since=None):
        """A wait of `call` until `until`, if that falls into it. Returns whether it did."""
        since = call.enter if since is None else since
        if cause is None or cause is call or not since < until < call.exit:
            return False
        self.waits.append(Wait(pattern, call, until - since, cause, part_of))
        return True

    # -- point to point

    def _match_messages(self):
        """Matches sends with receives; {(rank, operation): Message} of nonblocking ones, and of blocking ones by
        (rank, the call)."""
        sends, receives = collections.defaultdict(list), collections.defaultdict(list)
        operations = {}
        for log in self.ranks:
            done = self._completed_operations(log)
            for call in log.calls:
                for operation, peer, tag, communicator, _, mode in call.all("sends"):
                    completion, _ = done.get(operation, (None, ())) if operation else (call, ())
                    message = Message(call, completion, mode)
                    sends[communicator, log.rank, peer, tag].append(message)
                    operations.setdefault((log.rank, operation or call), []).append(("send", message))
                for operation, peer, tag, communicator, _ in call.all("receives"):
                    completion, actual = done.get(operation, (None, ())) if operation else (call, ())
                    if actual:
                        peer, tag = actual
                    message = Message(call, completion, STANDARD)
                    receives[communicator, peer, log.rank, tag].append(message)
                    operations.setdefault((log.rank, operation or call), []).append(("receive", message))
        for key in sends.keys() | receives.keys():
            for send, receive in zip(sends[key], receives[key]):
                send.other, receive.other = receive, send
            surplus = len(sends[key]) - len(receives[key])
            self.unmatched["send" if surplus > 0 else "receive"] += abs(surplus)
        self.unmatched = +self.unmatched
        self._sends, self._receives = sends, receives
        return operations

    @staticmethod
    def _completed_operations(log):
        """{operation: (completing call, (source, tag) where it says)}"""
        done = {}
        for call in log.calls:
            for operation, *actual in call.all("completes"):
                done[operation] = (call, tuple(actual))
        return done

    def _completions(self, messages, collectives):
        """Waits of every call that completes point-to-point operations or nonblocking collectives, and of probes."""
        for log in self.ranks:
            for call in log.calls:
                ends = []
                operations = [operation for operation, *_ in call.all("completes")]
                for key in [call, *operations]:
                    ends += [self._message_end(*entry) for entry in messages.get((log.rank, key), [])
                             if entry[1].completed is call]
                    if key is not call and (log.rank, key) in collectives["started"]:
                        ends.append(collectives["started"][log.rank, key])
                ends += [self._probe_end(call, *probe) for probe in call.all("probes")]
                ends = [end for end in ends if end is not None]
                if ends:
                    # MPI_Sendrecv may wait for one call twice: as a receiver, since most sends need not wait.
                    sign = 1 if call.function in EARLIEST_COMPLETES else -1
                    pattern, until, cause, receive = min(ends, key=lambda end: (sign * end[1], end[0] != "late-sender"))
                    if self._add(pattern, call, until, cause) and receive is not None:
                        self._wrong_order(call, receive)

    def _message_end(self, sort, message):
        """What a completed operation waited for: (pattern, time, cause, the receive's Message or None)."""
        if message.other is None or (sort == "send" and message.mode == EAGER):
            return None
        cause = message.other.posted
        if sort == "send":
            return "late-receiver", cause.enter, cause, None
        return "late-sender", cause.enter, cause, message

    def _probe_end(self, call, source, tag, communicator):
        """A probe sees the first message that no earlier receive takes."""
        key = (communicator, source, call.rank, tag)
        taken = sum(receive.posted.enter < call.enter for receive in self._receives[key])
        if taken >= len(self._sends[key]):
            self.unmatched["probe"] += 1
            return None
        cause = self._sends[key][taken].posted
        return "late-sender", cause.enter, cause, None

    def _wrong_order(self, call, receive):
        """Was another message, sent before the one that was awaited, received later?"""
        awaited = receive.other.posted
        for (_, _, destination, _), received in self._receives.items():
            if destination != call.rank:
                continue
            for other in received:
                if other.other is None or other is receive or other.completed is None:
                    continue
                if other.other.posted.enter < awaited.enter and other.completed.enter >= call.exit:
                    self._add("late-sender-wrong-order", call, awaited.enter, awaited, "late-sender")
                    return

    # -- collectives

    def _match_collectives(self):
        """{"instances": [(kind, root, members, {rank: call}, operations)], "started": {(rank, operation): end}}."""
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
        instances, started = [], {}
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
        return {"instances": instances, "started": started}

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
        own = enters[rank]
        if kind not in ("bcast", "reduce", "scan") or (kind == "reduce" and rank == root):
            return None
        needed = self._collective_end(kind, root, members, enters, rank)
        free = max(own.enter, needed[1] if needed else 0)
        bytes_cost = min(call.duration for call in enters.values()) * (len(members) - 1).bit_length()
        others = [enters[other] for other in members if other != rank and enters[other].enter < own.exit]
        if not others:
            return None
        last = max(others, key=lambda call: (call.enter, members.index(call.rank)))
        wait = last.enter - free
        if wait <= bytes_cost or own.exit - last.enter > max(wait, bytes_cost):
            return None
        return "wait-at-root", last.enter, last, None

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

    # -- one-sided, active target

    def _fences(self):
        windows = collections.defaultdict(dict)  # (window, instance): {rank: (fence, operations before it)}
        communicator_of = {}
        for log in self.ranks:
            communicator_of.update(log.windows)
            count, operations = collections.Counter(), collections.defaultdict(list)
            for call in log.calls:
                for window, target, _ in call.all("rma"):
                    operations[window].append((target, call))
                for (window,) in call.all("fence"):
                    windows[window, count[window]][log.rank] = (call, operations.pop(window, []))
                    count[window] += 1
        for (window, _), fences in sorted(windows.items()):
            members = set(self.ranks[0].members(communicator_of.get(window, 0)))
            if members != set(fences):
                self.unmatched["fence"] += 1
                continue
            self._fence(fences)

    def _fence(self, fences):
        calls = [call for call, _ in fences.values()]
        latest = max(calls, key=lambda call: call.enter)
        overlap = latest.enter <= min(call.exit for call in calls)
        for rank, (call, _) in fences.items():
            towards = [
                operation
                for other, (_, operations) in fences.items()
                for target, operation in operations
                if target == rank and other != rank
            ]
            if overlap:
                self._add("wait-at-fence", call, latest.enter, latest)
            if towards:
                last = max(towards, key=lambda operation: operation.exit)
                early = self._add("early-fence", call, last.exit, last, "wait-at-fence")
                if early and not overlap:
                    self._add("wait-at-fence", call, last.exit, last)

    def _epochs(self):
        """General active target: matches exposures (post to wait) with accesses (start to complete)."""
        posts, accesses, waits = self._collect_epochs()
        exposures = collections.defaultdict(list)  # the wait: matching accesses
        for key in posts.keys() | accesses.keys():
            for (post, wait), access in zip(posts[key], accesses[key]):
                access["posts"].append((key[1], post))
                if wait is not None:
                    exposures[wait].append((key[1], access))
            surplus = abs(len(posts[key]) - len(accesses[key]))
            if surplus:
                self.unmatched["epoch"] += surplus
        seen = {id(access): access for entries in accesses.values() for access in entries}
        for access in seen.values():
            self._access(access)
        for wait in waits:
            self._exposure(wait, exposures[wait])

    def _collect_epochs(self):
        posts, accesses, waits = collections.defaultdict(list), collections.defaultdict(list), []
        for log in self.ranks:
            exposed, open_access = {}, {}
            for call in log.calls:
                for window, origin in call.all("post"):
                    exposed.setdefault(window, []).append((origin, call))
                for (window,) in call.all("wait"):
                    waits.append(call)
                    for origin, post in exposed.pop(window, []):
                        posts[window, log.rank, origin].append((post, call))
                for window, target in call.all("start"):
                    access = open_access.setdefault(
                        window, {"start": call, "operations": [], "complete": None, "posts": []}
                    )
                    accesses[window, target, log.rank].append(access)
                for window, target, _ in call.all("rma"):
                    if window in open_access:
                        open_access[window]["operations"].append((target, call))
                for (window,) in call.all("complete"):
                    if window in open_access:
                        open_access.pop(window)["complete"] = call
            for window, left in exposed.items():  # posted, never waited for
                for origin, post in left:
                    posts[window, log.rank, origin].append((post, None))
        return posts, accesses, waits

    def _access(self, access):
        if not access["posts"]:
            return
        latest = max((post for _, post in access["posts"]), key=lambda post: post.enter)
        late = self._add("late-post", access["start"], latest.enter, latest)
        if not late and access["complete"] is not None:
            self._add("late-post", access["complete"], latest.enter, latest)
        post_of = dict(access["posts"])
        for target, operation in access["operations"]:
            if target in post_of:
                self._add("early-transfer", operation, post_of[target].enter, post_of[target])

    def _exposure(self, wait, accesses):
        accesses = [(target, access) for target, access in accesses if access["complete"] is not None]
        if not accesses:
            return
        latest = max((access["complete"] for _, access in accesses), key=lambda call: call.enter)
        if not self._add("early-wait", wait, latest.enter, latest):
            return
        arrived = []
        for target, access in accesses:
            own = [call.exit for to, call in access["operations"] if to == target]
            arrived.append(max(own, default=access["start"].exit))
        since = max(max(arrived), wait.enter)
        self._add("late-complete", wait, latest.enter, latest, "early-wait", since)

    # -- one-sided, passive target

    def _locks(self):
        held = collections.defaultdict(list)  # (window, target): (exclusive, lock call, unlock call, calls between)
        for log in self.ranks:
            open_locks = {}
            for call in log.calls:
                for lock in open_locks.values():
                    lock[3].append(call)
                for window, target, exclusive in call.all("lock"):
                    open_locks[window, target] = (exclusive, call, None, [call])
                for window, target in call.all("unlock"):
                    exclusive, lock, _, between = open_locks.pop((window, target))
                    held[window, target].append((exclusive, lock, call, between))
        for locks in held.values():
            for lock in locks:
                self._lock(lock, locks)

    def _lock(self, own, locks):
        """Each call from lock to the first that completes something, if a conflicting unlock fell into it, waited for
        the last such unlock."""
        exclusive, locked, released, between = own
        others = [
            unlock
            for other_exclusive, lock, unlock, uses in locks
            if lock.rank != locked.rank and (exclusive or other_exclusive)
            and (unlock.exit <= released.exit or any(use.function in FLUSHES for use in uses))
        ]
        window, target = released.one("unlock")
        for call in between:
            completes = call is released or call.function in FLUSHES
            uses = any((use[0], use[1]) == (window, target) for use in call.all("rma"))
            if not (uses or completes or call is locked):
                continue
            inside = [unlock for unlock in others if call.enter < unlock.enter < call.exit]
            if inside:
                last = max(inside, key=lambda unlock: unlock.enter)
                self._add("lock-wait", call, last.enter, last)
            if completes:
                return

    # -- threads

    def _threads(self):
        for log in self.ranks:
            enabled = collections.defaultdict(list)
            for call in log.calls:
                for (event,) in call.all("enables"):
                    enabled[event].append(call)
            for call in log.calls:
                for kind, event in call.all("awaits"):
                    if not enabled[event]:
                        self.unmatched["event"] += 1
                        continue
                    latest = max(enabled[event], key=lambda enabling: enabling.enter)
                    self._add(THREAD_WAITS[kind], call, latest.enter, latest)


def work_in(call):
    """Nanoseconds of a call that are work by construction."""
    if call.one("work") is not None:
        return call.duration
    return sum(work_in(inner) for inner in call.inner)


# ---- the command


def as_json(truth):
    per_rank = []
    for log in truth.ranks:
        by_call = collections.Counter()
        for wait in truth.waits:
            if wait.call.rank == log.rank and not wait.part_of:
                by_call[wait.call.function, wait.call.label] += wait.nanoseconds
        calls = [
            {"function": function, "label": label, "seconds": 1e-9 * total}
            for (function, label), total in by_call.most_common()
        ]
        per_rank.append({"rank": log.rank, "seconds": truth.sum(rank=log.rank), "calls": calls})
    return {
        "patterns": truth.patterns(),
        "unmatched": dict(sorted(truth.unmatched.items())),
        "ranks": per_rank,
        "waits": [wait.as_json() for wait in truth.waits],
    }


def print_text(truth):
    for pattern, seconds in truth.patterns().items():
        print(f"{seconds:12.6f} s  {pattern}")
    for kind, number in sorted(truth.unmatched.items()):
        print(f"{number:12d}    unmatched: {kind}")
    for rank in as_json(truth)["ranks"]:
        print(f"{rank['seconds']:12.6f} s  waiting of rank {rank['rank']}")
        for call in rank["calls"]:
            print(f"  {call['seconds']:12.6f} s  {call['function']} in {call['label']}")


def main():
    parser = argparse.ArgumentParser(description="Who waited for whom, from the logs of truth programs alone.")
    parser.add_argument("directory", help="holds truth-RANK.log of every rank")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    try:
        truth = Truth(read(arguments.directory))
    except (LogError, OSError, ValueError) as error:
        print(f"truth.py: {error}", file=sys.stderr)
        return 1
    if arguments.format == "json":
        json.dump(as_json(truth), sys.stdout, indent=1)
        print()
    else:
        print_text(truth)
    return 0


if __name__ == "__main__":
    sys.exit(main())
