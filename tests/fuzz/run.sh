#!/usr/bin/env bash
# Builds and runs every fuzzer for the given time. Corpora stay in BUILD/corpus. Usage: run.sh BUILD SECONDS
set -euo pipefail
build=$(realpath "$1") seconds=$2
targets=(database_reader measurement_reader trace_reader module_reader structure_cache)
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${targets[@]/#/fuzz_}" -- --quiet
mkdir -p "${targets[@]/#/$build/corpus/}"
for optimization in -O1 -O3; do
  gcc -g "$optimization" -shared -fPIC -o "$build/corpus/module_reader/seed$optimization" \
    "$(dirname "$0")/../unit/structure/programs/gaps.c"
done
for target in "${targets[@]}"; do
  echo "fuzz: $target for $seconds s"
  "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$build/$target-" "$build/corpus/$target" 2>&1 | tail -n 8
done
