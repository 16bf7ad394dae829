#!/usr/bin/env python3
"""Whether all files of a target can be compiled as one, as they are some at a time with CULPRIT_UNITY: names without linkage must
differ between them. Usage: shared_names.py BUILD (configured with CULPRIT_UNITY=ON and CULPRIT_UNITY_BATCH=0)."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def errors_of(unit):
    """What the compiler says of one target's files; empty where nothing is wrong."""
    command = shlex.split(unit["command"])
    output = command.index("-o")
    command[output : output + 2] = ["-fsyntax-only"]
    done = subprocess.run(command, cwd=unit["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def main():
    build = pathlib.Path(sys.argv[1])
    units = [unit for unit in json.loads((build / "compile_commands.json").read_text()) if "/Unity/" in unit["file"]]
    if not units:
        sys.exit(f"shared_names: {build}: no files are compiled as one (configure it with -DCULPRIT_UNITY=ON -DCULPRIT_UNITY_BATCH=0)")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as jobs:
        found = [errors for errors in jobs.map(errors_of, units) if errors]
    sys.stderr.write("".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
