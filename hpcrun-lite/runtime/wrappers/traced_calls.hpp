#pragma once

namespace culprit::runtime {

/// culprit_iteration(): counts the iteration and records it in the time line of the calling thread.
/// Async-signal-safe.
void mark_iteration(long number);

}  // namespace culprit::runtime
