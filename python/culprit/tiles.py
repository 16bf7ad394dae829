"""Per-thread values: lists of them, and the tiles that the lists lie in (docs/formats.md, "Tiles").

Exclusive values are stored for every context, inclusive ones where adding them up would take long. So a context's values
are the sum of a few lists, whatever its subtree holds.
"""

from __future__ import annotations

import bisect
import struct
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from .cursor import LARGEST, Cursor
from .parts import File, Part
from .scopes import NONE

ALL, BITMAP, GAPS, PACKED_GAPS = range(4)
ZEROS, PACKED, EQUAL, DIFFERENCE, NEAR = range(5)
HEADER, ENTRY, HAS_SCOPES = 24, 12, 1
MOST_KEPT = 512  # lists that are kept: those of the nodes that are looked at, for their other metrics


class ValueList:
    """Rows by an index (a context or a location), each with a value per metric. Columns are formed when asked for."""

    def __init__(self, cursor: Cursor, universe: int, metrics: int) -> None:
        self.cursor = cursor
        self.indices = self.read_indices(universe)
        self.forms: List[Tuple[int, ...]] = []
        self.columns: Dict[int, List[int]] = {}
        for number in range(metrics):
            self.forms.append(self.read_form(number))
        if cursor.remaining:
            cursor.fail("is longer than its contents")

    def read_indices(self, universe: int) -> List[int]:
        cursor = self.cursor
        count, form = cursor.varint(), cursor.u8()
        if count > universe or (form == ALL and count != universe):
            cursor.fail("claims more than there is")
        if form == ALL:
            return list(range(universe))
        if form == BITMAP:
            at = cursor.skip((universe + 7) // 8)
            indices = [8 * i + bit for i, byte in enumerate(cursor.data[at : cursor.at]) if byte for bit in range(8) if byte >> bit & 1]
            if len(indices) != count or (indices and indices[-1] >= universe):
                cursor.fail("does not hold as many rows as it says")
            return indices
        if form not in (GAPS, PACKED_GAPS):
            cursor.fail("states its rows in an unknown way")
        gaps, indices, following = cursor.varints(count) if form == GAPS else cursor.packed(count), [], 0
        for gap in gaps:
            indices.append(following + gap)
            following += gap + 1
        if following > universe:
            cursor.fail("refers to something that does not exist")
        return indices

    def read_form(self, number: int) -> Tuple[int, ...]:
        cursor = self.cursor
        form = cursor.u8()
        if form > NEAR:
            cursor.fail("states a column in an unknown way")
        others = [cursor.varint() for _ in range((0, 0, 1, 2, 1)[form])]
        if others and max(others) >= number:
            cursor.fail("has a column that follows from a later one")
        begin = cursor.at
        if form in (PACKED, NEAR):
            cursor.skip_packed(len(self.indices))
        return (form, begin, *others)

    def column(self, number: int) -> List[int]:
        """The values of a metric, in the order of `indices`."""
        found = self.columns.get(number)
        if found is None:
            found = self.columns[number] = self.form(*self.forms[number])
        return found

    def form(self, form: int, begin: int, *others: int) -> List[int]:
        if form == ZEROS:
            return [0] * len(self.indices)
        if form in (PACKED, NEAR):
            self.cursor.at = begin
            packed = self.cursor.packed(len(self.indices))
            if form == PACKED:
                return packed
            near = self.column(others[0])
            return [(x + (c >> 1 if not c & 1 else -(c + 1 >> 1))) % LARGEST for x, c in zip(near, packed)]
        if form == EQUAL:
            return self.column(others[0])
        return [(x - y) % LARGEST for x, y in zip(self.column(others[0]), self.column(others[1]))]


class Tile:
    """The values of some consecutive locations, by location and by context."""

    def __init__(self, part: Part, first: int, locations: int, contexts: int, metrics: int) -> None:
        self.part, self.first, self.locations, self.contexts = part, first, locations, contexts
        stated, self.metrics, self.entries, self.lists, self.size, flags = struct.unpack("<6I", part.at(0, HEADER))
        self.directory_at = HEADER + 4 * (locations + 1)
        self.profiles = self.directory_at + ENTRY * self.entries
        self.has_scopes = bool(flags & HAS_SCOPES)
        if stated != locations or self.metrics > metrics or self.profiles > self.lists or self.lists + self.size != part.size:
            part.fail("contradicts the index of tiles")
        self.loaded: Optional[Tuple[memoryview, memoryview]] = None

    def directory(self) -> Tuple[memoryview, memoryview]:
        """All of it, and the contexts of its entries, ascending."""
        if self.loaded is None:
            entries = self.part.at(self.directory_at, ENTRY * self.entries).cast("I")
            self.loaded = entries, entries[::3]
        return self.loaded

    def entry(self, number: int) -> Tuple[int, int, int]:
        """Context, offset of its list, how many entries that follow are in it (NONE: it is exclusive)."""
        entries = self.directory()[0]
        context, offset, covered = entries[3 * number : 3 * number + 3]
        if covered != NONE and covered >= self.entries - number:
            self.part.fail("has a directory that leads nowhere", self.directory_at + ENTRY * number)
        return context, offset, covered

    def list_at(self, number: int) -> ValueList:
        offset = self.entry(number)[1]
        end = self.entry(number + 1)[1] if number + 1 < self.entries else self.size
        if not offset <= end <= self.size:
            self.part.fail("has lists that overlap", self.directory_at + ENTRY * number)
        return ValueList(Cursor(self.part, self.lists + offset, end - offset), self.locations, self.metrics)

    def profile(self, location: int) -> ValueList:
        """The exclusive values of a location, by context."""
        begin, end = struct.unpack("<2I", self.part.at(HEADER + 4 * (location - self.first), 8))
        if not begin <= end <= self.lists - self.profiles:
            self.part.fail("has profiles that overlap", HEADER)
        return ValueList(Cursor(self.part, self.profiles + begin, end - begin), self.contexts, self.metrics)

    def for_subtrees(self, ranges: Sequence[Tuple[int, int]], visit: Callable[[int], None]) -> None:
        """Visits the fewest lists that together hold the values of [first, end) of contexts, ascending and disjoint."""
        contexts, number = self.directory()[1], 0
        for first, end in ranges:
            number = bisect.bisect_left(contexts, first, number)
            while number < self.entries and contexts[number] < end:
                covered = self.entry(number)[2]
                covered = 0 if covered == NONE else covered
                if covered == 0 or contexts[number + covered] < end:
                    visit(number)
                    number += covered
                number += 1

    def for_exclusive(self, wanted: Sequence[int], visit: Callable[[int], None]) -> None:
        contexts, number = self.directory()[1], 0
        for context in wanted:
            number = bisect.bisect_left(contexts, context, number)
            while number < self.entries and contexts[number] == context:
                if self.entry(number)[2] == NONE:
                    visit(number)
                number += 1


class Tiles:
    """All tiles. Values per thread are lists of integers by location, in the metric's stored unit."""

    def __init__(self, index: Part, file: File, contexts: int, metrics: int) -> None:
        self.parts: List[Tuple[Part, int, int]] = []
        self.contexts, self.metrics, self.size = contexts, metrics, 0
        self.opened: Dict[int, Tile] = {}
        self.lists: Dict[Tuple[int, int], ValueList] = {}
        for number, fields in enumerate(struct.iter_unpack("<QQQII", index.all())):
            offset, size, sums, first, locations = fields
            if first != self.size or locations == 0 or locations > NONE - first:
                index.fail("has a gap or an overlap", 32 * number)
            self.parts.append((Part(file, "a tile of values", offset, size, sums), first, locations))
            self.size += locations
        self.firsts = [first for _, first, _ in self.parts]

    def tile(self, number: int) -> Tile:
        if number not in self.opened:
            self.opened[number] = Tile(*self.parts[number], self.contexts, self.metrics)
        return self.opened[number]

    def profile(self, location: int) -> ValueList:
        number = bisect.bisect_right(self.firsts, location) - 1
        return self.tile(number).profile(location)

    def list_of(self, tile: int, entry: int) -> ValueList:
        key = tile, entry
        if key not in self.lists:
            if len(self.lists) >= MOST_KEPT:
                self.lists.clear()
            self.lists[key] = self.tile(tile).list_at(entry)
        return self.lists[key]

    def summed(self, metric: int, choose: Callable[[Tile, Callable[[int], None]], None]) -> List[int]:
        sums = [0] * self.size
        for number in range(len(self.parts)):
            tile = self.tile(number)
            if metric >= tile.metrics:
                continue

            def add(entry: int, number: int = number, first: int = tile.first) -> None:
                values = self.list_of(number, entry)
                for index, value in zip(values.indices, values.column(metric)):
                    sums[first + index] += value

            choose(tile, add)
        return [value % LARGEST for value in sums]

    def inclusive(self, ranges: Sequence[Tuple[int, int]], metric: int) -> List[int]:
        return self.summed(metric, lambda tile, add: tile.for_subtrees(ranges, add))

    def exclusive(self, contexts: Sequence[int], metric: int) -> List[int]:
        return self.summed(metric, lambda tile, add: tile.for_exclusive(contexts, add))

    def exclusive_of_scope(self, flat: int, metric: int) -> Optional[List[int]]:
        """Of a file or load module; None where the tiles do not keep them."""
        if not all(self.tile(number).has_scopes for number in range(len(self.parts))):
            return None
        return self.exclusive([self.contexts + flat], metric)
