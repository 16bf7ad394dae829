#pragma once

#include "runtime/recording/flusher.hpp"

namespace culprit::runtime {

inline constexpr int kLandlockRestrictSelf = 446;  // not in older headers

/// Whether this system call (prctl: with this option) can take privileges from the thread that makes it.
bool gives_privileges_away(long number, long option);

/// After such a call of the program's that succeeded: the flusher thread makes it, too. Does nothing in
/// processes that are not measured. Not from a handler of ours; keeps errno.
void follow_privileges(const RepeatedCall& call);

}  // namespace culprit::runtime
