"""A database as Python sees it. Everything is read when it is asked for, and kept."""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import Any, Dict, Iterable, List, Pattern, Set, Union

from . import findings, hatchet, time_lines
from .errors import UnknownName
from .figures import BlameRows, Figures
from .metrics import IMBALANCE, find_column
from .parts import (
    BLAME, CONTEXT_SUMMARY_DATA, CONTEXT_SUMMARY_INDEX, CONTEXTS, FLAT, FLAT_BLAME, FLAT_INSTANCE_ENDS, FLAT_INSTANCES,
    FLAT_SUMMARY_DATA, FLAT_SUMMARY_INDEX, LOCATIONS, META, MODULES, PROCEDURE_INSTANCES, PROCEDURE_OF_CONTEXT, PROCEDURES,
    STRING_BYTES, STRING_ENDS, TILES, BALANCE, File,
)  # fmt: skip
from .run import CLOCKS_NOT_COMPARED, Locations, Meta, decode_modules
from .scopes import ContextLists, Procedures, Scopes, Strings
from .sources import Sources
from .summaries import SummaryTables
from .table import Table
from .text import seconds, spelled
from .tiles import Tiles
from .tree import Node, View
from .views import VIEWS

Ranks = Union[str, Iterable[int], None]


class Database:
    """What `culprit.open` gives: the run (`info`, `metrics`, `threads`), the views (`calling_context`, `callers`, `flat`),
    and what merging found, as tables (`waits`, `causes`, `blame`, `suspects`, …). Times are in seconds.

    Raises culprit.FormatError where the file is damaged, when it is opened or when the damaged part is first looked at.
    """

    def __init__(self, path: "os.PathLike[str] | str") -> None:
        self.file = File(path)
        try:
            self._open(self.file)
        except BaseException:
            self.file.close()
            raise

    def _open(self, file: File) -> None:
        part = file.sections
        self.path = file.path
        self.meta = Meta(part[META])
        self.modules = Table(
            ("path", "build_id", "samples", "unwind_information", "bridged", "partial", "notes"),
            [(m["path"], m["build_id"], m["samples"], m["unwind_information"], m["bridged"], m["partial"], m["notes"])
             for m in decode_modules(part[MODULES])],
        )  # fmt: skip
        roles, metrics = len(self.meta.roles), len(self.meta.metrics)
        flat = part[FLAT].size // 28
        self.strings = Strings(part[STRING_ENDS], part[STRING_BYTES])
        self.contexts = Scopes(part[CONTEXTS], 32, self.strings, flat)
        self.flat_scopes = Scopes(part[FLAT], 28, self.strings, flat)
        contexts = len(self.contexts)
        self.locations = Locations(part[LOCATIONS], self.meta)
        self.context_summaries = SummaryTables(part[CONTEXT_SUMMARY_INDEX], part[CONTEXT_SUMMARY_DATA], roles, metrics)
        self.flat_summaries = SummaryTables(part[FLAT_SUMMARY_INDEX], part[FLAT_SUMMARY_DATA], roles, metrics)
        self.flat_instances = ContextLists(part[FLAT_INSTANCE_ENDS], 4, 0, part[FLAT_INSTANCES], contexts)
        instances = ContextLists(part[PROCEDURES], 16, 8, part[PROCEDURE_INSTANCES], contexts)
        self.procedures = Procedures(part[PROCEDURES], part[PROCEDURE_OF_CONTEXT], instances, contexts, flat)
        self.blame_rows = BlameRows(part[BLAME], part[FLAT_BLAME])
        self.tiles = Tiles(part[TILES], file, contexts, metrics)
        whole = (
            contexts > 0 and flat > 0 and self.strings.size > 0
            and part[BALANCE].size == roles * contexts
            and part[PROCEDURE_OF_CONTEXT].size == contexts * 4
            and len(self.flat_instances) == flat
        )  # fmt: skip
        if not whole:
            file.fail("its sections contradict each other")
        if self.tiles.size != len(self.locations):
            file.fail("its tiles hold other locations than it has")

    def close(self) -> None:
        """Gives the file back. What was not read before raises ValueError afterwards."""
        self.file.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The run.
    @property
    def command(self) -> List[str]:
        """What was run, with its arguments."""
        return self.meta.command

    @property
    def ranks(self) -> int:
        """How many MPI ranks were measured; 0 without MPI."""
        return self.meta.ranks

    @property
    def duration_s(self) -> float:
        return seconds(self.meta.duration_ns)

    @cached_property
    def threads(self) -> Table:
        """Every measured thread: number, rank (None where there is none), thread, role, process (host:pid), how long it
        lived, whether its process was cut short. Values per thread are in this order."""
        rows = [self.locations[number] for number in range(len(self.locations))]
        return Table(("number", "rank", "thread", "role", "process", "lived_s", "cut_short"), rows, {"lived_s": "s"})

    @property
    def metrics(self) -> Table:
        """What was measured, and the unit of the values that views show. `NAME:STAT (I|E)` names a figure, with STAT one of
        sum, mean, min, max, stddev, cv, count."""
        rows = [
            (metric.name, "s" if metric.unit == "ns" else metric.unit, not metric.summary_only, metric.description)
            for metric in self.meta.metrics
            if metric.name != IMBALANCE
        ]
        rows.append((IMBALANCE, "s", False, "idleness by the code that it is blamed on"))
        return Table(("name", "unit", "per_thread", "description"), rows)

    @property
    def roles(self) -> Table:
        """What threads are, by where they started, and how many there are of each."""
        return Table(("role", "threads"), self.meta.roles)

    def unit(self, metric: str) -> str:
        """In what a metric's figures are: s, count, bytes, ratio, threads, … Raises UnknownName."""
        return find_column(self.meta, metric).unit

    def _samples_of_all_events(self) -> int:
        """Samples of wall-clock time, and of further events as far as their periods and totals tell."""
        samples: int = self.meta.quality["samples"]
        if self.meta.period_ns == 0 or len(self.contexts) == 0:
            return samples  # they are of all events then
        names = [metric.name for metric in self.meta.metrics]
        for event in self.meta.events:  # NAME@PERIOD, of times in us
            name, _, period = event.rpartition("@")
            if name not in names or name == "REALTIME" or not period.isdigit() or int(period) == 0:
                continue
            metric = names.index(name)
            scale = 1000 if self.meta.metrics[metric].unit == "ns" else 1
            for role in range(len(self.meta.roles)):
                samples += self.context_summaries.get(role, metric, 0, True, 2).sum // int(period) // scale
        return min(samples, 2**64 - 1)

    @cached_property
    def quality(self) -> Dict[str, Any]:
        """How well it was measured, by the keys of `viewer-cli info --format json`."""
        of, trace, run = self.meta.quality, self.trace, self.meta
        samples = self._samples_of_all_events()
        each_us = of["handler_ns"] / samples / 1000 if samples else 0.0
        return {
            "ranks": run.ranks, "world_size": run.world_size, "threads": len(self.locations), "samples": of["samples"],
            "partial": of["partial"], "partial_s": seconds(of["partial_ns"]), "bridged": of["bridged"],
            "unresolved": of["unresolved"], "dropped": of["dropped"], "full": of["full"],
            "clock_violations": of["clock_violations"], "clock_violations_left": of["clock_violations_left"],
            "clock_error_s": None if of["clock_error_ns"] == CLOCKS_NOT_COMPARED else seconds(of["clock_error_ns"]),
            "cut_short": of["cut_short"], "unreadable": of["unreadable"], "sampling_s": seconds(of["handler_ns"]),
            "sampling_us": each_us, "tracing_s": seconds(of["tracing_ns"]), "slowed_threads": of["slowed"],
            "slowest_period_s": seconds((run.period_ns << min(of["most_halvings"], 63)) % 2**64),
            "epochs_lost": of["epochs_lost"], "unclassified_wait_s": seconds(of["unclassified_wait_ns"]),
            "excess_wait_s": seconds(of["excess_wait_ns"]), "traced_ranks": trace.traced_ranks, "traces_stopped": trace.stopped,
            "unmatched": trace.unmatched, "unmatched_ranks": list(trace.unmatched_ranks),
        }  # fmt: skip

    @cached_property
    def info(self) -> Dict[str, Any]:
        """What was run, where, when and how, by the keys of `viewer-cli info --format json` (without `schedules`)."""
        run = self.meta
        try:
            start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.start_ns // 10**9))
        except (OverflowError, OSError, ValueError):
            start = ""
        return {
            "command": run.command, **self.quality, "events": run.events, "modules": list(self.modules), "start": start,
            "duration_s": self.duration_s, "program": run.program, "directory": run.directory, "hosts": run.run_hosts,
            "mpi": run.mpi, "run_id": run.run_id, "period_s": seconds(run.period_ns), "contexts": len(self.contexts),
            "metrics": [{"name": m.name, "unit": m.unit, "description": m.description} for m in run.metrics],
            "roles": [{"role": role.name, "threads": role.threads} for role in run.roles],
            "balance": {"test": run.balance, "alpha": run.alpha, "tau": run.tau, "epsilon": run.epsilon},
            "notes": run.notes,
        }  # fmt: skip

    # The views.
    @cached_property
    def calling_context(self) -> View:
        """Top down, over all threads."""
        return self.view("calling-context")

    @cached_property
    def callers(self) -> View:
        """Bottom up, over all threads."""
        return self.view("callers")

    @cached_property
    def flat(self) -> View:
        """By load module, file and procedure, over all threads."""
        return self.view("flat")

    def view(self, name: str, *, ranks: Ranks = None) -> View:
        """`calling-context`, `callers` or `flat`, over all threads or those of some ranks: `"0-3,8"`, or numbers. Of some
        ranks, blame (`imbalance`) is not defined."""
        kind = name.replace("_", "-")
        if kind not in VIEWS:
            raise UnknownName(f"no view '{name}' (there are: {', '.join(VIEWS)})")
        return VIEWS[kind](self, Figures(self, None if ranks is None else self._of_ranks(ranks)))

    def _of_ranks(self, ranks: Union[str, Iterable[int]]) -> List[int]:
        wanted = parse_ranks(ranks) if isinstance(ranks, str) else {int(rank) for rank in ranks}
        found = [place for place, rank in enumerate(self.threads["rank"]) if rank in wanted]
        missing = wanted - set(self.threads["rank"])
        if missing:
            listed = ", ".join(map(str, sorted(missing)[:5])) + (", …" if len(missing) > 5 else "")
            raise UnknownName(f"ranks that were not measured: {listed} (there are {self.ranks} ranks)")
        return found

    def node(self, id: str) -> Node:
        """The node that an id names in its view: `c12`, `f3`, `p7.12`."""
        kind = {"f": "flat", "p": "callers"}.get(str(id)[:1], "calling_context")
        return getattr(self, kind).node(str(id))

    def find(self, pattern: Union[str, Pattern[str]]) -> List[Node]:
        """Calling contexts whose label matches a regular expression."""
        return self.calling_context.find(pattern)

    @cached_property
    def idleness(self) -> float:
        """Seconds of waiting of all threads; 0 where none was measured."""
        if not any(metric.name == "idleness" for metric in self.meta.metrics):
            return 0.0
        return Figures(self).at(False, find_column(self.meta, "idleness"), 0)

    # What merging found.
    @cached_property
    def waits(self) -> Table:
        """Who waited how long where, in which pattern, and for whom. `exact`: from time lines. Patterns of
        culprit.WHOLE_WAITS add up to all waiting; the others are contained in these, or wait for nobody."""
        return findings.waits(self)

    @cached_property
    def blame(self) -> Table:
        """Idleness by the code that it is blamed on, the most first."""
        return findings.blame(self)

    @cached_property
    def suspects(self) -> Table:
        """Code that takes longer on some ranks and explains others' waiting, the most explained first."""
        return findings.suspects(self)

    @cached_property
    def causes(self) -> Table:
        """What made others wait, by code and thread: delay costs, from time lines. The most expensive first."""
        return time_lines.causes(self)

    @cached_property
    def critical_path(self) -> Table:
        """Where the critical path runs, from time lines. The longest first."""
        return time_lines.critical_path(self)

    @cached_property
    def hotspots(self) -> Table:
        """Hot procedures that made others wait, from time lines."""
        return time_lines.hotspots(self)

    @cached_property
    def levels(self) -> List[time_lines.Level]:
        """Segments of the run (iterations, invocations), the coarsest level first; empty without time lines."""
        return time_lines.levels(self)

    def segments(self, level: int = 0) -> Table:
        """The segments of one level, a row per rank and segment."""
        if not self.levels:
            return Table(("rank", "iteration", "begin_s", "sos_s", "outlier"), [], {"begin_s": "s", "sos_s": "s"})
        if not 0 <= level < len(self.levels):
            raise UnknownName(f"no level {level} of segments (there are {len(self.levels)}, from 0 on)")
        return self.levels[level].segments

    @cached_property
    def time_map(self) -> time_lines.TimeMap:
        """What ranks did over time, in bins; without bins where there are no time lines."""
        return time_lines.TimeMap(self)

    @cached_property
    def trace(self) -> time_lines.Summary:
        """Sums over the time lines: efficiencies, run time, direct and indirect waiting, the critical path's length."""
        return time_lines.summary(self)

    @cached_property
    def calls(self) -> Table:
        """What MPI calls took and moved, by call path."""
        return findings.calls(self)

    @cached_property
    def partners(self) -> Table:
        """Who sent to whom: messages and bytes, by communicator."""
        return findings.partners(self)

    @cached_property
    def varying_gaps(self) -> Table:
        """Gaps between waiting calls that vary from one to the next."""
        return findings.varying_gaps(self)

    @cached_property
    def schedules(self) -> Table:
        """How the kernel scheduled threads, and on which processors they could run."""
        return findings.schedules(self)

    @cached_property
    def machine(self) -> Table:
        """What the machine is suspected of."""
        return findings.machine(self)

    @cached_property
    def sources(self) -> Sources:
        """Source texts by path: `database.sources["/home/me/solver.c"]`."""
        return Sources(self.file, self.strings)

    # Elsewhere.
    def to_hatchet(self, *, ranks: Ranks = None) -> List[Dict[str, Any]]:
        """What hatchet.GraphFrame.from_literal reads: sums over all threads, or those of some ranks."""
        return hatchet.literal(self, Figures(self, None if ranks is None else self._of_ranks(ranks)))

    def hatchet(self, *, ranks: Ranks = None):
        """A hatchet.GraphFrame (Hatchet must be installed)."""
        return hatchet.graph_frame(self.to_hatchet(ranks=ranks))

    def __repr__(self) -> str:
        program = os.path.basename(self.command[0]) if self.command else "?"
        ranks = f"{self.ranks} ranks, " if self.ranks else ""
        size = f"{len(self.locations)} threads, {self.duration_s:.6g} s, {len(self.contexts)} contexts"
        return f"<culprit.Database {spelled(os.fsencode(self.path))}: {spelled(program.encode())}, {ranks}{size}>"


def parse_ranks(text: str) -> Set[int]:
    """`0-3,8`, `0-64:8`. Raises ValueError."""
    ranks: Set[int] = set()
    for part in text.split(","):
        first, dash, rest = part.partition("-")
        last, _, step = rest.partition(":")
        try:
            bounds = int(first), int(last) if dash else int(first), int(step) if step else 1
        except ValueError:
            bounds = (-1, 0, 0)
        if not 0 <= bounds[0] <= bounds[1] < 2**24 or bounds[2] < 1:
            raise ValueError(f"'{text}' is not a list of ranks (write it like 0-3,8)")
        ranks.update(range(bounds[0], bounds[1] + 1, bounds[2]))
    return ranks
