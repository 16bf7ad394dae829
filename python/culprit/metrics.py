"""Metrics by name: `EVENT:STAT (I|E)`, as viewer-cli has them, e.g. `REALTIME:sum (I)`."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import List, NamedTuple, Optional, Sequence, Tuple

from .errors import UnknownName
from .run import Meta
from .summaries import Accumulator, statistic

STATISTICS = ("sum", "mean", "min", "max", "stddev", "cv", "count")
IMBALANCE = "imbalance"  # what blame is called as a metric


class Blame(NamedTuple):
    """In ns."""

    sum: int = 0
    min: int = 0
    max: int = 0


class Column(NamedTuple):
    """The figure that a metric's name stands for."""

    event: str
    statistic: str
    inclusive: bool
    metric: int  # its number in the database; meaningless of blame
    blame: bool
    unit: str  # that of shown values: s, count, ratio, threads, ...
    divisor: float  # from the stored unit to it
    min_over_all: bool
    role: Optional[int]  # None: all

    @property
    def title(self) -> str:
        return f"{self.event}:{self.statistic} ({'I' if self.inclusive else 'E'})"

    @property
    def additive(self) -> bool:
        return self.statistic in ("sum", "mean")

    def figure(self, by_role: Sequence, threads: Sequence[int]) -> float:
        """From an Accumulator or Blame for each role; `threads`: how many of each there are."""
        if self.role is not None:
            return self.of_role(by_role[self.role], threads[self.role]) / self.divisor
        total = 0.0
        for summary, count in zip(by_role, threads):
            total += self.of_role(summary, count)
        return total / self.divisor

    def of_role(self, summary, threads: int) -> float:
        if isinstance(summary, Accumulator):
            return statistic(self.statistic, summary, threads, self.min_over_all)
        if self.statistic == "mean":
            return float(summary.sum) / threads if threads else 0.0
        if self.statistic in ("sum", "min", "max"):
            return float(getattr(summary, self.statistic))
        return math.nan


def split_name(text: str) -> Tuple[str, str, bool]:
    """(event, statistic, inclusive). Sum and inclusive where the name does not say; case and spaces are forgiven."""
    if not isinstance(text, str):
        raise UnknownName(f"{text!r} names no metric (write it like 'REALTIME:sum (I)'; children are in .children)")
    event, inclusive = text.strip(), True
    if event.endswith(")"):
        event, _, scope = event[:-1].rpartition("(")
        if scope.strip().lower() not in ("i", "e"):
            raise UnknownName(f"'{text}' names no metric (write it like REALTIME:sum (I))")
        inclusive = scope.strip().lower() == "i"
    before, colon, last = event.strip().rpartition(":")
    # PAPI's names hold colons: only a last part that is a statistic is taken for one.
    if colon and last.strip().lower() in STATISTICS:
        return before.strip(), last.strip().lower(), inclusive
    return event.strip(), "sum", inclusive


def main_role(meta: Meta) -> int:
    """The role of the ranks' main threads."""
    return next((number for number, role in enumerate(meta.roles) if role.name == "main"), 0)


def main_metric(meta: Meta) -> int:
    """REALTIME, or, where it was not sampled, the first event that was."""
    names = [metric.name for metric in meta.metrics]
    if meta.period_ns == 0:
        for event in meta.events:
            if (name := event.rpartition("@")[0] or event) in names:
                return names.index(name)
    return names.index("REALTIME") if "REALTIME" in names else 0


def find_role(meta: Meta, name: str) -> int:
    names = [role.name for role in meta.roles]
    if name not in names:
        raise UnknownName(f"no threads have the role '{name}' (there are: {', '.join(names)})")
    return names.index(name)


def known_names(meta: Meta) -> List[str]:
    return [metric.name for metric in meta.metrics if metric.name != IMBALANCE] + [IMBALANCE]


def find_column(meta: Meta, text: str, role: Optional[str] = None) -> Column:
    """Raises UnknownName, with what there is."""
    event, stat, inclusive = split_name(text)
    number, blame, unit, name = 0, event.lower() == IMBALANCE, "ns", IMBALANCE
    if not blame:
        found = [i for i, metric in enumerate(meta.metrics) if metric.name.lower() == event.lower()]
        if not found:
            close = get_close_matches(event, known_names(meta), 1)
            meant = f"did you mean {close[0]}? " if close else ""
            raise UnknownName(f"there is no metric '{event}' here ({meant}there are: {', '.join(known_names(meta))})")
        number = found[0]
        unit, name = meta.metrics[number].unit, meta.metrics[number].name
    divisor = 1e9 if unit == "ns" and stat not in ("count", "cv") else 1.0
    unit = {"count": "threads", "cv": "ratio"}.get(stat) or ("s" if unit == "ns" else unit)
    of = None if role is None else find_role(meta, role)
    if of is None and stat not in ("sum", "count") and meta.roles:
        of = main_role(meta)  # these are not defined over several roles
    return Column(name, stat, inclusive, number, blame, unit, divisor, name == "idleness", of)
