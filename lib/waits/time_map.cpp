#include "waits/time_map.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace culprit::waits {
namespace {

constexpr std::uint32_t kNothing = ~0U;

/// Calls visit(bin, ns) for each bin that [begin, end) lies in.
template <typename Visit>
void for_bins(const TimeMap& map, std::uint64_t begin, std::uint64_t end, Visit visit) {
  begin = std::max(begin, map.begin_ns);
  end = std::min(end, map.begin_ns + map.bins * map.bin_ns);
  while (begin < end) {
    const std::uint64_t bin = (begin - map.begin_ns) / map.bin_ns;
    const std::uint64_t until = std::min(end, map.begin_ns + (bin + 1) * map.bin_ns);
    visit(static_cast<std::uint32_t>(bin), until - begin);
    begin = until;
  }
}

/// Which context has most time in each bin, told in the order of time: only one bin is open at once.
class Places {
 public:
  Places(const TimeMap& map, std::vector<std::uint32_t>& contexts) : map_(map), contexts_(contexts) {}

  void spend(std::uint64_t begin, std::uint64_t end, std::uint32_t context) {
    for_bins(map_, begin, end, [&](std::uint32_t bin, std::uint64_t ns) {
      if (bin != open_) close();
      open_ = bin;
      auto found =
          std::find_if(spent_.begin(), spent_.end(), [&](const auto& each) { return each.first == context; });
      if (found == spent_.end()) found = spent_.insert(found, {context, 0});
      found->second += ns;
    });
  }
  void close() {
    const auto most = std::max_element(spent_.begin(), spent_.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : a.first > b.first;
    });
    if (most != spent_.end()) contexts_[open_] = most->first;
    spent_.clear();
  }

 private:
  const TimeMap& map_;
  std::vector<std::uint32_t>& contexts_;
  std::uint32_t open_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> spent_;  // few: those of one bin
};

/// The time lines that count, one of each process.
std::vector<const TimeLine*> first_lines(const Roster& roster, const Forward& forward) {
  std::vector<const TimeLine*> lines;
  for (const TimeLine& line : forward.ledger.lines()) {
    const bool first = roster.location_of(roster.rank_of(line.location), 0) == line.location;
    if (first && !line.events.empty()) lines.push_back(&line);
  }
  return lines;
}

/// The length of all ranks' time lines, in how many bins.
TimeMap bins_for(exchange::Communicator& analysis, const std::vector<const TimeLine*>& lines) {
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  for (const TimeLine* const line : lines) {
    first = std::min(first, line->events.front().enter_ns);
    last = std::max(last, line->events.back().exit_ns);
  }
  first = ~analysis.all_max(~first);
  last = analysis.all_max(last);
  const std::uint64_t rows = analysis.all_sum(lines.size());
  if (rows == 0 || last <= first) return {};
  const std::uint64_t wanted = std::clamp(kMostCells / rows, kLeastBins, kMostBins);
  TimeMap map;
  map.begin_ns = first;
  map.bin_ns = (last - first + wanted - 1) / wanted;
  map.bins = static_cast<std::uint32_t>((last - first + map.bin_ns - 1) / map.bin_ns);
  return map;
}

/// Samples lie in their gap one after the other: each stands for the time before it.
void spend_samples(const TimeLine& line, std::size_t& next, std::uint32_t gap, std::uint64_t begin,
                   std::uint64_t end, Places& places) {
  for (; next < line.samples.size(); ++next) {
    const Sample sample = line.samples[next];
    if (sample.gap > gap) return;
    const std::uint64_t until = std::min(end, begin + sample.ns);
    places.spend(begin, until, sample.context);
    begin = std::max(begin, until);
  }
}

TimeMapRow row_of(const TimeMap& map, const TimeLine& line, std::int32_t rank,
                  const std::function<std::uint32_t(std::uint32_t)>& shown_at) {
  TimeMapRow row{.rank = rank,
                 .calls_ns = std::vector<std::uint64_t>(map.bins, 0),
                 .contexts = std::vector<std::uint32_t>(map.bins, kNothing),
                 .waits = {},
                 .segments = std::vector<SegmentsInBin>(map.bins)};
  Places places(map, row.contexts);
  std::size_t sample = 0;
  std::uint64_t at = line.events.front().enter_ns;
  std::uint32_t gap = 0;
  for (const Event& event : line.events) {
    const std::uint64_t enter = std::max(event.enter_ns, at);
    spend_samples(line, sample, gap++, at, enter, places);
    for_bins(map, enter, event.exit_ns,
             [&](std::uint32_t bin, std::uint64_t ns) { row.calls_ns[bin] += ns; });
    places.spend(enter, event.exit_ns, shown_at(event.context));
    at = std::max(at, event.exit_ns);
  }
  places.close();
  std::map<std::pair<Pattern, std::uint32_t>, std::uint64_t> waits;
  for (const Wait& wait : line.waits) {
    for_bins(map, wait.until_ns - std::min(wait.ns, wait.until_ns), wait.until_ns,
             [&](std::uint32_t bin, std::uint64_t ns) {
               waits[{wait.pattern, bin}] += ns;
             });
  }
  for (const auto& [key, ns] : waits) row.waits.push_back({key.first, key.second, ns});
  return row;
}

/// Segments follow each other in time.
void place_segments(const TimeMap& map, const std::vector<Segment>& segments, TimeMapRow& row) {
  std::size_t first = 0;
  for (std::uint32_t bin = 0; bin < map.bins; ++bin) {
    const std::uint64_t begin = map.begin_ns + bin * map.bin_ns;
    while (first < segments.size() && segments[first].end_ns <= begin) ++first;
    std::size_t end = first;
    while (end < segments.size() && segments[end].begin_ns < begin + map.bin_ns) ++end;
    row.segments[bin] = {.first = static_cast<std::uint32_t>(first),
                         .count = static_cast<std::uint32_t>(end - first)};
  }
}

}  // namespace

void find_segments(TimeMap& map, const Variation& variation) {
  std::map<std::int32_t, const std::vector<Segment>*> of_rank;
  for (std::size_t row = 0; row < variation.rows.size(); ++row)
    of_rank.emplace(variation.ranks[row], &variation.rows[row]);
  for (TimeMapRow& row : map.rows) {
    if (const auto found = of_rank.find(row.rank); found != of_rank.end())
      place_segments(map, *found->second, row);
  }
}

TimeMap time_map(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                 const std::function<std::uint32_t(std::uint32_t)>& shown_at) {
  const std::vector<const TimeLine*> lines = first_lines(roster, forward);
  TimeMap map = bins_for(analysis, lines);
  if (map.bins == 0) return map;
  for (const TimeLine* const line : lines)
    map.rows.push_back(row_of(map, *line, roster.rank_of(line->location), shown_at));
  return map;
}

}  // namespace culprit::waits
