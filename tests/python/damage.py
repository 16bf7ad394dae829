"""Damaged databases: what anybody could make of one, with checksums that hold or do not."""

import os
import struct

import culprit.parts as parts
from culprit.checksum import checksum
from culprit.errors import UnknownName


def per_thread(node, *metric):
    """Empty where a changed byte says that the metric is computed over all threads: no value per thread is to be had then."""
    try:
        return list(node.per_thread(*metric))
    except UnknownName:
        return []


def look_at_everything(db):
    """Reads all of a database; the text of all that it holds."""
    found = [db.info, db.trace, db.to_hatchet(), list(db.levels), {path: db.sources[path] for path in db.sources}]
    metrics = [f"{name}:{stat} ({scope})" for name in db.metrics["name"] for stat in ("sum", "stddev") for scope in "IE"]
    found += [db.calling_context.table(metrics).rows, db.flat.table().rows, db.callers.filter(depth=2).table().rows]
    measured = [rank for rank in db.threads["rank"] if rank is not None][:1]
    found.append(db.view("flat", ranks=measured).table().rows if measured else [])
    for node in [*db.calling_context.walk(), *db.flat.walk()]:
        found.append([per_thread(node), per_thread(node, db.meta.metrics[0].name + " (E)")])
    for table in (
        db.threads, db.modules, db.waits, db.blame, db.suspects, db.causes, db.critical_path, db.hotspots, db.segments(), db.time_map.table,
        db.time_map.waits, db.calls, db.partners, db.varying_gaps, db.schedules, db.machine, *(level.segments for level in db.levels),
    ):  # fmt: skip
        found.append([[str(cell) for cell in row] for row in table.rows])
    return repr(found).replace(db.path, "")


def overwrite(path, data):
    """Writes a file anew in its place: emptied first, file systems would write each one to the disk."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
        file.write(data)
        file.truncate()


def part_places(data):
    """[(offset, size, where the checksum of its checksums stands)] of tiles and sections; where the table is, and how long.
    Raises struct.error, IndexError or OverflowError where they lie outside of the file."""
    count, _, table = struct.unpack_from("<IQQ", data, 12)
    places = []
    for at in range(table, table + 32 * count, 32):
        number, _, offset, size = struct.unpack_from("<IIQQ", data, at)
        if number == parts.TILES:
            for tile in range(offset, offset + size, 32):
                places.append((*struct.unpack_from("<QQ", data, tile), tile + 16))
    for at in range(table, table + 32 * count, 32):
        places.append((*struct.unpack_from("<QQ", data, at + 8), at + 24))
    if any(offset + size > len(data) for offset, size, _ in places):
        raise IndexError("a part ends behind the file")
    return places, table, count


def seal(data, layout):
    """Makes the checksums of changed bytes hold, so that readers meet what is behind them."""
    places, table, count = layout
    for offset, size, reference in places:
        begin, sums = (offset + size + 7) // 8 * 8, b""
        for at in range(offset, offset + size, parts.CHUNK):
            sums += checksum(bytes(data[at : min(at + parts.CHUNK, offset + size)])).to_bytes(8, "little")
        data[begin : begin + len(sums)] = sums
        struct.pack_into("<Q", data, reference, checksum(sums))
    struct.pack_into("<Q", data, 32, checksum(bytes(data[table : table + 32 * count])))
    struct.pack_into("<Q", data, 56, checksum(bytes(data[:56])))


def spoil(data, layout, random):
    """Changes some bytes of one part."""
    offset, size, _ = random.choice([place for place in layout[0] if place[1]])
    for _ in range(random.choice((1, 1, 2, 4))):
        at = offset + random.randrange(size)
        kind = random.randrange(4)
        if kind == 0:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            end = min(at + 4, offset + size)
            data[at:end] = random.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x00\x00\x00\x80"))[: end - at]
        else:
            end = min(at + 10, offset + size)
            data[at:end] = bytes(random.randrange(256) for _ in range(end - at))
