"""What was found in time lines: causes, critical path, hotspots, segments, the map of ranks and time (sections 29 to 35)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

from .cursor import Cursor
from .errors import UnknownName
from .findings import PART_OF, PATTERNS, WHO, Resolver
from .parts import CAUSES, CRITICAL_PATH, HOTSPOTS, SEGMENT_METRICS, TIME_MAP, TRACES, VARIATION
from .paths import CallPath
from .scopes import NONE
from .table import Table
from .text import seconds

if TYPE_CHECKING:
    from .database import Database

UNMATCHED = ("sends", "receives", "probes", "collectives", "fences", "epochs", "locks", "completions", "with_unrecorded_processes")
MARKED, CHOSEN, DURATIONS, STAMPED = 1, 2, 4, 8
MOST_BINS = 1000
ARRAYS = ("calls_s", "waiting_s", "critical_s")
OF_THREADS = PATTERNS[PATTERNS.index("omp-barrier") : PATTERNS.index("join-wait") + 1]  # of one process, for each other


class Summary(NamedTuple):
    """The numbers of section 29; all 0 without a trace. Times in seconds, efficiencies 0 to 1."""

    traced_ranks: int
    stopped: int
    unmatched: Dict[str, int]
    run_s: float
    unexplained_s: float
    direct_s: float
    indirect_s: float
    critical_path_s: float
    critical_path_in_calls_s: float
    parallel: float
    load_balance: float
    communication: float
    serialization: float
    transfer: float
    unmatched_ranks: Tuple[int, ...]


def summary(database: "Database") -> Summary:
    part = database.file.sections[TRACES]
    numbers, shares, ranks = (0,) * 18, (0.0,) * 5, ()
    if part.size:
        cursor = Cursor(part)
        numbers, shares = cursor.get("18Q"), cursor.get("5d")
        if cursor.remaining:  # older writers end here
            ranks = cursor.get(f"{cursor.count(4)}i")
    if numbers[15] > numbers[16]:
        part.fail("has a critical path that ends before it begins")
    times = map(seconds, (*numbers[11:15], numbers[16] - numbers[15], numbers[17]))
    return Summary(*numbers[:2], dict(zip(UNMATCHED, numbers[2:11])), *times, *shares, ranks)


def causes(database: "Database") -> Table:
    """Delay costs by code and thread. Each cost that nothing explains is in `trace.unexplained_s`."""
    of, rows = Resolver(database, CAUSES), []
    for location, context, between, waits_in, short, long in of.rows("<4I2Q"):
        if between > 1:
            of.part.fail("has unknown flags")
        waiter = of.path(waits_in - 1) if waits_in else None
        rows.append((*of.who(location), of.path(context), seconds(short), seconds(long), between == 1, waiter))
    columns = (*WHO, "path", "short_term_s", "long_term_s", "between_calls", "waiter_path")
    return Table(columns, rows, {"short_term_s": "s", "long_term_s": "s"})


def critical_path(database: "Database") -> Table:
    """A row per call path and thread; `path_seconds` and `imbalance_s` are of the call path."""
    of = Resolver(database, CRITICAL_PATH)
    cursor, rows = Cursor(of.part), []
    for _ in range(cursor.count(20) if cursor.remaining else 0):
        context, between, imbalance = cursor.get("IIQ")
        if between > 1:
            cursor.fail("has unknown flags")
        shares = [(cursor.u32(), cursor.varint()) for _ in range(cursor.count(5))]
        whole = seconds(sum(ns for _, ns in shares))
        for location, ns in shares:
            rows.append((of.path(context), *of.who(location), seconds(ns), whole, seconds(imbalance), between == 1))
    columns = ("path", *WHO, "seconds", "path_seconds", "imbalance_s", "between_calls")
    return Table(columns, rows, {"seconds": "s", "path_seconds": "s", "imbalance_s": "s"})


def hotspots(database: "Database") -> Table:
    of, rows = Resolver(database, HOTSPOTS), []
    for location, context, waiter, waiter_context, ns in of.rows("<4IQ"):
        rows.append((*of.who(location), of.path(context), seconds(ns), of.location(waiter), of.path(waiter_context)))
    return Table((*WHO, "path", "cost_s", "waiter", "waiter_path"), rows, {"cost_s": "s"})


class Row:
    """The segments of one rank at one level, in ns and the metrics' stored units."""

    def __init__(self, rank: int, times: List[int]) -> None:
        self.rank, self.times = rank, times
        self.begins: Optional[List[int]] = None
        self.values: List[List[int]] = []  # by metric
        self.contexts: List[List[int]] = []  # likewise; empty where not known


