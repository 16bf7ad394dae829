#!/usr/bin/env bash
# Builds and runs every fuzzer for the given time. Corpora stay in BUILD/corpus. Ends with an error where any fuzzer found
# something. Usage: run.sh BUILD SECONDS
set -euo pipefail
build=$(realpath "$1") seconds=$2
corpus=$build/corpus
tests=$(dirname "$(readlink -f "$0")")/..
targets=(measurement_reader live_reader trace_reader database_reader merge merge_killed replay follow run_marker idle_rules
         derived_metrics module_reader structure_cache cache_entry symbol call_frames program published_calls remote_stacks
         commands command_line)
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target fuzzers -- --quiet
mkdir -p "${targets[@]/#/$corpus/}"
# Whole files to begin with: nobody comes upon one by chance, and the readers give up at the first thing that is wrong.
"$build/tests/fuzz/make_seeds" "$corpus"
"$build/tests/unit/database/make_example_db" "$corpus/database_reader/seed"
"$build/tests/unit/viewer-cli/tui/make_browsed_db" "$corpus/database_reader/seed-browsed"
cp "$corpus"/merge/seed* "$corpus/replay/"
cp "$corpus"/merge_killed/seed* "$corpus/follow/"
cp "$corpus"/database_reader/seed* "$corpus/commands/"
for optimization in -O1 -O3; do
  gcc -g "$optimization" -shared -fPIC -o "$corpus/module_reader/seed$optimization" "$tests/unit/structure/programs/gaps.c"
  cp "$corpus/module_reader/seed$optimization" "$corpus/program/"
  objcopy -O binary --only-section=.eh_frame_hdr --only-section=.eh_frame "$corpus/module_reader/seed$optimization" \
    "$corpus/call_frames/seed$optimization"
done
cp "$tests"/../lib/merge/rules/*.rules "$corpus/idle_rules/"
grep -o '"_[RZ][^"]*"' "$tests/unit/structure/demangle_test.cpp" | tr -d '"' | sed 's/^_R//' |
  split -l 1 - "$corpus/symbol/seed"
printf '%s\n' 'IPC=$CPUTIME / $REALTIME' 'TWICE=2 * $IPC' 'ODD=max(${REALTIME:Mean (E)}, 1e3) ? 1 : sqrt(2)' \
  >"$corpus/derived_metrics/seed"
words=0
for line in 'view --focus MPI_|spmv --ranks 0-6:2,7 --role main --depth 4' 'threads cg::iterate/cg::spmv --metric CPU:max --format csv' \
            'view callers --derive IPC=$CPU/$REALTIME --metrics IPC,idleness --sort IPC --min 2' 'hot-path --metric idleness' \
            'diff other.db --scaling strong --format json' 'variation --procedure spmv' 'export pprof --metric CPU' \
            'what-if --speedup spmv=2'; do
  words=$((words + 1))
  tr ' ' '\n' <<<"$line" >"$corpus/command_line/seed-$words"
done
failed=0
for target in "${targets[@]}"; do
  echo "fuzz: $target for $seconds s"
  "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=4096 \
    -print_final_stats=1 -artifact_prefix="$build/$target-" "$corpus/$target" >"$build/$target.log" 2>&1 || failed=1
  grep -E '^#[0-9]+.* cov: |ERROR|SUMMARY|Test unit written' "$build/$target.log" | tail -n 4
done
echo "fuzz: python_reader for $seconds s"
python3 "$tests/fuzz/python_reader.py" "$tests/../python" "$seconds" "$build/python_reader.db" \
  "$corpus/database_reader" 2>&1 | tee "$build/python_reader.log" | tail -n 4 || failed=1
exit $failed
