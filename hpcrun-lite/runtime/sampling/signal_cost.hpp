#pragma once

#include <csignal>
#include <cstdint>

namespace culprit::runtime {

/// What one timed signal costs the thread that takes it besides its handler, in ns: arming the timer, its
/// interrupt, delivery and the way back. Measured here and now, some 0.2 ms long, as the least of a few: a
/// processor that is taken away in the middle costs nobody. To wake a thread that waits costs more. To be
/// called with the handler installed, in a thread that is not sampled yet.
std::uint64_t measure_signal_cost();

/// From the handler in such a thread: true if the signal is one of those.
bool take_trial(const siginfo_t* info);

}  // namespace culprit::runtime
