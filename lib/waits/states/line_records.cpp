#include "waits/states/line_records.hpp"

#include <algorithm>

namespace culprit::waits {

using measurement::trace::Operation;
using measurement::trace::OperationKind;
using measurement::trace::Record;
using measurement::trace::RecordKind;

namespace {

bool waits_for_threads(const Record& sample) {
  const auto kind = static_cast<measurement::WaitKind>(sample.wait);
  return kind != measurement::WaitKind::none && kind != measurement::WaitKind::mpi;
}

/// Whether the call may have waited for a message.
bool may_receive(const Operation& operation) {
  if (operation.kind == OperationKind::receive) return operation.completes;
  return operation.kind == OperationKind::probe;
}

}  // namespace

WaitPattern pattern_of(measurement::WaitKind kind) {
  constexpr auto distance = [](auto a, auto b) { return static_cast<int>(b) - static_cast<int>(a); };
  using measurement::WaitKind;
  static_assert(distance(WaitKind::omp_barrier, WaitKind::join) ==
                distance(WaitPattern::omp_barrier, WaitPattern::join_wait));
  if (kind < WaitKind::omp_barrier) return WaitPattern::condition_wait;
  return static_cast<WaitPattern>(static_cast<int>(WaitPattern::omp_barrier) +
                                  distance(WaitKind::omp_barrier, kind));
}

void LineRecords::add(const Record& record) {
  if (record.kind == RecordKind::sample) return add_sample(record);
  if (record.kind == RecordKind::thread_wait) return add_thread_wait(record);
  // Variation, which all others are for, looks at a process's first time line only.
  if (of_.thread != 0) return;
  if (record.kind == RecordKind::short_waits) {
    store_.short_thread_waits_ns += record.value;
  } else if (record.kind == RecordKind::reading) {
    line_.readings.push_back(
        {.ns = record.exit_ns, .value = record.value, .event = record.event, .context = record.node});
  } else if (record.enter_ns < record.exit_ns) {
    line_.stamped.push_back({.begin_ns = record.enter_ns, .end_ns = record.exit_ns, .context = record.node});
  }
}

/// A sample that was due several times, as in a call that no signal could interrupt, counts for the gap that
/// it was taken in as often as it was due there.
void LineRecords::add_sample(const Record& record) {
  const std::uint64_t ns = record.exit_ns - record.enter_ns;
  if (ns != 0) {
    shortest_ns_ = std::min(shortest_ns_, ns);
    lengths_.add(ns);
  }
  const std::uint64_t in_gap = record.exit_ns - std::min(left_ns_, record.exit_ns);
  line_.samples.push_back({.gap = static_cast<std::uint32_t>(line_.events.size()),
                           .context = record.node,
                           .charged = record.charged == Record::kItself ? record.node : record.charged,
                           .waiting = waits_for_threads(record) ? 1U : 0U,
                           .ns = ns > in_gap ? std::min(ns, in_gap + shortest_ns_) : ns});
  sampled_ns_.push_back(record.exit_ns);
}

/// Between the call before and the next one, whatever the record says.
void LineRecords::add_thread_wait(const Record& record) {
  storage::Sequence<ThreadWait>& waits = line_.thread_waits;
  const ThreadWait before = waits.empty() ? ThreadWait{} : waits.back();
  const std::uint64_t begin_ns = std::max({record.enter_ns, left_ns_, before.end_ns});
  if (begin_ns >= record.exit_ns) return;
  const bool held = record.holder.known() && record.holder.thread < of_.threads;
  const Location first = line_.location - static_cast<Location>(of_.thread);
  waits.push_back({.begin_ns = begin_ns,
                   .end_ns = record.exit_ns,
                   .before_ns = before.before_ns + (before.end_ns - before.begin_ns),
                   .released_ns = held ? record.holder.released_ns : 0,
                   .holder = held ? first + static_cast<Location>(record.holder.thread) : kNoLocation,
                   .pattern = pattern_of(static_cast<measurement::WaitKind>(record.wait))});
}

CallSite LineRecords::add_call(const Record& record) {
  if (!sampled_ns_.empty()) drop_samples(record.enter_ns);
  if (!line_.thread_waits.empty()) drop_thread_waits(record.enter_ns);
  const EventId id = store_.add(
      line_,
      {.enter_ns = record.enter_ns, .exit_ns = record.exit_ns, .context = record.node, .any = record.any});
  const CallSite call{.process = of_.process,
                      .id = id,
                      .received_ns = received_ns_,
                      .left_ns = std::min(left_ns_, record.enter_ns),
                      .rank = of_.rank,
                      .context = record.node,
                      .enter_ns = record.enter_ns,
                      .any = record.any,
                      .alone = record.operations.size() == 1,
                      .exit_ns = record.exit_ns};
  left_ns_ = record.exit_ns;
  if (std::any_of(record.operations.begin(), record.operations.end(), may_receive))
    received_ns_ = std::max(received_ns_, record.exit_ns);
  return call;
}

/// A sample in a call was read before the call, which is recorded at its exit.
void LineRecords::drop_samples(std::uint64_t enter_ns) {
  for (; !sampled_ns_.empty() && sampled_ns_.back() >= enter_ns; sampled_ns_.pop_back())
    line_.samples.pop_back();
  sampled_ns_.clear();
}

/// What was waited in a call, a series of polls with other code between, is that call's.
void LineRecords::drop_thread_waits(std::uint64_t enter_ns) {
  storage::Sequence<ThreadWait>& waits = line_.thread_waits;
  while (!waits.empty() && waits.back().begin_ns >= enter_ns) waits.pop_back();
  if (waits.empty() || waits.back().end_ns <= enter_ns) return;
  waits.change(waits.size() - 1).end_ns = enter_ns;
}

}  // namespace culprit::waits
