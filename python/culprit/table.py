"""Tables: rows with named columns, for people, for loops, and for pandas where it is present."""

from __future__ import annotations

import csv
import html
import io
import shutil
import sys
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union, overload

SHOWN, WIDEST = 20, 44  # rows, and characters of a cell


def shown(value: Any) -> str:
    """A cell as people see it. Of what is too long the end says more: the innermost frames of a call path, a file's name."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= WIDEST else "…" + text[1 - WIDEST :]


def fitting(widths: Sequence[int]) -> int:
    """How many columns fit into the terminal, at least one; all where there is no terminal."""
    room = shutil.get_terminal_size((sys.maxsize, 0)).columns
    used = 0
    for number, width in enumerate(widths):
        used += width + (2 if number else 0)
        if used > room:
            return max(number, 1)
    return len(widths)


class Table(Sequence):
    """Rows with named columns. `table[0]` is a row as a dict, `table["seconds"]` a column as a list, `table[:10]` a
    shorter table; iterating gives dicts. `units` says what numbers are in, by column: "s", "count", "bytes"."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], units: Optional[Dict[str, str]] = None) -> None:
        self.columns: Tuple[str, ...] = tuple(columns)
        self.rows: List[Tuple[Any, ...]] = [tuple(row) for row in rows]
        self.units: Dict[str, str] = dict(units or {})

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, key: int) -> Dict[str, Any]: ...
    @overload
    def __getitem__(self, key: str) -> List[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "Table": ...
    def __getitem__(self, key: Union[int, str, slice]) -> Any:
        if isinstance(key, slice):
            return Table(self.columns, self.rows[key], self.units)
        if isinstance(key, str):
            return [row[self.place(key)] for row in self.rows]
        return dict(zip(self.columns, self.rows[key]))

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (dict(zip(self.columns, row)) for row in self.rows)

    def place(self, column: str) -> int:
        if column not in self.columns:
            raise KeyError(f"no column '{column}' (there are: {', '.join(self.columns)})")
        return self.columns.index(column)

    def where(self, keep: Optional[Callable[[Dict[str, Any]], bool]] = None, **equal: Any) -> "Table":
        """Rows of which `keep` is true, and whose columns are equal to what is given: `waits.where(rank=3)`."""
        places = {self.place(column): value for column, value in equal.items()}
        rows = [row for row in self.rows if all(row[place] == value for place, value in places.items())]
        if keep is not None:
            rows = [row for row in rows if keep(dict(zip(self.columns, row)))]
        return Table(self.columns, rows, self.units)

    def select(self, *columns: str) -> "Table":
        """Some columns, in this order."""
        places = [self.place(column) for column in columns]
        units = {column: unit for column, unit in self.units.items() if column in columns}
        return Table(columns, [[row[place] for place in places] for row in self.rows], units)

    def sort(self, column: str, ascending: bool = False) -> "Table":
        """By a column, the largest first; empty cells come last."""
        place = self.place(column)
        full = [row for row in self.rows if row[place] is not None]
        empty = [row for row in self.rows if row[place] is None]
        return Table(self.columns, sorted(full, key=lambda row: row[place], reverse=not ascending) + empty, self.units)

    def to_pandas(self):
        """A pandas.DataFrame (pandas must be installed); units are in its `attrs["units"]`."""
        import pandas

        frame = pandas.DataFrame.from_records(self.rows, columns=list(self.columns))
        frame.attrs["units"] = dict(self.units)
        return frame

    def to_csv(self, path: Optional[str] = None) -> Optional[str]:
        """Writes a file, or returns its text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if cell is None else cell for cell in row] for row in self.rows])
        if path is None:
            return text.getvalue()
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return None

    def headings(self) -> List[str]:
        """Names with units, where the name does not say them already."""
        said = [name.endswith(("_s", "bytes")) or name not in self.units or self.units[name] == name for name in self.columns]
        return [name if plain else f"{name} [{self.units[name]}]" for name, plain in zip(self.columns, said)]

    def __repr__(self) -> str:
        cells = [self.headings()] + [[shown(cell) for cell in row] for row in self.rows[:SHOWN]]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        numbers = [all(isinstance(row[i], (int, float, type(None))) for row in self.rows[:SHOWN]) for i in range(len(self.columns))]
        fit = fitting(widths)
        lines = [
            "  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row[:fit], widths, numbers)).rstrip()
            for row in cells
        ]
        further = [f"further columns: {', '.join(self.columns[fit:])}"] if fit < len(widths) else []
        return "\n".join([*lines, *self.rest(), *further])

    def rest(self) -> List[str]:
        if not self.rows:
            return ["(no rows)"]
        return [f"… {len(self.rows) - SHOWN} more of {len(self.rows)} rows"] if len(self.rows) > SHOWN else []

    def _repr_html_(self) -> str:
        def line(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line((shown(cell) for cell in row), "td") for row in self.rows[:SHOWN])
        rest = "".join(f"<p>{html.escape(text)}</p>" for text in self.rest())
        return f"<table><thead>{line(self.headings(), 'th')}</thead><tbody>{body}</tbody></table>{rest}"
