"""Whether `causes` and `critical-path` say what the referees compute from the program's log (delay_costs.py, critical_path.py).

The tools divide time among code by samples, the referees by stamps: they agree as far as samples can tell."""

import collections

from score import folded, procedures

import critical_path  # beside truth.py
import delay_costs
import truth

HELPERS = ("kernel", "inlined_kernel")  # of scenario.h: the log has their time under their callers
WEIGHTY = 0.05  # of all waiting: what is compared cost by cost
CLOSE = 0.05


class Waits(truth.Truth):
    """Without the part `late-sender-wrong-order`, which nobody asks here: it takes time that grows with the messages' square."""

    def _wrong_order(self, call, receive):
        pass


def place(path):
    """A path of the tools as the log states it."""
    return folded(name for name in procedures(path) if name not in HELPERS)


def costs_of(rows):
    """{(rank, place): s} of `causes`."""
    found = collections.Counter()
    for row in rows:
        if row["path"]:
            found[row["rank"], place(row["path"])] += row["short_term_s"] + row["long_term_s"]
    return found


def referee_costs(waits):
    """The same, by the referee."""
    costs, found = delay_costs.DelayCosts(waits), collections.Counter()
    for part in (costs.short, costs.long, costs.undetermined):
        for (rank, at), time in part.items():
            found[rank, folded(at)] += time / 1e9
    return found


def path_of(answer):
    """{(rank, place): s} of `critical-path`."""
    found = collections.Counter()
    for row in answer["paths"]:
        for share in row["ranks"]:
            found[share["rank"], place(row["path"])] += share["seconds"]
    return found


def referee_path(waits):
    found = collections.Counter()
    for (rank, at), time in critical_path.critical_path(waits).items():
        found[rank, folded(at)] += time / 1e9
    return found


def apart(found, true):
    """The share of the time that is at other places."""
    total = sum(true.values())
    return sum(abs(found[key] - true[key]) for key in found.keys() | true.keys()) / 2 / total if total else 0


def close(found, true):
    """(how many weighty costs agree, how many there are); those below 1 ms do not count."""
    weighty = [key for key, time in true.items() if time >= max(1e-3, WEIGHTY * sum(true.values()))]
    return sum(abs(found[key] - true[key]) <= CLOSE * true[key] for key in weighty), len(weighty)


def sampled_work(roots):
    """({place: s}, seconds of idleness) of a calling-context view with REALTIME and idleness, without what MPI calls hold."""
    found, idle = collections.Counter(), 0.0

    def walk(node, path):
        nonlocal idle
        frame = node["frame"]
        if frame["kind"] in ("procedure", "inlined"):
            if frame["name"].startswith("MPI_"):
                return 0.0
            path = (*path, frame["name"])
        time = sum(walk(child, path) for child in node["children"])
        if not node["children"]:
            time = node["values"]["REALTIME:sum (I)"] or 0
            idle += node["values"]["idleness:sum (I)"] or 0
            found[path] += time
        return time

    for root in roots:
        walk(root, ())
    return found, idle


def log_work(logs):
    """{procedure: s} of work, by the log."""
    found = collections.Counter()
    for log in logs:
        for call in log.calls:
            if not call.function.startswith("MPI_"):
                found[call.label.rpartition("/")[2]] += call.duration / 1e9
    return found


def agreement(true, true_path, causes, path):
    """Of one measurement: what `causes` and `critical-path` say, beside the referees."""
    found = costs_of(causes)
    agreeing, weighty = close(found, true)
    return {
        "agreeing": agreeing,
        "weighty": weighty,
        "costs_apart": apart(found, true),
        "path_apart": apart(path_of(path), true_path),
    }
