#pragma once

#include <ostream>

namespace culprit::launcher {

/// Prints the events that work here, each tried: clocks, the kernel's, PAPI's presets; what does not, and
/// why.
void list_events(std::ostream& out);

}  // namespace culprit::launcher
