#pragma once

#include "stuck/picture.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace culprit::stuck {

/// Whom a thread waits for.
struct WaitsFor {
  std::vector<std::int32_t> ranks;  ///< ascending, unique; itself only where that is all
  bool one_suffices = false;        ///< any of them may end the wait; else each must act
  bool unknown = false;             ///< also for processes of which nothing is known: never a deadlock
};

/// A lock of a window that a process holds.
struct Holder {
  const Process* process = nullptr;
  HeldLock lock;
};

/// No list of ranks that one call waits for is longer.
inline constexpr std::size_t kMostNamed = 256;

/// The processes of a picture by their rank.
class Ranks {
 public:
  explicit Ranks(const Picture& picture);
  /// Null where there is no file of it.
  [[nodiscard]] const Process* find(std::int32_t rank) const;
  [[nodiscard]] const Picture& picture() const { return picture_; }
  /// Of a window: the exclusive locks that are held, or all of them.
  [[nodiscard]] const std::vector<Holder>& holders(std::uint64_t window, bool only_exclusive) const;

  /// The processes that belong to a collective call but have not entered it, the first kMostNamed of them;
  /// kUnknownRank for those of which nothing is known.
  const std::vector<std::int32_t>& absent_from(const Call& call) const;
  /// Those that are neither in MPI_Finalize nor ended, the first kMostNamed of them.
  [[nodiscard]] const std::vector<std::int32_t>& not_at_end() const { return not_at_end_; }

 private:
  const Picture& picture_;
  std::vector<std::int32_t> not_at_end_;
  std::vector<const Process*> of_;
  std::map<std::pair<std::uint64_t, bool>, std::vector<Holder>> holders_;
  mutable std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::int32_t>> absent_;
};

/// Whom `thread` of `process`, which is inside of a call, waits for. Who has done his part is left out where
/// that is known; where nobody is left, the wait is about to end.
WaitsFor waits_for(const Ranks& ranks, const Process& process, const Thread& thread);

}  // namespace culprit::stuck
