"""What the package raises by itself; everything else is Python's own (FileNotFoundError and the like)."""

from __future__ import annotations

import os
from typing import Optional

from .text import spelled


class FormatError(Exception):
    """A file that is no database, is damaged, or is of another version.

    `path`: the file. `offset`: bytes from its start to where it was noticed; None where the whole file is meant.
    `why`: what is wrong. `advice`: what to do.
    """

    def __init__(self, path: str, offset: Optional[int], why: str, advice: str = "merge again with prof-mpi") -> None:
        self.path, self.offset, self.why, self.advice = path, offset, why, advice
        where = "" if offset is None else f" at byte {offset}"
        super().__init__(f"{spelled(os.fsencode(path))}{where}: {why} ({advice})")

    def __reduce__(self):  # so that it crosses process pools
        return type(self), (self.path, self.offset, self.why, self.advice)


class UnknownName(LookupError):
    """A metric, role, rank or node that the database does not have. The text is "what is missing (what there is)"."""
