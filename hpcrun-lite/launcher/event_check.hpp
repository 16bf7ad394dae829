#pragma once

#include "runtime/events/event_list.hpp"

#include <ostream>
#include <string>
#include <string_view>

namespace culprit::launcher {

/// Throws Failure unless every event can be sampled here: before the program starts, and with the reason,
/// which the program's own process could not say as well.
void check_events_work(const runtime::EventList& list);

/// `did you mean NAME? ` with the clock or event of the kernel whose name is nearly `name`; empty where none
/// is.
std::string event_meant_by(std::string_view name);

/// Prints the events that work here, each tried: clocks, the kernel's, PAPI's presets; what does not, and
/// why.
void list_events(std::ostream& out);

}  // namespace culprit::launcher
