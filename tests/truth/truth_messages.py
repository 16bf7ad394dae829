"""Waits for messages: sends, receives, probes and what completes them. The definitions are in truth.py."""

import collections
import dataclasses
import math

from truth_logs import Call, EAGER, STANDARD, SYNCHRONOUS
from truth_waits import Waits

SEVERAL_STEPS = 16384  # bytes: smaller messages are sent at once
EARLIEST_COMPLETES = ("MPI_Waitany", "MPI_Waitsome", "MPI_Testany", "MPI_Testsome")


@dataclasses.dataclass(eq=False)
class Message:
    """A send or a receive: the call that posted it and the one that completed it."""

    posted: Call
    completed: Call
    mode: int
    size: float
    other: "Message" = None


class Messages(Waits):
    def _match_messages(self):
        """Matches sends with receives; {(rank, operation): Message} of nonblocking ones, and of blocking ones by
        (rank, the call)."""
        sends, receives = collections.defaultdict(list), collections.defaultdict(list)
        operations = {}
        for log in self.ranks:
            done = self._completed_operations(log)
            for call in log.calls:
                for operation, peer, tag, communicator, size, mode in call.all("sends"):
                    completion, _ = done.get(operation, (None, ())) if operation else (call, ())
                    message = Message(call, completion, mode, size if mode != SYNCHRONOUS else math.inf)
                    sends[communicator, log.rank, peer, tag].append(message)
                    operations.setdefault((log.rank, operation or call), []).append(("send", message))
                for operation, peer, tag, communicator, size in call.all("receives"):
                    completion, actual = done.get(operation, (None, ())) if operation else (call, ())
                    if actual:
                        peer, tag = actual
                    message = Message(call, completion, STANDARD, size)
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
            eager = {}  # by thread and receiving thread: the largest send that was seen to need no receive
            for call in log.calls:
                ends = []
                operations = [operation for operation, *_ in call.all("completes")]
                for key in [call, *operations]:
                    ended = [entry for entry in messages.get((log.rank, key), []) if entry[1].completed is call]
                    ends += [self._message_end(*entry) for entry in ended]
                    if call.function not in EARLIEST_COMPLETES:
                        ends += [self._late_end(call, *entry) for entry in ended]
                    if key is not call and (log.rank, key) in collectives["started"]:
                        ends.append(collectives["started"][log.rank, key])
                        if call.function not in EARLIEST_COMPLETES:
                            ends.append(collectives["returned"].get((log.rank, key)))
                ends += [self._probe_end(call, *probe) for probe in call.all("probes")]
                ends = self._needed([end for end in ends if end is not None], call, eager)
                if ends:
                    # MPI_Sendrecv may wait for one call twice: as a receiver, since most sends need not wait.
                    sign = 1 if call.function in EARLIEST_COMPLETES else -1
                    pattern, until, cause, message = min(ends, key=lambda end: (sign * end[1], end[0] != "late-sender"))
                    if self._add(pattern, call, until, cause) and pattern == "late-sender" and message is not None:
                        self._wrong_order(call, message)

    @staticmethod
    def _needed(ends, call, eager):
        """Without sends that needed no receive. One that was posted after the call shows that its send needed none, nor did
        those of the call that are no larger; and where the call waited for something else, nor do such sends to the same
        receiver in it and later. (MPI_Send, which does nothing else, shows only what it did itself.)"""
        largest = -1
        if call.function not in EARLIEST_COMPLETES:
            for pattern, until, cause, message in ends:
                if pattern == "late-receiver" and until >= call.exit and message.mode == STANDARD:
                    largest = max(largest, message.size)
                    if message.posted is call and len(ends) == 1:
                        continue
                    key = call.thread, cause.rank, cause.thread
                    eager[key] = max(eager.get(key, -1), message.size)
        ends = [end for end in ends if end[0] != "late-receiver" or end[3].size > largest]

        def is_eager(end):
            pattern, _, cause, message = end
            return pattern == "late-receiver" and message.size <= eager.get((call.thread, cause.rank, cause.thread), -1)

        others = [end for end in ends if not is_eager(end)]
        sign = 1 if call.function in EARLIEST_COMPLETES else -1
        decider = min(others, key=lambda end: sign * end[1], default=None)
        return others if decider is not None and call.enter < decider[1] < call.exit else ends

    def _message_end(self, sort, message):
        """What a completed operation waited for: (pattern, time, cause, its Message)."""
        if message.other is None or (sort == "send" and message.mode == EAGER):
            return None
        cause = message.other.posted
        if sort == "send":
            return "late-receiver", cause.enter, cause, message
        return "late-sender", cause.enter, cause, message

    def _late_end(self, call, sort, message):
        """The same of a large one that moves only while both ends are inside the calls that complete it."""
        other = message.other
        send = message if sort == "send" else other
        if other is None or send.mode == EAGER or send.size < SEVERAL_STEPS or other.completed is None:
            return None
        if message.posted is call and other.posted is other.completed:
            return None
        free, back = max(call.enter, other.posted.enter), other.completed.enter
        if not free < back < call.exit or call.exit - back > back - free or not self._was_outside(other.completed, free):
            return None
        return ("late-receiver", back, other.completed, message) if sort == "send" else ("late-sender", back, other.completed, None)

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
