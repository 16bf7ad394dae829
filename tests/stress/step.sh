#!/usr/bin/env bash
# Walks at every instruction of every stepped program, not only of its first as ctest does. Usage: step.sh BUILD
set -uo pipefail
cd "$1/tests/unit/unwind"
status=0
for program in stepped_O*; do
  [[ $program == *.debug ]] && continue
  echo "stress: $program, every instruction"
  CULPRIT_STEPS=0 "./$program" || status=1
done
exit $status
