#include "findings/thread_times.hpp"

#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>

namespace culprit::viewer {

void ThreadTimes::add_up() {
  std::ranges::stable_sort(parts_, {}, &Part::location);
  std::size_t kept = 0;
  for (const Part& part : parts_) {
    if (kept > 0 && parts_[kept - 1].location == part.location) {
      parts_[kept - 1].ns += part.ns;
    } else {
      parts_[kept++] = part;
    }
  }
  parts_.resize(kept);
}

std::uint64_t ThreadTimes::sum() const {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) sum += part.ns;
  return sum;
}

std::vector<std::uint32_t> ThreadTimes::locations() const {
  std::vector<std::uint32_t> locations;
  locations.reserve(parts_.size());
  for (const Part& part : parts_) locations.push_back(part.location);
  return locations;
}

ThreadTimes::Part ThreadTimes::largest() const {
  return *std::ranges::max_element(parts_, {}, &Part::ns);
}

bool ThreadTimes::even() const {
  constexpr double kQuarterMore = 1.25;
  const double mean = static_cast<double>(sum()) / static_cast<double>(parts_.size());
  return static_cast<double>(largest().ns) < kQuarterMore * mean;
}

std::string thread_times_phrase(const database::Contents& experiment, const ThreadTimes& times,
                                std::string_view on, bool unicode) {
  std::string text = threads_phrase(experiment, times.locations());
  if (times.parts().size() == 1) return keep(text);
  const ThreadTimes::Part most = times.largest();
  const std::string amount = keep(duration(seconds_of(most.ns), unicode));
  if (times.even()) return text + ", at most " + amount + " each";
  const std::string who = are_ranks(experiment, times.locations())
                              ? std::to_string(experiment.locations[most.location].rank)
                              : thread_phrase(experiment, most.location);
  return text + ", " + keep("most " + std::string(on) + ' ' + who + " (" + amount + ')');
}

}  // namespace culprit::viewer
