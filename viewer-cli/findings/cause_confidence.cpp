// How sure causes are (ours; docs/blame.md, "How sure"): sure from 5 % of all ranks' time on, on a quiet
// machine, where the code takes longer on some ranks. A pipeline that fills and drains makes ranks wait for
// the messages of others that are not late: then its code takes as long on all. Cost: linear in causes and
// waits.
#include "findings/cause_confidence.hpp"

#include "metrics/wait_pattern.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace culprit::viewer {
namespace {

using database::Cause;
using database::Confidence;
using database::ContextId;
using metrics::WaitPattern;

/// Of the time of all ranks: of causes that cost as much the first was right in each of the scored programs.
constexpr double kScored = 0.05;
/// Of a cost: less of it than what code takes longer on some ranks may explain is not by that.
constexpr double kExplained = 0.5;

/// Whether most of these waits are by one of some patterns.
bool are_mostly(std::span<const database::Wait* const> waits, std::initializer_list<WaitPattern> patterns) {
  std::uint64_t all_ns = 0, these_ns = 0;
  for (const database::Wait* const wait : waits) {
    all_ns += wait->ns;
    if (std::ranges::find(patterns, wait->pattern) != patterns.end()) these_ns += wait->ns;
  }
  return 2 * these_ns > all_ns;
}

}  // namespace

WaitsFor::WaitsFor(const database::Contents& experiment) {
  for (const database::Wait& wait : experiment.waits()) {
    if (wait.exact && metrics::is_whole_wait(wait.pattern) && wait.cause_location != database::kNone)
      waits_[{wait.cause_location, wait.context}].push_back(&wait);
  }
}

std::span<const database::Wait* const> WaitsFor::thread(std::uint32_t location, ContextId call) const {
  const auto found = waits_.find({location, call});
  if (found == waits_.end()) return {};
  return found->second;
}

bool is_contention(std::span<const database::Wait* const> waits) {
  return are_mostly(waits, {WaitPattern::lock_wait});
}

CauseConfidence::CauseConfidence(const database::Contents& experiment)
    : experiment_(experiment),
      run_ns_(static_cast<double>(experiment.trace().run_ns) *
              static_cast<double>(experiment.trace().traced)),
      busy_machine_(!experiment.machine().suspects.empty()) {
  const WaitsFor waits_for(experiment);
  for (const Cause& cause : experiment.trace().causes) {
    by_scope_[cause.scope] += cause.cost_ns();
    Path& path = by_path_[users_scope(experiment, cause.scope.context)];
    path.location = cause.location;
    path.cost_ns += static_cast<double>(cause.cost_ns());
    const auto waits = waits_for.thread(cause.location, cause.waits_in);
    if (are_mostly(waits, {WaitPattern::late_sender, WaitPattern::late_receiver}))
      path.messages_ns += static_cast<double>(cause.cost_ns());
  }
}

/// Whether others waited for messages, and that the code takes longer on some ranks than on the mean of all
/// explains less than half of its cost.
bool CauseConfidence::may_fill(ContextId context) const {
  const std::optional<std::uint32_t> time = views::metric_named(experiment_, "REALTIME");
  const auto found = by_path_.find(users_scope(experiment_, context));
  if (!time || found == by_path_.end()) return false;
  const Path& path = found->second;
  if (2 * path.messages_ns <= path.cost_ns) return false;
  const std::uint32_t role = experiment_.locations[path.location].role;
  const metrics::Accumulator of = experiment_.context_summaries.get(role, *time, found->first, true);
  const auto threads = static_cast<double>(experiment_.roles[role].threads);
  if (threads < 2 || of.observers < experiment_.roles[role].threads) return false;
  const double uneven_ns = threads * static_cast<double>(of.max) - static_cast<double>(of.sum);
  return uneven_ns < kExplained * path.cost_ns;
}

CauseConfidence::Judgement CauseConfidence::of_path(std::uint64_t cost_ns, ContextId context,
                                                    bool between) const {
  if (between) return {Confidence::hint, "faster sampling"};
  if (busy_machine_)
    return {Confidence::likely, "a quiet machine", "Likely, not sure: the machine was busy."};
  if (static_cast<double>(cost_ns) < kScored * run_ns_)
    return {Confidence::likely, "a longer run",
            "Likely, not sure: what costs less than " + keep(round_percent(kScored)) +
                " of the run; a longer run makes it surer."};
  if (may_fill(context))
    return {
        Confidence::likely, "what-if",
        "Likely, not sure: code that takes about as long on all ranks while others wait for its messages. "
        "A pipeline that fills and drains needs no late rank (`what-if` shows what removal saves)."};
  return {};
}

CauseConfidence::Judgement CauseConfidence::of(const Cause& cause) const {
  return of_path(by_scope_.at(cause.scope), cause.scope.context, cause.scope.between);
}

}  // namespace culprit::viewer
