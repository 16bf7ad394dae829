"""Whether a diagnosis names the true causes: claims of the tools against the replay of the program's log.

A *claim* is a call path by procedures, ranks and seconds. `suspects` gives one for each suspect, `causes` one for each path, its
ranks being those with 5 % of its cost or more. Recursion is folded: f › f is f.

A claim *names* a cause if the culprit procedure is in its path: it ends at it or inside it, not at a helper alone that others
call too. Its *path* is right if it begins with the whole path from main to the culprit. A slow machine has no path: the
first claim has to be on its ranks alone. *Ranks* are exact if none with more than half of the largest excess over the mean is missing,
and none is named that does not work too much (or hardly). The *amount* is the sum of all claims that name the cause, against
the waiting that is gone in a replay without it. In a program without causes, a claim of 2 % of the run or more is a *false
alarm*, unless the replay confirms half of it when that code takes as long on these ranks as on the others: the machine
may have slowed it down.
"""

import collections
import dataclasses
import statistics

CLAIMED_RANK = 0.05  # of a path's cost
ALARM = 0.02  # of the run


@dataclasses.dataclass
class Claim:
    path: tuple
    ranks: list
    seconds: float

    def __str__(self):
        return f"{self.seconds:8.3f} s  ranks {self.ranks}  {' › '.join(self.path[1:]) or '(none)'}"


def folded(names):
    """Procedures from main on, each repetition once."""
    names = list(names)
    names = names[names.index("main"):] if "main" in names else names
    return tuple(name for place, name in enumerate(names) if place == 0 or names[place - 1] != name)


def procedures(path):
    """A parallel region is its procedure's."""
    return folded(frame["name"].split(" [OpenMP")[0] for frame in path if frame["kind"] in ("procedure", "inlined"))


def suspects(rows):
    return [Claim(procedures(row["suspect"]), sorted(row["ranks"]), row["explains_s"]) for row in rows]


def causes(rows):
    costs = collections.Counter()
    for row in rows:
        if row["path"]:
            costs[row["rank"], procedures(row["path"])] += row["short_term_s"] + row["long_term_s"]
    return costly(costs)


def costly(costs):
    """Claims of {(rank, path): s}."""
    by_path = collections.defaultdict(collections.Counter)
    for (rank, path), cost in costs.items():
        by_path[path][rank] += cost
    claims = []
    for path, by_rank in by_path.items():
        total = sum(by_rank.values())
        claims.append(Claim(path, sorted(rank for rank, cost in by_rank.items() if cost >= CLAIMED_RANK * total), total))
    return sorted(claims, key=lambda claim: -claim.seconds)


class Truth:
    """One cause of a run: `place`, `cost`, `share` of the run, `needed` and `allowed` ranks."""

    def __init__(self, number, cause, replay):
        name = f"cause-{number}"
        self.kind, self.place = cause.kind, folded(cause.place)
        self.cost = replay.waiting() - replay.waiting(without=(name,))
        self.saved = replay.seconds() - replay.seconds(without=(name,))
        self.share = self.cost / replay.total()
        extra = replay.extra(name)
        mean = statistics.fmean(extra)
        above = [max(0, seconds - mean) for seconds in extra]
        if max(above) < 0.1 * mean:  # by turns
            above = extra
        self.needed = {rank for rank, seconds in enumerate(above) if seconds > 0.5 * max(above)}
        self.allowed = {rank for rank, seconds in enumerate(extra) if seconds > 0.05 * max(extra)}

    def named_by(self, claim):
        if not self.place:
            return set(claim.ranks) == self.needed
        return self.place[-1] in claim.path

    def path_of(self, claim):
        return claim.path[: len(self.place)] == self.place

    def ranks_of(self, claims):
        ranks = {rank for claim in claims for rank in claim.ranks}
        return self.needed <= ranks <= self.allowed

    def as_json(self):
        needed, place = sorted(self.needed), " › ".join(self.place)
        return {"kind": self.kind, "place": place, "ranks": needed, "cost_s": self.cost, "share": self.share, "saved_s": self.saved}


