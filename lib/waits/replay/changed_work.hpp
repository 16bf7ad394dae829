#pragma once

#include "waits/states/matching_pass.hpp"
#include "waits/timeline/rank_map.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// How the time that ranks spend in some code, outside MPI, is changed.
struct WorkChange {
  enum class Kind : std::uint8_t {
    remove,    ///< it takes no time
    speed_up,  ///< it takes a `factor`-th
    balance,   ///< each rank takes the mean of all ranks over the whole run, as balance is defined
    even_out,  ///< the same for each interval between MPI calls by itself, where the ranks' correspond
  };
  Kind kind = Kind::remove;
  double factor = 1;
};

/// What a change does to the time in its code, over the time lines that it concerns.
struct ChangedTime {
  double before_ns = 0, after_ns = 0;
  std::size_t lines = 0;        ///< that spend time in the code
  double largest_ns = 0;        ///< of one line, before
  bool placed_blindly = false;  ///< ranks that never ran the code got a part of it in intervals of any kind
};

struct ChangedWork {
  /// By line, in the store's order, and call: by how much the gap before it is shorter.
  std::vector<storage::Sequence<std::int64_t>> less;
  std::vector<ChangedTime> times;  ///< by change
};

/// What the changes make of all gaps between MPI calls (docs/algorithms.md 18). `change_of`: by context, the
/// number of its change, plus one; 0: none. `ranks`: whose time is changed; empty: all. Gaps up to the end of
/// MPI_Init stay. Balance concerns a process's first time line only.
ChangedWork changed_work(const RankMap& rank_map, const Matched& matched, std::span<const WorkChange> changes,
                         std::span<const std::uint8_t> change_of, std::span<const std::int32_t> ranks);

}  // namespace culprit::waits
