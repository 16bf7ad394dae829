#pragma once

#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/stamp_level.hpp"
#include "measurement/thread_arena.hpp"

#include <cstdint>

namespace culprit::measurement {

/// One call of one-sided communication as it was, so that the calls of several processes can be laid side by
/// side. Which ones are kept is decided by `order` alone, a hash of window and instance: the same on all.
struct StampValues {
  EpochKind kind = EpochKind::none;
  std::uint32_t instance = 0;  ///< its sequence number among its kind in this window, with this peer
  std::uint32_t members = 0;   ///< how many belong together: the window's processes, the group's members
  std::uint32_t peer = 0;      ///< rank in MPI_COMM_WORLD
  std::uint64_t window = 0;
  std::uint64_t order = 0;
  std::uint64_t enter_ns = 0, exit_ns = 0;
  std::uint64_t last_ns = 0;  ///< exit of the last operation on the peer before, or of MPI_Win_start; 0: none
};

/// The stamps of a thread. Not while the handler may run in it.
class ThreadStamps {
 public:
  /// Where they lie in the arena.
  using Records = NodeIndex[kEpochStamps];

  ThreadStamps(ThreadArena& arena, Records& records) noexcept : arena_(arena), records_(records) {}

  /// Keeps a stamp if its turn has come.
  void keep(NodeIndex node, const StampValues& values) noexcept;
  /// Only stamps whose order has this many leading zero bits are kept from now on. Never falls.
  [[nodiscard]] unsigned level() const noexcept { return level_.level(); }

 private:
  NodeIndex fresh_record(std::uint64_t& sum) noexcept;
  void thin(std::uint64_t& sum) noexcept;

  ThreadArena& arena_;
  Records& records_;  // the first count_ of them in use, of made_
  std::uint32_t count_ = 0, made_ = 0;
  StampLevel level_;
};

}  // namespace culprit::measurement
