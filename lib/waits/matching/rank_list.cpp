// The members of a communicator as runs of equal stride, so that regular ones take a few bytes however many
// ranks there are. Cost: a binary search over the runs per look-up, a pass over them for contains().
#include "waits/matching/rank_list.hpp"

#include "measurement/trace_operation.hpp"

#include <algorithm>

namespace culprit::waits {

RankList::RankList(std::span<const std::int32_t> ranks) {
  add(ranks);
}

RankList RankList::at_places(const std::map<std::uint32_t, std::int32_t>& ranks) {
  RankList list;
  std::vector<std::int32_t> together;  // behind those of the list
  for (const auto& [place, rank] : ranks) {
    if (place != list.size_ + together.size()) {
      list.add(together);
      together.clear();
      list.add({.first = measurement::trace::kNobody, .stride = 0, .count = place - list.size_, .start = 0});
    }
    together.push_back(rank);
  }
  list.add(together);
  return list;
}

void RankList::add(std::span<const std::int32_t> ranks) {
  for (std::size_t i = 0; i < ranks.size();) {
    Run run{.first = ranks[i], .stride = 1, .count = 1, .start = 0};
    if (i + 1 < ranks.size()) run.stride = ranks[i + 1] - ranks[i];
    while (i + run.count < ranks.size() && ranks[i + run.count] - ranks[i + run.count - 1] == run.stride) {
      ++run.count;
    }
    add(run);
    i += run.count;
  }
}

void RankList::add(Run run) {
  run.start = size_;
  size_ += run.count;
  runs_.push_back(run);
}

const RankList::Run& RankList::run_of(std::uint32_t index) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), index,
                                      [](std::uint32_t at, const Run& run) { return at < run.start; });
  return *(after - 1);
}

bool RankList::contains(std::int32_t rank) const {
  return std::any_of(runs_.begin(), runs_.end(), [rank](const Run& run) {
    if (run.count == 1 || run.stride == 0) return rank == run.first;
    const std::int64_t beyond = std::int64_t{rank} - run.first;
    // Apart: dividing by one takes as long as by any other number.
    if (run.stride == 1) return beyond >= 0 && beyond < run.count;
    const std::int64_t steps = beyond / run.stride;
    return steps >= 0 && steps < run.count && run.first + steps * run.stride == rank;
  });
}

std::vector<std::int32_t> RankList::packed() const {
  std::vector<std::int32_t> numbers;
  numbers.reserve(3 * runs_.size());
  for (const Run& run : runs_) {
    numbers.insert(numbers.end(), {run.first, run.stride, static_cast<std::int32_t>(run.count)});
  }
  return numbers;
}

RankList RankList::unpacked(std::span<const std::int32_t> packed) {
  RankList list;
  for (std::size_t i = 0; i + 2 < packed.size(); i += 3) {
    list.add({.first = packed[i],
              .stride = packed[i + 1],
              .count = static_cast<std::uint32_t>(packed[i + 2]),
              .start = 0});
  }
  return list;
}

}  // namespace culprit::waits
