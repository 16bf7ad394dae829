"""How names are written: as viewer-cli writes them (lib/print)."""

from __future__ import annotations

import re

# What a terminal would obey instead of showing it: control characters, separators of lines, directions of writing.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(found: re.Match) -> str:
    return SHORT.get(found.group()) or f"\\u{ord(found.group()):04x}"


def spelled(data: bytes) -> str:
    """A name, which holds any bytes: what cannot be printed is escaped, as in JSON and C++."""
    return UNPRINTABLE.sub(escape, data.decode(errors="backslashreplace"))


def base_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def seconds(ns: int) -> float:
    return ns / 1e9
