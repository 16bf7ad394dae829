#pragma once

#include "runtime/events/event_list.hpp"
#include "runtime/events/papi_library.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// What PAPI did not do for an event.
enum class PapiStep : std::uint8_t {
  none,       ///< nothing: all went well
  library,    ///< load PAPI
  name,       ///< know the name
  component,  ///< sample: the event's component does not interrupt
  set,        ///< make an event set
  count,      ///< add the event to those before it
  overflow,   ///< interrupt every this many events
  start,      ///< start them all
};

struct PapiOutcome {
  PapiStep step = PapiStep::none;
  std::size_t event = 0;      ///< index in the list
  int error = kPapiOk;        ///< PAPI's
  const char* why = nullptr;  ///< where PAPI could not be loaded
};

/// Starts one event set of the calling thread that holds all PAPI events of `list`, each calling `handler`
/// once per period; `set` is kPapiNull where it failed. Not from a handler.
PapiOutcome start_event_set(const PapiLibrary& papi, const EventList& list, PapiOverflowHandler handler,
                            int& set);

/// Stops it and gives all of it back. Not from a handler.
void end_event_set(const PapiLibrary& papi, int& set);

}  // namespace culprit::runtime
