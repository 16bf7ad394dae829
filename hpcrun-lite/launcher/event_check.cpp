#include "launcher/event_check.hpp"

#include "launcher/event_refusal.hpp"
#include "launcher/failure.hpp"
#include "launcher/papi_probe.hpp"

namespace culprit::launcher {
namespace {

using runtime::Event;
using runtime::EventSource;

void check_kernel_event(const Event& event) {
  runtime::KernelOpening opening{
      .event = event.kernel, .period = event.period, .frequency = event.frequency, .user_only = false};
  const long opened = runtime::open_kernel_event_as_allowed(opening);
  if (opened < 0) {
    throw Failure(kFailure,
                  "event: " + std::string(event.name) + ": " +
                      explain_refusal(static_cast<int>(-opened), event.kernel->in_kernel, read_paranoid()));
  }
  runtime::close_event(opened);
}

}  // namespace

void check_events_work(const runtime::EventList& list) {
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.events[i].source == EventSource::kernel) check_kernel_event(list.events[i]);
  }
  const std::string problem = find_papi_problem(list);
  if (!problem.empty()) throw Failure(kFailure, "event: " + problem);
}

}  // namespace culprit::launcher
