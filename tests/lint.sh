#!/usr/bin/env bash
# Formatting, layering, names that files share, and clang-tidy over the whole tree. Usage: lint.sh BUILD AS_ONE (configured, for
# their compile commands: file by file, and all of a target as one)
set -uo pipefail
cd "$(dirname "$0")/.."
build=$1
status=0

# Left out: programs whose comments state expectations about their own lines.
mapfile -t sources < <(git ls-files '*.cpp' '*.hpp' '*.c' '*.h' ':!tests/unit/structure/programs' ':!tests/unit/merge/sampled_*')
clang-format --dry-run --Werror "${sources[@]}" || status=1
python3 tests/layers.py || status=1
python3 tests/shared_names.py "$2" || status=1

# Only what is compiled with the house's flags; the test programs are other people's style on purpose.
mapfile -t units < <(python3 -c '
import json, sys
for unit in json.load(open(sys.argv[1] + "/compile_commands.json")):
    path = unit["file"]
    if any("/" + part + "/" in path for part in ("lib", "hpcrun-lite", "prof-mpi", "viewer-cli")) and "/build" not in path:
        print(path)
' "$build" | sort -u)
# lib/unwind is compiled for general registers only, with which clang refuses <span>.
printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-attributes \
  --extra-arg=-mx87 --extra-arg=-msse2 -p "$build" 2>/dev/null || status=1
[ $status -eq 0 ] && echo "lint: clean"
exit $status
