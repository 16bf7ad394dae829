"""The file: header, table of sections, and parts with their checksums (docs/formats.md, "Database").

The file is mapped. A part (a section or a tile) is verified where it is looked at, 16 KiB at a time, so that opening a
database costs nothing that grows with it. Nothing that a file says is trusted: each reference is held against the bounds
of what it refers to, before anything is made of it.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from typing import Dict, NoReturn, Optional

from .checksum import checksum
from .errors import FormatError

MAGIC, VERSION = b"CULPRITD", 2
HEADER_SIZE, HASHED, ENTRY_SIZE, MAX_SECTIONS = 64, 56, 32, 1024
CHUNK = 16384

META, STRING_ENDS, STRING_BYTES, MODULES, CONTEXTS, FLAT, LOCATIONS = range(1, 8)
CONTEXT_SUMMARY_INDEX, CONTEXT_SUMMARY_DATA, FLAT_SUMMARY_INDEX, FLAT_SUMMARY_DATA = range(8, 12)
BALANCE, BLAME, SUSPECTS, SOURCE_INDEX, SOURCE_DATA = range(12, 17)
WAITS, TILES, FLAT_INSTANCE_ENDS, FLAT_INSTANCES, FLAT_BLAME = range(21, 26)
PROCEDURE_OF_CONTEXT, PROCEDURES, PROCEDURE_INSTANCES = range(26, 29)
TRACES, CAUSES, CRITICAL_PATH, HOTSPOTS, VARIATION, TIME_MAP, SEGMENT_METRICS = range(29, 36)
SCHEDULES, MACHINE, DIRECT_WAITS, VARYING_GAPS, CALL_TRAFFIC, PARTNER_TRAFFIC = range(36, 42)
LAST, FIRST_OPTIONAL = PARTNER_TRAFFIC, TRACES
ELEMENT = {
    STRING_ENDS: 8, CONTEXTS: 32, FLAT: 28, LOCATIONS: 48, CONTEXT_SUMMARY_INDEX: 48, FLAT_SUMMARY_INDEX: 48, BLAME: 32,
    WAITS: 40, DIRECT_WAITS: 8, CAUSES: 32, HOTSPOTS: 24, SOURCE_INDEX: 32, TILES: 32, FLAT_BLAME: 56, PROCEDURES: 16,
    SCHEDULES: 160, FLAT_INSTANCE_ENDS: 4, FLAT_INSTANCES: 4, PROCEDURE_OF_CONTEXT: 4, PROCEDURE_INSTANCES: 4,
    VARYING_GAPS: 56, CALL_TRAFFIC: 96, PARTNER_TRAFFIC: 40,
}  # fmt: skip
# The writer states 1 for these three; their size is a multiple of the element's all the same.
STATED_AS_BYTES = {VARYING_GAPS, CALL_TRAFFIC, PARTNER_TRAFFIC}


class Part:
    """A section or tile: bytes of the file with a checksum for each 16 KiB behind them."""

    __slots__ = ("file", "what", "offset", "size", "data", "sums", "sum", "good", "sums_good")

    def __init__(self, file: "File", what: str, offset: int, size: int, sum_of_sums: int) -> None:
        self.file, self.what, self.offset, self.size, self.sum = file, what, offset, size, sum_of_sums
        if offset > file.size or size > file.size - offset:
            self.fail("lies outside the file")
        begin, chunks = (offset + size + 7) // 8 * 8, (size + CHUNK - 1) // CHUNK
        if begin > file.size or 8 * chunks > file.size - begin:
            self.fail("has no checksums")
        self.data = file.data[offset : offset + size]
        self.sums = file.data[begin : begin + 8 * chunks]
        self.good, self.sums_good = bytearray(chunks), False

    def fail(self, why: str, at: int = 0) -> NoReturn:
        """Raises FormatError; `at`: bytes from the part's beginning."""
        raise FormatError(self.file.path, self.offset + at, f"{self.what} {why}")

    def verify(self, chunk: int) -> None:
        if not self.sums_good:
            if checksum(self.sums.tobytes()) != self.sum:
                self.fail("has checksums that do not match their own", self.size)
            self.sums_good = True
        data = self.data[chunk * CHUNK : (chunk + 1) * CHUNK].tobytes()
        if checksum(data) != struct.unpack_from("<Q", self.sums, 8 * chunk)[0]:
            self.fail("is damaged: it does not match its checksum", chunk * CHUNK)
        self.good[chunk] = 1

    def at(self, offset: int, size: int) -> memoryview:
        """`size` bytes from `offset` on, verified."""
        if offset < 0 or size < 0 or offset + size > self.size:
            self.fail("refers to something that does not exist", min(max(offset, 0), self.size))
        if size:
            chunk, last = offset // CHUNK, (offset + size - 1) // CHUNK
            while chunk <= last:
                if not self.good[chunk]:
                    self.verify(chunk)
                chunk += 1
        return self.data[offset : offset + size]

    def all(self) -> memoryview:
        return self.at(0, self.size)

    def unpack(self, form: struct.Struct, offset: int) -> tuple:
        return form.unpack(self.at(offset, form.size))


