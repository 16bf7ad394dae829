#include "launcher/event_check.hpp"

#include "launcher/event_refusal.hpp"
#include "launcher/failure.hpp"
#include "launcher/papi_probe.hpp"
#include "spelling/closest.hpp"

#include <string>
#include <vector>

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

/// Of a name that PAPI does not know, and that is nearly the name of a clock or an event of the kernel: why
/// it is none; empty where there is no such event in the list.
std::string find_misspelt(const runtime::EventList& list) {
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.events[i].source != EventSource::papi) continue;
    const std::string name = list.events[i].name;
    const std::string hint = event_meant_by(name);
    if (hint.empty()) continue;
    std::string why = name;
    return why.append(": no such event (")
        .append(hint)
        .append("hpcrun-lite --list-events lists those that work here)");
  }
  return {};
}

}  // namespace

std::string event_meant_by(std::string_view name) {
  std::vector<std::string> known = {"REALTIME", "CPUTIME"};
  for (const runtime::KernelEvent& event : runtime::kKernelEvents) known.emplace_back(event.name);
  return spelling::did_you_mean(name, known);
}

void check_events_work(const runtime::EventList& list) {
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.events[i].source == EventSource::kernel) check_kernel_event(list.events[i]);
  }
  const std::string problem = find_papi_problem(list);
  if (problem.empty()) return;
  const std::string misspelt = find_misspelt(list);
  throw Failure(kFailure, "event: " + (misspelt.empty() ? problem : misspelt));
}

}  // namespace culprit::launcher
