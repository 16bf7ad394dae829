#pragma once

#include "measurement/measurement.hpp"

#include <cstdint>
#include <span>
#include <vector>

// Who idles because of whom within a process (docs/algorithms.md 12).
namespace culprit::merge {

/// The metrics of runs with several threads in a process, in the order of their columns.
enum class ThreadMetric : std::uint8_t {
  idleness_caused,
  lock_wait_caused,
  overhead,
  idleness_counted,
  idleness_unborne,
  lock_wait_counted,
  lock_wait_unborne,
};
inline constexpr std::size_t kThreadMetrics = 7;

/// Its name and what it means, for the user.
const char* name_of(ThreadMetric metric);
const char* describe(ThreadMetric metric);

/// What one thread counted. Keeps its memory from one thread to the next.
class ThreadBlame {
 public:
  struct Value {
    cct::NodeId node;  ///< 0: of no place in particular
    ThreadMetric metric;
    std::uint64_t ns;

    friend bool operator==(const Value&, const Value&) = default;
  };

  /// What was sampled at its nodes, scaled to what the thread counted exactly: sums are those to the ns. What
  /// no sample met is at node 0.
  std::span<const Value> of(const measurement::ThreadProfile& thread);

 private:
  void scale(const measurement::ThreadProfile& thread, measurement::EpochKind kind, ThreadMetric metric,
             std::uint64_t exact);

  std::vector<Value> values_;
};

}  // namespace culprit::merge
