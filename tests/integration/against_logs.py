"""What was measured of a truth program, beside the truth from its own logs; shared by the tests against them.

The tolerance is 2 %, of which half is left to what sampling alone gives: with period p, an interval is measured with
a variance of at most p^2/4, n calls together with a standard deviation of at most p/2 * sqrt(n); NOISE of them must
fit. Where the calls are too few and too short for that, as in a single one, the tolerance is wider by what is lacking, and
by JUMP: a host that takes the processor lets no signal through, and what was missed counts for what the thread does next.
The period is the longest that a thread was sampled at: where signals are costly, as in some virtual machines, a thousand
of them per second take more of a processor than they may.
"""

import collections
import math
import sys

import harness

sys.path.insert(0, str(harness.TRUTH))
import truth  # noqa: E402, F401

RATE = 1000  # Hz
OPTIONS = ("-e", f"REALTIME@f{RATE}")  # of hpcrun-lite
NOISE = 5  # standard deviations
JUMP = 0.01  # s: longer ones are seldom where it matters, and hit a moment between two things that a thread does


period = 1 / RATE  # of the run that was read last


def slowest_period(info):
    """Of the samples of a run: where a signal takes too much of the time, as on some virtual machines, fewer are taken."""
    return max(1 / RATE, info.get("slowest_period_s", 0))


def noise(calls, of_period):
    """Of so many calls, whose begin and end each lie anywhere between two samples."""
    return NOISE * 0.5 * of_period * math.sqrt(calls)


def tolerance(seconds, calls):
    return max(0.02 * seconds, 0.01 * seconds + noise(calls, period)) + JUMP


class Measured:
    """Idleness and time by (MPI function, procedure that called it), and what of the time was neither idleness nor took
    a processor: a thread that was taken off it while it moved data does not wait for anybody."""

    def __init__(self, database):
        global period
        info = harness.viewer_json(database, "info")
        period = slowest_period(info)
        self.idle, self.all, self.preempted = collections.Counter(), collections.Counter(), collections.Counter()
        view = harness.viewer_json(
            database, "view", "calling-context", "--metrics", "idleness:sum (I),REALTIME:sum (I),CPU:sum (I)"
        )
        for root in view["roots"]:
            self._walk(root, "")

    @staticmethod
    def _preempted(values):
        time, idle, cpu = (values.get(f"{name}:sum (I)", 0) for name in ("REALTIME", "idleness", "CPU"))
        return max(0, time - cpu) if idle == 0 else 0

    def _walk(self, node, caller):
        frame = node["frame"]
        if frame["kind"] in ("procedure", "inlined"):
            if frame["name"].startswith("MPI_"):
                self.idle[frame["name"], caller] += node["values"].get("idleness:sum (I)", 0)
                self.all[frame["name"], caller] += node["values"].get("REALTIME:sum (I)", 0)
                for below in harness.walk(node["children"]):
                    if below["frame"]["kind"] == "statement":
                        self.preempted[frame["name"], caller] += self._preempted(below["values"])
                return
            caller = frame["name"].split("::")[-1]  # Fortran's module procedures
        for child in node["children"]:
            self._walk(child, caller)
