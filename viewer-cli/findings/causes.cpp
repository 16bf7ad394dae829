// What the report says first of delay costs (docs/algorithms.md 8): the innermost scope that with its callees
// causes more than half of all waiting, where no single scope of one thread does; else the code that costs
// most. Cost:
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
#include <set>
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
  all.add_up();
  return all;
}

/// Whether all causes below it are of one code of the user's.
bool is_one_code(const database::Contents& experiment, ContextId scope) {
  UsersScopes scopes(experiment);
  std::set<database::TimedScope> codes;
  for (const Cause& cause : experiment.trace().causes) {
    if (holds(experiment, scope, cause.scope.context))
      codes.insert({.context = scopes.of(cause.scope.context), .between = cause.scope.between});
  }
  return codes.size() == 1;
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
  return CommonCause{
      .context = scope, .who = costs_below(experiment, scope), .one_code = is_one_code(experiment, scope)};
}

std::string common_cause_phrase(const database::Contents& experiment, const CommonCause& cause,
                                std::size_t width, bool unicode) {
  return cause_phrase(experiment, cause.context, true, width, unicode) +
         (cause.one_code ? " on " : " and what it calls, on ") +
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
                                            std::span<const Cause> all_causes) {
  std::vector<Cause> causes;  // but for code that no sample tells, which has no name
  std::ranges::copy_if(all_causes, std::back_inserter(causes), [&](const Cause& cause) {
    const database::ContextKind kind = experiment.contexts[cause.scope.context].kind;
    return cause.scope.between ||
           (kind != database::ContextKind::root && kind != database::ContextKind::thread_root);
  });
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

/// Finds the procedure that names code, by what all threads work in the procedures around it.
class DecidingProcedure {
 public:
  explicit DecidingProcedure(const database::Contents& experiment)
      : experiment_(experiment),
        time_(views::metric_named(experiment, "REALTIME")),
        idleness_(views::metric_named(experiment, "idleness")),
        communication_(views::metric_named(experiment, "communication")) {}

  /// The one that cause_phrase() names; that around the context where no other is.
  [[nodiscard]] ContextId of(ContextId context) const {
    constexpr double kNearlyAll = 0.8;
    ContextId at = enclosing_procedure(experiment_, context), named = at;
    double within = at == database::kNone ? 0 : sum(time_, at);
    while (within > 0) {
      const ContextId caller = enclosing_procedure(experiment_, experiment_.contexts[at].parent);
      if (caller == database::kNone || communicates(caller)) break;
      const double whole = sum(time_, caller);
      if (is_same(at, caller)) {
        within *= whole / sum(time_, at);
      } else if (within < kNearlyAll * whole) {
        // Of a procedure that calls itself, each call may do little but this.
        const double again = in_recursion(caller, at);
        if (within < kNearlyAll * (whole - again)) break;
        within += again;
      }
      at = caller;
      if (may_name(at)) named = at;
    }
    return named;
  }

 private:
  [[nodiscard]] double sum(const std::optional<std::uint32_t>& metric, ContextId at) const {
    double ns = 0;
    for (std::uint32_t role = 0; metric && role < experiment_.roles.size(); ++role)
      ns += static_cast<double>(experiment_.context_summaries.get(role, *metric, at, true).sum);
    return ns;
  }

  [[nodiscard]] bool communicates(ContextId at) const {
    constexpr double kHardly = 0.01;
    return sum(idleness_, at) + sum(communication_, at) > kHardly * sum(time_, at);
  }

  /// Whether both are one procedure.
  [[nodiscard]] bool is_same(ContextId a, ContextId b) const {
    const database::Context &one = experiment_.contexts[a], &other = experiment_.contexts[b];
    return one.name != 0 && one.name == other.name && one.module == other.module;
  }

  /// The time of a procedure's calls of itself, but those around or below `without`.
  [[nodiscard]] double in_recursion(ContextId procedure, ContextId without) const {
    double ns = 0;
    for (ContextId x = procedure + 1; x < experiment_.contexts[procedure].end;) {
      const bool apart = without < x || experiment_.contexts[x].end <= without;
      const bool again = apart && is_same(x, procedure) && enclosing_procedure(experiment_, x) == x;
      if (again) ns += sum(time_, x);
      x = again ? experiment_.contexts[x].end : x + 1;
    }
    return ns;
  }

  /// Whether it is the user's, and has a name.
  [[nodiscard]] bool may_name(ContextId at) const {
    const views::Frame frame = views::frame_of(experiment_, experiment_.contexts[at]);
    const bool users = (experiment_.contexts[at].flags & database::kRunTime) == 0 &&
                       !views::is_library(frame) && !views::base_name(frame.module).starts_with("libc.so");
    return users && frame.name.find("{lambda") == std::string_view::npos;
  }

  const database::Contents& experiment_;
  std::optional<std::uint32_t> time_, idleness_, communication_;
};

}  // namespace

namespace {

/// The procedure that a loop, a call site or a line lies in; kNone for others.
ContextId lies_in(const database::Contents& experiment, ContextId context) {
  if (!views::lies_in_procedure(experiment.contexts[context].kind)) return database::kNone;
  return enclosing_procedure(experiment, context);
}

}  // namespace

ContextId as_suspected(const database::Contents& experiment, ContextId context) {
  constexpr double kSame = 0.95;
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
      return static_cast<double>(experiment.context_summaries.get(suspect.role, *time, at, true).sum);
    };
    const double one = sum(context), another = sum(other);
    if (std::min(one, another) >= kSame * std::max(one, another) && one > 0) return other;
  }
  return context;
}

std::string cause_phrase(const database::Contents& experiment, ContextId cause, bool article,
                         std::size_t width, bool unicode) {
  const ContextId context = as_suspected(experiment, cause);
  const ContextId named = DecidingProcedure(experiment).of(context);
  if (named == database::kNone || named == enclosing_procedure(experiment, context))
    return scope_phrase(experiment, context, article, width, unicode);
  return suspect_phrase(experiment, named, context, width, unicode);
}

std::string main_causes_phrase(const database::Contents& experiment, std::size_t width, bool unicode) {
  constexpr double kMuch = 0.2;
  constexpr std::size_t kMost = 2;
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
    parts.push_back(cause_phrase(experiment, code.scope.context, true, width, unicode) + " on " +
                    threads_phrase(experiment, notable(std::move(code.who)).locations()) + " (" +
                    keep(round_percent(static_cast<double>(code.cost_ns) / whole)) + ')');
  return enumerate(parts);
}

}  // namespace culprit::viewer
