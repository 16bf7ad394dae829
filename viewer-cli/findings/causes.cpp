// What the report says first of delay costs (docs/algorithms.md 8): the innermost scope that with its callees
// causes more than half of all waiting, where no single scope of one thread does; else the code that costs
// most. A cause is sure from 5 % of all ranks' time on, on a quiet machine (docs/blame.md, "How sure"). Cost:
// the depth of each cause.
#include "findings/causes.hpp"

#include "findings/phrases.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/joining.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace culprit::viewer {

namespace {

using database::Cause;
using database::ContextId;

/// Threads with less than this share of the largest part do not count.
constexpr double kNotableShare = 0.05;

bool holds(const database::Contents& experiment, ContextId scope, ContextId x) {
  return scope <= x && x < experiment.contexts[scope].end;
}

/// The innermost of the scopes that hold more than half: there is one, since two of them share some of it.
ContextId innermost_with_half(const database::Contents& experiment, std::uint64_t whole_ns) {
  std::map<ContextId, std::uint64_t> inclusive;
  for (const Cause& cause : experiment.trace().causes) {
    for (ContextId at = cause.scope.context; at != database::kNone; at = experiment.contexts[at].parent)
      inclusive[at] += cause.cost_ns();
  }
  ContextId innermost = database::kNone;
  for (const auto& [context, ns] : inclusive) {
    if (2 * ns > whole_ns) innermost = context;  // in the order of ids, callers come first
  }
  return innermost;
}

bool one_scope_has_half(const database::Contents& experiment, std::uint64_t whole_ns) {
  UsersScopes scopes(experiment);
  std::map<std::pair<std::uint32_t, ContextId>, std::uint64_t> own;
  return std::ranges::any_of(experiment.trace().causes, [&](const Cause& cause) {
    const ContextId scope = scopes.of(cause.scope.context);
    return 2 * (own[{cause.location, scope}] += cause.cost_ns()) > whole_ns;
  });
}

/// Those with a notable part of it.
ThreadTimes notable(ThreadTimes all) {
  all.add_up();
  ThreadTimes most;
  const double least = kNotableShare * static_cast<double>(all.largest().ns);
  for (const ThreadTimes::Part& part : all.parts()) {
    if (static_cast<double>(part.ns) >= least) most.add(part.location, part.ns);
  }
  return most;
}

ThreadTimes costs_below(const database::Contents& experiment, ContextId scope) {
  ThreadTimes all;
  for (const Cause& cause : experiment.trace().causes) {
    if (holds(experiment, scope, cause.scope.context)) all.add(cause.location, cause.cost_ns());
  }
  return notable(std::move(all));
}

}  // namespace

std::uint64_t waiting_after_init_ns(const database::Contents& experiment) {
  std::uint64_t before_ns = 0, explained_ns = 0;
  for (const database::Wait& wait : experiment.waits())
    if (wait.pattern == metrics::WaitPattern::wait_at_init) before_ns += wait.ns;
  for (const Cause& cause : experiment.trace().causes) explained_ns += cause.cost_ns();
  const std::uint64_t unexplained_ns = experiment.trace().unattributed_ns;
  return explained_ns + unexplained_ns - std::min(before_ns, unexplained_ns);
}

std::optional<CommonCause> common_cause(const database::Contents& experiment) {
  const std::uint64_t whole_ns = waiting_after_init_ns(experiment);
  if (one_scope_has_half(experiment, whole_ns)) return std::nullopt;
  const ContextId innermost = innermost_with_half(experiment, whole_ns);
  if (innermost == database::kNone) return std::nullopt;
  const ContextId scope = users_scope(experiment, innermost);
  const auto waits_inside = [&](const database::Wait& wait) {
    return holds(experiment, scope, wait.context);
  };
  if (std::ranges::any_of(experiment.waits(), waits_inside)) return std::nullopt;
  return CommonCause{.context = scope, .who = costs_below(experiment, scope)};
}

std::string common_cause_phrase(const database::Contents& experiment, const CommonCause& cause,
                                std::size_t width, bool unicode) {
  return scope_phrase(experiment, cause.context, true, width, unicode) + " and what it calls, on " +
         thread_times_phrase(experiment, cause.who, "on", unicode);
}

