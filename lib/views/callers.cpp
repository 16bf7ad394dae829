// The Callers view (docs/algorithms.md 4): bottom up, one level at a time, since the whole forest is
// quadratic. Inclusive figures count outermost instances alone.
#include "views/callers.hpp"

#include "views/frame.hpp"

#include <algorithm>
#include <map>

namespace culprit::views {
namespace {

using database::ContextId;
using database::ContextKind;
using database::FlatId;
using database::kNone;

}  // namespace

Callers::Callers(const Figures& figures) : figures_(figures) {
  // All contexts of a procedure are numbered alike (database::ProcedureTable); its instances are read when
  // they are needed.
  const database::ProcedureTable& procedures = figures_.experiment().procedures;
  for (std::uint32_t number = 0; number < procedures.size(); ++number) {
    if (!procedures.instances().is_empty(number)) entries_.emplace_back().scope = number;
  }
  roots_ = static_cast<NodeId>(entries_.size());
}

const std::vector<Callers::Instance>& Callers::instances(NodeId node) const {
  Entry& entry = entries_[node];
  if (entry.parent != kNone || !entry.instances.empty()) return entry.instances;
  const database::Contents& experiment = figures_.experiment();
  ContextId end = 0;
  for (const ContextId context : experiment.procedures.instances()[entry.scope]) {
    const bool outermost = context >= end;
    if (outermost) end = experiment.contexts[context].end;
    entry.instances.push_back({context, context, outermost});
  }
  return entry.instances;
}

bool Callers::is_recursive(std::uint32_t scope) const {
  constexpr std::uint64_t kMost = 10'000;
  const auto [known, added] = recursive_.try_emplace(scope, false);
  if (!added) return known->second;
  const database::Contents& experiment = figures_.experiment();
  ContextId end = 0;
  std::uint64_t number = 0;
  bool nested = false;
  for (const ContextId context : experiment.procedures.instances()[scope]) {
    nested = nested || context < end;
    end = std::max(end, experiment.contexts[context].end);
    if (++number > kMost) return false;
  }
  return known->second = nested;
}

bool Callers::recurs(NodeId node) const {
  const std::uint32_t scope = entries_[node].scope;
  NodeId at = entries_[node].parent;
  for (std::uint32_t step = 0; step < kLongestCycle && at != kNone; ++step) {
    at = entries_[at].parent;
    if (at != kNone && entries_[at].scope == scope) return is_recursive(scope);
  }
  return false;
}

bool Callers::may_recur_below(NodeId node) const {
  return is_recursive(entries_[node].scope);
}

ContextId Callers::caller(ContextId context) const {
  const database::Contents& experiment = figures_.experiment();
  context = experiment.contexts[context].parent;
  while (context != kNone && !is_procedure(experiment.contexts[context].kind)) {
    context = experiment.contexts[context].parent;
  }
  return context;
}

std::vector<NodeId> Callers::roots() {
  std::vector<NodeId> result(roots_);
  for (NodeId root = 0; root < roots_; ++root) result[root] = root;
  return result;
}

std::vector<NodeId> Callers::children(NodeId node) {
  if (entries_[node].expanded) return entries_[node].children;
  std::map<std::uint32_t, std::vector<Instance>> by_caller;
  const database::ProcedureTable& procedures = figures_.experiment().procedures;
  for (const Instance& instance : instances(node)) {
    const ContextId at = caller(instance.at);
    if (at == kNone) continue;
    const std::uint32_t scope = procedures.of_context(at);
    if (scope != kNone) by_caller[scope].push_back({instance.procedure, at, instance.outermost});
  }
  std::vector<NodeId> made;
  for (auto& [scope, callers] : by_caller) {
    made.push_back(static_cast<NodeId>(entries_.size()));
    entries_.push_back({scope, node, std::move(callers), {}, false});
  }
  entries_[node].children = made;
  entries_[node].expanded = true;
  return made;
}

Frame Callers::frame(NodeId node) const {
  const database::Contents& experiment = figures_.experiment();
  return frame_of(experiment, experiment.contexts[experiment.procedures[entries_[node].scope].first]);
}

std::uint8_t Callers::flags(NodeId node) const {
  const database::Contents& experiment = figures_.experiment();
  if (node < roots_) return experiment.procedures[entries_[node].scope].flags;
  std::uint8_t flags = database::kNoContextYet;
  for (const Instance& instance : instances(node)) {
    flags = database::merge_flags(flags, experiment.contexts[instance.at].flags);
  }
  return flags;
}

double Callers::summed(NodeId node, const Column& column) const {
  double sum = 0;
  for (const Instance& instance : instances(node)) {
    if (column.name.inclusive && !instance.outermost) continue;
    sum += figures_.at_context(column, instance.procedure);
  }
  return sum;
}

/// Blame on a procedure's own code, loops and inlined code, call sites in it included.
Blame Callers::own_blame(std::uint32_t role, ContextId procedure) const {
  const database::Contents& experiment = figures_.experiment();
  const database::Context& self = experiment.contexts[procedure];
  Blame sum = experiment.blame.between(role, procedure, self.end);
  if (sum.sum == 0 && sum.min == 0 && sum.max == 0) return sum;
  sum = {};
  ContextId first = procedure;  // of the stretch that belongs to the procedure
  for (ContextId below = procedure + 1; below < self.end;) {
    const database::Context& nested = experiment.contexts[below];
    if (nested.kind != ContextKind::procedure) {
      ++below;
      continue;
    }
    sum.add(experiment.blame.between(role, first, below));
    first = below = nested.end;
  }
  sum.add(experiment.blame.between(role, first, self.end));
  return sum;
}

double Callers::blamed(NodeId node, const Column& column) const {
  if (!figures_.over_all()) return kNotAvailable;
  if (column.name.inclusive) return summed(node, column);
  std::vector<Blame> by_role(figures_.experiment().roles.size());
  for (std::uint32_t role = 0; role < by_role.size(); ++role) {
    for (const Instance& instance : instances(node)) by_role[role].add(own_blame(role, instance.procedure));
  }
  return figure(column, by_role, figures_.threads());
}

double Callers::measured(NodeId node, const Column& column) const {
  if (node < roots_) {
    const FlatId flat = figures_.experiment().procedures[entries_[node].scope].flat;
    if (flat != kNone) return figures_.at_flat(column, flat);
  }
  if (column.blame) return blamed(node, column);
  if (column.additive()) return summed(node, column);
  return figures_.of_threads(column, per_thread(node, column.metric, column.name.inclusive));
}

Presence Callers::presence(NodeId node, std::optional<std::uint32_t> role) const {
  // The instances' observers overlap: without per-thread values the largest number is certain, and exact
  // where there is one instance or where all threads observed one.
  Presence most;
  for (const Instance& instance : instances(node)) {
    const Presence each = figures_.context_presence(instance.procedure, role);
    most.observers = std::max(most.observers, each.observers);
    most.threads = each.threads;
  }
  most.exact = instances(node).size() == 1 || most.observers == most.threads;
  return most;
}

std::vector<std::uint64_t> Callers::per_thread(NodeId node, std::uint32_t metric, bool inclusive) const {
  std::vector<ContextId> procedures;
  for (const Instance& instance : instances(node)) {
    if (!inclusive || instance.outermost) procedures.push_back(instance.procedure);
  }
  return figures_.per_thread(procedures, metric, inclusive);
}

std::string Callers::id(NodeId node) const {
  const Entry& entry = entries_[node];
  const std::string number = std::to_string(entry.scope);
  return entry.parent == kNone ? 'p' + number : id(entry.parent) + '.' + number;
}

std::optional<NodeId> Callers::find(std::string_view id) {
  if (!id.starts_with('p')) return std::nullopt;
  id.remove_prefix(1);
  std::vector<NodeId> level = roots();
  while (true) {
    const std::size_t dot = id.find('.');
    const std::optional<std::uint32_t> scope =
        parse_index(id.substr(0, dot), figures_.experiment().procedures.size());
    if (!scope) return std::nullopt;
    const auto found =
        std::find_if(level.begin(), level.end(), [&](NodeId node) { return entries_[node].scope == *scope; });
    if (found == level.end()) return std::nullopt;
    if (dot == std::string_view::npos) return *found;
    id.remove_prefix(dot + 1);
    level = children(*found);
  }
}

std::vector<Frame> Callers::path(NodeId node) const {
  std::vector<Frame> frames;
  for (NodeId at = node; at != kNone; at = entries_[at].parent) frames.push_back(frame(at));
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace culprit::views
