#pragma once

#include "measurement/trace_operation.hpp"

#include <cstdint>
#include <span>

namespace culprit::waits {

/// Brings one process's CLOCK_MONOTONIC to that of the reference process (docs/algorithms.md 11): linear
/// between the comparisons at the start and at the end of the run, and beyond them; an offset where there was
/// but one; nothing where there was none, as on the reference's own host. Monotone.
class ClockCorrection {
 public:
  ClockCorrection() = default;
  explicit ClockCorrection(std::span<const measurement::trace::ClockPair> pairs);

  [[nodiscard]] std::uint64_t operator()(std::uint64_t ns) const {
    if (!corrects_) return ns;
    return corrected(ns);
  }

 private:
  [[nodiscard]] std::uint64_t corrected(std::uint64_t ns) const;

  bool corrects_ = false;
  std::uint64_t own_ = 0, reference_ = 0;  // at the first comparison
  std::int64_t gained_ = 0;                // by the reference, up to the last
  std::uint64_t between_ = 0;              // ns of the own clock from the first to the last
};

}  // namespace culprit::waits