namespace {

std::map<database::TimedScope, CostlyCode> codes_of(std::span<const Cause> causes) {
  std::map<database::TimedScope, CostlyCode> all;
  for (const Cause& cause : causes) {
    CostlyCode& code = all[cause.scope];
    code.scope = cause.scope;
    code.cost_ns += cause.cost_ns();
    code.long_term_ns += cause.long_term_ns;
    code.who.add(cause.location, cause.cost_ns());
  }
  return all;
}

/// There are causes.
CostlyCode costliest_of(std::span<const Cause> causes) {
  std::map<database::TimedScope, CostlyCode> all = codes_of(causes);
  const auto costliest =
      std::ranges::max_element(all, {}, [](const auto& one) { return one.second.cost_ns; });
  CostlyCode code = std::move(costliest->second);
  code.who = notable(std::move(code.who));
  return code;
}

}  // namespace

bool is_in_call(const database::Contents& experiment, const database::TimedScope& scope) {
  return !scope.between && (experiment.contexts[scope.context].flags & database::kInWait) != 0;
}

std::optional<CostliestCode> costliest_code(const database::Contents& experiment,
                                            std::span<const Cause> causes) {
  if (causes.empty()) return std::nullopt;
  const auto is_call = [&](const database::TimedScope& scope) { return is_in_call(experiment, scope); };
  CostliestCode found{.code = costliest_of(causes), .of_program = {}};
  found.in_call = is_call(found.code.scope);
  if (!found.in_call) return found;
  std::vector<Cause> of_program;
  std::ranges::remove_copy_if(causes, std::back_inserter(of_program), is_call, &Cause::scope);
  if (!of_program.empty()) found.of_program = costliest_of(of_program);
  return found;
}

namespace {

/// The procedure that cause_phrase() names; that around the context where no other is.
ContextId deciding_procedure(const views::Figures& figures, ContextId context) {
  constexpr double kNearlyAll = 0.8, kHardly = 0.01;
  const database::Contents& experiment = figures.experiment();
  const auto time = views::metric_named(experiment, "REALTIME");
  const auto sum = [&](const std::optional<std::uint32_t>& metric, ContextId at) {
    double ns = 0;
    for (std::uint32_t role = 0; metric && role < experiment.roles.size(); ++role)
      ns += static_cast<double>(figures.context(role, *metric, at, true).sum);
    return ns;
  };
  const auto communicates = [&](ContextId at) {
    return sum(views::metric_named(experiment, "idleness"), at) +
               sum(views::metric_named(experiment, "communication"), at) >
           kHardly * sum(time, at);
  };
  const ContextId inside = enclosing_procedure(experiment, context);
  ContextId named = inside;
  const double within = inside == database::kNone ? 0 : sum(time, inside);
  for (ContextId at = inside; at != database::kNone && within > 0;) {
    at = enclosing_procedure(experiment, experiment.contexts[at].parent);
    if (at == database::kNone || within < kNearlyAll * sum(time, at) || communicates(at)) break;
    const views::Frame frame = views::frame_of(experiment, experiment.contexts[at]);
    const bool users = (experiment.contexts[at].flags & database::kRunTime) == 0 &&
                       !views::is_library(frame) && !views::base_name(frame.module).starts_with("libc.so");
    const bool named_by_user = frame.name.find("{lambda") == std::string_view::npos;
    if (users && named_by_user) named = at;
  }
  return named;
}

}  // namespace

namespace {

/// The procedure that a loop, a call site or a line lies in; kNone for others.
ContextId lies_in(const database::Contents& experiment, ContextId context) {
  if (!views::lies_in_procedure(experiment.contexts[context].kind)) return database::kNone;
  return enclosing_procedure(experiment, context);
}

}  // namespace