def score(truths, claims, replay, referee=None):
    """What is right about the claims, as a row of the table; `referee`: {(rank, place): s} where costs are judged."""
    row = {"claims": len(claims), "alarm": None}
    if not truths:
        row["alarm"] = any(false_alarm(claim, replay) for claim in claims)
        return row
    first = next((truth for truth in truths if claims and truth.named_by(claims[0])), None)
    row["first"] = first is not None
    top = claims[:3]
    counted = [truth for truth in truths if truth.share >= ALARM] or truths[:1]
    row["three"] = all(any(truth.named_by(claim) for claim in top) for truth in counted)
    truth = first or max(truths, key=lambda truth: truth.cost)
    naming = [claim for claim in claims if truth.named_by(claim)]
    row["path"] = bool(naming) and truth.path_of(naming[0])
    row["ranks"] = bool(naming) and truth.ranks_of(naming[:1])
    claimed = sum(claim.seconds for claim in naming)
    row["claimed_s"] = claimed
    row["error"] = claimed / truth.cost - 1 if naming and truth.cost > 0 and len(truths) == 1 else None
    if referee is not None:
        row["beside"] = max(beside(truth, claims, referee) for truth in counted)
    return row


def beside(truth, claims, referee):
    """How far the cost of a cause is from the referee's, relative to that."""
    if not truth.place:
        return 0
    found = sum(claim.seconds for claim in claims if truth.named_by(claim))
    true = sum(cost for (_, place), cost in referee.items() if truth.place[-1] in place)
    return abs(found - true) / true if true else float(found > 0)


def false_alarm(claim, replay):
    if claim.seconds < ALARM * replay.total():
        return False
    return confirmed(claim, replay) < 0.5 * claim.seconds


def confirmed(claim, replay):
    """Seconds of waiting that go if the code of a claim takes as long on its ranks as the median of all ranks and times."""
    pieces = collections.defaultdict(list)
    for rank, calls in enumerate(replay.calls):
        for call in calls:
            path = folded(call.label.split("/"))
            if not call.function.startswith("MPI_") and path[: len(claim.path)] == claim.path[: len(path)]:
                pieces[call.label].append((rank, call))
    changed = {}
    for found in pieces.values():
        usual = statistics.median(call.duration for _, call in found)
        changed.update((call, usual) for rank, call in found if rank in claim.ranks and call.duration > usual)
    return replay.waiting() - replay.waiting(changed=changed) if changed else 0


# ---- tables

LASTING = {"one", "some", "half", "trend", "serial", "slow", "thread", "loop", "lock", "rank", "late thread"}


def size_of(result):
    """The row of the table that a program belongs to."""
    truths = result["truth"]
    if not truths:
        return "none"
    share, kind = max((one["share"], one["kind"]) for one in truths)
    if len(truths) == 2 and share >= ALARM:
        return "two causes"
    if kind not in LASTING and share >= ALARM:
        return kind
    return "5 % or more" if share >= 0.05 else "2 to 5 %" if share >= 0.02 else "below 2 %"


def kind_of(result):
    """The same, by what the cause is."""
    truths = result["truth"]
    return truths[0]["kind"] if len(truths) == 1 else "two causes" if truths else "none"


ROWS = ("5 % or more", "2 to 5 %", "two causes", "iterations", "alternating", "below 2 %", "none")


def share_of(rows, key):
    known = [row[key] for row in rows if row.get(key) is not None]
    return f"{100 * sum(known) / len(known):.0f}" if known else "–"


def within(rows, limit, key="error"):
    errors = [abs(row[key]) for row in rows if row.get(key) is not None]
    return f"{100 * sum(error <= limit for error in errors) / len(errors):.0f}" if errors else "–"


def table(results, mode, group=size_of, groups=ROWS):
    """Lines in Markdown: one for each group of programs, in %."""
    lines = [
        f"| {mode} | programs | first right | first three | path | ranks | amount within 10 % | 20 % | within 5 % of the referee | false alarms |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in groups:
        rows = [result["modes"][mode] for result in results if group(result) == name and mode in result["modes"]]
        if rows:
            cells = [share_of(rows, key) for key in ("first", "three", "path", "ranks")]
            cells += [within(rows, 0.1), within(rows, 0.2), within(rows, 0.05, "beside"), share_of(rows, "alarm")]
            lines.append(f"| {name} | {len(rows)} | {' | '.join(cells)} |")
    return lines


def referee_table(results):
    """How far `causes` and `critical-path` are from the referees, in Markdown."""
    beside = [result["referee"] for result in results if "referee" in result]
    weighty = sum(one["weighty"] for one in beside)
    lines = ["| beside the referee | |", "|---|---|"]
    if weighty:
        agreeing = sum(one["agreeing"] for one in beside)
        lines.append(f"| costs of 5 % of the waiting or more that agree within 5 % | {agreeing} of {weighty} |")
    for key, what in (("costs_apart", "cost at other places, median"), ("path_apart", "critical path at other places, median")):
        known = [one[key] for one in beside if key in one]
        lines += [f"| {what} | {100 * statistics.median(known):.1f} % |"] if known else []
    return lines
