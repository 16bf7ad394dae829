#include "waits/context_times.hpp"

#include "waits/interval_profile.hpp"

#include <algorithm>

namespace culprit::waits {

void ContextTimes::add(const TimeLine& line) {
  line.samples.for_each([this](const Sample& sample) { add(sample.context, sample.ns); });
  std::vector<Event> long_waits;
  line.events.for_each([&](const Event& event) {
    if (event.wait == Event::kLongWait) {
      long_waits.push_back(event);
    } else {
      const std::uint64_t ns = event.exit_ns - event.enter_ns;
      add(event.context, ns - std::min<std::uint64_t>(ns, event.wait));
    }
  });
  for (const Event& event : long_waits) {
    const std::uint64_t ns = event.exit_ns - event.enter_ns;
    add(event.context, ns - std::min(ns, wait_of(line, event)));
  }
}

}  // namespace culprit::waits
