#pragma once

#include "waits/timeline/event.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// A member of a blocking collective operation in which not everybody needs everybody: when it was there.
struct Presence {
  std::uint64_t enter_ns = 0, exit_ns = 0;
  std::uint64_t free_ns =
      0;  ///< since when nobody that it needs by definition is missing; kNobody: it needs all
  EventId call;
  std::int32_t rank = -1;     ///< in the communicator
  std::uint32_t context = 0;  ///< the call's path
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
};

/// A member whom another one kept in the operation.
struct HeldUp {
  EventId call;
  Presence by;
  std::uint64_t until_ns = 0;  ///< when that one came, less what the bytes would have cost without it
  bool first = false;          ///< of those whom that one held up, the first to come
};

/// Whom others held up although they do not need them by definition: the root of a broadcast that serves a
/// receiver which comes late, and those below a late member of the library's tree (docs/algorithms.md 7, Wait
/// at Root). Members in any order; the result, in the order of calls, does not depend on it.
std::vector<HeldUp> held_up(std::vector<Presence> members);

/// One of those that held_up() found; nullptr: nobody held it up.
const HeldUp* find_held_up(std::span<const HeldUp> held_up, const EventId& call);

}  // namespace culprit::waits
