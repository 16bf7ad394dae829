#!/usr/bin/env python3
"""How long the Python package takes for a database. Usage: read_in_python.py DB, each step once, the file in the page cache."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import culprit  # noqa: E402


def timed(what, step):
    begin = time.perf_counter()
    found = step()
    print(f"{what:34} {1000 * (time.perf_counter() - begin):10.1f} ms")
    return found


def main():
    db = timed("open", lambda: culprit.open(sys.argv[1]))
    root = db.calling_context.roots[0]
    timed("root and its children, with time", lambda: [node["REALTIME:sum (I)"] for node in (root, *root)])
    timed("tree of what has 5 % or more", lambda: db.calling_context.filter(min_share=0.05).text())
    timed("values of the root per thread", root.per_thread)
    timed("waits", lambda: len(db.waits))
    timed("segments", lambda: len(db.segments()))
    timed("time map", lambda: db.time_map.array("waiting_s"))
    timed("all contexts as a table", lambda: len(db.calling_context.table()))
    timed("to Hatchet", db.to_hatchet)
    print(db)


if __name__ == "__main__":
    main()
