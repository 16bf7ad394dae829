#pragma once

#include "measurement/trace_event.hpp"
#include "waits/timeline/event.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::waits {

/// An MPI call while it is being read. (What is kept side by side elsewhere is apart here: read as one, right
/// after it was written one by one, it would have the processor wait.)
struct CallSite {
  std::size_t process = 0;  ///< of this rank's own
  EventId id;
  /// When the last call before it on its time line was left that may have waited for a message; 0: none.
  std::uint64_t received_ns = 0;
  std::int32_t rank = -1;     ///< in MPI_COMM_WORLD
  std::uint32_t context = 0;  ///< its call path, of the united tree
  std::uint64_t enter_ns = 0;
  bool any = false;
  bool alone = false;  ///< it takes part in one operation only
  std::uint64_t exit_ns = 0;
};

}  // namespace culprit::waits
