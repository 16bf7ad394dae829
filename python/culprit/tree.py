"""Trees of figures: nodes, views of them, and what a filter leaves of a view.

Nodes are made when they are looked at, so a view costs what is looked at of it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Pattern, Sequence, Tuple, Union

from .errors import UnknownName
from .figures import Figures
from .metrics import Column, find_column
from .scopes import CALL, FRONTIER, IN_WAIT, KINDS, STATEMENT, Frame
from .table import Table

if TYPE_CHECKING:
    from .database import Database

Condition = Callable[["Node"], bool]


def numbers(values: List[float]):
    """A numpy array where numpy is present, else array.array('d')."""
    try:
        import numpy
    except ImportError:
        import array

        return array.array("d", values)
    return numpy.array(values, dtype=float)


class Node:
    """A node of a view. `node["REALTIME:sum (I)"]` is a figure in the metric's unit, `node.per_thread(...)` one value for
    each thread; iterating gives the children."""

    __slots__ = ("view", "number")

    def __init__(self, view: "View", number: int) -> None:
        self.view, self.number = view, number

    @property
    def id(self) -> str:
        """Its name in this database, as `viewer-cli view --ids` prints it: `c12`, `f3`, `p7.12`."""
        return self.view._id(self.number)

    @property
    def frame(self) -> Frame:
        """name, file, line, module, kind."""
        return self.view._frame(self.number)

    @property
    def label(self) -> str:
        """What it is called on the screen."""
        return self.frame.label

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def kind(self) -> str:
        return self.frame.kind

    @property
    def parent(self) -> Optional["Node"]:
        number = self.view._parent(self.number)
        return None if number is None else Node(self.view, number)

    @property
    def children(self) -> List["Node"]:
        return [Node(self.view, child) for child in self.view._children(self.number)]

    @property
    def path(self) -> List["Node"]:
        """From the root to this node."""
        path: List[Node] = []
        node: Optional[Node] = self
        while node is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    @property
    def waits(self) -> bool:
        """Whether it is a call that waits (at the frontier of idleness), or lies below one."""
        return bool(self.view._flags(self.number) & (FRONTIER | IN_WAIT))

    @property
    def observers(self) -> Optional[int]:
        """How many threads were seen here; None where that is not known exactly."""
        return self.view._presence(self.number, None)[0]

    def __getitem__(self, metric: str) -> float:
        return self.value(metric)

    def value(self, metric: str, role: Optional[str] = None) -> float:
        """The figure of a metric, in `view.unit(metric)`: of all threads, or of one role. NaN where it does not exist."""
        return self.view._value(self.number, self.view.column(metric, role))

    def share(self, metric: Optional[str] = None) -> float:
        """Its part of the whole run, 0 to 1."""
        column = self.view.column(metric or self.view.main)
        whole = self.view._total(column)
        return self.view._value(self.number, column) / whole if whole else 0.0

    def per_thread(self, metric: Optional[str] = None):
        """A value for each thread, in the order of `database.threads`, in the metric's unit; 0 where a thread is not
        selected. Shape: (threads,); numpy where it is present. The name's statistic plays no part."""
        column = self.view.column(metric or self.view.main)
        if column.blame or self.view.database.meta.metrics[column.metric].summary_only:
            raise UnknownName(f"{column.event} has no values per thread (it is computed over all threads; try idleness)")
        divisor = column._replace(statistic="sum").divisor if column.unit != "threads" else 1.0
        return numbers([value / divisor for value in self.view._per_thread(self.number, column.metric, column.inclusive)])

    def walk(self) -> Iterator["Node"]:
        """The node and all below it, parents first."""
        left = [self]
        while left:
            node = left.pop()
            yield node
            left.extend(reversed(node.children))

    def find(self, pattern: Union[str, Pattern[str]]) -> List["Node"]:
        """Nodes here or below whose label matches a regular expression."""
        matches = re.compile(pattern).search
        return [node for node in self.walk() if matches(node.label)]

    def __iter__(self) -> Iterator["Node"]:
        return iter(self.children)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.view is other.view and self.number == other.number

    def __hash__(self) -> int:
        return hash((id(self.view), self.number))

    def __repr__(self) -> str:
        value, unit = self[self.view.main], self.view.unit(self.view.main)
        return f"<{self.id} {self.label}: {value:.6g} {unit}, {100 * self.share():.1f} %>"


