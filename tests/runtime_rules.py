#!/usr/bin/env python3
"""What the runtime and the MPI wrappers must keep to and no compiler checks. Usage: runtime_rules.py RUNTIME_LIBRARY"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Communication libraries rewrite these functions of the C library; what they put there has crashed in our own thread.
REWRITTEN = {"mmap", "mmap64", "munmap", "mremap", "madvise", "brk", "sbrk"}
# The functions that ours stand before are looked up at the start of the process, not at their first call, which may be in a
# signal handler: each is declared with the mark for that.
EARLY = {
    "hpcrun-lite/runtime": (re.compile(r"\bReal<.*> [a-z0-9_]+\{"), "CULPRIT_REAL"),
    "hpcrun-lite/mpi": (re.compile(r"\bstatic .* real\{"), "CULPRIT_REAL_CALL"),
}


def maps_memory(library):
    """What the library takes of REWRITTEN from the C library."""
    listed = subprocess.run(["nm", "-D", "--undefined-only", library], check=True, capture_output=True, text=True).stdout
    taken = {line.split()[-1].partition("@")[0] for line in listed.splitlines()}
    if "clock_gettime" not in taken:
        return [f"{library}: nm lists none of what it must need"]
    return [f"{library}: takes {name} from the C library (make the system call)" for name in sorted(taken & REWRITTEN)]


def found_late(folder, declaration, mark):
    """Declarations without the mark."""
    found, wrong = 0, []
    for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if declaration.search(line.split("//")[0]):
                found += 1
                if mark not in line:
                    wrong.append(f"{path.relative_to(ROOT)}:{number}: looked up at its first call ({mark} is missing)")
    return wrong if found else [f"{folder}: no function that ours stand before was found"]


def main():
    wrong = maps_memory(sys.argv[1])
    for folder, (declaration, mark) in EARLY.items():
        wrong += found_late(folder, declaration, mark)
    print("\n".join(wrong) if wrong else "runtime rules: kept")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
