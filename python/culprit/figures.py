"""Figures of scopes, over all threads or some (docs/algorithms.md 2 to 5).

Over all threads they come from the summaries of the database. Over some of them they are formed here from the values of
these threads, as merging forms those of all.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from .metrics import Blame, Column, main_metric
from .parts import Part
from .scopes import CALL, FILE, INLINED, LOOP, MODULE, NONE, PROCEDURE, ROOT, STATEMENT, Scope, outermost
from .summaries import NOTHING, Accumulator, accumulated

if TYPE_CHECKING:
    from .database import Database

Values = Dict[int, int]  # by scope
Contexts = Any  # scopes by number
FIELDS = {"count": 1, "sum": 2, "mean": 2}  # of an accumulator that a statistic needs
NESTED = (LOOP, INLINED)  # scopes within a procedure frame that hold statements and calls


class BlameRows:
    """Blame by context (sums over the rows so far) and by flat scope."""

    BY_CONTEXT, BY_FLAT = struct.Struct("<II3Q"), struct.Struct("<II6Q")

    def __init__(self, contexts: Part, flat: Part) -> None:
        self.contexts, self.flat = contexts, flat

    def below(self, part: Part, form: struct.Struct, key: Tuple[int, int]) -> int:
        """How many rows come before a role and scope."""
        first, last = 0, part.size // form.size
        while first < last:
            middle = (first + last) // 2
            if part.unpack(form, middle * form.size)[:2] < key:
                first = middle + 1
            else:
                last = middle
        return first

    def sums_before(self, role: int, context: int) -> Tuple[int, int, int]:
        row = self.below(self.contexts, self.BY_CONTEXT, (role, context))
        if row == 0:
            return 0, 0, 0
        of, _, *sums = self.contexts.unpack(self.BY_CONTEXT, (row - 1) * self.BY_CONTEXT.size)
        return (sums[0], sums[1], sums[2]) if of == role else (0, 0, 0)

    def between(self, role: int, first: int, end: int) -> Blame:
        """Of the contexts from `first` to before `end`."""
        below, within = self.sums_before(role, first), self.sums_before(role, end)
        return Blame(*((b - a) % 2**64 for a, b in zip(below, within)))

    def of_flat(self, role: int, scope: int, inclusive: bool) -> Blame:
        row = self.below(self.flat, self.BY_FLAT, (role, scope)) * self.BY_FLAT.size
        if row + self.BY_FLAT.size > self.flat.size:
            return Blame()
        of, found, *sums = self.flat.unpack(self.BY_FLAT, row)
        if (of, found) != (role, scope):
            return Blame()
        return Blame(*sums[:3]) if inclusive else Blame(*sums[3:])


class Selection:
    """Summaries over some threads, formed metric by metric as they are asked for."""

    def __init__(self, database: "Database", locations: Sequence[int]) -> None:
        self.database, self.locations = database, list(locations)
        self.formed: Dict[int, Dict[Tuple[int, bool, bool], Dict[int, Accumulator]]] = {}

    def get(self, flat: bool, role: int, metric: int, scope: int, inclusive: bool) -> Accumulator:
        if self.database.meta.metrics[metric].summary_only:
            return NOTHING
        if metric not in self.formed:
            self.formed[metric] = self.form(metric)
        return self.formed[metric].get((role, flat, inclusive), {}).get(scope, NOTHING)

    def form(self, metric: int) -> Dict[Tuple[int, bool, bool], Dict[int, Accumulator]]:
        by_scope: Dict[Tuple[int, bool, bool], Dict[int, List[int]]] = {}
        roles = self.database.locations.roles
        for location in self.locations:
            profile = self.database.tiles.profile(location)
            values = dict(zip(profile.indices, profile.column(metric) if metric < len(profile.forms) else ()))
            for kind, found in spread(self.database, values).items():
                into = by_scope.setdefault((roles[location], *kind), {})
                for scope, value in found.items():
                    into.setdefault(scope, []).append(value)
        return {kind: {scope: accumulated(values) for scope, values in of.items()} for kind, of in by_scope.items()}


def spread(database: "Database", own: Values) -> Dict[Tuple[bool, bool], Values]:
    """One thread's values by scope: {(of flat scopes, inclusive): values}."""
    contexts, flat = database.contexts, database.flat_scopes
    scopes: Dict[int, Scope] = {}
    for context in own:
        while context != NONE and context not in scopes:
            scopes[context] = contexts[context]
            context = scopes[context].parent
    inclusive = dict.fromkeys(scopes, 0)
    exclusive: Values = {}
    flat_exclusive: Values = {}
    for context, value in own.items():
        if not value:
            continue
        inclusive[context] += value
        for scope in (context, *exclusive_owners(scopes, context)):
            exclusive[scope] = exclusive.get(scope, 0) + value
        for scope in exclusive_flat(scopes, flat, context):
            flat_exclusive[scope] = flat_exclusive.get(scope, 0) + value
    for context in sorted(scopes, reverse=True):
        if context:
            inclusive[scopes[context].parent] += inclusive[context]
    flat_inclusive = add_outermost(database, scopes, inclusive)
    return {(False, True): inclusive, (False, False): exclusive, (True, True): flat_inclusive, (True, False): flat_exclusive}


