"""Each function's own part of a metric, from a database of hpcprof: meta.db and profile.db, versions 4.x.

Their layout is that of FORMATS.md, which hpcprof writes beside them. The sizes of records are read from the files, so that
minor versions with longer ones are read, too.
"""

import collections
import struct

MAJOR = 4
FUNCTION = 0  # a context's lexical type
HAS_FUNCTION = 1  # a context's flag
SUM = 0  # a statistic's combination


class File:
    def __init__(self, path, kind):
        self.bytes = path.read_bytes()
        if self.bytes[:14] != b"HPCTOOLKIT" + kind or self.bytes[14] != MAJOR:
            raise SystemExit(f"compare: HPCToolkit: {path}: not a {kind.decode()}.db of version {MAJOR}")

    def at(self, offset, layout):
        found = struct.unpack_from("<" + layout, self.bytes, offset)
        return found if len(found) > 1 else found[0]

    def text(self, pointer):
        return self.bytes[pointer : self.bytes.index(b"\0", pointer)].decode(errors="replace")

    def section(self, number):
        return self.at(0x18 + 0x10 * number, "Q")


def sum_of_own(meta, metric):
    """The number, in summary profiles, of the sum over all threads of a metric's values in functions without their callees."""
    section = meta.section(2)
    metrics, count, size, _, summary_size = meta.at(section, "QIBBB")
    for each in range(metrics, metrics + count * size, size):
        name, _, summaries, _, summary_count = meta.at(each, "QQQHH")
        if not meta.text(name).startswith(metric):
            continue
        for summary in range(summaries, summaries + summary_count * summary_size, summary_size):
            scope, formula, combine, number = meta.at(summary, "QQBxH")
            if meta.text(meta.at(scope, "Q")) == "function" and meta.text(formula) == "$$" and combine == SUM:
                return number
    raise SystemExit(f"compare: HPCToolkit: meta.db: no sum of {metric} by function")


def functions(meta):
    """(number, name) of the contexts that are functions, inlined ones among them."""
    entries, count, size = meta.at(meta.section(3), "QHB")
    ranges = [meta.at(each, "QQ") for each in range(entries, entries + count * size, size)]
    while ranges:
        length, begin = ranges.pop()
        place = begin
        while place < begin + length:
            children, first, number, flags, _, kind, words = meta.at(place, "QQIBBBB")
            ranges.append((children, first))
            if kind == FUNCTION and flags & HAS_FUNCTION:
                name = meta.at(meta.at(place + 0x20, "Q"), "Q")
                yield number, meta.text(name) if name else ""
            place += 0x20 + 8 * words


def summary_values(profiles, metric):
    """Context: value, of the first profile, which sums up all threads."""
    summary = profiles.at(profiles.section(0), "Q")
    count, values, contexts, indices = profiles.at(summary, "QQI4xQ")
    starts = [profiles.at(indices + 12 * each, "IQ") for each in range(contexts)]
    for (context, begin), (_, end) in zip(starts, [*starts[1:], (0, count)]):
        for each in range(begin, end):
            number, value = profiles.at(values + 10 * each, "Hd")
            if number == metric:
                yield context, value


def own_times(database, metric):
    """Function: value, without its callees, over all ranks and threads."""
    meta, profiles = File(database / "meta.db", b"meta"), File(database / "profile.db", b"prof")
    names, own = dict(functions(meta)), collections.Counter()
    for context, value in summary_values(profiles, sum_of_own(meta, metric)):
        if context in names:
            own[names[context]] += value
    return own
