"""The three views: calling contexts, callers, flat (docs/algorithms.md 4)."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

from .figures import Figures
from .metrics import Blame, Column
from .scopes import FRONTIER, INLINED, NONE, PROCEDURE, Frame, Scopes
from .summaries import Accumulator
from .tree import View

if TYPE_CHECKING:
    from .database import Database


class CallingContext(View):
    """Top down: the one root is the whole run, node numbers are those of contexts."""

    name = "calling-context"

    def _roots(self) -> List[int]:
        return [0]

    def _children(self, number: int) -> List[int]:
        return self.database.contexts.children(number)

    def _parent(self, number: int) -> Optional[int]:
        parent = self.database.contexts[number].parent
        return None if parent == NONE else parent

    def _id(self, number: int) -> str:
        return f"c{number}"

    def _frame(self, number: int) -> Frame:
        return self.database.contexts.frame(number)

    def _flags(self, number: int) -> int:
        return self.database.contexts[number].flags

    def _value(self, number: int, column: Column) -> float:
        return self.figures.at(False, column, number)

    def _presence(self, number: int, role: Optional[int]) -> Tuple[Optional[int], int]:
        return self.figures.presence(False, number, role)

    def _per_thread(self, number: int, metric: int, inclusive: bool) -> List[int]:
        return self.figures.per_thread([number], metric, inclusive)

    def _find(self, id: str) -> Optional[int]:
        return index(id, "c", len(self.database.contexts))


class Flat(View):
    """Load module, file, procedure, loop, statement; node numbers are those of flat scopes."""

    name = "flat"

    def _roots(self) -> List[int]:
        return self.database.flat_scopes.children(0)

    def _children(self, number: int) -> List[int]:
        return self.database.flat_scopes.children(number)

    def _parent(self, number: int) -> Optional[int]:
        parent = self.database.flat_scopes[number].parent
        return None if parent in (0, NONE) else parent

    def _id(self, number: int) -> str:
        return f"f{number}"

    def _frame(self, number: int) -> Frame:
        return self.database.flat_scopes.frame(number)

    def _flags(self, number: int) -> int:
        return self.database.flat_scopes[number].flags

    def _value(self, number: int, column: Column) -> float:
        return self.figures.at(True, column, number)

    def _presence(self, number: int, role: Optional[int]) -> Tuple[Optional[int], int]:
        return self.figures.presence(True, number, role)

    def _per_thread(self, number: int, metric: int, inclusive: bool) -> List[int]:
        return self.figures.flat_per_thread(number, metric, inclusive)

    def _find(self, id: str) -> Optional[int]:
        return index(id, "f", len(self.database.flat_scopes))


def index(id: str, letter: str, limit: int) -> Optional[int]:
    found = re.fullmatch(letter + r"([0-9]{1,10})", id)
    return int(found[1]) if found and int(found[1]) < limit else None


class Entry:
    """A node of callers: a procedure, and the instances of the root's procedure that were called through it."""

    __slots__ = ("procedure", "parent", "instances", "children")

    def __init__(self, procedure: int, parent: Optional[int], instances: Optional[List[Tuple[int, int, bool]]]) -> None:
        self.procedure, self.parent = procedure, parent
        self.instances = instances  # (context of the root's procedure, where its caller is, whether outermost)
        self.children: Optional[List[int]] = None


