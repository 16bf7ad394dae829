#!/usr/bin/env python3
"""The referee: who waited for whom, computed from the logs of truth programs alone.

    truth.py DIR [--format text|json]

reads DIR/truth-*.log, one file per rank, and prints every wait and the sums. As a module: `Truth(read(DIR))`.

The logs' syntax is in truth_logs.py; truth_messages.py, truth_collectives.py and truth_one_sided.py find the waits.

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
                     of mode 0 never wait; those of mode 2 by the overlap alone, unless the call ended before the
                     receive was posted of one of its sends that is no smaller, or, where it waited for something
                     else too, an earlier call did with such a send to the same receiver.
                     A call that completes several operations waits for the latest of them (MPI_Waitall), a Waitany
                     or Waitsome for the earliest of those it completed. The pattern is that of the operation which
                     decides; one wait per call.
                     A message of 16 KiB and more moves only while both ends are inside the calls that complete it, one of
                     them at least another call than posted it: each of these may wait until the other's enter K, too. With
                     F = max(own enter, enter of the call that posted the other end): where exit - K <= K - F, and the other end
                     was outside MPI for half of the time from F to K, or more.
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
                     member before the own exit. If K - F > B, and exit - K <= max(K - F, B): until K - B, instead of the above.
                     Nonblocking ones of any kind wait so at the completing call, too, by the enters, exits and stays of all
                     completing calls, and F of the starting ones; by the name of their kind where they are no bcast, reduce, scan;
                     the last must have been outside MPI as above.
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
import json
import sys

from truth_collectives import Collectives
from truth_logs import (  # noqa: F401
    COLLECTIVES, EAGER, FOREVER, STANDARD, SYNCHRONOUS, THREAD_WAITS, LogError, nest, parse, read)
from truth_messages import Messages
from truth_one_sided import OneSided


class Truth(Messages, Collectives, OneSided):
    """All waits of a run, in the order of their calls' beginnings."""

    def __init__(self, ranks):
        super().__init__(ranks)
        messages = self._match_messages()
        collectives = self._match_collectives()
        self._completions(messages, collectives)
        self._blocking_collectives(collectives)
        self._fences()
        self._epochs()
        self._locks()
        self._threads()
        self.waits.sort(key=lambda wait: (wait.call.enter, wait.call.rank, wait.call.thread, wait.part_of))

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
