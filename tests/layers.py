#!/usr/bin/env python3
"""Checks that the arrows between folders run one way (docs/how-it-works.md): who may include whom."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Each folder may include itself and these.
MAY_INCLUDE = {
    "lib/spelling": set(),
    "lib/cct": set(),
    "lib/metrics": set(),
    "lib/exchange": set(),
    "lib/unwind": {"cct"},
    "lib/measurement": {"cct"},
    "lib/structure": set(),
    "lib/database": {"metrics", "exchange"},
    "lib/blame": {"metrics", "database"},
    "lib/waits": {"measurement", "exchange"},
    "lib/merge": {"cct", "metrics", "measurement", "structure", "exchange", "database", "blame", "waits"},
    "lib/views": {"spelling", "metrics", "database", "blame"},
    "hpcrun-lite/runtime": {"unwind", "measurement", "cct"},
    "hpcrun-lite/mpi": {"unwind"},
    "hpcrun-lite/launcher": {"measurement", "spelling"},
    "prof-mpi": {"spelling", "exchange", "merge", "structure", "blame", "database"},
    "viewer-cli": {"spelling", "exchange", "merge", "structure", "blame", "database", "metrics", "views"},
}
# The runtime may see only what never allocates.
RUNTIME_HEADERS = {"cct/frame.hpp", "measurement/kinds.hpp", "measurement/limits.hpp", "measurement/live.hpp", "measurement/live_trace.hpp",
                   "measurement/raw_memory.hpp", "measurement/trace_operation.hpp", "measurement/trace_stream.hpp",
                   "measurement/transfer_cost.hpp", "measurement/write_signals.hpp", "unwind/known_walk.hpp", "unwind/rule.hpp",
                   "unwind/walker.hpp"}
# Enumerations and classes of numbers that files and tools share; they include nothing.
FREE_TO_ALL = {"measurement/kinds.hpp", "measurement/trace_operation.hpp", "measurement/transfer_cost.hpp"}
FOLDERS = {path.split("/")[1] for path in MAY_INCLUDE if path.startswith("lib/")}
INCLUDE = re.compile(r'^\s*#include "((\w+)/[^"]+)"', re.M)


def main():
    wrong = []
    for where, allowed in MAY_INCLUDE.items():
        for path in sorted((ROOT / where).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".h", ".c"):
                continue
            for header, folder in INCLUDE.findall(path.read_text(errors="replace")):
                own = where.split("/")[-1]
                if folder in FOLDERS and folder not in allowed | {own} and header not in FREE_TO_ALL:
                    wrong.append(f"{path.relative_to(ROOT)}: includes {header} (not allowed from {where})")
                if where == "hpcrun-lite/runtime" and folder in FOLDERS and header not in RUNTIME_HEADERS:
                    wrong.append(f"{path.relative_to(ROOT)}: includes {header} (may allocate)")
    print("\n".join(wrong) if wrong else "layers: every arrow runs one way")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
