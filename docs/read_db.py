#!/usr/bin/env python3
"""Reads a Culprit database; an example for docs/formats.md, chapter "Database". Python 3.8, nothing else needed.

read_db.py DB                    the run, its metrics and roles
read_db.py DB tree [DEPTH]       the calling context tree with the inclusive time of all threads
read_db.py DB threads CONTEXT    inclusive REALTIME of one context in every thread, ns
read_db.py DB profile LOCATION   exclusive values of one thread: context, metric, value
read_db.py DB time               what the ranks did over time, from the map of a traced run, in sums
read_db.py DB segments           how long iterations took on each rank, when the first and the last began (ns), and what
                                 else was counted in them, in sums, with the context where it was most in most of them
read_db.py DB machine            how threads were scheduled, and what the machine is suspected of
read_db.py DB check              recomputes inclusive from exclusive values everywhere, and compares with the summaries

Checksums are XXH3-64; they are verified where the Python package xxhash is installed.
"""

import mmap
import re
import struct
import sys

try:
    from xxhash import xxh3_64_intdigest as checksum
except ImportError:
    checksum = None

NONE = 0xFFFFFFFF
CHUNK = 16384
META, STRING_ENDS, STRING_BYTES, CONTEXTS, FLAT, LOCATIONS = 1, 2, 3, 5, 6, 7
SUMMARY_INDEX, SUMMARY_DATA, TILES = 8, 9, 22
VARIATION, TIME_MAP, SEGMENT_METRICS = 33, 34, 35
SCHEDULES, MACHINE = 36, 37
MACHINE_KINDS = ("oversubscribed", "bound-together", "quota", "slow")
MODULE, FILE = 3, 4  # kinds of scopes


# What a terminal would obey instead of showing it.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def text(data):
    """Names hold any bytes; what cannot be printed comes out escaped, as viewer-cli shows it."""
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    escape = lambda found: short.get(found.group(), f"\\u{ord(found.group()):04x}")
    return UNPRINTABLE.sub(escape, data.decode(errors="backslashreplace"))


