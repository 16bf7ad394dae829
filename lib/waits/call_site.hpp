#pragma once

#include "measurement/trace_event.hpp"
#include "waits/event.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::waits {

/// An MPI call while it is being read.
struct CallSite {
  std::size_t process = 0;  ///< of this rank's own
  std::int32_t rank = -1;   ///< in MPI_COMM_WORLD
  EventId id;
  std::uint32_t context = 0;  ///< its call path, of the united tree
  std::uint64_t enter_ns = 0, exit_ns = 0;
  bool any = false;
  bool alone = false;  ///< it takes part in one operation only
  /// When the last call before it on its time line was left that may have waited for a message; 0: none.
  std::uint64_t received_ns = 0;
};

}  // namespace culprit::waits
