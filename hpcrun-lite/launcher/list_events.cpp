#include "launcher/list_events.hpp"

#include "launcher/event_refusal.hpp"
#include "launcher/papi_probe.hpp"
#include "runtime/events/kernel_event.hpp"

#include <string>

namespace culprit::launcher {
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
