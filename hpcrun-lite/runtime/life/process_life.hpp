#pragma once

#include "measurement/kinds.hpp"

namespace culprit::runtime {

/// Records the end of the process and seals its measurement, once. Async-signal-safe. Its beginning is the
/// library's constructor.
void end_process(measurement::EndReason reason);

}  // namespace culprit::runtime
