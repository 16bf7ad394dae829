"""The run: what was measured, how, and how well (sections 1, 4 and 7)."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import Any, Dict, List, NamedTuple, Optional

from .cursor import Cursor
from .parts import Part

QUALITY = (
    "samples", "partial", "partial_ns", "unresolved", "dropped", "full", "handler_ns", "clock_violations", "cut_short", "unreadable",
)  # fmt: skip
LATER_QUALITY = (
    "bridged", "slowed", "most_halvings", "epochs_lost", "unclassified_wait_ns", "excess_wait_ns", "clock_violations_left", "tracing_ns",
    "clock_error_ns",
)  # fmt: skip
CLOCKS_NOT_COMPARED = 2**64 - 1  # of clock_error_ns


class Metric(NamedTuple):
    """A metric as it is stored: times in ns. Views show times in seconds."""

    name: str
    unit: str
    description: str
    summary_only: bool  # there are no values per thread


class Role(NamedTuple):
    name: str
    threads: int


class Location(NamedTuple):
    """A measured thread. `number` is its place in arrays of values per thread; `rank` is None where there is none."""

    number: int
    rank: Optional[int]
    thread: int
    role: str
    process: str  # host:pid
    lived_s: float
    cut_short: bool

    def __str__(self) -> str:
        """`rank 3`, `rank 3 thread 1`, `host:pid thread 2`."""
        who = self.process if self.rank is None else f"rank {self.rank}"
        return f"{who} thread {self.thread}" if self.thread else who

    def __repr__(self) -> str:
        return f"<{self}>"


class Meta:
    """Section 1, decoded."""

    def __init__(self, part: Part) -> None:
        cursor = Cursor(part)
        self.run_id, self.mpi, self.program, self.directory, self.balance = (cursor.string() for _ in range(5))
        self.command = [cursor.raw().decode(errors="replace") for _ in range(cursor.count(1))]
        self.run_hosts, self.events, self.notes = (cursor.strings() for _ in range(3))
        self.start_ns, self.duration_ns, self.ranks, self.world_size, self.period_ns = cursor.get("qQIIQ")
        self.alpha, self.tau, self.epsilon = cursor.get("3d")
        self.quality: Dict[str, int] = dict(zip(QUALITY, cursor.get("10Q")))
        self.metrics = [Metric(cursor.string(), cursor.string(), cursor.string(), cursor.truth()) for _ in range(cursor.count(4))]
        self.roles = [Role(cursor.string(), cursor.u32()) for _ in range(cursor.count(5))]
        self.hosts = cursor.strings()
        for name in LATER_QUALITY:
            self.quality[name] = cursor.u64() if cursor.remaining else 0
        number_of_names = cursor.count(12) if cursor.remaining else 0
        self.names = {cursor.u64(): cursor.string() for _ in range(number_of_names)}  # of communicators and windows


class Locations:
    """Section 7."""

    FORM = struct.Struct("<iIII3QB7x")

    def __init__(self, part: Part, meta: Meta) -> None:
        self.part, self.meta, self.size = part, meta, part.size // self.FORM.size

    def __len__(self) -> int:
        return self.size

    def fields(self, number: int) -> tuple:
        fields = self.FORM.unpack(self.part.at(number * self.FORM.size, self.FORM.size))
        if fields[2] >= len(self.meta.roles) or fields[3] >= len(self.meta.hosts):
            self.part.fail("names a role or host that does not exist", number * self.FORM.size)
        return fields

    def __getitem__(self, number: int) -> Location:
        rank, thread, role, host, pid, start, end, cut_short = self.fields(number)
        process = f"{self.meta.hosts[host]}:{pid}"
        lived = (end - start) / 1e9
        return Location(number, rank if rank >= 0 else None, thread, self.meta.roles[role].name, process, lived, cut_short != 0)

    @cached_property
    def roles(self) -> List[int]:
        """The number of each one's role."""
        return [self.fields(number)[2] for number in range(self.size)]


def decode_modules(part: Part) -> List[Dict[str, Any]]:
    """Load modules, as `viewer-cli info` lists them."""
    cursor = Cursor(part)
    modules: List[Dict[str, Any]] = []
    for _ in range(cursor.count(11)):
        modules.append({"path": cursor.string(), "build_id": cursor.string(), "samples": cursor.u64(), "notes": cursor.strings()})
    for module in modules:
        known = cursor.remaining > 0  # else from an older writer
        module["bridged"], module["partial"] = cursor.get("2Q") if known else (0, 0)
        module["unwind_information"] = not (known and cursor.truth())
    return modules
