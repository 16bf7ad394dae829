#include "runtime/recording/tracing.hpp"

#include "runtime/api.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/text.hpp"

#include <cstring>

std::atomic<bool> culprit_rt_tracing{false};
std::atomic<bool> culprit_rt_counting{false};

namespace culprit::runtime {

namespace {

bool stop_noted = false;
std::atomic<std::uint64_t> recording_ns{0};

/// Where the trace of the measurement at `path` is; read_trace.cpp has the same. False: too long.
bool trace_path(PathText& trace, const char* path) {
  trace.add(path).add(".trace");
  return !trace.cut();
}

void add_own_clocks() {
  const std::uint64_t monotonic = now();
  trace_file.add_clocks({.monotonic_ns = monotonic,
                         .realtime_ns = static_cast<std::int64_t>(read_clock(CLOCK_REALTIME)),
                         .reference = measurement::trace::kNobody,
                         .reference_ns = 0,
                         .round_trip_ns = 0});
}

void add_reason(Text<256>& line, int error) {
  const char* reason = strerrordesc_np(error);
  if (reason != nullptr) {
    line.add(reason);
  } else {
    line.add("error ").number(static_cast<std::uint64_t>(error));
  }
}

void note_stop() {
  if (stop_noted || !trace_file.stopped()) return;
  stop_noted = true;
  update_tracing();
  Text<256> line;
  if (trace_file.limit_reached()) {
    // No word that differs from rank to rank: equal notes are shown once.
    line.add("the trace reached its limit of ").number(trace_file.limit());
    line.add(" bytes: what came later is missing in it");
  } else {
    line.add("the trace could not be written any further: ");
    add_reason(line, trace_file.error());
  }
  file.note(line.c_str());
}

/// Where waits for threads have records from another length on than usual.
void note_least_wait() {
  if (process.least_traced_wait == kLeastTraced) return;
  Text<128> line;
  line.add("waits for threads are on the time line from ").number(process.least_traced_wait / 1000);
  file.note(line.add(" us on (--trace-threads-above)").c_str());
}

}  // namespace

void update_tracing() {
  const bool on = process.traced && process.active && !sampling_stopped() && !trace_file.stopped() &&
                  !process.ended.load(std::memory_order_relaxed);
  culprit_rt_tracing.store(on, std::memory_order_relaxed);
  const bool counts = !process.traced && process.active && !sampling_stopped() &&
                      !process.ended.load(std::memory_order_relaxed);
  culprit_rt_counting.store(counts, std::memory_order_relaxed);
}

bool create_trace(const char* path, std::uint64_t key) {
  if (!process.traced) return false;
  PathText trace;
  const int error = trace_path(trace, path)
                        ? trace_file.create(trace.c_str(), {.pid = static_cast<std::uint64_t>(process.pid),
                                                            .start_ns = process.start_ns,
                                                            .start_realtime_ns = process.start_realtime_ns,
                                                            .key = key,
                                                            .limit = process.trace_limit})
                        : ENAMETOOLONG;
  return error == 0;
}

void note_trace() {
  if (trace_file.open()) {
    add_own_clocks();
    note_least_wait();
  } else if (process.traced) {
    file.note("there is no trace: its file could not be created");
    process.traced = false;
    update_tracing();
  }
}

measurement::TraceStream* trace_of(const measurement::ThreadTree& tree) {
  return trace_file.open() ? trace_file.stream(tree.index(), tree.header().ordinal) : nullptr;
}

int rename_trace(const char* path) {
  if (!trace_file.open()) return 0;
  PathText trace;
  return trace_path(trace, path) ? trace_file.rename(trace.c_str()) : ENAMETOOLONG;
}

void count_trace_cost(std::uint64_t ns) {
  recording_ns.fetch_add(ns, std::memory_order_relaxed);
}

std::uint64_t trace_cost() {
  return recording_ns.load(std::memory_order_relaxed);
}

void maintain_trace() {
  if (!trace_file.open()) return;
  trace_file.maintain();
  note_stop();
}

void end_trace(measurement::EndReason reason) {
  if (!trace_file.open()) return;
  add_own_clocks();
  trace_file.end(reason, now());
  note_stop();
  update_tracing();
}

void resume_trace() {
  trace_file.resume();
  update_tracing();
}

void discard_trace(bool unused) {
  trace_file.discard();
  if (unused) trace_file.forget();
}

void forget_trace() {
  recording_ns.store(0, std::memory_order_relaxed);
  trace_file.forget();
  stop_noted = false;
}

}  // namespace culprit::runtime
