// Who waits how long, and in which calls, from summaries (docs/algorithms.md 5.1).
#include "findings/idleness.hpp"

#include "findings/serving_threads.hpp"
#include "measurement/kinds.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::ContextKind;

std::vector<IdleIn> sorted(const std::map<std::string, IdleIn>& by_name) {
  std::vector<IdleIn> result;
  result.reserve(by_name.size());
  for (const auto& [name, idle] : by_name) result.push_back(idle);
  std::stable_sort(result.begin(), result.end(),
                   [](const IdleIn& a, const IdleIn& b) { return a.seconds > b.seconds; });
  return result;
}

/// What a thread waits in, as its user knows it. Of code without a name (the insides of a stripped library)
/// the innermost function around it that has one, in the same module; else the module.
std::string waiting_in(const database::Contents& experiment, ContextId context) {
  const views::Frame innermost = views::frame_of(experiment, experiment.contexts[context]);
  const auto has_name = [](const views::Frame& frame) {
    if (frame.kind == ContextKind::statement) return !frame.file.empty();
    return frame.kind != ContextKind::loop && !views::is_named_for_module(frame);
  };
  if (innermost.module.empty() || has_name(innermost)) {
    const std::string name = name_in_prose(label(innermost));
    return name == "syscall" ? "futexes (syscall)" : name;  // all that is known to wait there
  }
  for (ContextId at = context; at != 0; at = experiment.contexts[at].parent) {
    const views::Frame frame = views::frame_of(experiment, experiment.contexts[at]);
    if (frame.module != innermost.module) break;
    if (views::is_procedure(frame.kind) && has_name(frame)) return name_in_prose(label(frame));
  }
  return std::string(views::base_name(innermost.module));
}

}  // namespace

Idleness find_idleness(const views::Figures& figures, std::uint32_t time,
                       std::optional<std::uint32_t> idleness, std::span<const ContextId> left_out) {
  Idleness all;
  const database::Contents& experiment = figures.experiment();
  std::map<std::string, IdleIn> everywhere;
  std::set<ContextId> thread_waits;
  const auto add = [](std::map<std::string, IdleIn>& to, const IdleIn& some) {
    const auto [known, fresh] = to.try_emplace(some.name, some);
    if (!fresh) known->second.seconds += some.seconds;
  };
  const auto counts = [&](ContextId context) { return !views::is_within(experiment, left_out, context); };
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
    const auto seconds = [&](std::uint32_t metric, ContextId context) {
      return static_cast<double>(figures.context(role, metric, context, true).sum) / kNsPerSecond;
    };
    RoleIdleness part;
    part.role = role;
    part.threads = experiment.roles[role].threads;
    part.total_s = seconds(time, 0);
    part.idle_s = idleness ? seconds(*idleness, 0) : 0;
    for (const ContextId context : left_out) {
      part.total_s -= seconds(time, context);
      if (idleness) part.idle_s -= seconds(*idleness, context);
    }
    part.total_s = std::max(part.total_s, 0.0);
    part.idle_s = std::max(part.idle_s, 0.0);
    std::map<std::string, IdleIn> here;
    for (ContextId context = 0; part.idle_s > 0 && context < experiment.contexts.size(); ++context) {
      if ((experiment.contexts[context].flags & database::kFrontier) == 0) continue;
      const double idle = seconds(*idleness, context);
      if (idle <= 0 || !counts(context)) continue;
      const std::string name = waiting_in(experiment, context);
      const auto kind = static_cast<measurement::WaitKind>(experiment.contexts[context].wait_kind);
      const bool in_mpi = kind == measurement::WaitKind::mpi || name.starts_with("MPI_");
      add(here, {name, idle, in_mpi});
      if (!in_mpi) thread_waits.insert(context);
    }
    part.where = sorted(here);
    part.serves = only_serves(figures, role);
    if (!part.serves) {
      for (const auto& [name, idle] : here) add(everywhere, idle);
      all.total_s += part.total_s;
      all.idle_s += part.idle_s;
    }
    all.roles.push_back(std::move(part));
  }
  all.where = sorted(everywhere);
  all.thread_waits.assign(thread_waits.begin(), thread_waits.end());
  return all;
}

}  // namespace culprit::viewer
