#pragma once

#include "measurement/kinds.hpp"
#include "runtime/recording/flusher.hpp"

#include <limits>

namespace culprit::runtime {

inline constexpr int kNoExitStatus = std::numeric_limits<int>::min();

/// Records the end of the process and seals its measurement, once. `exit_status`: what it was asked to exit
/// with. Async-signal-safe. Its beginning is the library's constructor.
void end_process(measurement::EndReason reason, int exit_status = kNoExitStatus);

/// Of a rank: from now on its exit status is known when it ends by exit or by main's return. Not earlier: what
/// is registered before main is called after our own destructor.
void await_exit_status();

/// What the flusher thread does in this process.
FlusherDuties flusher_duties();

/// Has a forked child become a process of its own, with a file of its own. In the constructor.
void follow_forks();

}  // namespace culprit::runtime
