"""Summaries over threads: tables of accumulators by scope (docs/formats.md, "Summary tables"), and what is shown of them.

Accumulators are exact integers. What is shown is rounded as lib/metrics does it, whose long doubles have 64 bits of
precision: so numbers here are those of viewer-cli, to the last digit.
"""

from __future__ import annotations

import bisect
import math
import struct
from typing import Dict, List, NamedTuple, Optional, Tuple

from .parts import Part

FORM_NONE, FORM_INCLUSIVE, FORM_OWN = range(3)
WIDEST = (8, 16, 16, 8, 8)
PRECISION = 64


class Accumulator(NamedTuple):
    """Of one metric at one scope, over the threads that observed it."""

    observers: int = 0
    sum: int = 0
    squares: int = 0
    min: int = 0
    max: int = 0


NOTHING = Accumulator()


def accumulated(values: List[int]) -> Accumulator:
    """Of the values that are not 0."""
    seen = [value for value in values if value]
    if not seen:
        return NOTHING
    return Accumulator(len(seen), sum(seen), sum(value * value for value in seen), min(seen), max(seen))


class Table(NamedTuple):
    """Where the columns of one table begin in the data section."""

    offset: int
    entries: int
    own: int
    inclusive: Tuple[int, ...]
    exclusive: Tuple[int, ...]


class SummaryTables:
    """Sections 8 and 9, or 10 and 11."""

    def __init__(self, index: Part, data: Part, roles: int, metrics: int) -> None:
        self.data, self.tables, self.scopes = data, {}, {}  # type: Part, Dict[Tuple[int, int], Table], Dict[Tuple[int, int], memoryview]
        end, before = 0, (-1, -1)
        for number, fields in enumerate(struct.iter_unpack("<IIQQII5B5B6x", index.all())):
            role, metric, offset, size, entries, own, *widths = fields
            inclusive, exclusive = tuple(widths[:5]), tuple(widths[5:])
            if role >= roles or metric >= metrics:
                index.fail("names a role or metric that does not exist", 48 * number)
            if (role, metric) <= before:
                index.fail("is out of order", 48 * number)
            if any(width > most for width, most in zip(inclusive + exclusive, WIDEST + WIDEST)):
                index.fail("has a column too wide", 48 * number)
            if offset != end or size > data.size - end:
                index.fail("has tables with gaps, or that overlap", 48 * number)
            if size != entries * (5 + sum(inclusive)) + own * (4 + sum(exclusive)):
                index.fail("has a table of the wrong size", 48 * number)
            end, before = end + size, (role, metric)
            self.tables[role, metric] = Table(offset, entries, own, inclusive, exclusive)

    def place(self, offset: int, count: int, scope: int) -> Optional[int]:
        """The number of `scope` among `count` ascending ones at `offset`."""
        scopes = self.scopes.get((offset, count))  # of tables without entries several begin at one place
        if scopes is None:
            scopes = self.scopes[offset, count] = self.data.at(offset, 4 * count).cast("I")
        number = bisect.bisect_left(scopes, scope)
        return number if number < count and scopes[number] == scope else None

    def row(self, columns: int, count: int, widths: Tuple[int, ...], number: int) -> Accumulator:
        row, at = [], columns
        for width in widths:
            row.append(int.from_bytes(self.data.at(at + number * width, width), "little"))
            at += count * width
        if row[0] == 0:
            self.data.fail("holds a summary of nothing", columns)
        return Accumulator(*row)

    def get(self, role: int, metric: int, scope: int, inclusive: bool, fields: int = 5) -> Accumulator:
        """NOTHING where nobody observed it. `fields`: how many of the accumulator's are wanted; the others are 0."""
        table = self.tables.get((role, metric))
        number = self.place(table.offset, table.entries, scope) if table else None
        if table is None or number is None:
            return NOTHING
        forms = table.offset + 4 * table.entries
        columns = forms + table.entries
        if not inclusive:
            form = self.data.at(forms + number, 1)[0]
            if form == FORM_NONE:
                return NOTHING
            if form == FORM_OWN:
                return self.own(table, columns + table.entries * sum(table.inclusive), scope, fields)
            if form != FORM_INCLUSIVE:
                self.data.fail("has an entry of unknown form", forms + number)
        return self.row(columns, table.entries, table.inclusive[:fields], number)

    def own(self, table: Table, scopes: int, scope: int, fields: int) -> Accumulator:
        number = self.place(scopes, table.own, scope)
        if number is None:
            self.data.fail("lacks an exclusive row", scopes)
        return self.row(scopes + 4 * table.own, table.own, table.exclusive[:fields], number)


def rounded(mantissa: int, exponent: int, rest: bool) -> Tuple[int, int]:
    """To the nearest number of 64 bits, ties to even; `rest`: whether anything lies below the mantissa."""
    extra = mantissa.bit_length() - PRECISION
    if extra <= 0:
        return mantissa, exponent
    kept, low, half = mantissa >> extra, mantissa & (1 << extra) - 1, 1 << extra - 1
    if low > half or (low == half and (rest or kept & 1)):
        kept += 1
    return kept, exponent + extra


def quotient(numerator: int, denominator: int) -> Tuple[int, int]:
    """numerator / denominator in 64 bits, as (mantissa, exponent of 2)."""
    shift = max(0, PRECISION + 2 - numerator.bit_length() + denominator.bit_length())
    whole, rest = divmod(numerator << shift, denominator)
    return rounded(whole, -shift, rest != 0)


def root(value: int) -> Tuple[int, int]:
    shift = max(0, 2 * PRECISION + 4 - value.bit_length()) // 2 * 2
    whole = math.isqrt(value << shift)
    return rounded(whole, -(shift // 2), whole * whole != value << shift)


def leading_bits(value: int) -> int:
    shift = max(0, value.bit_length() - PRECISION)
    return value >> shift << shift


def as_float(number: Tuple[int, int]) -> float:
    return math.ldexp(float(number[0]), number[1])


def over(number: Tuple[int, int], divisor: int) -> float:
    mantissa, exponent = quotient(number[0], divisor)
    return as_float((mantissa, exponent + number[1]))


def statistic(name: str, of: Accumulator, threads: int, min_over_all: bool) -> float:
    """Mean, deviation (of the population) and cv are over all threads, min is over those that observed."""
    if threads == 0:
        return 0.0
    if name == "sum":
        return float(leading_bits(of.sum))
    if name == "mean":
        return as_float(quotient(leading_bits(of.sum), threads))
    if name == "min":
        return 0.0 if min_over_all and of.observers < threads else float(of.min)
    if name == "max":
        return float(of.max)
    if name == "count":
        return float(of.observers)
    spread = threads * of.squares - of.sum * of.sum
    deviation = root(leading_bits(spread)) if spread > 0 else (0, 0)
    if name == "stddev":
        return over(deviation, threads)
    return over(deviation, leading_bits(of.sum)) if of.sum else 0.0