class Cursor:
    """Reads numbers and strings one after the other."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def get(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def string(self):
        size = self.varint()
        self.at += size
        return text(bytes(self.data[self.at - size : self.at]))

    def strings(self):
        return [self.string() for _ in range(self.get("I"))]

    def packed(self, count):
        """Packed numbers: runs of up to 128."""
        values = []
        while len(values) < count:
            run = min(128, count - len(values))
            if run < 4:
                values += [self.varint() for _ in range(run)]
                continue
            base, width, exceptions = self.varint(), self.get("B"), self.get("B")
            size = (run * width + 7) // 8
            bits = int.from_bytes(self.data[self.at : self.at + size], "little")
            self.at += size
            numbers = [base + (bits >> i * width & (1 << width) - 1) for i in range(run)]
            for _ in range(exceptions):
                place = self.get("B")
                numbers[place] += self.varint() << width
            values += [number % 2**64 for number in numbers]
        return values


def read_values(cursor, universe, metrics):
    """A value list: {index: [value per metric]}."""
    count, form = cursor.varint(), cursor.get("B")
    if form == 0:
        indices = list(range(universe))
    elif form == 1:
        size = (universe + 7) // 8
        bitmap = cursor.data[cursor.at : cursor.at + size]
        cursor.at += size
        indices = [i for i in range(universe) if bitmap[i // 8] >> i % 8 & 1]
    else:
        gaps = [cursor.varint() for _ in range(count)] if form == 2 else cursor.packed(count)
        indices, next_index = [], 0
        for gap in gaps:
            indices.append(next_index + gap)
            next_index = indices[-1] + 1
    columns = []
    for _ in range(metrics):
        form = cursor.get("B")
        if form == 0:
            columns.append([0] * count)
        elif form == 1:
            columns.append(cursor.packed(count))
        elif form == 2:
            columns.append(columns[cursor.varint()])
        elif form == 3:
            a, b = columns[cursor.varint()], columns[cursor.varint()]
            columns.append([(x - y) % 2**64 for x, y in zip(a, b)])
        else:
            near = columns[cursor.varint()]
            coded = cursor.packed(count)
            columns.append([(x + (c >> 1 if c & 1 == 0 else -(c + 1 >> 1))) % 2**64 for x, c in zip(near, coded)])
    return {index: [column[i] for column in columns] for i, index in enumerate(indices)}


class Tile:
    def __init__(self, data, first, contexts):
        self.data, self.first, self.contexts = data, first, contexts
        self.locations, self.metrics, entries, self.lists, self.size, _ = Cursor(data).get("6I")
        offsets = 24 + 4 * (self.locations + 1)
        self.profiles = offsets + 12 * entries
        self.directory = [struct.unpack_from("<3I", data, offsets + 12 * i) for i in range(entries)]

    def profile(self, location):
        begin = struct.unpack_from("<I", self.data, 24 + 4 * (location - self.first))[0]
        return read_values(Cursor(self.data, self.profiles + begin), self.contexts, self.metrics)

    def inclusive(self, context, end):
        """{location: [value per metric]} of a context whose subtree ends at `end`."""
        sums, at = {}, 0
        while at < len(self.directory):
            entry, offset, covered = self.directory[at]
            at += 1
            if not context <= entry < end:
                continue
            for location, row in read_values(Cursor(self.data, self.lists + offset), self.locations, self.metrics).items():
                before = sums.get(self.first + location, [0] * self.metrics)
                sums[self.first + location] = [a + b for a, b in zip(before, row)]
            if covered != NONE:
                at += covered
        return sums

    def scopes(self):
        """{file or load module: {location: [exclusive value per metric]}}."""
        found = {}
        for entry, offset, _ in self.directory:
            if entry >= self.contexts:
                rows = read_values(Cursor(self.data, self.lists + offset), self.locations, self.metrics)
                found[entry - self.contexts] = {self.first + location: row for location, row in rows.items()}
        return found


class Database:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        magic, version, count, size, table, table_sum = struct.unpack_from("<8sIIQQQ", self.data)
        if magic != b"CULPRITD" or version != 2 or size != len(self.data):
            sys.exit(f"read_db.py: read: {path}: no database of format 2")
        self.verify(self.data[table : table + 32 * count], table_sum)
        self.sections = {}
        for i in range(count):
            number, _, offset, size, sums = struct.unpack_from("<IIQQQ", self.data, table + 32 * i)
            self.sections[number] = self.part(offset, size, sums)
        self.read_meta()
        self.parents, self.ends = [], []
        for fields in struct.iter_unpack("<7I4B", self.sections[CONTEXTS]):
            self.parents.append(fields[0])
            self.ends.append(fields[1])
        self.tiles = []
        for offset, size, sums, first, _ in struct.iter_unpack("<QQQII", self.sections[TILES]):
            self.tiles.append(Tile(self.part(offset, size, sums), first, len(self.ends)))

    @staticmethod
    def verify(data, expected):
        if checksum and checksum(bytes(data)) != expected:
            sys.exit("read_db.py: a checksum does not match")

    def part(self, offset, size, sum_of_sums):
        """The bytes of a section or tile; behind them are a checksum for each 16 KiB."""
        begin, chunks = (offset + size + 7) // 8 * 8, (size + CHUNK - 1) // CHUNK
        sums = self.data[begin : begin + 8 * chunks]
        self.verify(sums, sum_of_sums)
        part = self.data[offset : offset + size]
        for i, (expected,) in enumerate(struct.iter_unpack("<Q", sums)):
            self.verify(part[i * CHUNK : (i + 1) * CHUNK], expected)
        return part

    def read_meta(self):
        cursor = Cursor(self.sections[META])
        self.run = {name: cursor.string() for name in ("run id", "MPI", "program", "directory", "balance")}
        self.run.update({name: cursor.strings() for name in ("command", "hosts", "events", "notes")})
        self.run["start"], self.run["duration ns"], self.run["ranks"], self.run["world size"], _, _, _, _ = cursor.get("qQIIQ3d")
        cursor.get("10Q")  # quality
        self.metrics = [(cursor.string(), cursor.string(), cursor.string(), cursor.get("B"))[:2] for _ in range(cursor.get("I"))]
        self.roles = [(cursor.string(), cursor.get("I")) for _ in range(cursor.get("I"))]

    def string(self, number):
        ends = self.sections[STRING_ENDS]
        begin = struct.unpack_from("<Q", ends, 8 * (number - 1))[0] if number else 0
        return text(bytes(self.sections[STRING_BYTES][begin : struct.unpack_from("<Q", ends, 8 * number)[0]]))

    def frame(self, context):
        _, _, name, file, line, _, _, kind = struct.unpack_from("<7IB", self.sections[CONTEXTS], 32 * context)
        kind = ("root", "thread-root", "partial", "module", "file", "procedure", "inlined", "loop", "call", "statement", "region")[kind]
        return {"kind": kind, "name": self.string(name), "file": self.string(file), "line": line}

    def locations(self):
        """(rank, thread, role) of every measured thread."""
        return [row[:3] for row in struct.iter_unpack("<iIII3Q8x", self.sections[LOCATIONS])]

    def inclusive(self, context, metric):
        values = [0] * (len(self.sections[LOCATIONS]) // 48)
        for tile in self.tiles:
            for location, row in tile.inclusive(context, self.ends[context]).items():
                values[location] = row[metric] if metric < len(row) else 0
        return values

    def sums(self):
        """{(role, metric): {context: sum of the inclusive values}} from the summaries."""
        data, tables = self.sections[SUMMARY_DATA], {}
        for role, metric, offset, _, entries, _, *widths in struct.iter_unpack("<IIQQII10B6x", self.sections[SUMMARY_INDEX]):
            column = offset + 5 * entries + entries * widths[0]  # behind scopes, forms and n
            scopes = struct.unpack_from(f"<{entries}I", data, offset)
            width = widths[1]
            tables[role, metric] = {
                scope: int.from_bytes(data[column + i * width : column + (i + 1) * width], "little") for i, scope in enumerate(scopes)
            }
        return tables


def runs_of_contexts(cursor, number):
    """One context for each of so many things, as they are stored: runs of equal ones."""
    contexts = []
    while len(contexts) < number:
        length = cursor.varint()
        contexts += [cursor.get("I")] * length
    return contexts


def time_map(db):
    """(begin, ns of a bin, rows): each rank, ns in MPI calls and context by bin, {pattern: {bin: ns of waiting}}, and
    the segments that each bin lies in (ranges of their numbers; none in databases of older writers)."""
    if not db.sections.get(TIME_MAP):
        return 0, 0, []
    cursor, rows = Cursor(db.sections[TIME_MAP]), []
    begin, width, bins, count = cursor.get("QQII")
    for _ in range(count):
        rank, series = cursor.get("iI")
        calls, waits = [cursor.varint() for _ in range(bins)], {}
        contexts = runs_of_contexts(cursor, bins)
        for _ in range(series):
            pattern, cells = cursor.get("II")
            place, waits[pattern] = -1, {}
            for _ in range(cells):
                place += cursor.varint() + 1
                waits[pattern][place] = cursor.varint()
        rows.append((rank, calls, contexts, waits, []))
    for *_, segments in rows if cursor.at < len(cursor.data) else []:
        first = 0
        for _ in range(bins):
            number = cursor.varint()
            first += cursor.varint() if number else 0
            segments.append(range(first, first + number))
    return begin, width, rows


def variations(db):
    """Levels of segments, each {rank: (ns of each segment, when each began, {metric: value of each segment},
    {metric: context of each segment})}. Older writers do not tell when, nor the contexts: then those are empty."""
    if not db.sections.get(VARIATION):
        return []
    cursor, levels = Cursor(db.sections[VARIATION]), []
    for _ in range(cursor.get("I")):
        flags, _, _, ranks = cursor.get("IIQI")
        rows = {}
        for _ in range(ranks):
            rank, segments = cursor.get("iI")
            rows[rank] = ([cursor.varint() for _ in range(segments)], [], {}, {})
        for _ in range(cursor.get("I")):
            cursor.get("iIIQ")  # an outlier
        for _ in range(cursor.get("I") if flags & 4 else 0):
            cursor.varint()  # a duration
        levels.append(rows)
    rows = [row for level in levels for row in level.values()]
    for times, begins, _, _ in rows if cursor.at < len(cursor.data) else []:
        for _ in times:
            begins.append(cursor.varint() + (begins[-1] if begins else 0))
    if db.sections.get(SEGMENT_METRICS):
        cursor = Cursor(db.sections[SEGMENT_METRICS])
        metrics = [db.metrics[cursor.get("I")][0] for _ in range(cursor.get("I"))]
        for times, _, values, _ in rows:
            for metric in metrics:
                values[metric] = [cursor.varint() for _ in times]
        for times, _, _, contexts in rows if cursor.at < len(cursor.data) else []:
            for metric in metrics:
                contexts[metric] = runs_of_contexts(cursor, len(times))
    return levels


def segments_of_rank(times, begins, values, contexts):
    """One line of `segments`."""
    parts = [f"{len(times)} segments", f"{sum(times)} ns"]
    if begins:
        parts.append(f"from {begins[0]} to {begins[-1]}")
    for metric, each in values.items():
        where = [context for context in contexts.get(metric, []) if context != NONE]
        most = f" mostly in c{max(sorted(set(where)), key=where.count)}" if where else ""
        parts.append(f"{sum(each)} {metric}{most}")
    return ", ".join(parts)


def tree(db, depth):
    time = [name for name, _ in db.metrics].index("REALTIME")
    sums = [table for (_, metric), table in db.sums().items() if metric == time]
    level = {0: 0}
    for context in range(len(db.ends)):
        if context:
            level[context] = level[db.parents[context]] + 1
        if level[context] > depth:
            continue
        frame = db.frame(context)
        seconds = sum(table.get(context, 0) for table in sums) / 1e9
        place = f"{frame['file'].rsplit('/', 1)[-1]}:{frame['line']}" if frame["file"] else ""
        print(f"{seconds:12.6f}  {'  ' * level[context]}c{context} {frame['kind']} {frame['name']} {place}".rstrip())


def processors(data):
    """A set of processors, as a list: runs of equal steps."""
    runs, listed = struct.unpack_from("<H", data)[0], []
    for i in range(runs):
        first, last, step = struct.unpack_from("<3H", data, 2 + 6 * i)
        listed += range(first, last + 1, step or 1)
    return ",".join(map(str, listed))


def machine(db):
    for fields in struct.iter_unpack("<6I13Q32s", db.sections.get(SCHEDULES, b"")):
        location, online, allowed, _, voluntary, involuntary, ran, runnable = fields[:8]
        print(f"location {location}: ran {ran} ns, runnable {runnable} ns, switches {voluntary} and {involuntary}, "
              f"on {processors(fields[19])} of {allowed} of {online} processors")  # fmt: skip
    if not db.sections.get(MACHINE):
        return
    cursor = Cursor(db.sections[MACHINE])
    for _ in range(cursor.get("I")):
        kind, by_others, count = cursor.get("3I")
        wanted, others, free, quota, lost, explains = cursor.get("6Q")
        locations = [cursor.get("I") for _ in range(cursor.get("I"))]
        print(f"{MACHINE_KINDS[kind]}{' by others' if by_others else ''}: locations {locations}, {count} processors, "
              f"lost {lost} ns, explains {explains} ns")  # fmt: skip


def check_scopes(db, exclusive):
    """What is kept of files and load modules is what was recorded in them."""
    kinds = [(fields[0], fields[6] & 255) for fields in struct.iter_unpack("<7I", db.sections[FLAT])]
    flat_of = [fields[6] for fields in struct.iter_unpack("<7I4B", db.sections[CONTEXTS])]
    for location, profile in enumerate(exclusive):
        expected = {}
        for context, row in profile.items():
            while context and flat_of[context] == NONE:
                context = db.parents[context]
            scope = flat_of[context]
            while scope != NONE:
                parent, kind = kinds[scope]
                if kind in (MODULE, FILE):
                    before = expected.get(scope, [0] * len(row))
                    expected[scope] = [a + b for a, b in zip(before, row)]
                scope = parent
        tile = [tile for tile in db.tiles if tile.first <= location][-1]
        kept = {scope: rows[location] for scope, rows in tile.scopes().items() if location in rows}
        if kept != expected:
            sys.exit(f"read_db.py: location {location}: files and load modules differ from what was recorded in them")


def check(db):
    roles = [role for _, _, role in db.locations()]
    exclusive = [tile.profile(location) for tile in db.tiles for location in range(tile.first, tile.first + tile.locations)]
    expected = db.sums()
    for metric in range(len(db.metrics)):
        for context, end in enumerate(db.ends):
            by_role = {}
            values = db.inclusive(context, metric)
            for location, profile in enumerate(exclusive):
                own = sum(row[metric] for x, row in profile.items() if context <= x < end and metric < len(row))
                if own != values[location]:
                    sys.exit(f"read_db.py: context {context}, metric {metric}, location {location}: {own} and {values[location]}")
                by_role[roles[location]] = by_role.get(roles[location], 0) + own
            for role, value in by_role.items():
                if (role, metric) in expected and value != expected[role, metric].get(context, 0):
                    sys.exit(f"read_db.py: context {context}, metric {metric}, role {role}: summary differs")
    check_scopes(db, exclusive)
    print(f"{len(db.ends)} contexts, {len(exclusive)} threads: by thread, by context and in sum the same")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    db = Database(sys.argv[1])
    command = sys.argv[2] if len(sys.argv) > 2 else "info"
    if command == "info":
        for name, value in db.run.items():
            print(f"{name}: {value}")
        print("metrics:", ", ".join(f"{name} ({unit})" for name, unit in db.metrics))
        print("roles:", ", ".join(f"{threads} {name}" for name, threads in db.roles))
    elif command == "tree":
        tree(db, int(sys.argv[3]) if len(sys.argv) > 3 else 8)
    elif command == "threads":
        time = [name for name, _ in db.metrics].index("REALTIME")
        for (rank, thread, _), value in zip(db.locations(), db.inclusive(int(sys.argv[3]), time)):
            print(rank, thread, value)
    elif command == "profile":
        location = int(sys.argv[3])
        tile = [tile for tile in db.tiles if tile.first <= location][-1]
        for context, row in tile.profile(location).items():
            for metric, value in enumerate(row):
                if value:
                    print(context, db.metrics[metric][0], value)
    elif command == "time":
        _, width, rows = time_map(db)
        for rank, calls, contexts, waits, segments in rows:
            waiting = sum(sum(cells.values()) for cells in waits.values())
            known = len(set().union(*segments))
            print(f"rank {rank}: {len(calls)} bins of {width} ns, {sum(calls)} ns in MPI calls, {waiting} ns in wait patterns, {known} segments")
    elif command == "segments":
        for level, rows in enumerate(variations(db)):
            for rank, row in rows.items():
                print(f"level {level}, rank {rank}: {segments_of_rank(*row)}")
    elif command == "machine":
        machine(db)
    elif command == "check":
        check(db)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
