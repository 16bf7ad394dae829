#include "merge/work_by_thread.hpp"

#include "cct/message.hpp"
#include "merge/shape.hpp"
#include "merge/together.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

namespace culprit::merge {
namespace {

/// What rank 0 keeps of earlier answers, in bytes: some levels of a walk with 100 000 locations.
constexpr std::size_t kMostKept = std::size_t{64} << 20;

/// Having looked into so many tiles a rank gives back their pages, so that its memory does not grow with the
/// file: to sum up a context of which no inclusive values are kept, most of a tile is read (some megabytes).
constexpr std::size_t kTilesBetweenReleases = 8;

using database::TileValues;

/// A share's answer: the work by location, in the order of its tiles, or why there is none.
exchange::Bytes to_bytes(const std::string& problem, const std::vector<std::uint64_t>& work) {
  cct::MessageWriter message;
  message.text(problem);
  message.values(work);
  return message.take();
}

}  // namespace

exchange::Bytes WorkByThread::answer(const exchange::Bytes& question) {
  cct::MessageReader message(question);
  TileValues::Subtree subtree;
  subtree.first = message.value<database::ContextId>();
  subtree.end = message.value<database::ContextId>();
  try {
    std::vector<std::uint64_t> time(values_.locations());
    std::vector<std::uint64_t> idleness(values_.locations());
    const TileValues::Sums into[] = {{.metric = Columns::kRealtime, .by_location = time},
                                     {.metric = Columns::kIdleness, .by_location = idleness}};
    const TileValues::Share mine = share(comm_.rank());
    std::vector<std::uint64_t> work;
    for (std::size_t tile = mine.first; tile < values_.tiles(); tile += mine.step) {
      values_.add_inclusive({&subtree, 1}, into, {.first = tile, .step = values_.tiles()});
      const TileValues::Range range = values_.range(tile);
      for (std::uint32_t l = range.first; l < range.first + range.locations; ++l)
        work.push_back(time[l] - idleness[l]);
      if (++looked_at_ < kTilesBetweenReleases) continue;
      writer_.release_values();
      looked_at_ = 0;
    }
    return to_bytes({}, work);
  } catch (const std::exception& error) {
    return to_bytes(error.what(), {});
  }
}

std::vector<std::uint64_t> WorkByThread::ask_all(const TileValues::Subtree& subtree) {
  cct::MessageWriter message;
  message.value(subtree.first);
  message.value(subtree.end);
  exchange::Bytes question = message.take();
  comm_.broadcast(question, 0);
  const std::vector<exchange::Bytes> answers = comm_.gather(answer(question), 0);
  std::vector<std::uint64_t> work(values_.locations());
  for (int rank = 0; rank < comm_.size(); ++rank) {
    cct::MessageReader reader(answers[static_cast<std::size_t>(rank)]);
    if (const std::string problem = reader.text(); !problem.empty()) throw std::runtime_error(problem);
    const auto part = reader.values<std::uint64_t>();
    const TileValues::Share theirs = share(rank);
    auto next = part.begin();
    for (std::size_t tile = theirs.first; tile < values_.tiles(); tile += theirs.step) {
      const TileValues::Range range = values_.range(tile);
      std::copy_n(next, range.locations, work.begin() + range.first);
      next += range.locations;
    }
  }
  return work;
}

const std::vector<std::uint64_t>& WorkByThread::of(const TileValues::Subtree& subtree) {
  if (const auto found = by_context_.find(subtree.first); found != by_context_.end()) {
    known_.splice(known_.begin(), known_, found->second);
    return known_.front().work;
  }
  known_.push_front({.context = subtree.first, .work = ask_all(subtree)});
  by_context_[subtree.first] = known_.begin();
  const std::size_t most = 1 + kMostKept / (sizeof(std::uint64_t) * std::max(values_.locations(), 1U));
  while (known_.size() > most) {
    by_context_.erase(known_.back().context);
    known_.pop_back();
  }
  return known_.front().work;
}

void WorkByThread::serve() {
  for (;;) {
    exchange::Bytes question;
    comm_.broadcast(question, 0);
    if (question.empty()) return;
    (void)comm_.gather(answer(question), 0);
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
  together(comm_, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace culprit::merge
