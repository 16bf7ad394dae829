#!/usr/bin/env bash
# Builds every fuzzer and runs it, or those named, for the given seconds of processor time, as many at once as there are
# processors. Each begins with its kept corpus (corpora/NAME.tar.xz) and seeds; what it finds stays in BUILD/corpus. Ends
# with an error where any fuzzer found something. `keep` in place of the seconds: keeps of BUILD/corpus what reaches the
# most code, in as few files as that takes.
# Usage: run.sh BUILD SECONDS|keep [NAME...]
set -euo pipefail
build=$(realpath "$1") seconds=$2 jobs=${JOBS:-$(nproc)}
shift 2
corpus=$build/corpus
tests=$(dirname "$(readlink -f "$0")")/..
kept=$tests/fuzz/corpora
targets=(measurement_reader live_reader trace_reader database_reader merge merge_killed replay follow run_marker idle_rules
         derived_metrics module_reader structure_cache cache_entry symbol call_frames program published_calls remote_stacks
         commands command_line launcher_options browser_state python_memory)
[ $# -gt 0 ] || set -- "${targets[@]}" python_reader
cmake --build "$build" -j "$jobs" --target fuzzers -- --quiet
mkdir -p "${targets[@]/#/$corpus/}" "$kept"

# What of a corpus is worth keeping: libFuzzer's set cover, as one archive that is the same for the same files.
keep() {
  local target=$1 least=$build/least/$1
  rm -rf "$least" && mkdir -p "$least"
  "$build/tests/fuzz/fuzz_$target" -set_cover_merge=1 -max_len=65536 -rss_limit_mb=4096 "$least" "$corpus/$target" \
    >"$build/$target-keep.log" 2>&1
  tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$least" . |
    xz -9 >"$kept/$target.tar.xz"
  echo "fuzz: $target: $(ls "$least" | wc -l) files kept, $(stat -c %s "$kept/$target.tar.xz") bytes"
}
if [ "$seconds" = keep ]; then
  for target in "$@"; do
    [ "$target" = python_reader ] || keep "$target" # that one changes databases of database_reader
  done
  exit
fi
for target in "${targets[@]}"; do
  [ ! -f "$kept/$target.tar.xz" ] || tar --extract --file "$kept/$target.tar.xz" --directory "$corpus/$target"
done
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

printf '%s\n' -e CPUTIME@f100 --event=perf::PAGE-FAULTS@1000 --ranks 0-3,8 -t --trace-limit 500M --trace-threads-above 1ms -o run1 -- ./app -n \
  >"$corpus/launcher_options/seed"

# Fuzzes one target until it has had its processor time, however busy the machine is: the kernel ends it then.
fuzz() {
  local target=$1 log=$build/$1.log status=0 command
  if [ "$target" = python_reader ]; then
    command=(python3 "$tests/fuzz/python_reader.py" "$tests/../python" "$build/python_reader.db" "$corpus/database_reader")
  else
    command=("$build/tests/fuzz/fuzz_$target" -max_len=65536 -timeout=20 -rss_limit_mb=4096
             -artifact_prefix="$build/$target-" "$corpus/$target")
  fi
  # Without what this shell says of a process that a signal ended.
  { (ulimit -c 0 && ulimit -S -t "$seconds" && exec "${command[@]}") >"$log" 2>&1; } 2>/dev/null || status=$?
  [ $status != $((128 + $(kill -l XCPU))) ] || status=0
  echo "fuzz: $target: status $status
$(grep -aE '^#[0-9]+.* cov: |ERROR|SUMMARY|Test unit written|damaged' "$log" | tail -n 4)"
  return $status
}

failed=0
for target in "$@"; do
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n || failed=1; done
  fuzz "$target" &
done
for job in $(jobs -p); do wait "$job" || failed=1; done
exit $failed
