"""For Hatchet: the literal format that `hatchet.GraphFrame.from_literal` reads, as `viewer-cli DB export hatchet` writes it.

Scopes without call sites and source lines: what a scope calls from several lines is one scope below it. An exclusive
figure is what no scope below has, so that exclusive figures add up to the total. The wall-clock time is called `time`,
which Hatchet looks for; ` (inc)` marks inclusive metrics. What its reader demands: every node has a frame, whose values
can be compared and hashed and of which each attribute has one type in all nodes, a name that is not empty, and the same
metrics in the same order; children are optional. It follows children by recursion.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from .metrics import Column, find_column, main_metric
from .scopes import CALL, NONE, STATEMENT

if TYPE_CHECKING:
    from .database import Database
    from .figures import Figures

FRAMES_PER_LEVEL, LEVELS_BESIDE = 1, 200  # of Python's stack, as the reader uses it


def metrics_of(database: "Database") -> List[Tuple[str, Column]]:
    """Those with values per thread, by the names that Hatchet sees."""
    found, main = [], main_metric(database.meta)
    for number, metric in enumerate(database.meta.metrics):
        if not metric.summary_only:
            name = "time" if number == main and metric.unit == "ns" else metric.name
            found.append((name, find_column(database.meta, metric.name + ":sum (I)")))
    return found


def literal(database: "Database", figures: "Figures") -> List[Dict[str, Any]]:
    """One tree, as dicts of frame, metrics and children."""
    metrics, contexts = metrics_of(database), database.contexts
    known: Dict[tuple, int] = {}
    scope_of: List[int] = []
    parents: List[int] = []
    frames: List[Dict[str, Any]] = []
    own: List[List[float]] = []
    whole: List[List[float]] = []
    for number, context in enumerate(contexts):
        parent = NONE if context.parent == NONE else scope_of[context.parent]
        if context.kind in (CALL, STATEMENT):
            scope_of.append(parent)
            continue
        identity = (parent, context.kind, context.name, context.file, context.module, context.line)
        scope = known.setdefault(identity, len(known))
        scope_of.append(scope)
        if scope == len(frames):
            frame = contexts.frame_of(context)
            frames.append({"name": frame.label, "type": frame.kind, "file": frame.file, "line": frame.line, "module": frame.module})
            parents.append(parent)
            own.append([0.0] * len(metrics))
            whole.append([0.0] * len(metrics))
        for i, (_, column) in enumerate(metrics):
            value = figures.at(False, column._replace(divisor=1.0), number)
            own[scope][i] += value
            whole[scope][i] += value
            if parent != NONE:
                own[parent][i] -= value
    nodes: List[Dict[str, Any]] = []
    for scope, frame_of in enumerate(frames):
        shown: Dict[str, float] = {}
        for i, (name, column) in enumerate(metrics):
            shown[name] = own[scope][i] / column.divisor
            shown[name + " (inc)"] = whole[scope][i] / column.divisor
        nodes.append({"frame": frame_of, "metrics": shown, "children": []})
        if parents[scope] != NONE:
            nodes[parents[scope]]["children"].append(nodes[scope])
    return nodes[:1]


def depth(nodes: List[Dict[str, Any]]) -> int:
    """How many levels a literal has."""
    level, levels = list(nodes), 0
    while level:
        level, levels = [child for node in level for child in node["children"]], levels + 1
    return levels


def graph_frame(nodes: List[Dict[str, Any]]):
    """A hatchet.GraphFrame. Its reader recurses: Python's limit is raised for the time that it reads a deep tree."""
    import hatchet

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES_PER_LEVEL * depth(nodes) * 2 + LEVELS_BESIDE))
    try:
        return hatchet.GraphFrame.from_literal(nodes)
    finally:
        sys.setrecursionlimit(before)
