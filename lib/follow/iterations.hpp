#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

namespace culprit::follow {

/// A call path of waiting MPI calls of one rank.
struct CountedCalls {
  std::uint32_t node = 0;   ///< in the live tree
  std::uint32_t spot = 0;   ///< likewise
  std::uint32_t depth = 0;  ///< procedures from the root
  std::uint64_t calls = 0;  ///< since the start
};

/// How often a rank goes round its main loop.
struct IterationRate {
  double per_minute = 0;
  bool inferred = false;  ///< from the call at `spot`; else the program marks iterations
  std::uint32_t spot = 0;
};

/// Counts iterations over the last minute: those that the program marks (culprit_iteration), or else calls of
/// one MPI call path. Of the paths that were called in both halves of that time, the main loop's is the one
/// with the fewest procedures around it; of several, the one that was called most.
class Iterations {
 public:
  /// One look at the rank: the time in seconds, iterations that were marked, calls that were counted.
  void look(double time_s, std::uint64_t marked, std::span<const CountedCalls> calls);
  /// Nothing where too little is known yet, or nothing repeats.
  [[nodiscard]] std::optional<IterationRate> rate() const;

 private:
  struct Look {
    double time_s = 0;
    std::uint64_t marked = 0;
    std::map<std::uint32_t, std::uint64_t> calls;  ///< by spot
  };
  std::deque<Look> looks_;
  std::map<std::uint32_t, std::uint32_t> depth_;  ///< by spot
};

}  // namespace culprit::follow
