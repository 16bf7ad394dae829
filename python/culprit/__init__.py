"""Culprit's databases in Python: which code, on which ranks, makes an MPI program wait.

    >>> import culprit
    >>> db = culprit.open("run.db")            # doctest: +SKIP
    >>> db.waits.sort("seconds")[:10]          # doctest: +SKIP
    >>> db.calling_context.find("MPI_")        # doctest: +SKIP

Pure Python 3.9 over the file format of docs/formats.md. pandas, numpy, xxhash and hatchet are used where they are present
and asked for. docs/python.md is the introduction.
"""

from __future__ import annotations

import os as _os

from .database import Database
from .errors import FormatError, UnknownName
from .findings import PART_OF, PATTERNS, WHOLE_WAITS
from .metrics import STATISTICS
from .paths import CallPath
from .run import Location
from .scopes import Frame
from .table import Table
from .tree import Node, View

__version__ = "0.2.0"
__all__ = [
    "CallPath", "Database", "FormatError", "Frame", "Location", "Node", "PART_OF", "PATTERNS", "STATISTICS", "Table",
    "UnknownName", "View", "WHOLE_WAITS", "open",
]  # fmt: skip


def open(path: "_os.PathLike[str] | str") -> Database:  # noqa: A001 - culprit.open reads well
    """Opens a database that prof-mpi or viewer-cli made. Costs milliseconds, whatever its size.

    Raises FormatError (no database, damaged, another version) with file, offset and what to do; OSError where the file
    cannot be opened.
    """
    return Database(path)
