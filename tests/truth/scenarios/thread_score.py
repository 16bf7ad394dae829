"""Whether thread causes, suspects and causes name what made threads idle in a generated program with teams (thread_truth.py).

The first thread cause is right if it names a planted cause (score.py), by its path or as what a call of MPI waits for; its caller,
where several functions call the culprit; or code that by the log itself makes threads idle as long: some work of the main thread
alone is in every program. The amount is the sum of the claims that name the cause, against the log's; beside the referee stands
the metric of its function. Suspects and causes are judged where a cause delays other ranks, against the replay. In a program
without causes, a claim of 2 % of the threads' time or more is a false alarm, unless the log confirms half of it.
"""

import collections
import dataclasses

import agree
import score
import thread_truth
from generate_threads import DELAYING
from program import called

AS_LONG = 0.9  # as the planted cause, of code that is named in its stead


@dataclasses.dataclass
class Claim(score.Claim):
    awaits: tuple = ()  # where it is a call of MPI: the path of what that waits for

    def __str__(self):
        return super().__str__() + (f"  for {' › '.join(self.awaits[1:])}" if self.awaits else "")


class Truth(score.Truth):
    """`idleness` and `locks`: seconds caused at its place; of a cause that delays other ranks, `cost` is what the replay saves."""

    def __init__(self, number, cause, replay, idleness, locks, program):
        super().__init__(number, cause, replay)
        callers = [one for one in program.functions if self.place[-1] in {callee.name for callee in called(one.body)}]
        self.user = self.place[-2] if len(callers) > 1 else None
        self.idleness, self.locks = self.sum_of(idleness), self.sum_of(locks)
        if self.kind not in DELAYING:
            self.cost = max(self.idleness, self.locks)
            self.share = self.cost / program.threads / replay.total()

    def sum_of(self, blame):
        return sum(seconds for (_, place), seconds in blame.items() if self.place[-1] in place)

    def named_by(self, claim):
        return self.claimed_by(claim) or self.place[-1] in getattr(claim, "awaits", ())

    def claimed_by(self, claim):
        return super().named_by(claim) or (bool(claim.path) and claim.path[-1] == self.user)


def claims_of(rows):
    return [
        Claim(score.procedures(row["path"]), [], row["caused_s"], score.procedures(row["awaits"] or [])) for row in rows
    ]


class Codes:
    """Paths as (the innermost function of the program, the call of MPI in it or None)."""

    def __init__(self, program):
        self.functions = {function.name for function in program.functions}

    def of(self, path):
        calls = [name for name in path if name.startswith("MPI_")]
        own = [name for name in path if name in self.functions]
        return own[-1] if own else None, calls[0] if calls else None

    def logged(self, blame):
        found = collections.Counter()
        for (_, place), seconds in blame.items():
            found[self.of(place)] += seconds
        return found

    def shown(self, made, database, metric):
        """The same, by the metric."""
        found, column = collections.Counter(), f"{metric}:sum (I)"

        def walk(node, path):
            path = (*path, *score.procedures([node["frame"]]))
            value = node["values"].get(column) or 0
            below = sum(walk(child, path) for child in node["children"])
            found[self.of(path)] += value - below
            return value

        for root in made.view(database, "view", "calling-context", "--metrics", column)["roots"]:
            walk(root, ())
        return found


@dataclasses.dataclass
class Compared:
    by_place: dict  # {(role, place): s} of the log
    logged: dict  # {code: s} of it
    shown: dict  # {code: s} of the metric


def of_function(name, found):
    """Of {code: s}, with what it waits for in MPI."""
    return sum(seconds for (function, _), seconds in found.items() if function == name)


def judged(made, program, trace):
    """What a result of run.py has beside the program's description."""
    logs, codes, database = made.logs(), Codes(program), made.merge()
    played = thread_truth.TeamReplay(logs)
    idleness, locks = thread_truth.blame_of(logs, program.threads)
    truths = [Truth(number, cause, played, idleness, locks, program) for number, cause in enumerate(program.causes)]
    found = made.view(database, "report")["thread_causes"]
    total = program.threads * played.total()
    compared = {
        "idleness": Compared(idleness, codes.logged(idleness), codes.shown(made, database, "idleness-caused")),
        "locks": Compared(locks, codes.logged(locks), codes.shown(made, database, "lock-wait-caused")),
    }
    claims = {"thread causes": claims_of(found["idleness"])}
    modes = {"thread causes": scored(truths, claims["thread causes"], "idleness", compared, codes, total)}
    held = [truth for truth in truths if truth.kind == "lock"]
    if held or not truths:
        claims["locks"] = claims_of(found["locks"])
        modes["locks"] = scored(held, claims["locks"], "locks", compared, codes, total)
    late = [truth for truth in truths if truth.kind in DELAYING]
    if late:
        claims["suspects"] = score.suspects(made.view(database, "suspects"))
        # Their amounts have what threads wait for each other as well.
        modes["suspects"] = score.score(truths, claims["suspects"], played) | {"error": None}
    if trace and (late or not truths):
        claims["causes"] = score.causes(made.view(database, "causes"))
        modes["causes"] = score.score(late, claims["causes"], played)
    pair = compared["idleness"].shown, compared["idleness"].logged
    agreeing, weighty = agree.close(*pair)
    return {
        "seconds": played.seconds(), "waiting": sum(idleness.values()) / total,
        "truth": [one.as_json() for one in truths], "modes": modes,
        "claims": {mode: [str(claim) for claim in found[:6]] for mode, found in claims.items()},
        "referee": {"agreeing": agreeing, "weighty": weighty, "costs_apart": agree.apart(*pair)},
    }


def scored(truths, claims, what, compared, codes, total):
    """A row of the table; `total`: the threads' seconds."""
    row, blame = {"claims": len(claims), "alarm": None}, compared[what]
    if not truths:
        row["alarm"] = any(false_alarm(claim, blame, codes, total) for claim in claims)
        return row
    first = next((truth for truth in truths if claims and truth.named_by(claims[0])), None)
    most = max(getattr(truth, what) for truth in truths)
    row["first"] = first is not None or bool(claims) and blame.logged[codes.of(claims[0].path)] >= AS_LONG * most
    counted = [truth for truth in truths if truth.share >= score.ALARM] or truths[:1]
    row["three"] = all(any(truth.named_by(claim) for claim in claims[:3]) for truth in counted)
    truth = truths[0]
    if len(truths) == 1 and truth.kind not in DELAYING:
        claimed = sum(claim.seconds for claim in claims if truth.claimed_by(claim))
        row["claimed_s"], row["error"] = claimed, claimed / getattr(truth, what) - 1 if claimed else None
        row["beside"] = abs(of_function(truth.place[-1], blame.shown) / of_function(truth.place[-1], blame.logged) - 1)
    return row


def false_alarm(claim, blame, codes, total):
    """What is left to no function of the program names nobody."""
    function, _ = codes.of(claim.path)
    if claim.seconds < score.ALARM * total or function is None:
        return False
    return sum(seconds for (_, place), seconds in blame.by_place.items() if function in place) < claim.seconds / 2