ContextId as_suspected(const views::Figures& figures, ContextId context) {
  constexpr double kSame = 0.95;
  const database::Contents& experiment = figures.experiment();
  const auto time = views::metric_named(experiment, "REALTIME");
  if (!time) return context;
  const auto inside = [&](ContextId inner, ContextId outer) {
    return inner > outer && inner < experiment.contexts[outer].end;
  };
  for (const database::Suspect& suspect : experiment.suspects()) {
    const ContextId other = suspect.suspect;
    if (!inside(other, context) && !inside(context, other)) continue;
    const ContextId around = lies_in(experiment, context);
    if (around == database::kNone || around != lies_in(experiment, other)) continue;
    const auto sum = [&](ContextId at) {
      return static_cast<double>(figures.context(suspect.role, *time, at, true).sum);
    };
    const double one = sum(context), another = sum(other);
    if (std::min(one, another) >= kSame * std::max(one, another) && one > 0) return other;
  }
  return context;
}

std::string cause_phrase(const views::Figures& figures, ContextId cause, bool article, std::size_t width,
                         bool unicode) {
  const database::Contents& experiment = figures.experiment();
  const ContextId context = as_suspected(figures, cause);
  const ContextId named = deciding_procedure(figures, context);
  if (named == database::kNone || named == enclosing_procedure(experiment, context))
    return scope_phrase(experiment, context, article, width, unicode);
  return suspect_phrase(experiment, named, context, width, unicode);
}

std::string main_causes_phrase(const views::Figures& figures, std::size_t width, bool unicode) {
  constexpr double kMuch = 0.2;
  constexpr std::size_t kMost = 2;
  const database::Contents& experiment = figures.experiment();
  const auto whole = static_cast<double>(waiting_after_init_ns(experiment));
  std::vector<CostlyCode> large;
  UsersScopes scopes(experiment);
  std::vector<Cause> causes(experiment.trace().causes.begin(), experiment.trace().causes.end());
  for (Cause& cause : causes) cause.scope.context = scopes.of(cause.scope.context);
  for (auto& [scope, code] : codes_of(causes))
    if (static_cast<double>(code.cost_ns) >= kMuch * whole && !is_in_call(experiment, scope))
      large.push_back(std::move(code));
  std::ranges::stable_sort(large, std::ranges::greater(), &CostlyCode::cost_ns);
  if (large.size() > kMost) large.resize(kMost);
  std::vector<std::string> parts;
  parts.reserve(large.size());
  for (CostlyCode& code : large)
    parts.push_back(cause_phrase(figures, code.scope.context, true, width, unicode) + " on " +
                    threads_phrase(experiment, notable(std::move(code.who)).locations()) + " (" +
                    keep(round_percent(static_cast<double>(code.cost_ns) / whole)) + ')');
  return enumerate(parts);
}

namespace {

using database::Confidence;

/// Of the time of all ranks: of causes that cost as much the first was right in each of the scored programs.
constexpr double kScored = 0.05;

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

CauseConfidence::CauseConfidence(const database::Contents& experiment)
    : run_ns_(static_cast<double>(experiment.trace().run_ns) *
              static_cast<double>(experiment.trace().traced)),
      busy_machine_(!experiment.machine().suspects.empty()) {
  for (const Cause& cause : experiment.trace().causes) by_path_[cause.scope] += cause.cost_ns();
}

CauseConfidence::Judgement CauseConfidence::judge(std::uint64_t cost_ns, bool between) const {
  if (between) return {Confidence::hint, "faster sampling"};
  if (busy_machine_) return {Confidence::likely, "a quiet machine"};
  const bool large = static_cast<double>(cost_ns) >= kScored * run_ns_;
  return large ? Judgement{Confidence::sure, ""} : Judgement{Confidence::likely, "a longer run"};
}

CauseConfidence::Judgement CauseConfidence::judge(const Cause& cause) const {
  return judge(by_path_.at(cause.scope), cause.scope.between);
}

Confidence CauseConfidence::of(const Cause& cause) const {
  return judge(cause).confidence;
}

std::string CauseConfidence::surer_with(const Cause& cause) const {
  return judge(cause).surer_with;
}

bool CauseConfidence::is_likely(std::uint64_t cost_ns, bool between) const {
  return judge(cost_ns, between).confidence == Confidence::likely;
}

std::string CauseConfidence::what_likely_means() const {
  if (busy_machine_) return "Likely, not sure: the machine was busy.";
  return "Likely, not sure: what costs less than " + keep(round_percent(kScored)) +
         " of the run; a longer run makes it surer.";
}

}  // namespace culprit::viewer
