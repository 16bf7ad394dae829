#!/usr/bin/env bash
# Builds and runs every fuzzer for the given time. Corpora stay in BUILD/corpus. Usage: run.sh BUILD SECONDS
set -euo pipefail
build=$(realpath "$1") seconds=$2
targets=(database_reader measurement_reader trace_reader module_reader structure_cache)
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${targets[@]/#/fuzz_}" make_example_db make_measurement -- --quiet
mkdir -p "${targets[@]/#/$build/corpus/}"
# Whole files to begin with: nobody comes upon one by chance, and the readers give up at the first thing that is wrong.
"$build/tests/unit/database/make_example_db" "$build/corpus/database_reader/seed"
"$build/tests/fuzz/make_measurement" "$build/corpus/measurement_reader/seed"
for optimization in -O1 -O3; do
  gcc -g "$optimization" -shared -fPIC -o "$build/corpus/module_reader/seed$optimization" \
    "$(dirname "$0")/../unit/structure/programs/gaps.c"
done
for target in "${targets[@]}"; do
  echo "fuzz: $target for $seconds s"
  "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$build/$target-" "$build/corpus/$target" 2>&1 | tail -n 8
done
