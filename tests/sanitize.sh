#!/usr/bin/env bash
# The unit tests, or those whose name matches, under AddressSanitizer with UBSan, and those that can start threads
# under ThreadSanitizer. Ends with one line for each. Usage: sanitize.sh BUILD JOBS [REGEX]
set -uo pipefail
cd "$(dirname "$0")/.." || exit
build=$1 jobs=$2 regex=${3:-.}

# With the checks in it, code takes twice as long to compile at -O2; to inline small functions takes no longer.
optimization="-O1 -finline-small-functions -g -DNDEBUG"

export ASAN_OPTIONS=detect_stack_use_after_return=0
export LSAN_OPTIONS=suppressions=$PWD/tests/leak_suppressions.txt:print_suppressions=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=suppressions=$PWD/tests/thread_suppressions.txt:history_size=7 # both sides of a race with their stacks, however long ago the first was

# can_start_threads TARGET: whether its program, as the first half built it, imports what starts a thread. In others, and
# on real ranks, ThreadSanitizer has nothing to find. Of one that was not built nothing is known: it may.
can_start_threads() {
  local program
  program=$(find "$build/asan/tests/unit" -type f -name "$1")
  [ -z "$program" ] || [[ $(nm -D --undefined-only "$program") =~ pthread_create|St6thread15_M_start_thread ]]
}

summary=() ran=0 failed=0
# half SANITIZERS DIRECTORY CONDITION: builds in the directory, runs the tests whose target meets the condition, and says
# how that ended.
half() {
  local directory=$2 test target tests=() targets=() unbuilt=0
  cmake -G Ninja -S . -B "$directory" -DCULPRIT_SANITIZE="$1" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_C_FLAGS_RELWITHDEBINFO="$optimization" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$optimization" >/dev/null || {
    summary+=("sanitize: $1: not configured; CMake says why above")
    failed=1
    return
  }
  # The copies of prof-mpi that the wrong launcher starts pass by what they say, whatever a sanitizer finds in them.
  while read -r test; do
    target=${test%_[0-9]} # the name of a test is that of its program, and on real ranks their number
    "$3" "$target" && tests+=("$test") && targets+=("$target")
  done < <(ctest --test-dir "$directory" -N -R "$regex" -E _strangers_ 2>/dev/null | # what is not built yet
    sed -nE 's/^ *Test +#[0-9]+: (unit_.*)/\1/p')
  if [ ${#tests[@]} -eq 0 ]; then
    summary+=("sanitize: $1: no test for it matches")
    return
  fi
  ran=1
  cmake --build "$directory" -j "$jobs" --target "${targets[@]}" -- --quiet -k 0 || unbuilt=1
  if ctest --test-dir "$directory" -R "^($(IFS='|' && echo "${tests[*]}"))\$" --output-on-failure && [ $unbuilt -eq 0 ]; then
    summary+=("sanitize: $1: clean")
  else
    summary+=("sanitize: $1: a test failed or was not built; the findings are above")
    failed=1
  fi
}
half address,undefined "$build/asan" true
half thread "$build/tsan" can_start_threads
printf '%s\n' "${summary[@]}"
[ $ran -gt 0 ] && [ $failed -eq 0 ]