class Level:
    """Segments of the run: iterations that the program marked, or invocations of a procedure."""

    def __init__(self, database: "Database", of: Resolver, cursor: Cursor) -> None:
        flags, context, median, ranks = cursor.get("IIQI")
        if flags & ~(MARKED | CHOSEN | DURATIONS | STAMPED):
            cursor.fail("has unknown flags")
        if ranks * 8 > cursor.remaining:
            cursor.fail("claims more than it holds")
        self.database, self.marked, self.chosen = database, bool(flags & MARKED), bool(flags & CHOSEN)
        self.stamped = bool(flags & STAMPED)  # invocations have time stamps of their own
        self.path: Optional[CallPath] = of.path_or_none(context)  # of the procedure, or around the marks
        self.median_s, self.metrics = seconds(median), []  # type: float, List[int]
        self.rows: List[Row] = []
        for _ in range(ranks):
            rank = cursor.get("i")[0]
            self.rows.append(Row(rank, cursor.varints(cursor.count(1))))
        outliers = [cursor.get("iIIQ") for _ in range(cursor.count(20))]
        self.outliers = Table(
            ("rank", "thread", "iteration", "sos_s", "median_s", "path"),
            [(rank, None, segment, seconds(ns), self.median_s, of.path_or_none(at)) for rank, segment, at, ns in outliers],
            {"sos_s": "s", "median_s": "s"},
        )
        durations = cursor.varints(cursor.count(1)) if flags & DURATIONS else []
        self.durations_s = [seconds(ns) for ns in durations]  # of each iteration, where it took longest; or nothing

    def name_threads(self, of: Resolver, locations: Tuple[int, ...]) -> None:
        """Says which threads of their ranks the outliers are of, as files of older writers do not."""
        threads = [None if at == NONE else of.location(at).thread for at in locations]
        rows = [(row[0], thread, *row[2:]) for row, thread in zip(self.outliers.rows, threads)]
        self.outliers = Table(self.outliers.columns, rows, self.outliers.units)

    @cached_property
    def segments(self) -> Table:
        """A row per rank and segment: when it began (since the first call of any rank), its SOS-time (without MPI), and
        for each metric what was counted in it outside MPI, and where most of that."""
        metrics = [self.database.meta.metrics[number] for number in self.metrics]
        long = set(zip(self.outliers["rank"], self.outliers["iteration"]))
        units = {"begin_s": "s", "sos_s": "s", **{metric.name: "s" if metric.unit == "ns" else metric.unit for metric in metrics}}
        columns = ["rank", "iteration", "begin_s", "sos_s", "outlier"]
        for metric in metrics:
            columns += [metric.name, metric.name + " path"]
        rows = [self.cells(row, i, long) for row in self.rows for i in range(len(row.times))]
        return Table(columns, rows, units)

    def cells(self, row: Row, i: int, long: set) -> List[Any]:
        origin = self.database.time_map.begin_ns
        begin = None if row.begins is None else seconds(max(0, row.begins[i] - origin))
        cells: List[Any] = [row.rank, i, begin, seconds(row.times[i]), (row.rank, i) in long]
        for place, number in enumerate(self.metrics):
            value = row.values[place][i]
            at = row.contexts[place][i] if row.contexts else NONE
            cells += [value / 1e9 if self.database.meta.metrics[number].unit == "ns" else value]
            cells += [None if at == NONE else CallPath(self.database, at)]
        return cells

    def __repr__(self) -> str:
        what = "marked iterations" if self.marked else f"invocations of {self.path[-1].label}" if self.path else "segments"
        count = sum(len(row.times) for row in self.rows)
        return f"<{what}: {count} segments on {len(self.rows)} ranks, median {self.median_s:.6g} s>"


def levels(database: "Database") -> List[Level]:
    """The coarsest first; empty without a trace."""
    of = Resolver(database, VARIATION)
    if not of.part.size:
        return []
    cursor = Cursor(of.part)
    found = [Level(database, of, cursor) for _ in range(cursor.count(24))]
    rows = [row for level in found for row in level.rows]
    if cursor.remaining:  # else of an older writer, or without segments
        for row in rows:
            row.begins, at = [], 0
            for ns in cursor.varints(len(row.times)):
                at += ns
                row.begins.append(at)
    if cursor.remaining:  # likewise, or without outliers
        for level in found:
            level.name_threads(of, cursor.get(f"{len(level.outliers)}I"))
    read_segment_metrics(database, found, rows)
    return found


def read_segment_metrics(database: "Database", found: List[Level], rows: List[Row]) -> None:
    part = database.file.sections[SEGMENT_METRICS]
    if not part.size:
        return
    cursor = Cursor(part)
    metrics = list(cursor.get(f"{cursor.count(4)}I"))
    if metrics and max(metrics) >= len(database.meta.metrics):
        cursor.fail("refers to something that does not exist")
    for level in found:
        level.metrics = metrics
    for row in rows:
        row.values = [cursor.varints(len(row.times)) for _ in metrics]
    if not cursor.remaining:
        return
    bound = len(database.contexts)
    for row in rows:
        row.contexts = [cursor.contexts(len(row.times)) for _ in metrics]
        if any(at != NONE and at >= bound for column in row.contexts for at in column):
            cursor.fail("refers to something that does not exist")


