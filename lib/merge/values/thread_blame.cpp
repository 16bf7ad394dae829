// A thread's samples say where it caused idleness, its account how much (docs/algorithms.md 12): the ratio
// estimator, with the account as the known total. So what is caused in all is what was idle, but for what
// nobody caused. Cost: linear in the thread's accumulators.
#include "merge/values/thread_blame.hpp"

#include "metrics/accumulator.hpp"

#include <algorithm>

namespace culprit::merge {
namespace {

using measurement::Epoch;
using measurement::EpochKind;
using measurement::ThreadTotal;
using metrics::Uint128;

std::uint64_t total_of(const measurement::ThreadProfile& thread, ThreadTotal total) {
  std::uint64_t sum = 0;
  for (const Epoch& epoch : thread.epochs) {
    if (epoch.kind == EpochKind::thread_total && epoch.size_class == static_cast<std::uint32_t>(total))
      sum += epoch.total_ns;
  }
  return sum;
}

}  // namespace

const char* name_of(ThreadMetric metric) {
  switch (metric) {
    case ThreadMetric::idleness_caused:
      return "idleness-caused";
    case ThreadMetric::lock_wait_caused:
      return "lock-wait-caused";
    case ThreadMetric::overhead:
      return "thread-overhead";
    case ThreadMetric::idleness_counted:
      return "idleness-counted";
    case ThreadMetric::idleness_unborne:
      return "idleness-unborne";
    case ThreadMetric::lock_wait_counted:
      return "lock-wait-counted";
    case ThreadMetric::lock_wait_unborne:
      return "lock-wait-unborne";
  }
  return "";
}

const char* describe(ThreadMetric metric) {
  switch (metric) {
    case ThreadMetric::idleness_caused:
      return "Idleness of other threads of the process that this code caused: while it ran, it bore an equal "
             "share of that of its team with the other threads that worked.";
    case ThreadMetric::lock_wait_caused:
      return "What other threads waited for a lock that was held, at the place that gave it back.";
    case ThreadMetric::overhead:
      return "Time in the run-time library of OpenMP that is no waiting: teams, schedules, tasks, locks.";
    case ThreadMetric::idleness_counted:
      return "How long threads idled, counted exactly, of no place in particular.";
    case ThreadMetric::idleness_unborne:
      return "Of that, what no thread of the process caused that was sampled: none worked.";
    case ThreadMetric::lock_wait_counted:
      return "How long threads waited for locks, counted exactly, of no place in particular.";
    case ThreadMetric::lock_wait_unborne:
      return "Of that, what nobody who held the lock caused: it passed from one to the next.";
  }
  return "";
}

void ThreadBlame::scale(const measurement::ThreadProfile& thread, EpochKind kind, ThreadMetric metric,
                        std::uint64_t exact) {
  Uint128 sampled = 0;
  for (const Epoch& epoch : thread.epochs) {
    if (epoch.kind == kind) sampled += epoch.total_ns;
  }
  if (sampled == 0) {
    if (exact != 0) values_.push_back({.node = 0, .metric = metric, .ns = exact});
    return;
  }
  // A process that was killed may not have come to say how much it was in all.
  const Uint128 whole = exact != 0 ? Uint128{exact} : sampled;
  Uint128 passed = 0, given = 0;
  for (const Epoch& epoch : thread.epochs) {
    if (epoch.kind != kind) continue;
    passed += epoch.total_ns;
    const Uint128 up_to = passed * whole / sampled;
    const auto ns = static_cast<std::uint64_t>(up_to - given);
    if (ns != 0) values_.push_back({.node = epoch.node, .metric = metric, .ns = ns});
    given = up_to;
  }
}

std::span<const ThreadBlame::Value> ThreadBlame::of(const measurement::ThreadProfile& thread) {
  values_.clear();
  const bool counted = std::ranges::any_of(
      thread.epochs, [](const Epoch& epoch) { return measurement::is_caused(epoch.kind); });
  if (!counted) return {};
  scale(thread, EpochKind::idleness_caused, ThreadMetric::idleness_caused,
        total_of(thread, ThreadTotal::caused));
  scale(thread, EpochKind::lock_wait_caused, ThreadMetric::lock_wait_caused,
        total_of(thread, ThreadTotal::lock_caused));
  const auto add = [&](ThreadMetric metric, std::uint64_t ns) {
    if (ns != 0) values_.push_back({.node = 0, .metric = metric, .ns = ns});
  };
  add(ThreadMetric::idleness_counted, total_of(thread, ThreadTotal::idle));
  add(ThreadMetric::idleness_unborne,
      total_of(thread, ThreadTotal::borne_by_nobody) + total_of(thread, ThreadTotal::caused_unsampled));
  add(ThreadMetric::lock_wait_counted, total_of(thread, ThreadTotal::lock_waited));
  add(ThreadMetric::lock_wait_unborne, total_of(thread, ThreadTotal::lock_unborne));
  return values_;
}

}  // namespace culprit::merge
