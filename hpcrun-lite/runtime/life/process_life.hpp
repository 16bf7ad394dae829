#pragma once

#include "runtime/recording/flusher.hpp"

namespace culprit::runtime {

/// Of a rank: from now on its exit status is known when it ends by exit or by main's return. Not earlier:
/// what is registered before main is called after our own destructor.
void await_exit_status();

/// What the flusher thread does in this process.
FlusherDuties flusher_duties();

/// Has a forked child become a process of its own, with a file of its own. In the constructor.
void follow_forks();

}  // namespace culprit::runtime
