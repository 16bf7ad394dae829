#pragma once

#include <cstddef>
#include <cstdint>

// The processors that a thread may run on, in 32 bytes: runs of equal steps, as masks of launchers have them
// (0-3; 0,128; every second one). Free of anything that allocates; runtime, files and tools share it.
namespace culprit::measurement {

/// The processors first, first + step, ... last.
struct ProcessorRun {
  std::uint16_t first = 0, last = 0, step = 0;  ///< step 0: one processor

  friend bool operator==(const ProcessorRun&, const ProcessorRun&) = default;
};

/// A set of processors; empty where it is not known, or takes more runs than there is room for.
struct ProcessorSet {
  static constexpr std::uint16_t kRuns = 5;

  std::uint16_t runs = 0;
  ProcessorRun run[kRuns] = {};

  /// Adds a processor; they must come in ascending order. False where there is no room: the set is empty
  /// then, and what was added so far lost.
  constexpr bool add(std::uint16_t processor) {
    ProcessorRun* const last = runs == 0 ? nullptr : &run[runs - 1];
    if (last != nullptr && last->step == 0) {
      last->step = static_cast<std::uint16_t>(processor - last->first);
      last->last = processor;
    } else if (last != nullptr && processor == last->last + last->step) {
      last->last = processor;
    } else if (runs == kRuns) {
      *this = {};
      return false;
    } else {
      run[runs++] = {.first = processor, .last = processor, .step = 0};
    }
    return true;
  }

  [[nodiscard]] constexpr bool empty() const { return runs == 0; }

  [[nodiscard]] constexpr std::uint32_t size() const {
    std::uint32_t count = 0;
    for (std::uint16_t i = 0; i < runs; ++i)
      count += run[i].step == 0 ? 1U : (run[i].last - run[i].first) / std::uint32_t{run[i].step} + 1;
    return count;
  }

  /// Calls visit(processor) in ascending order.
  template <typename Visit>
  constexpr void each(Visit visit) const {
    for (std::uint16_t i = 0; i < runs; ++i) {
      const std::uint32_t step = run[i].step == 0 ? 1 : run[i].step;
      for (std::uint32_t at = run[i].first; at <= run[i].last; at += step)
        visit(static_cast<std::uint16_t>(at));
    }
  }

  /// Whether bytes from a file are such a set.
  [[nodiscard]] constexpr bool is_sound() const {
    if (runs > kRuns) return false;
    for (std::uint16_t i = 0; i < runs; ++i) {
      const ProcessorRun& r = run[i];
      const bool whole =
          r.step == 0 ? r.first == r.last : r.first < r.last && (r.last - r.first) % r.step == 0;
      if (!whole || (i > 0 && r.first <= run[i - 1].last)) return false;
    }
    return true;
  }

  friend bool operator==(const ProcessorSet&, const ProcessorSet&) = default;
};
static_assert(sizeof(ProcessorSet) == 32);

}  // namespace culprit::measurement