class View:
    """A forest of nodes; see `database.calling_context`, `callers`, `flat` and `view()`. Iterating gives the roots."""

    name = ""

    def __init__(self, database: "Database", figures: Figures) -> None:
        self.database, self.figures = database, figures
        self._columns: Dict[Tuple[str, Optional[str]], Column] = {}

    # What each kind of view knows by a node's number.
    def _roots(self) -> List[int]:
        raise NotImplementedError

    def _children(self, number: int) -> List[int]:
        raise NotImplementedError

    def _parent(self, number: int) -> Optional[int]:
        raise NotImplementedError

    def _id(self, number: int) -> str:
        raise NotImplementedError

    def _frame(self, number: int) -> Frame:
        raise NotImplementedError

    def _flags(self, number: int) -> int:
        raise NotImplementedError

    def _value(self, number: int, column: Column) -> float:
        raise NotImplementedError

    def _presence(self, number: int, role: Optional[int]) -> Tuple[Optional[int], int]:
        raise NotImplementedError

    def _per_thread(self, number: int, metric: int, inclusive: bool) -> List[int]:
        raise NotImplementedError

    def _find(self, id: str) -> Optional[int]:
        raise NotImplementedError

    @property
    def main(self) -> str:
        """The metric that the run is measured in: `REALTIME:sum (I)` unless time was not sampled."""
        metrics = self.database.meta.metrics
        return (metrics[self.figures.main].name if metrics else "REALTIME") + ":sum (I)"

    @property
    def roots(self) -> List[Node]:
        return [Node(self, number) for number in self._roots()]

    def column(self, metric: str, role: Optional[str] = None) -> Column:
        """What a metric's name stands for. Raises UnknownName."""
        key = metric, role
        if key not in self._columns:
            self._columns[key] = find_column(self.database.meta, metric, role)
        return self._columns[key]

    def unit(self, metric: str) -> str:
        """s, count, ratio (of cv), threads (of count), or the metric's own."""
        return self.column(metric).unit

    def _total(self, column: Column) -> float:
        """The inclusive figure of the whole run, to which shares refer."""
        return self.figures.at(False, column._replace(inclusive=True), 0)

    def node(self, id: str) -> Node:
        """The node of an id. Raises UnknownName."""
        number = self._find(id)
        if number is None:
            raise UnknownName(f"no node '{id}' in the view {self.name} (ids are those of viewer-cli view --ids)")
        return Node(self, number)

    def walk(self) -> Iterator[Node]:
        """All nodes, parents first. Of callers that is quadratic: filter by depth first."""
        for root in self.roots:
            yield from root.walk()

    def find(self, pattern: Union[str, Pattern[str]]) -> List[Node]:
        """Nodes whose label matches a regular expression (searched for, not anchored), parents first."""
        return [node for root in self.roots for node in root.find(pattern)]

    def filter(
        self,
        focus: Union[str, Pattern[str], None] = None,
        *,
        min_share: float = 0.0,
        metric: Optional[str] = None,
        depth: Optional[int] = None,
        where: Optional[Condition] = None,
    ) -> "Filtered":
        """A part of the view, which is a view again.

        `focus`: paths through a node whose label matches. `min_share`: without branches that have less than this part (0
        to 1) of the run's `metric` (time unless given). `depth`: levels below the roots; call sites do not count.
        `where`: paths through a node of which it is true.
        """
        conditions: List[Condition] = [where] if where else []
        if focus is not None:
            matches = re.compile(focus).search
            conditions.append(lambda node: matches(node.label) is not None)
        column = self.column(metric or self.main)._replace(inclusive=True)
        least = self._total(column) * min_share if min_share > 0 else None
        return Filtered(self, conditions, column, least, depth)

    def table(self, metrics: Union[str, Sequence[str], None] = None, *, sort: Optional[str] = None, role: Optional[str] = None) -> Table:
        """A row per node, parents first, siblings by `sort` (the first metric unless given), largest first: the rows of
        `viewer-cli DB view NAME --format csv`. Combine it with filter()."""
        metrics = [metrics] if isinstance(metrics, str) else metrics
        names = list(metrics) if metrics is not None else self.default_metrics()
        columns = [self.column(name, role) for name in names]
        order = self.column(sort or (names[0] if metrics else self.main), role)
        heads = ("id", "parent", "depth", "kind", "name", "file", "line", "module")
        titles = [column.title for column in columns]
        units = {column.title: column.unit for column in columns}
        return Table((*heads, *titles, "observers", "threads"), self._rows(columns, order), units)

    def default_metrics(self) -> List[str]:
        names = [self.main, self.main.replace("(I)", "(E)")]
        if any(metric.name == "idleness" for metric in self.database.meta.metrics):
            names += ["idleness:sum (I)"] + (["imbalance:sum (E)"] if self.figures.selection is None else [])
        return names

    def _sorted(self, siblings: List[int], column: Column) -> List[int]:
        def key(number: int) -> float:
            value = self._value(number, column)
            return math.inf if math.isnan(value) else -value

        return sorted(siblings, key=key)

    def _rows(self, columns: List[Column], order: Column) -> Iterator[Tuple[Any, ...]]:
        left = [(number, "", 0) for number in reversed(self._sorted(self._roots(), order))]
        while left:
            number, parent, depth = left.pop()
            frame, id = self._frame(number), self._id(number)
            figures = [self._value(number, column) for column in columns]
            figures = [None if math.isnan(value) else value for value in figures]
            where = (frame.kind, frame.name, frame.file, frame.line, frame.module)
            yield (id, parent, depth, *where, *figures, *self._presence(number, order.role))
            children = self._sorted(self._children(number), order)
            left.extend((child, id, depth + 1) for child in reversed(children))

    def text(self, metric: Optional[str] = None, *, lines: int = 40, calls: bool = False) -> str:
        """The tree as indented text with the value and share of a metric, siblings with more of it first. `calls`: with
        call sites and source lines. `print(db.calling_context.filter(min_share=0.01).text())`."""
        name = metric or self.main
        column = self.column(name)
        whole, rows = self._total(column), []
        left = [(number, 0) for number in reversed(self._sorted(self._shown(self._roots(), calls), column))]
        while left and len(rows) < lines:
            number, depth = left.pop()
            value = self._value(number, column)
            share = f"{100 * value / whole:5.1f} %" if whole and column.additive else ""
            rows.append(f"{value:12.6g} {column.unit:<3} {share}  {'  ' * depth}{self._frame(number).label}".rstrip())
            below = self._sorted(self._shown(self._children(number), calls), column)
            left.extend((child, depth + 1) for child in reversed(below))
        return "\n".join([column.title, *rows, *(["…"] if left else [])])

    def _shown(self, siblings: List[int], calls: bool) -> List[int]:
        """Without source lines, and what is called in the place of call sites."""
        if calls:
            return siblings
        found, left = [], list(reversed(siblings))
        while left:
            number = left.pop()
            kind = self._frame(number).kind
            if kind == KINDS[CALL]:
                left.extend(reversed(self._children(number)))
            elif kind != KINDS[STATEMENT]:
                found.append(number)
        return found

    def __iter__(self) -> Iterator[Node]:
        return iter(self.roots)

    def __repr__(self) -> str:
        column = self.column(self.main)
        threads = len(self.figures.locations)
        return f"<view {self.name} of {threads} threads: {len(self._roots())} roots, {self._total(column):.6g} {column.unit}>"


