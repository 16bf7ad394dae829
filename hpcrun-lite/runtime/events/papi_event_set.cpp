#include "runtime/events/papi_event_set.hpp"

#include <cstring>

namespace culprit::runtime {
namespace {

PapiOutcome add(const PapiLibrary& papi, const Event& event, PapiOverflowHandler handler, int set) {
  int code = 0;
  int error = papi.event_name_to_code(event.name, &code);
  if (error != kPapiOk) return {.step = PapiStep::name, .error = error};
  const int component = papi.get_event_component(code);
  if (component < 0) return {.step = PapiStep::name, .error = component};
  // Others would be sampled by a timer that belongs to the program.
  if (strcmp(papi_component_name(papi, component), kPapiSamplingComponent) != 0)
    return {.step = PapiStep::component};
  error = papi.add_event(set, code);
  if (error != kPapiOk) return {.step = PapiStep::count, .error = error};
  error = papi.overflow(set, code, static_cast<int>(event.period), 0, handler);
  if (error != kPapiOk) return {.step = PapiStep::overflow, .error = error};
  return {};
}

PapiOutcome fill_and_start(const PapiLibrary& papi, const EventList& list, PapiOverflowHandler handler,
                           int set) {
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.events[i].source != EventSource::papi) continue;
    PapiOutcome outcome = add(papi, list.events[i], handler, set);
    outcome.event = i;
    if (outcome.step != PapiStep::none) return outcome;
  }
  const int error = papi.start(set);
  return {.step = error == kPapiOk ? PapiStep::none : PapiStep::start, .error = error};
}

}  // namespace

PapiOutcome start_event_set(const PapiLibrary& papi, const EventList& list, PapiOverflowHandler handler,
                            int& set) {
  set = kPapiNull;
  const int error = papi.create_eventset(&set);
  if (error != kPapiOk) {
    set = kPapiNull;
    return {.step = PapiStep::set, .error = error};
  }
  const PapiOutcome outcome = fill_and_start(papi, list, handler, set);
  if (outcome.step != PapiStep::none) end_event_set(papi, set);
  return outcome;
}

void end_event_set(const PapiLibrary& papi, int& set) {
  if (set == kPapiNull) return;
  papi.stop(set, nullptr);
  papi.cleanup_eventset(set);
  papi.destroy_eventset(&set);
  set = kPapiNull;
}

}  // namespace culprit::runtime
