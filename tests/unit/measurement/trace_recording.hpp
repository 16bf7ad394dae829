#pragma once

#include "measurement/live_trace.hpp"
#include "measurement/trace.hpp"
#include "recording.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

// Traces to write and to compare.
namespace recording {

namespace trace = culprit::measurement::trace;

/// A trace that is forgotten, memory and all, at the end of the test.
class Trace {
 public:
  explicit Trace(const std::filesystem::path& path, std::uint64_t limit = measurement::kMostTraceBytes)
      : error_(trace_->create(path.c_str(), {.pid = 4711,
                                             .start_ns = kStart,
                                             .start_realtime_ns = kStartRealtime,
                                             .key = kKey,
                                             .limit = limit})) {}
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() { trace_->forget(); }
  measurement::LiveTrace* operator->() { return trace_.get(); }
  [[nodiscard]] int error() const { return error_; }

 private:
  std::unique_ptr<measurement::LiveTrace> trace_ = std::make_unique<measurement::LiveTrace>();
  int error_ = 0;
};

inline auto tie(const trace::Operation& o) {
  return std::tuple(o.kind, trace::flags_of(o), o.id, o.context, o.group, o.made, o.peer, o.tag, o.bytes,
                    o.bytes_received);
}

inline bool equal(const trace::Record& a, const trace::Record& b) {
  if (a.kind == trace::RecordKind::reading && (a.event != b.event || a.value != b.value)) return false;
  if (a.kind == trace::RecordKind::thread_wait &&
      (a.holder.thread != b.holder.thread || a.holder.released_ns != b.holder.released_ns))
    return false;
  if (a.kind == trace::RecordKind::short_waits && (a.count != b.count || a.value != b.value)) return false;
  return a.kind == b.kind && a.any == b.any && a.wait == b.wait && a.enter_ns == b.enter_ns &&
         a.exit_ns == b.exit_ns && a.node == b.node &&
         std::ranges::equal(a.operations, b.operations,
                            [](const auto& x, const auto& y) { return tie(x) == tie(y); });
}

inline bool is_region(const trace::Record& record) {
  return record.kind == trace::RecordKind::marked_region || record.kind == trace::RecordKind::parallel_region;
}

inline bool write(measurement::TraceStream& stream, const trace::Record& record) {
  if (record.kind == trace::RecordKind::sample) {
    return stream.sample(record.exit_ns, record.exit_ns - record.enter_ns, record.node,
                         static_cast<measurement::WaitKind>(record.wait));
  }
  if (record.kind == trace::RecordKind::reading)
    return stream.reading(record.exit_ns, record.event, record.value, record.node);
  if (record.kind == trace::RecordKind::thread_wait)
    return stream.thread_wait(record.enter_ns, record.exit_ns,
                              static_cast<measurement::WaitKind>(record.wait), record.holder);
  if (is_region(record))
    return stream.region(record.enter_ns, record.exit_ns, record.node,
                         record.kind == trace::RecordKind::parallel_region);
  if (record.kind == trace::RecordKind::short_waits)
    return stream.short_waits(record.exit_ns, record.count, record.value);
  if (!stream.begin_call(record.enter_ns, record.exit_ns, record.node, record.any)) return false;
  for (const trace::Operation& operation : record.operations) stream.add(operation);
  stream.end_call();
  return true;
}

inline std::vector<trace::Record> read_records(const trace::ProcessTrace& trace,
                                               const trace::ProcessTrace::Thread& thread) {
  trace::ThreadRecords in(trace, thread, {});
  std::vector<trace::Record> records;
  for (trace::Record record; in.next(record);) records.push_back(record);
  return records;
}

/// Time lines of a program that does everything: few paths and patterns mostly, now and then anything.
class Program {
 public:
  explicit Program(std::uint64_t seed, trace::Context contexts) : random_(seed), contexts_(contexts) {}

  trace::Record next(std::size_t operations) {
    trace::Record record;
    record.node = 14 + below(below(50) == 0 ? 2'000'000 : 40);
    if (below(5) == 0) return reading(record);
    if (below(6) == 0) return wait(record);
    if (below(4) == 0) {
      record.wait = static_cast<std::uint8_t>(below(measurement::kWaitKinds));
      time_ += (below(100'000) + 1) * 64;  // what a sample can tell
      record.exit_ns = time_;
      record.enter_ns = time_ - std::min<std::uint64_t>(time_, 5'000'000 * std::uint64_t{1 + below(2)});
      return record;
    }
    record.kind = trace::RecordKind::call;
    record.any = below(10) == 0;
    time_ += below(below(100) == 0 ? 2'000'000'000 : 20'000);
    record.exit_ns = time_;
    record.enter_ns =
        time_ - below(static_cast<std::uint32_t>(std::min<std::uint64_t>(time_ - kStart + 1, 1u << 30)));
    for (std::size_t i = 0; i < operations; ++i) record.operations.push_back(operation());
    return record;
  }
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

 private:
  trace::Record reading(trace::Record record) {
    record.kind = trace::RecordKind::reading;
    time_ += below(3) * 64;
    record.enter_ns = record.exit_ns = time_;
    record.event = static_cast<std::uint8_t>(below(measurement::kMaxEvents));
    record.value = below(20) == 0 ? random_() : below(3);
    return record;
  }
  trace::Record wait(trace::Record record) {
    using Kind = trace::RecordKind;
    record.kind = std::array{Kind::short_waits, Kind::thread_wait, Kind::thread_wait, Kind::marked_region,
                             Kind::parallel_region}[below(5)];
    if (!is_region(record)) record.node = 0;
    if (record.kind == trace::RecordKind::short_waits) {
      record.enter_ns = record.exit_ns = time_;
      record.count = below(100);
      record.value = random_() >> below(64);
      return record;
    }
    const std::uint32_t least = static_cast<std::uint32_t>(measurement::WaitKind::omp_barrier);
    if (record.kind == Kind::thread_wait)
      record.wait = static_cast<std::uint8_t>(least + below(measurement::kWaitKinds - least));
    time_ += below(1'000'000);
    record.exit_ns = time_;
    record.enter_ns = time_ - below(1u << 29);
    if (record.kind == Kind::thread_wait && below(2) == 0)
      record.holder = {.thread = below(5), .released_ns = time_ - below(2) * (time_ - record.enter_ns)};
    return record;
  }
  trace::Context context() { return below(3) == 0 || contexts_ == 0 ? trace::kNoContext : below(contexts_); }
  trace::Operation operation() {
    trace::Operation o;
    o.kind = static_cast<trace::OperationKind>(below(trace::kOperationKinds));
    if (below(10) == 0) trace::set_flags(o, below(128));
    o.context = context();
    o.peer = static_cast<std::int32_t>(below(8)) - 2;
    o.tag = below(30) == 0 ? INT32_MIN : static_cast<std::int32_t>(below(3));
    o.bytes = below(30) == 0 ? random_() : 4096;
    if (below(2) == 0) o.id = below(30) == 0 ? random_() : ++id_;
    if (below(8) == 0) {
      o.group = context();
      o.made = context();
      o.bytes_received = random_() >> below(64);
    }
    return o;
  }

  std::mt19937_64 random_;
  trace::Context contexts_;
  std::uint64_t time_ = kStart;
  std::uint64_t id_ = 0;
};

}  // namespace recording