class Callers(View):
    """Bottom up: a root per procedure, below it its callers. Inclusive figures count outermost instances alone."""

    name = "callers"

    def __init__(self, database: "Database", figures: Figures) -> None:
        super().__init__(database, figures)
        self._entries: List[Entry] = []
        self._caller: Dict[int, int] = {}
        self._latest = -1  # the node that was looked at last, and its summaries by metric and scope
        self._summaries: Dict[Tuple[int, bool], List[Accumulator]] = {}
        instances = database.procedures.instances
        for number in range(len(database.procedures)):
            if instances.end(number + 1) > instances.end(number):
                self._entries.append(Entry(number, None, None))
        self._own = len(self._entries)

    def _instances(self, number: int) -> List[Tuple[int, int, bool]]:
        entry = self._entries[number]
        if entry.instances is None:
            entry.instances, end = [], 0
            for context in self.database.procedures.instances[entry.procedure]:
                first = context >= end
                end = self.database.contexts[context].end if first else end
                entry.instances.append((context, context, first))
        return entry.instances

    def _caller_of(self, context: int) -> int:
        if context not in self._caller:
            parent = self.database.contexts[context].parent
            found = self.database.contexts.inside(parent, (PROCEDURE, INLINED)) if parent != NONE else None
            self._caller[context] = NONE if found is None else found
        return self._caller[context]

    def _roots(self) -> List[int]:
        return list(range(self._own))

    def _children(self, number: int) -> List[int]:
        entry = self._entries[number]
        if entry.children is None:
            by_caller: Dict[int, List[Tuple[int, int, bool]]] = {}
            for procedure, at, first in self._instances(number):
                caller = self._caller_of(at)
                if caller != NONE and (of := self.database.procedures.of(caller)) != NONE:
                    by_caller.setdefault(of, []).append((procedure, caller, first))
            entry.children = list(range(len(self._entries), len(self._entries) + len(by_caller)))
            self._entries += [Entry(of, number, by_caller[of]) for of in sorted(by_caller)]
        return entry.children

    def _parent(self, number: int) -> Optional[int]:
        return self._entries[number].parent

    def _id(self, number: int) -> str:
        entry, parts = self._entries[number], []
        parts.append(str(entry.procedure))
        while entry.parent is not None:
            entry = self._entries[entry.parent]
            parts.append(str(entry.procedure))
        return "p" + ".".join(reversed(parts))

    def _frame(self, number: int) -> Frame:
        return self.database.contexts.frame(self.database.procedures[self._entries[number].procedure][0])

    def _flags(self, number: int) -> int:
        if number < self._own:
            return self.database.procedures[self._entries[number].procedure][2]
        flags = [self.database.contexts[at].flags for _, at, _ in self._instances(number)]
        every = flags[0]
        for each in flags:
            every &= each
        return every | (FRONTIER if any(each & FRONTIER for each in flags) else 0)

    def _value(self, number: int, column: Column) -> float:
        if number < self._own:
            flat = self.database.procedures[self._entries[number].procedure][1]
            if flat != NONE:
                return self.figures.at(True, column, flat)
        if column.blame and self.figures.selection is not None:
            return math.nan
        if column.blame and not column.inclusive:
            return self._own_blame(number, column)
        if column.additive or column.blame:
            chosen = [procedure for procedure, _, first in self._instances(number) if first or not column.inclusive]
            return sum((self.figures.at(False, column, procedure) for procedure in chosen), 0.0)
        return column.figure(self._by_role(number, column.metric, column.inclusive), self.figures.threads)

    def _by_role(self, number: int, metric: int, inclusive: bool) -> List[Accumulator]:
        """From the values per thread. Those of one node are kept, for its other statistics."""
        if self._latest != number:
            self._latest, self._summaries = number, {}
        key = metric, inclusive
        if key not in self._summaries:
            self._summaries[key] = self.figures.by_role(self._per_thread(number, metric, inclusive))
        return self._summaries[key]

    def _own_blame(self, number: int, column: Column) -> float:
        """On the procedures' own code, loops and inlined code, call sites in them included."""
        rows, contexts = self.database.blame_rows, self.database.contexts
        by_role = []
        for role in range(len(self.figures.threads)):
            sums = [0, 0, 0]
            for procedure, _, _ in self._instances(number):
                for first, end in own_stretches(contexts, procedure):
                    sums = [a + b for a, b in zip(sums, rows.between(role, first, end))]
            by_role.append(Blame(*sums))
        return column.figure(by_role, self.figures.threads)

    def _presence(self, number: int, role: Optional[int]) -> Tuple[Optional[int], int]:
        # The instances' observers overlap: exact where there is one instance, or where all threads observed one.
        each = [self.figures.presence(False, procedure, role) for procedure, _, _ in self._instances(number)]
        most, threads = max(seen for seen, _ in each), each[0][1]
        return (most if len(each) == 1 or most == threads else None), threads

    def _per_thread(self, number: int, metric: int, inclusive: bool) -> List[int]:
        chosen = [procedure for procedure, _, first in self._instances(number) if first or not inclusive]
        return self.figures.per_thread(chosen, metric, inclusive)

    def _find(self, id: str) -> Optional[int]:
        if not re.fullmatch(r"p[0-9]+(\.[0-9]+)*", id):
            return None
        level, found = self._roots(), None
        for part in id[1:].split("."):
            found = next((number for number in level if self._entries[number].procedure == int(part)), None)
            if found is None:
                return None
            level = self._children(found)
        return found


def own_stretches(contexts: Scopes, procedure: int) -> List[Tuple[int, int]]:
    """The contexts below a procedure that lie in no procedure below it, as stretches [first, end)."""
    stretches, first, below, end = [], procedure, procedure + 1, contexts[procedure].end
    while below < end:
        nested = contexts[below]
        if nested.kind == PROCEDURE:
            stretches.append((first, below))
            first = below = nested.end
        else:
            below += 1
    return [*stretches, (first, end)]


VIEWS = {view.name: view for view in (CallingContext, Callers, Flat)}