class MapRow(NamedTuple):
    """What one rank did, by bin. Times in ns."""

    rank: int
    calls: List[int]
    contexts: List[int]  # NONE where nothing is known
    waits: Dict[str, Dict[int, int]]  # by pattern: by bin
    segments: List[Tuple[int, int]]  # first and number; empty in files of older writers
    critical: Dict[int, int]


class TimeMap:
    """Section 34: what the ranks did over time, in bins of equal length."""

    def __init__(self, database: "Database") -> None:
        self.database, self.begin_ns, self.bin_ns, self.bins = database, 0, 0, 0
        self.rows: List[MapRow] = []
        part = database.file.sections[TIME_MAP]
        if part.size:
            self.read(Cursor(part))

    def read(self, cursor: Cursor) -> None:
        self.begin_ns, self.bin_ns, self.bins = cursor.get("QQI")
        if self.bins > MOST_BINS or (self.bins and not self.bin_ns):
            cursor.fail("has too many bins, or bins of no length")
        for _ in range(cursor.count(8 + self.bins)):
            rank, series = cursor.get("iI")
            calls, contexts = cursor.varints(self.bins), cursor.contexts(self.bins)
            if any(at != NONE and at >= len(self.database.contexts) for at in contexts):
                cursor.fail("refers to something that does not exist")
            if series * 8 > cursor.remaining:
                cursor.fail("claims more than it holds")
            waits: Dict[str, Dict[int, int]] = {}
            for _ in range(series):
                pattern = cursor.u32()
                if pattern >= len(PATTERNS):
                    cursor.fail("has an unknown pattern")
                waits[PATTERNS[pattern]] = self.cells(cursor)
            self.rows.append(MapRow(rank, calls, contexts, waits, [], {}))
        for row in self.rows if cursor.remaining else []:
            self.read_segments(cursor, row)
        for row in self.rows if cursor.remaining else []:
            row.critical.update(self.cells(cursor))

    def cells(self, cursor: Cursor) -> Dict[int, int]:
        found, following = {}, 0
        for _ in range(cursor.count(2)):
            place = following + cursor.varint()
            if place >= self.bins:
                cursor.fail("has cells beyond its bins")
            found[place], following = cursor.varint(), place + 1
        return found

    def read_segments(self, cursor: Cursor, row: MapRow) -> None:
        first = 0
        for _ in range(self.bins):
            number = cursor.varint()
            first += cursor.varint() if number else 0
            if number > NONE or first > NONE:
                cursor.fail("has iterations that cannot be numbered")
            row.segments.append((first, number))

    @cached_property
    def table(self) -> Table:
        """A row per rank and bin: when it begins (since the first call of any rank), how long it is, seconds of it in MPI
        calls, waiting for other ranks (whole patterns), on the critical path, the call path of most of it, and the segments it lies in."""
        rows = []
        for row in self.rows:
            whole = [cells for pattern, cells in row.waits.items() if pattern not in PART_OF and pattern not in OF_THREADS]
            for bin in range(self.bins):
                waiting = sum(cells.get(bin, 0) for cells in whole)
                at, (first, number) = row.contexts[bin], row.segments[bin] if row.segments else (0, 0)
                rows.append((
                    row.rank, bin, seconds(bin * self.bin_ns), seconds(self.bin_ns), seconds(row.calls[bin]), seconds(waiting),
                    seconds(row.critical.get(bin, 0)), None if at == NONE else CallPath(self.database, at),
                    first if number else None, number,
                ))  # fmt: skip
        columns = ("rank", "bin", "begin_s", "bin_s", "calls_s", "waiting_s", "critical_s", "path", "first_segment", "segments")
        return Table(columns, rows, {name: "s" for name in columns if name.endswith("_s")})

    @cached_property
    def waits(self) -> Table:
        """A row per rank, bin and wait pattern in which the rank waited."""
        rows = [
            (row.rank, bin, seconds(bin * self.bin_ns), pattern, seconds(ns))
            for row in self.rows
            for pattern, cells in row.waits.items()
            for bin, ns in cells.items()
        ]
        return Table(("rank", "bin", "begin_s", "pattern", "seconds"), rows, {"begin_s": "s", "seconds": "s"})

    def array(self, what: str = "calls_s"):
        """calls_s, waiting_s or critical_s as rows of ranks: a numpy array of shape (ranks, bins) where numpy is present,
        else a list of lists. In seconds."""
        if what not in ARRAYS:
            raise UnknownName(f"no array '{what}' (there are: {', '.join(ARRAYS)})")
        values = self.table[what]
        rows = [values[i * self.bins : (i + 1) * self.bins] for i in range(len(self.rows))]
        try:
            import numpy
        except ImportError:
            return rows
        return numpy.array(rows, dtype=float).reshape(len(self.rows), self.bins)

    def __repr__(self) -> str:
        return f"<time map: {len(self.rows)} ranks, {self.bins} bins of {seconds(self.bin_ns):.6g} s>"
