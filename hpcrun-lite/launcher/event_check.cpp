#include "launcher/event_check.hpp"

#include "launcher/event_probe.hpp"
#include "launcher/program.hpp"
#include "runtime/events/kernel_event.hpp"
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

namespace {

constexpr std::size_t kNameWidth = 26;

constexpr const char* kClocks = R"(Clocks, per thread; periods in microseconds, or @fHZ
  REALTIME                  wall-clock time: working and waiting; on unless "-e none" is given first
                            (REALTIME@5000, the same as REALTIME@f200)
  CPUTIME                   processor time; the kernel's tick limits it to about 250 per second, what it
                            misses counts in the weight of the next sample (CPUTIME@5000)
)";

constexpr const char* kNaming = R"(
  Native events are named as papi_native_avail prints them, with their masks:
  -e skl::MEM_LOAD_RETIRED:L3_MISS@100000. Events that do not fit into the processor's counters together
  are refused: sampled events cannot share a counter by multiplexing.
)";

std::string in_column(const std::string& name) {
  return "  " + name + std::string(name.size() < kNameWidth ? kNameWidth - name.size() : 1, ' ');
}

void list_kernel_event(std::ostream& out, const runtime::KernelEvent& event) {
  runtime::KernelOpening opening{.event = &event, .period = event.period, .frequency = 0, .user_only = false};
  const long opened = runtime::open_kernel_event_as_allowed(opening);
  out << in_column(event.name) << event.description;
  if (opened < 0) {
    out << "\n"
        << in_column("")
        << "not here: " << explain_refusal(static_cast<int>(-opened), event.in_kernel, read_paranoid())
        << '\n';
    return;
  }
  runtime::close_event(opened);
  constexpr std::uint64_t kNsPerMicrosecond = 1000;
  out << " (@" << (event.time ? event.period / kNsPerMicrosecond : event.period) << ')';
  if (opening.user_only && !event.time) {
    out << ";\n"
        << in_column("") << "without those in the kernel: perf_event_paranoid is "
        << read_paranoid().value_or(0);
  }
  out << '\n';
}

}  // namespace

void list_events(std::ostream& out) {
  out << kClocks << "\nEvents of the kernel, per thread; periods in counts (clocks: microseconds), or @fHZ\n";
  for (const runtime::KernelEvent& event : runtime::kKernelEvents) list_kernel_event(out, event);
  out << "\nEvents of PAPI, per thread; periods in counts\n";
  const PapiOffer offer = list_papi_events();
  if (!offer.why_none.empty()) {
    out << "  none here: " << offer.why_none << '\n';
    return;
  }
  for (const PapiOffer::Event& event : offer.presets) {
    out << in_column(event.name) << event.description << " (@"
        << runtime::default_papi_period(event.name.c_str()) << ")\n";
  }
  out << kNaming;
}

}  // namespace culprit::launcher