class Closed(Dict[int, Part]):
    """The sections of a closed file."""

    def __missing__(self, number: int) -> NoReturn:
        raise ValueError("the database is closed (look at it before close(), or inside of with)")


class File:
    """A mapped database. Raises FormatError where it is none; OSError where it cannot be opened."""

    def __init__(self, path: "os.PathLike[str] | str") -> None:
        self.path = os.fspath(path)
        if isinstance(self.path, bytes):
            self.path = os.fsdecode(self.path)
        if sys.byteorder != "little":
            raise NotImplementedError("culprit reads databases on little-endian machines alone")
        if os.path.isdir(self.path):
            advice = f"merge it, prof-mpi {self.path}, and open {self.path.rstrip('/')}.db"
            raise FormatError(self.path, None, "a directory, so perhaps a measurement", advice)
        if not os.path.isfile(self.path) and os.path.exists(self.path):  # opening a pipe would wait for its writer
            raise FormatError(self.path, None, "not a regular file", "name a database that prof-mpi wrote")
        with open(self.path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            self.map: Optional[mmap.mmap] = None
            if self.size:
                self.map = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)
        self.data = memoryview(self.map if self.map is not None else b"")
        self.sections = self.find_sections()

    def fail(self, why: str, offset: int = 0, advice: str = "merge again with prof-mpi") -> NoReturn:
        raise FormatError(self.path, offset, why, advice)

    def find_sections(self) -> Dict[int, Part]:
        if bytes(self.data[:8]) != MAGIC:
            self.fail("not a Culprit database", 0, "name a file that prof-mpi wrote")
        if self.size < HEADER_SIZE:
            self.fail("ends too early", self.size)
        version, count, size, table, table_sum = struct.unpack_from("<IIQQQ", self.data, 8)
        if version != VERSION:
            advice = "merge again with the prof-mpi of this package's version"
            self.fail(f"database format {version}, this package reads {VERSION}", 8, advice)
        if checksum(bytes(self.data[:HASHED])) != struct.unpack_from("<Q", self.data, HASHED)[0]:
            self.fail("is damaged: its header does not match its checksum")
        if size != self.size:
            self.fail("ends too early" if size > self.size else "is longer than its header says", min(size, self.size))
        if count > MAX_SECTIONS or table > self.size or count * ENTRY_SIZE > self.size - table:
            self.fail("the table of sections lies outside the file")
        if checksum(bytes(self.data[table : table + count * ENTRY_SIZE])) != table_sum:
            self.fail("the table of sections is damaged: it does not match its checksum", table)
        return self.sections_of(table, count)

    def sections_of(self, table: int, count: int) -> Dict[int, Part]:
        sections: Dict[int, Part] = {}
        for at in range(table, table + count * ENTRY_SIZE, ENTRY_SIZE):
            number, element, offset, size, sums = struct.unpack_from("<IIQQQ", self.data, at)
            if not 1 <= number <= LAST or 16 < number < 21:
                continue  # of a later writer
            if number in sections:
                self.fail(f"section {number} appears twice", at)
            expected = ELEMENT.get(number, 1)
            if element not in (expected, 1 if number in STATED_AS_BYTES else expected) or size % expected:
                self.fail(f"section {number} has elements of the wrong size", at)
            if offset % 8:
                self.fail(f"section {number} is misplaced", at)
            sections[number] = Part(self, f"section {number}", offset, size, sums)
        for number in range(1, FIRST_OPTIONAL):
            if number not in sections and not 16 < number < 21:
                self.fail(f"section {number} is missing", table)
        for number in range(FIRST_OPTIONAL, LAST + 1):
            sections.setdefault(number, Part(self, f"section {number}", 0, 0, 0))
        return sections

    def close(self) -> None:
        """Gives the mapping back; what still looks into it keeps it until it is gone itself."""
        self.sections, self.data = Closed(), memoryview(b"")
        if self.map is not None:
            try:
                self.map.close()
            except BufferError:
                pass
            self.map = None
