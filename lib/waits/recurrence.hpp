#pragma once

#include "waits/call_paths.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace culprit::waits {

/// Which scopes control came back to between MPI calls: from one call to the next, to the innermost scope
/// that holds both. Time lines are gone through one after the other.
class Returns {
 public:
  /// `paths` must outlive it.
  explicit Returns(const CallPaths& paths);

  void begin_line() { previous_ = CallPaths::kNone; }

  /// The next call of the line, at a context of `paths`; its number, from 1, over all lines.
  std::uint64_t call(std::uint32_t context);

  /// The depth of the outermost scope around `context` that control came back to after call number `since`,
  /// which was at that context too.
  [[nodiscard]] std::uint32_t outermost_since(std::uint64_t since, std::uint32_t context) const;

  /// Of a context: how many scopes are around it.
  [[nodiscard]] std::uint32_t depth(std::uint32_t context) const { return depth_[context]; }

 private:
  std::uint32_t innermost_around(std::uint32_t a, std::uint32_t b);

  const CallPaths& paths_;
  std::vector<std::uint32_t> depth_;
  std::vector<std::uint64_t> came_back_;  ///< by context: before which call
  /// Of two contexts: the one of these hashes that was asked for last, mostly the same few, and all.
  struct Around {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t scope = CallPaths::kNone;
  };
  static constexpr std::size_t kSeen = 256;
  std::vector<Around> seen_ = std::vector<Around>(kSeen);
  std::unordered_map<std::uint64_t, std::uint32_t> around_;
  std::uint64_t calls_ = 0;
  std::uint32_t previous_ = CallPaths::kNone;
};

/// How often a procedure is seen to begin anew on one time line: its first MPI call path recurs. Between two
/// calls of that path control came back to some scope of the procedure's, such as a loop over neighbours deep
/// inside, or the loop over time steps: which of these scopes divides the procedure's time is known when all
/// calls were seen.
class Recurrences {
 public:
  struct Level {
    std::uint32_t depth =
        0;  ///< below the procedure; calls begin anew where control came back to it, or farther out
    std::uint64_t first_ns = 0, last_ns = 0, longest_ns = 0;
    std::uint64_t count = 0;

    void begins(std::uint64_t ns);
    /// Whether one of those that end at `end_ns` has nearly all of the time.
    [[nodiscard]] bool uneven(std::uint64_t end_ns) const;
  };

  /// A call of the first path, at time `ns`; control came back to a scope `depth` below the procedure since
  /// the last one. Of the first call the depth does not matter.
  void begins(std::uint64_t ns, std::uint32_t depth);

  /// Until when the procedure's calls last.
  void extend(std::uint64_t ns) { end_ns_ = ns > end_ns_ ? ns : end_ns_; }

  [[nodiscard]] std::uint64_t count() const { return level().count; }
  [[nodiscard]] bool uneven() const { return level().uneven(end_ns_); }
  /// That of the outermost scope which recurs and divides the time; that of all calls of the first path where
  /// none does.
  [[nodiscard]] const Level& level() const;

 private:
  std::vector<Level> levels_;  ///< outermost first; the last has all calls
  std::uint64_t end_ns_ = 0;
};

}  // namespace culprit::waits
