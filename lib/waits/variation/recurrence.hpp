#pragma once

#include "waits/timeline/event.hpp"
#include "waits/timeline/invocations.hpp"
#include "waits/timeline/regions.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace culprit::waits {

/// Whether one of a procedure's invocations has nearly all of its time.
[[nodiscard]] bool is_most(std::uint64_t longest_ns, std::uint64_t all_ns);

/// How far out control came back between MPI calls: from one call to the next, to the innermost scope that
/// holds both. Of several calls, all are in the outermost of these scopes. Time lines are gone through one
/// after the other.
class Returns {
 public:
  /// `paths` and `regions`, of which the events' gaps are, must outlive it.
  Returns(const CallPaths& paths, const Regions& regions);

  void begin_line() { previous_ = CallPaths::kNone; }

  /// The next call of the line, at a context of `paths`: the depth of the scope that control came back to
  /// before it; that of nothing(), before the first call.
  std::uint32_t call(const Event& event) {
    std::uint32_t depth = depth_of_gap_[event.gap];
    if (depth == kAsk) depth = ask(event);
    previous_ = event.context;
    return depth;
  }

  /// Of a context: how many scopes are around it.
  [[nodiscard]] std::uint32_t depth(std::uint32_t context) const { return depth_[context]; }
  /// Deeper than all contexts.
  [[nodiscard]] std::uint32_t nothing() const { return nothing_; }

 private:
  static constexpr std::uint32_t kAsk = ~std::uint32_t{0};

  std::uint32_t ask(const Event& event);
  [[nodiscard]] std::uint32_t around(std::uint32_t a, std::uint32_t b) const;

  const CallPaths& paths_;
  const Regions& regions_;
  std::vector<std::uint32_t> depth_;
  std::uint32_t nothing_ = 0;
  std::vector<std::uint32_t> depth_of_gap_;  ///< once asked for; a program has few gaps, however long it runs
  std::uint32_t previous_ = CallPaths::kNone;
};

/// How often procedures that have the same first MPI call path are seen to begin anew on one time line: that
/// path recurs. Between two calls of it control came back to some scope around it, such as a loop over
/// neighbours deep inside, or the loop over time steps: which of these scopes divides a procedure's time is
/// known when all calls were seen.
class Recurrences {
 public:
  struct Level {
    std::uint32_t depth = 0;  ///< calls begin anew where control came back to it, or farther out
    std::uint64_t first_ns = 0, last_ns = 0, longest_ns = 0;
    std::uint64_t count = 0;

    void begins(std::uint64_t ns) {
      if (count++ == 0) {
        first_ns = ns;
      } else {
        longest_ns = std::max(longest_ns, ns - last_ns);
      }
      last_ns = ns;
    }
    /// Whether one of those that end at `end_ns` has nearly all of the time.
    [[nodiscard]] bool uneven(std::uint64_t end_ns) const;
    /// Whether it recurs, and divides the time.
    [[nodiscard]] bool divides(std::uint64_t end_ns) const { return count >= 2 && !uneven(end_ns); }
  };

  /// A call of the first path, at time `ns`; control came back to a scope at `depth` since the last one. Of
  /// the first call the depth does not matter.
  void begins(std::uint64_t ns, std::uint32_t depth) {
    // What lies farther in begins anew wherever what lies farther out does.
    std::size_t at = levels_.size();
    while (at > 0 && levels_[at - 1].depth >= depth) levels_[--at].begins(ns);
    if (at == levels_.size() || levels_[at].depth != depth) insert(at, ns, depth);
  }

  /// Of a procedure, the outermost frame of which is at `depth` and which lasts until `end_ns`: that of its
  /// outermost scope which recurs and divides the time; that of all calls of the first path where none does.
  /// Where control comes back to scopes around the procedure, all of it begins anew.
  [[nodiscard]] Level level(std::uint32_t depth, std::uint64_t end_ns) const;
  /// How often calls begin anew at the scope at `depth`, whatever it divides.
  [[nodiscard]] std::uint64_t count_at(std::uint32_t depth) const;

 private:
  void insert(std::size_t at, std::uint64_t ns, std::uint32_t depth);

  std::vector<Level> levels_;  ///< outermost first, from depth 0; the last has all calls
};

}  // namespace culprit::waits
