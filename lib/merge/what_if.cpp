// Answers what-if questions from a measurement's time lines (docs/algorithms.md 18): they are read and
// matched as for the database, with all dependencies; then replayed without changes, and once for each
// question. One rank of the analysis has them all. Contexts are found again by attributing the measurement
// anew, which yields the database's own where it was merged with the same options.
#include "merge/what_if.hpp"

#include "exchange/machine.hpp"
#include "exchange/threads.hpp"
#include "merge/attribution/attribute.hpp"
#include "merge/timelines/time_line_scopes.hpp"
#include "merge/timelines/time_lines.hpp"
#include "waits/clocks/causal_order.hpp"
#include "waits/replay/changed_work.hpp"
#include "waits/replay/replay.hpp"
#include "waits/replay/replay_steps.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace culprit::merge {
namespace {

using database::ContextId;

/// Whether the attribution has the database's contexts.
bool is_same(const Attribution& attribution, const database::Contents& database) {
  if (attribution.contexts.size() != database.contexts.size()) return false;
  for (ContextId x = 0; x < attribution.contexts.size(); ++x) {
    const database::Context& own = attribution.contexts[x];
    const database::Context& other = database.contexts[x];
    if (own.parent != other.parent || own.kind != other.kind || own.line != other.line) return false;
    if (attribution.strings[own.name] != database.strings[other.name]) return false;
  }
  return true;
}

/// By context, the number of its change, plus one.
std::vector<std::uint8_t> changes_of(const WhatIfQuestion& question, std::size_t contexts) {
  std::vector<std::pair<database::ContextRange, std::uint8_t>> ranges;
  for (std::size_t i = 0; i < question.changes.size(); ++i) {
    for (const database::ContextRange& range : question.changes[i].where)
      ranges.emplace_back(range, static_cast<std::uint8_t>(i + 1));
  }
  // Those of a tree lie within each other or apart: the inner one is shorter.
  std::ranges::stable_sort(ranges, std::ranges::greater(),
                           [](const auto& one) { return one.first.end - one.first.first; });
  std::vector<std::uint8_t> changes(contexts, 0);
  for (const auto& [range, number] : ranges) {
    for (ContextId x = range.first; x < range.end && x < contexts; ++x) changes[x] = number;
  }
  return changes;
}

waits::WorkChange work_change(const WhatIfChange& change) {
  using Kind = waits::WorkChange::Kind;
  switch (change.kind) {
    case WhatIfChange::Kind::speed_up:
      return {.kind = Kind::speed_up, .factor = change.factor};
    case WhatIfChange::Kind::balance:
      return {.kind = Kind::balance};
    case WhatIfChange::Kind::even_out:
      return {.kind = Kind::even_out};
    case WhatIfChange::Kind::remove:
      break;
  }
  return {.kind = Kind::remove};
}

/// A run that was read, and is replayed as often as it is asked for.
class ReplayedRun {
 public:
  ReplayedRun(exchange::Communicator& comm, TimeLines& lines, const Shape& shape)
      : shape_(shape),
        rank_map_(comm, lines.processes),
        read_(waits::read_in_causal_order(
            comm, rank_map_, lines.processes, {},
            {.spill = {.memory = waits::usual_memory(exchange::ranks_with(comm, exchange::this_machine()))},
             .dependencies = true})),
        steps_(waits::replay_steps(rank_map_, read_.matched)),
        before_(waits::replay(steps_, read_.matched, {})) {}

  WhatIfAnswer answer(const WhatIfQuestion& question) {
    std::vector<waits::WorkChange> changes;
    for (const WhatIfChange& change : question.changes) changes.push_back(work_change(change));
    const waits::ChangedWork work = waits::changed_work(
        rank_map_, read_.matched, changes, changes_of(question, shape_.contexts.size()), question.ranks);
    const waits::Replayed after = waits::replay(steps_, read_.matched, work.less);
    WhatIfAnswer answer{.run_ns = before_.run_ns,
                        .predicted_ns = after.run_ns,
                        .waiting_ns = before_.waiting_ns,
                        .predicted_waiting_ns = after.waiting_ns,
                        .waits = compare(after),
                        .codes = {},
                        .contradictions = std::max(before_.contradictions, after.contradictions)};
    for (const waits::ChangedTime& time : work.times) {
      answer.codes.push_back({.before_ns = time.before_ns,
                              .after_ns = time.after_ns,
                              .largest_ns = time.largest_ns,
                              .threads = time.lines,
                              .placed_blindly = time.placed_blindly});
    }
    return answer;
  }

 private:
  [[nodiscard]] std::vector<WhatIfAnswer::Wait> compare(const waits::Replayed& after) const {
    std::map<std::pair<metrics::WaitPattern, ContextId>, std::pair<std::uint64_t, std::uint64_t>> sums;
    const auto key = [this](const waits::ReplayedWait& wait) {
      return std::pair(wait.pattern, call_scope(shape_, wait.context));
    };
    for (const waits::ReplayedWait& wait : before_.waits) sums[key(wait)].first += wait.ns;
    for (const waits::ReplayedWait& wait : after.waits) sums[key(wait)].second += wait.ns;
    std::vector<WhatIfAnswer::Wait> list;
    for (const auto& [what, ns] : sums)
      list.push_back(
          {.pattern = what.first, .context = what.second, .before_ns = ns.first, .after_ns = ns.second});
    std::ranges::stable_sort(list, std::ranges::greater(), [](const WhatIfAnswer::Wait& wait) {
      return std::max(wait.before_ns, wait.after_ns) - std::min(wait.before_ns, wait.after_ns);
    });
    return list;
  }

  const Shape& shape_;
  waits::RankMap rank_map_;
  waits::CausallyMatched read_;
  waits::ReplaySteps steps_;
  waits::Replayed before_;
};

}  // namespace

std::vector<WhatIfAnswer> what_if(const Options& options, const database::Contents& database,
                                  std::span<const WhatIfQuestion> questions, const Progress& progress) {
  std::vector<WhatIfAnswer> answers;
  exchange::run_on_threads(1, [&](exchange::Communicator& comm) {
    read_time_lines(
        comm, options, progress, [&](const Attribution& attribution, const Shape& shape, TimeLines& lines) {
          if (!is_same(attribution, database))
            throw NotReplayable(
                "the database has other call paths than the measurement yields (merge it anew, without -R, "
                "--no-loops and --idle-rules: prof-mpi --force)");
          if (lines.processes.empty())
            throw NotReplayable("no trace beside the measurements can be read (measure again with --trace)");
          const Phase matching(comm, progress, "time lines", 1);
          ReplayedRun run(comm, lines, shape);
          answers.clear();
          Phase replaying(comm, progress, "replaying", questions.size());
          for (const WhatIfQuestion& question : questions) {
            answers.push_back(run.answer(question));
            replaying.step();
          }
        });
  });
  return answers;
}

}  // namespace culprit::merge
