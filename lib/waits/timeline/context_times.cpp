#include "waits/timeline/context_times.hpp"

namespace culprit::waits {

void ContextTimes::add(const TimeLine& line, const LineTimes& times, const Regions& regions) {
  line.samples.go_through([this](const Sample& sample) { add(sample.context, sample.ns); });
  for (const std::uint32_t number : times.found()) {
    const Region& region = regions[number];
    if (region.next == Region::kCall) add(region.previous, times.of(number));
  }
  if (!line.events.empty()) add(times.last_call_context(), times.last_call_ns());
}

}  // namespace culprit::waits
