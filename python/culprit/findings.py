"""What merging found, as tables: waits, blame, suspects, communication, the machine (sections 13, 14, 21, 36 to 41)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from .cursor import Cursor
from .parts import (
    BLAME, CALL_TRAFFIC, DIRECT_WAITS, MACHINE, PARTNER_TRAFFIC, SCHEDULES, SUSPECTS, VARYING_GAPS, WAITS,
)  # fmt: skip
from .paths import CallPath
from .run import Location
from .scopes import NONE
from .table import Table
from .text import seconds

if TYPE_CHECKING:
    from .database import Database

PATTERNS = (
    "late-sender", "late-sender-wrong-order", "late-receiver", "wait-at-barrier", "barrier-completion", "wait-at-nxn",
    "nxn-completion", "wait-at-init", "wait-at-finalize", "late-broadcast", "early-reduce", "early-scan", "late-post",
    "early-transfer", "early-wait", "late-complete", "wait-at-fence", "early-fence", "wait-at-create", "wait-at-free",
    "lock-wait", "flush-wait", "omp-barrier", "omp-idle", "lock-held", "condition-wait", "join-wait", "wait-at-root",
)  # fmt: skip
# These add up to all waiting: others are contained in one of them, or wait for nobody.
WHOLE_WAITS = (
    "late-sender", "late-receiver", "wait-at-barrier", "wait-at-nxn", "wait-at-init", "wait-at-finalize",
    "late-broadcast", "early-reduce", "early-scan", "late-post", "early-transfer", "early-wait", "wait-at-fence",
    "wait-at-create", "wait-at-free", "lock-wait", "flush-wait", "omp-barrier", "omp-idle", "lock-held",
    "condition-wait", "join-wait", "wait-at-root",
)  # fmt: skip
# Contained in another pattern.
PART_OF = {"late-sender-wrong-order": "late-sender", "late-complete": "early-wait", "early-fence": "wait-at-fence"}
WHO = ("rank", "thread", "role", "process")
MACHINE_KINDS = ("oversubscribed", "bound-together", "quota", "slow")
CONFIDENCE = ("hint", "likely", "sure")
DOUBTS = (None, "its excess beside sampling noise", "whether other code is it", "the blame left unexplained",
          "whether the others are there for its work")
UNKNOWN = 2**64 - 1


class Resolver:
    """Turns numbers of a section into what they stand for; those that do not exist raise FormatError."""

    def __init__(self, database: "Database", section: int) -> None:
        self.database, self.part = database, database.file.sections[section]
        self.locations: Dict[int, Location] = {}

    def fail(self) -> Any:
        return self.part.fail("refers to something that does not exist")

    def location(self, number: int) -> Location:
        if number >= len(self.database.locations):
            self.fail()
        if number not in self.locations:
            self.locations[number] = self.database.locations[number]
        return self.locations[number]

    def who(self, number: int) -> Tuple[Optional[int], int, str, str]:
        return self.location(number)[1:5]

    def path(self, context: int) -> CallPath:
        return CallPath(self.database, context) if context < len(self.database.contexts) else self.fail()

    def path_or_none(self, context: int) -> Optional[CallPath]:
        return None if context == NONE else self.path(context)

    def location_or_none(self, number: int) -> Optional[Location]:
        return None if number == NONE else self.location(number)

    def role(self, number: int) -> str:
        roles = self.database.meta.roles
        return roles[number].name if number < len(roles) else self.fail()

    def ranks(self, locations: List[int]) -> List[int]:
        found = {self.location(number).rank for number in locations}
        return sorted(rank for rank in found if rank is not None)

    def rows(self, form: str):
        """The elements of a section that is an array."""
        return struct.iter_unpack(form, self.part.all())


def waits(database: "Database") -> Table:
    of = Resolver(database, WAITS)
    direct = database.file.sections[DIRECT_WAITS]
    known = direct.all().cast("Q") if direct.size else None
    if known is not None and len(known) != of.part.size // 40:
        direct.fail("is not of as many waits")
    rows = []
    for number, fields in enumerate(of.rows("<6I2Q")):
        pattern, location, context, delayer, delayed_in, exact, ns, count = fields
        if pattern >= len(PATTERNS):
            of.part.fail("names an unknown pattern", 40 * number)
        part = known[number] if known is not None else UNKNOWN
        if part != UNKNOWN and part > ns:
            direct.fail("is more than the wait", 8 * number)
        shares = (None, None) if part == UNKNOWN else (seconds(part), seconds(ns - part))
        cause = of.location_or_none(delayer)
        cause_path = of.path_or_none(delayed_in)
        who, path = of.who(location), of.path(context)
        rows.append((PATTERNS[pattern], *who, seconds(ns), count, path, cause, cause_path, bool(exact & 1), *shares))
    columns = ("pattern", *WHO, "seconds", "count", "path", "cause", "cause_path", "exact", "direct_s", "indirect_s")
    return Table(columns, rows, {"seconds": "s", "direct_s": "s", "indirect_s": "s"})


def blame(database: "Database") -> Table:
    """Idleness by the balanced node that it is blamed on."""
    of, rows = Resolver(database, BLAME), []
    before: Tuple[int, int, int] = (0, -1, 0)
    for role, context, total, _, _ in of.rows("<II3Q"):
        if role < before[0] or (role == before[0] and context <= before[1]):
            of.part.fail("has rows out of order, or of what is not there")
        own = (total - (before[2] if role == before[0] else 0)) % 2**64
        before = role, context, total
        rows.append((of.path(context).id, of.path(context), seconds(own), of.role(role)))
    rows.sort(key=lambda row: -row[2])
    idle = database.idleness
    return Table(
        ("id", "path", "idleness_s", "share", "role"),
        [(*row[:3], row[2] / idle if idle else 0.0, row[3]) for row in rows],
        {"idleness_s": "s"},
    )


def suspects(database: "Database") -> Table:
    of = Resolver(database, SUSPECTS)
    cursor, rows, details = Cursor(of.part), [], []
    for _ in range(cursor.count(48)):
        role, balanced, suspect = cursor.get("3I")
        amounts = [seconds(ns) for ns in cursor.get("4Q")]
        locations = list(cursor.get(f"{cursor.count(4)}I"))
        rows.append((role, balanced, suspect, locations, amounts))
        details.append((suspect, None, None, [suspect], [(balanced, amounts[1])]))
    if cursor.remaining:
        details = [suspect_details(cursor) for _ in rows]
    table = []
    for (role, balanced, suspect, locations, amounts), (named, confidence, doubt, scopes, explained) in zip(rows, details):
        table.append((
            of.path(balanced), of.path(suspect), of.path(named).id, of.role(role), of.ranks(locations),
            [of.location(number) for number in locations], *amounts, confidence, doubt,
            [of.path(scope) for scope in scopes], [(of.path(scope), amount) for scope, amount in explained],
        ))  # fmt: skip
    columns = (
        "balanced", "suspect", "named_id", "role", "ranks", "locations", "excess_s", "explains_s", "save_balanced_s",
        "save_removed_s", "confidence", "doubt", "scopes", "explained",
    )  # fmt: skip
    return Table(columns, table, {name: "s" for name in columns if name.endswith("_s")})


def suspect_details(cursor: Cursor) -> Tuple[int, str, Optional[str], List[int], List[Tuple[int, float]]]:
    named, confidence, doubt = cursor.get("IBB")
    if confidence >= len(CONFIDENCE) or doubt >= len(DOUBTS):
        cursor.fail("names an unknown confidence")
    scopes = list(cursor.get(f"{cursor.count(4)}I"))
    explained = [cursor.get("IQ") for _ in range(cursor.count(12))]
    return named, CONFIDENCE[confidence], DOUBTS[doubt], scopes, [(scope, seconds(ns)) for scope, ns in explained]


def calls(database: "Database") -> Table:
    """What MPI calls took and moved, by call path."""
    of, rows = Resolver(database, CALL_TRAFFIC), []
    for fields in of.rows("<4I10Q"):
        context, threads, busiest, _, count, ns, busiest_ns, longest = fields[:8]
        messages, moved, smallest, largest, sent, received = fields[8:]
        if count == 0 or threads > len(database.locations):
            of.fail()
        most = seconds(longest) if longest else None
        rows.append((
            of.path(context), call_name(of.path(context)), count, moved, seconds(ns), ns / count / 1e9, most, threads, of.location(busiest),
            seconds(busiest_ns), messages, smallest, largest, sent, received,
        ))  # fmt: skip
    columns = (
        "path", "call", "calls", "bytes", "seconds", "mean_s", "max_s", "threads", "busiest", "busiest_s", "messages",
        "smallest_bytes", "largest_bytes", "sent_bytes", "received_bytes",
    )  # fmt: skip
    units = {name: "s" if name.endswith("_s") else "bytes" for name in columns if name.endswith(("_s", "bytes"))}
    return Table(columns, rows, {**units, "seconds": "s"})


def call_name(path: CallPath) -> str:
    frame = path[-1]
    return "further call paths" if frame.kind == "root" else frame.label.split("(")[0] or frame.label


def partners(database: "Database") -> Table:
    """What ranks sent to each other, by communicator; a row stands for `ranks` consecutive ranks on either side."""
    of, rows = Resolver(database, PARTNER_TRAFFIC), []
    for communicator, members, sender, receiver, ranks, messages, moved in of.rows("<QIiiIQQ"):
        if sender < 0 or receiver < 0 or ranks == 0 or (rows and ranks != rows[0][5]):
            of.fail()
        name = database.meta.names.get(communicator)
        rows.append((communicator, name, members, sender, receiver, ranks, messages, moved))
    return Table(("communicator", "name", "members", "from", "to", "ranks", "messages", "bytes"), rows, {"bytes": "bytes"})


def varying_gaps(database: "Database") -> Table:
    """Gaps between waiting calls that vary from one to the next."""
    of, rows = Resolver(database, VARYING_GAPS), []
    for role, context, after, threads, count, *times in of.rows("<4I5Q"):
        rows.append((of.role(role), of.path(context), of.path_or_none(after), threads, count, *map(seconds, times)))
    columns = ("role", "path", "after_path", "threads", "count", "mean_s", "deviation_s", "idle_s", "unexplained_s")
    return Table(columns, rows, {name: "s" for name in columns if name.endswith("_s")})


def processors_of(data: bytes) -> List[int]:
    """A set of processors: runs of equal steps."""
    runs, listed = min(struct.unpack_from("<H", data)[0], 5), []
    for i in range(runs):
        first, last, step = struct.unpack_from("<3H", data, 2 + 6 * i)
        listed += range(first, last + 1, step or 1)
    return listed


def schedules(database: "Database") -> Table:
    """How the kernel scheduled threads; only those of which something is known."""
    of, rows = Resolver(database, SCHEDULES), []
    for fields in of.rows("<6I13Q32s"):
        location, online, allowed, _, voluntary, involuntary, ran, runnable, lived = fields[:9]
        quota, throttled = fields[16], fields[17]
        rows.append((
            *of.who(location), seconds(ran), seconds(runnable), seconds(lived), voluntary, involuntary,
            processors_of(fields[19]), online, allowed, quota / 1000 if quota else None, seconds(throttled),
        ))  # fmt: skip
    columns = (
        *WHO, "ran_s", "runnable_s", "lived_s", "voluntary_switches", "involuntary_switches", "processors", "online", "allowed",
        "quota", "throttled_s",
    )  # fmt: skip
    return Table(columns, rows, {name: "s" for name in columns if name.endswith("_s")})


def machine(database: "Database") -> Table:
    """What the machine, not the program's code, is suspected of."""
    of, rows = Resolver(database, MACHINE), []
    cursor = Cursor(of.part)
    for _ in range(cursor.count(64) if cursor.remaining else 0):
        kind, by_others, processors = cursor.get("3I")
        wanted, others, free, quota, lost, explains = cursor.get("6Q")
        if kind >= len(MACHINE_KINDS):
            cursor.fail("names an unknown kind")
        locations = list(cursor.get(f"{cursor.count(4)}I"))
        hosts = sorted({of.location(number).process.rpartition(":")[0] for number in locations})
        rows.append((
            MACHINE_KINDS[kind], bool(by_others & 1), hosts, of.ranks(locations), seconds(explains), seconds(lost), processors,
            wanted / 1000, others / 1000, free / 1000, quota / 1000,
        ))  # fmt: skip
    columns = ("kind", "by_others", "hosts", "ranks", "explains_s", "lost_s", "processors", "wanted", "others", "free", "quota")
    return Table(columns, rows, {"explains_s": "s", "lost_s": "s", "wanted": "processors", "others": "processors"})
