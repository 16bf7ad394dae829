#!/usr/bin/env bash
# The unit tests under AddressSanitizer with UBSan, and the parallel ones under ThreadSanitizer.
# Usage: sanitize.sh BUILD JOBS
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 jobs=$2

cmake -G Ninja -S . -B "$build/asan" -DCULPRIT_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
cmake --build "$build/asan" -j "$jobs" --target unit_tests -- --quiet
ASAN_OPTIONS=detect_stack_use_after_return=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  ctest --test-dir "$build/asan" -R '^unit_' --output-on-failure --no-tests=error

cmake -G Ninja -S . -B "$build/tsan" -DCULPRIT_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
parallel=(exchange merge structure tui waits)
cmake --build "$build/tsan" -j "$jobs" --target "${parallel[@]/#/unit_}" -- --quiet
ctest --test-dir "$build/tsan" -R "^unit_($(IFS='|'; echo "${parallel[*]}"))\$" --output-on-failure --no-tests=error
