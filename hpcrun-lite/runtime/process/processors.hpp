#pragma once

#include <cstdint>

namespace culprit::runtime {

/// Starts the process's brake anew, with the processors that it has; `signal_ns` is what a signal costs
/// besides its handler.
void start_brake(std::uint64_t signal_ns);

}  // namespace culprit::runtime
