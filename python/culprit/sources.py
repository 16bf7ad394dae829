"""Source texts that the database holds (sections 15 and 16)."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
from collections.abc import Mapping
from typing import Dict, Iterator, Tuple

from .parts import SOURCE_DATA, SOURCE_INDEX, File
from .scopes import Strings

PLAIN, ZSTD = 0, 1
MOST_COMPRESSED = 250  # a text that shrinks further is stored plain: bounds what is made of a file


def expand(data: bytes, size: int) -> bytes:
    """A zstd frame of `size` bytes: by Python from 3.14 on, else by the system's libzstd. ValueError where it is none."""
    try:
        from compression.zstd import ZstdDecompressor, ZstdError
    except ImportError:
        return expand_by_library(data, size)
    try:
        return ZstdDecompressor().decompress(data, max_length=size + 1)
    except ZstdError as error:
        raise ValueError(str(error)) from None


def expand_by_library(data: bytes, size: int) -> bytes:
    name = ctypes.util.find_library("zstd") or "libzstd.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        raise NotImplementedError("this source text is compressed, which needs Python 3.14 or the library libzstd") from None
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_isError.argtypes = (ctypes.c_size_t,)
    text = ctypes.create_string_buffer(max(size, 1))
    found = library.ZSTD_decompress(text, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if library.ZSTD_isError(found):
        raise ValueError("zstd refuses it")
    return text.raw[:found]


class Sources(Mapping):
    """Texts by path, read when asked for."""

    def __init__(self, file: File, strings: Strings) -> None:
        self.index, self.data = file.sections[SOURCE_INDEX], file.sections[SOURCE_DATA]
        self.places: Dict[str, Tuple[int, int, int, int]] = {}
        for number, (path, form, size, offset, stored) in enumerate(struct.iter_unpack("<IIQQQ", self.index.all())):
            if path >= strings.size or form not in (PLAIN, ZSTD):
                self.index.fail("names paths that do not exist, or an unknown form", 32 * number)
            if (form == PLAIN and size != stored) or (form == ZSTD and size > MOST_COMPRESSED * stored):
                self.index.fail("states a size that cannot be", 32 * number)
            self.places[strings[path]] = form, size, offset, stored

    def __getitem__(self, path: str) -> str:
        form, size, offset, stored = self.places[path]
        data = bytes(self.data.at(offset, stored))
        if form == ZSTD:
            try:
                data = expand(data, size)
            except ValueError as error:
                self.data.fail(f"holds a text that cannot be expanded: {error}", offset)
        if len(data) != size:
            self.data.fail("holds a text of another size than stated", offset)
        return data.decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f"<{len(self)} source texts>"
