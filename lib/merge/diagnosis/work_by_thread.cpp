// Sums up work or idleness per thread in some contexts, for suspects (docs/algorithms.md 5.4): rank 0
// broadcasts their ranges, every rank of the analysis sums it up from its share of the database's tiles, and
// rank 0 keeps the latest answers (32 MiB), since a walk asks for most of them several times. Pages are given
// back after each sixteen tiles. Cost: a few lists per tile; 8 bytes per thread sent (docs/scaling.md).
#include "merge/diagnosis/work_by_thread.hpp"

#include "cct/message.hpp"
#include "merge/input/collectively.hpp"
#include "merge/values/shape.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

namespace culprit::merge {
namespace {

/// What rank 0 keeps of earlier answers, in bytes: with 100 000 locations forty, as many as a search goes
/// back over.
constexpr std::size_t kMostKept = std::size_t{32} << 20;

/// Tiles from one giving back of pages to the next, which takes as long as looking at one or two: a few lists
/// are read of each as a rule, some hundred kilobytes, and where no inclusive values are kept of a context
/// most of it, some megabytes.
constexpr std::size_t kReleased = 16;

constexpr int kAnswerTag = 205;

using database::ContextId;
using database::TileValues;

/// A share's answer: times by location, in the order of its tiles, or why there are none.
exchange::Bytes to_bytes(const std::string& problem, const std::vector<std::uint64_t>& times) {
  cct::MessageWriter message;
  message.text(problem);
  message.values(times);
  return message.take();
}

/// What `all`, which holds all of `some`, holds besides.
std::vector<database::ContextRange> difference(std::span<const database::ContextRange> all,
                                               std::span<const database::ContextRange> some) {
  std::vector<database::ContextRange> rest;
  auto next = some.begin();
  for (database::ContextRange range : all) {
    for (; next != some.end() && next->first < range.end; ++next) {
      if (range.first < next->first) rest.push_back({.first = range.first, .end = next->first});
      range.first = next->end;
    }
    if (range.first < range.end) rest.push_back(range);
  }
  return rest;
}

}  // namespace

void WorkByThread::look_up(What what, const Ranges& ranges, const Visit& visit) {
  std::vector<std::uint64_t> time;
  std::vector<std::uint64_t> idleness;
  const TileValues::Share mine = share(comm_.rank());
  for (std::size_t tile = mine.first; tile < values_.tiles(); tile += mine.step) {
    const TileValues::Range range = values_.range(tile);
    time.assign(range.locations, 0);
    idleness.assign(range.locations, 0);
    const TileValues::Sums into[] = {
        {.metric = Columns::kRealtime, .by_location = time, .first = range.first},
        {.metric = Columns::kIdleness, .by_location = idleness, .first = range.first}};
    values_.add_all(ranges, into, {.first = tile, .step = values_.tiles()});
    for (std::uint32_t l = 0; l < range.locations; ++l) time[l] -= idleness[l];
    visit(range.first, what == What::work ? time : idleness);
    if (++looked_at_ % kReleased == 0) writer_.release_values();
  }
}

exchange::Bytes WorkByThread::answer(const exchange::Bytes& question) {
  cct::MessageReader asked(question);
  const auto what = static_cast<What>(asked.values<std::uint8_t>().at(0));
  const auto ranges = asked.values<TileValues::ContextRange>();
  try {
    std::vector<std::uint64_t> all;
    all.reserve(values_.locations() / static_cast<std::size_t>(comm_.size()) + 1);
    look_up(what, ranges, [&](std::uint32_t /*first*/, std::span<const std::uint64_t> times) {
      all.insert(all.end(), times.begin(), times.end());
    });
    return to_bytes({}, all);
  } catch (const std::exception& error) {
    return to_bytes(reason_of(error), {});
  }
}

std::vector<std::uint64_t> WorkByThread::ask_all(What what, const Ranges& ranges) {
  cct::MessageWriter message;
  message.values(std::vector{static_cast<std::uint8_t>(what)});
  message.values(ranges);
  exchange::Bytes question = message.take();
  std::vector<std::uint64_t> times(values_.locations());
  comm_.broadcast(question, 0);
  std::string problem;
  const auto attempt = [&](const auto& step) {
    try {
      if (problem.empty()) step();
    } catch (const std::exception& error) {
      problem = reason_of(error);
    }
  };
  attempt([&] {
    look_up(what, ranges, [&](std::uint32_t first, std::span<const std::uint64_t> some) {
      std::ranges::copy(some, times.begin() + first);
    });
  });
  for (int rank = 1; rank < comm_.size(); ++rank) {  // they answer, whatever happened
    const exchange::Bytes bytes = comm_.receive(rank, kAnswerTag);
    attempt([&] {
      cct::MessageReader reader(bytes);
      problem = reader.text();
      if (problem.empty()) put(share(rank), reader.values<std::uint64_t>(), times);
    });
  }
  if (!problem.empty()) throw std::runtime_error(problem);
  return times;
}

/// `part`: the times of the locations of some tiles, one after the other.
void WorkByThread::put(const TileValues::Share& share, std::span<const std::uint64_t> part,
                       std::vector<std::uint64_t>& into) const {
  for (std::size_t tile = share.first; tile < values_.tiles(); tile += share.step) {
    const TileValues::Range range = values_.range(tile);
    std::ranges::copy(part.first(range.locations), into.begin() + range.first);
    part = part.subspan(range.locations);
  }
}

/// Of what lies in something known, all but it may take fewer lists than it does: going down, a search leaves
/// little beside its way.
std::vector<std::uint64_t> WorkByThread::find(const Ranges& ranges, const Ranges& within) {
  const auto known = by_ranges_.find(within);
  if (known == by_ranges_.end() || values_.tiles() == 0) return ask_all(What::work, ranges);
  const Ranges rest = difference(within, ranges);
  if (values_.lists_of(ranges, 0) <= values_.lists_of(rest, 0)) return ask_all(What::work, ranges);
  std::vector<std::uint64_t> work = ask_all(What::work, rest);
  const std::vector<std::uint64_t>& whole = known->second->work;
  std::ranges::transform(whole, work, work.begin(), std::minus());
  return work;
}

const std::vector<std::uint64_t>& WorkByThread::of(const Ranges& ranges, const Ranges& within) {
  if (const auto found = by_ranges_.find(ranges); found != by_ranges_.end()) {
    known_.splice(known_.begin(), known_, found->second);
    return known_.front().work;
  }
  known_.push_front({.ranges = ranges, .work = find(ranges, within)});
  by_ranges_[ranges] = known_.begin();
  const std::size_t most = 1 + kMostKept / (sizeof(std::uint64_t) * std::max(values_.locations(), 1U));
  while (known_.size() > most) {
    by_ranges_.erase(known_.back().ranges);
    known_.pop_back();
  }
  return known_.front().work;
}

void WorkByThread::serve() {
  for (;;) {
    exchange::Bytes question;
    comm_.broadcast(question, 0);
    if (question.empty()) return;
    comm_.send(0, kAnswerTag, answer(question));
  }
}

void WorkByThread::run(const std::function<void()>& ask) {
  std::exception_ptr failure;
  if (comm_.rank() != 0) {
    serve();
  } else {
    try {
      ask();
    } catch (const exchange::ExchangeError&) {
      throw;  // nobody listens any more
    } catch (...) {
      failure = std::current_exception();
    }
    exchange::Bytes end;
    comm_.broadcast(end, 0);
  }
  collectively(comm_, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace culprit::merge