def add_outermost(database: "Database", scopes: Dict[int, Scope], inclusive: Values) -> Values:
    """Of each flat scope, the inclusive values of its contexts that lie in no other of its contexts."""
    flat, found = database.flat_scopes, {}  # type: ignore[var-annotated]
    around: Dict[int, List[int]] = {}
    ends: Dict[int, int] = {}  # of the open instance of each scope
    for context in sorted(scopes):
        innermost = scopes[context].flat
        if innermost not in around:
            around[innermost] = flat.ancestors(innermost) if innermost != NONE else []
        for scope in around[innermost]:
            if ends.get(scope, 0) <= context:
                ends[scope] = scopes[context].end
                found[scope] = found.get(scope, 0) + inclusive[context]
    return found


class Figures:
    """What views show. `locations`: None for all threads."""

    def __init__(self, database: "Database", locations: Optional[Sequence[int]] = None) -> None:
        self.database = database
        self.selection = None if locations is None else Selection(database, locations)
        self.locations = range(len(database.locations)) if locations is None else list(locations)
        roles = database.meta.roles
        self.threads = [role.threads for role in roles]
        if locations is not None:
            of = database.locations.roles
            self.threads = [sum(of[location] == role for location in locations) for role in range(len(roles))]
        self.main = main_metric(database.meta)

    def summary(self, flat: bool, role: int, metric: int, scope: int, inclusive: bool, fields: int = 5) -> Accumulator:
        if self.selection is not None:
            return self.selection.get(flat, role, metric, scope, inclusive)
        tables = self.database.flat_summaries if flat else self.database.context_summaries
        return tables.get(role, metric, scope, inclusive, fields)

    def at(self, flat: bool, column: Column, scope: int) -> float:
        """The figure of a column at a context or flat scope; NaN where it does not exist."""
        roles = range(len(self.threads))
        if not column.blame:
            fields = FIELDS.get(column.statistic, 5)
            by_role = [
                self.summary(flat, role, column.metric, scope, column.inclusive, fields) if column.role in (None, role) else NOTHING
                for role in roles
            ]
            return column.figure(by_role, self.threads)
        if self.selection is not None:
            return math.nan
        rows = self.database.blame_rows
        if flat:
            return column.figure([rows.of_flat(role, scope, column.inclusive) for role in roles], self.threads)
        end = self.database.contexts[scope].end if column.inclusive else scope + 1
        return column.figure([rows.between(role, scope, end) for role in roles], self.threads)

    def by_role(self, values: Sequence[int]) -> List[Accumulator]:
        """Summaries of a value per location."""
        of = self.database.locations.roles
        by_role: List[List[int]] = [[] for _ in self.threads]
        for location in self.locations:
            by_role[of[location]].append(values[location])
        return [accumulated(each) for each in by_role]

    def presence(self, flat: bool, scope: int, role: Optional[int]) -> Tuple[int, int]:
        """How many threads were seen at the scope, of how many."""
        roles = range(len(self.threads)) if role is None else [role]
        seen = sum(self.summary(flat, each, self.main, scope, True, 1).observers for each in roles)
        return seen, sum(self.threads[each] for each in roles)

    def kept(self, values: List[int]) -> List[int]:
        """Values by location, 0 for those that are not selected."""
        if self.selection is None:
            return values
        chosen = set(self.locations)
        return [value if location in chosen else 0 for location, value in enumerate(values)]

    def per_thread(self, contexts: Sequence[int], metric: int, inclusive: bool) -> List[int]:
        """Sums over contexts (none of them below another where inclusive), by location, in the stored unit."""
        database = self.database
        if inclusive:
            ranges = [(context, database.contexts[context].end) for context in sorted(contexts)]
            return self.kept(database.tiles.inclusive(ranges, metric))
        parts = {part for context in contexts for part in exclusive_part(database, context)}
        return self.kept(database.tiles.exclusive(sorted(parts), metric))

    def flat_per_thread(self, scope: int, metric: int, inclusive: bool) -> List[int]:
        database = self.database
        fields = database.flat_scopes[scope]
        if inclusive:
            return self.per_thread(outermost(database.flat_instances.between(scope, fields.end), database.contexts), metric, True)
        if fields.kind in (FILE, MODULE):
            values = database.tiles.exclusive_of_scope(scope, metric)
            if values is not None:
                return self.kept(values)
        if fields.kind in (FILE, MODULE, ROOT):
            instances = database.flat_instances.between(scope, fields.end)
            instances = [context for context in instances if database.contexts[context].kind == PROCEDURE]
        else:
            instances = database.flat_instances.between(scope, scope + 1)
        return self.per_thread(instances, metric, False)


