#pragma once

#include "measurement/kinds.hpp"
#include "runtime/recording/flusher.hpp"

namespace culprit::runtime {

/// Records the end of the process and seals its measurement, once. Async-signal-safe. Its beginning is the
/// library's constructor.
void end_process(measurement::EndReason reason);

/// What the flusher thread does in this process.
FlusherDuties flusher_duties();

/// Has a forked child become a process of its own, with a file of its own. In the constructor.
void follow_forks();

}  // namespace culprit::runtime
