#pragma once

#include "runtime/event_list.hpp"

namespace culprit::launcher {

/// Throws Failure unless every event can be sampled here: before the program starts, and with the reason,
/// which the program's own process could not tell as well.
void check_events_work(const runtime::EventList& list);

}  // namespace culprit::launcher