def exclusive_owners(contexts: Contexts, context: int) -> List[int]:
    """Whose exclusive values what is recorded at a context adds to, besides its own (docs/algorithms.md 3): the loop or inlined
    procedure that a statement or call stands in, and the frame around, of what is no callee of it."""
    kind = contexts[context].kind
    leaf = kind in (STATEMENT, CALL)
    if not leaf and kind not in NESTED:
        return []
    scope, owners = contexts[context].parent, []
    if leaf and contexts[scope].kind in NESTED:
        owners.append(scope)
    while contexts[scope].kind in NESTED:
        scope = contexts[scope].parent
    if contexts[scope].kind == PROCEDURE:
        owners.append(scope)
    return owners


def exclusive_flat(contexts: Contexts, flat: Contexts, context: int) -> List[int]:
    """The flat scopes whose exclusive values what is recorded at a context adds to: the innermost that it is an instance of or
    stands in, the one around a statement, and procedure, file and module."""
    while context != NONE and contexts[context].flat == NONE:
        context = contexts[context].parent
    if context == NONE:
        return []
    innermost = contexts[context].flat
    around = flat[innermost].parent if flat[innermost].kind == STATEMENT else NONE
    found, scope = [], innermost
    while scope not in (NONE, 0):
        if scope in (innermost, around) or flat[scope].kind not in NESTED:
            found.append(scope)
        scope = flat[scope].parent
    return found


def exclusive_part(database: "Database", context: int) -> List[int]:
    """The contexts whose own values are the exclusive ones of `context`."""
    contexts = database.contexts
    part, below, end = [context], context + 1, contexts[context].end
    while below < end:
        belongs = context in exclusive_owners(contexts, below)
        if belongs:
            part.append(below)
        below = below + 1 if belongs and contexts[below].kind in NESTED else contexts[below].end
    return part
