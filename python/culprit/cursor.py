"""Reads the numbers of a section or list one after the other; what ends early or is too large raises FormatError."""

from __future__ import annotations

import struct
from typing import List, Optional

from .parts import Part
from .text import spelled

LARGEST = 2**64
RUN, SHORT, WIDEST = 128, 4, 64  # of packed numbers


class Cursor:
    """At `offset` of a part, up to `size` bytes further (the part's end where None)."""

    __slots__ = ("part", "begin", "data", "at", "end")

    def __init__(self, part: Part, offset: int = 0, size: Optional[int] = None) -> None:
        self.part, self.begin = part, offset
        self.data = part.at(offset, part.size - offset if size is None else size)
        self.at, self.end = 0, len(self.data)

    def fail(self, why: str):
        self.part.fail(why, self.begin + min(self.at, self.end))

    @property
    def remaining(self) -> int:
        return self.end - self.at

    def skip(self, size: int) -> int:
        """The place of the next `size` bytes, which are passed over."""
        at = self.at
        if size > self.end - at:
            self.fail("ends too early")
        self.at = at + size
        return at

    def get(self, form: str) -> tuple:
        """Numbers by a format of the module struct, little-endian."""
        return struct.unpack_from("<" + form, self.data, self.skip(struct.calcsize("<" + form)))

    def u8(self) -> int:
        return self.data[self.skip(1)]

    def u32(self) -> int:
        return struct.unpack_from("<I", self.data, self.skip(4))[0]

    def u64(self) -> int:
        return struct.unpack_from("<Q", self.data, self.skip(8))[0]

    def count(self, least: int) -> int:
        """A number of elements of at least `least` bytes each, which the rest must be able to hold."""
        number = self.u32()
        if number * least > self.remaining:
            self.fail("claims more than it holds")
        return number

    def varint(self) -> int:
        data, at, end = self.data, self.at, self.end
        value = shift = 0
        while at < end:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= LARGEST:
                    self.fail("holds a number of more than 64 bits")
                self.at = at
                return value
            shift += 7
            if shift >= 70:
                self.fail("holds a number of more than 64 bits")
        return self.fail("ends too early")

    def varints(self, number: int) -> List[int]:
        if number > self.remaining:
            self.fail("claims more than it holds")
        return [self.varint() for _ in range(number)]

    def raw(self) -> bytes:
        size = self.varint()
        at = self.skip(size)
        return bytes(self.data[at : at + size])

    def string(self) -> str:
        return spelled(self.raw())

    def strings(self) -> List[str]:
        return [self.string() for _ in range(self.count(1))]

    def truth(self) -> bool:
        value = self.u8()
        if value > 1:
            self.fail("holds a truth value that is neither 0 nor 1")
        return value == 1

    def contexts(self, number: int) -> List[int]:
        """One context for each of `number` things, stored as runs of equal ones."""
        found: List[int] = []
        while len(found) < number:
            length = self.varint()
            if not 0 < length <= number - len(found):
                self.fail("has runs that do not fit")
            found += [self.u32()] * length
        return found

    def packed(self, number: int) -> List[int]:
        """Packed numbers; `number` is at most what the caller has room for."""
        values: List[int] = []
        for first in range(0, number, RUN):
            self.packed_run(min(RUN, number - first), values)
        return values

    def packed_run(self, number: int, into: List[int]) -> None:
        if number < SHORT:
            into += self.varints(number)
            return
        base, width, exceptions = self.varint(), self.u8(), self.u8()
        if width > WIDEST or exceptions > number:
            self.fail("holds a run of numbers that is none")
        begin, size = len(into), (number * width + 7) // 8
        at = self.skip(size)
        if width == 0:
            into += [base] * number
        else:
            bits, mask = int.from_bytes(self.data[at : at + size], "little"), (1 << width) - 1
            if base + mask < LARGEST:
                into += [base + (bits >> shift & mask) for shift in range(0, number * width, width)]
            else:
                into += [(base + (bits >> shift & mask)) % LARGEST for shift in range(0, number * width, width)]
        for _ in range(exceptions):
            place, rest = self.u8(), self.varint()
            if place >= number or width >= WIDEST:
                self.fail("holds a run of numbers that is none")
            into[begin + place] = (into[begin + place] + (rest << width)) % LARGEST

    def skip_packed(self, number: int) -> None:
        for first in range(0, number, RUN):
            run = min(RUN, number - first)
            if run < SHORT:
                self.varints(run)
                continue
            self.varint()
            width, exceptions = self.u8(), self.u8()
            if width > WIDEST or exceptions > run:
                self.fail("holds a run of numbers that is none")
            self.skip((run * width + 7) // 8)
            for _ in range(exceptions):
                self.u8()
                self.varint()