class Filtered(View):
    """What View.filter leaves of a view; nodes and figures are those of the view."""

    def __init__(
        self, base: View, conditions: List[Condition], column: Column, least: Optional[float], depth: Optional[int]
    ) -> None:
        super().__init__(base.database, base.figures)
        self.base, self.name = base, base.name
        self._limits = column, least, depth
        self._below: Dict[int, List[int]] = {}
        self._top: List[int] = []
        self._arrange(conditions)

    def _candidates(self, siblings: List[int]) -> List[int]:
        column, least, _ = self._limits
        return siblings if least is None else [number for number in siblings if self.base._value(number, column) >= least]

    def _arrange(self, conditions: List[Condition]) -> None:
        deepest = self._limits[2]
        found: List[Tuple[int, int, bool]] = []  # number, place of the parent, whether on a path that is wanted
        left = [(number, -1, 0, [False] * len(conditions)) for number in reversed(self._candidates(self.base._roots()))]
        while left:
            number, parent, depth, before = left.pop()
            met = [was or condition(Node(self.base, number)) for was, condition in zip(before, conditions)]
            place = len(found)
            found.append((number, parent, all(met)))
            counts = self.base._frame(number).kind != KINDS[CALL]
            if deepest is not None and counts and depth >= deepest:
                continue
            below = self._candidates(self.base._children(number))
            left.extend((child, place, depth + 1 if counts else depth, met) for child in reversed(below))
        self._keep(found)

    def _keep(self, found: List[Tuple[int, int, bool]]) -> None:
        keep = [wanted for _, _, wanted in found]
        for place in range(len(found) - 1, -1, -1):
            if keep[place] and found[place][1] >= 0:
                keep[found[place][1]] = True
        for (number, parent, _), kept in zip(found, keep):
            if kept:
                self._below[number] = []
                (self._top if parent < 0 else self._below[found[parent][0]]).append(number)

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._below)

    def _roots(self) -> List[int]:
        return self._top

    def _children(self, number: int) -> List[int]:
        return self._below.get(number, [])

    def _parent(self, number: int) -> Optional[int]:
        return self.base._parent(number)

    def _id(self, number: int) -> str:
        return self.base._id(number)

    def _frame(self, number: int) -> Frame:
        return self.base._frame(number)

    def _flags(self, number: int) -> int:
        return self.base._flags(number)

    def _value(self, number: int, column: Column) -> float:
        return self.base._value(number, column)

    def _presence(self, number: int, role: Optional[int]) -> Tuple[Optional[int], int]:
        return self.base._presence(number, role)

    def _per_thread(self, number: int, metric: int, inclusive: bool) -> List[int]:
        return self.base._per_thread(number, metric, inclusive)

    def _find(self, id: str) -> Optional[int]:
        number = self.base._find(id)
        return number if number in self._below else None
