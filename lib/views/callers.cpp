#include "views/callers.hpp"

#include "views/selection.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace culprit::views {
namespace {

using database::ContextId;
using database::ContextKind;
using database::kNone;

constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

bool is_procedure(ContextKind kind) {
  return kind == ContextKind::procedure || kind == ContextKind::inlined;
}

}  // namespace

Callers::Callers(const Figures& figures)
    : figures_(figures), flags_(flags_with_start_up(figures.experiment())) {
  number_scopes();
  make_roots();
  const database::Experiment& experiment = figures_.experiment();
  for (const std::vector<database::BlameRow>& rows : experiment.blame) {
    std::map<ContextId, Blame> sums;
    for (const database::BlameRow& row : rows) {
      const ContextId procedure = procedure_of(experiment, row.context);
      if (procedure != kNone) sums[procedure].add({row.sum, row.min, row.max});
    }
    own_blame_.emplace_back(sums.begin(), sums.end());
  }
}

void Callers::number_scopes() {
  using Key =
      std::tuple<database::StringId, database::StringId, database::StringId, std::uint32_t, ContextKind>;
  const database::Experiment& experiment = figures_.experiment();
  std::map<Key, std::uint32_t> numbers;
  scope_.assign(experiment.contexts.size(), kNone);
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    const database::Context& self = experiment.contexts[context];
    if (!is_procedure(self.kind)) continue;
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const auto [found, added] =
        numbers.try_emplace({self.name, self.file, self.module, self.line, self.kind}, next);
    if (added) first_.push_back(context);
    scope_[context] = found->second;
  }
}

void Callers::make_roots() {
  const database::Experiment& experiment = figures_.experiment();
  std::vector<NodeId> root_of(first_.size(), kNone);
  std::vector<std::uint32_t> open(first_.size(), 0);
  std::vector<ContextId> path;
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    while (!path.empty() && experiment.contexts[path.back()].end <= context) {
      --open[scope_[path.back()]];
      path.pop_back();
    }
    if (experiment.contexts[context].kind != ContextKind::procedure) continue;
    const std::uint32_t scope = scope_[context];
    if (root_of[scope] == kNone) {
      root_of[scope] = static_cast<NodeId>(entries_.size());
      entries_.emplace_back().scope = scope;
    }
    entries_[root_of[scope]].instances.push_back({context, context, open[scope] == 0});
    ++open[scope];
    path.push_back(context);
  }
  roots_ = static_cast<NodeId>(entries_.size());
}

ContextId Callers::caller(ContextId context) const {
  const std::vector<database::Context>& contexts = figures_.experiment().contexts;
  context = contexts[context].parent;
  while (context != kNone && scope_[context] == kNone) context = contexts[context].parent;
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
  for (const Instance& instance : entries_[node].instances) {
    const ContextId at = caller(instance.at);
    if (at != kNone) by_caller[scope_[at]].push_back({instance.procedure, at, instance.outermost});
  }
  std::vector<NodeId> made;
  for (auto& [scope, instances] : by_caller) {
    made.push_back(static_cast<NodeId>(entries_.size()));
    entries_.push_back({scope, node, std::move(instances), {}, false});
  }
  entries_[node].children = made;
  entries_[node].expanded = true;
  return made;
}

Frame Callers::frame(NodeId node) const {
  return frame_of(figures_.experiment(), figures_.experiment().contexts[first_[entries_[node].scope]]);
}

std::uint8_t Callers::flags(NodeId node) const {
  std::uint8_t flags = kNoContextYet;
  for (const Instance& instance : entries_[node].instances) {
    flags = merge_flags(flags, flags_[instance.at]);
  }
  return flags;
}

double Callers::summed(const Entry& entry, const Column& column) const {
  double sum = 0;
  for (const Instance& instance : entry.instances) {
    if (column.name.inclusive && !instance.outermost) continue;
    sum += figures_.at_context(column, instance.procedure);
  }
  return sum;
}

double Callers::blamed(const Entry& entry, const Column& column) const {
  if (!figures_.over_all()) return kNotAvailable;
  if (column.name.inclusive) return summed(entry, column);
  std::vector<Blame> by_role(own_blame_.size());
  for (std::size_t role = 0; role < own_blame_.size(); ++role) {
    for (const Instance& instance : entry.instances) {
      const auto found = std::lower_bound(
          own_blame_[role].begin(), own_blame_[role].end(), instance.procedure,
          [](const std::pair<ContextId, Blame>& row, ContextId context) { return row.first < context; });
      if (found != own_blame_[role].end() && found->first == instance.procedure)
        by_role[role].add(found->second);
    }
  }
  return figure(column, by_role, figures_.threads());
}

double Callers::measured(NodeId node, const Column& column) const {
  const Entry& entry = entries_[node];
  if (column.blame) return blamed(entry, column);
  if (column.additive()) return summed(entry, column);
  return figures_.of_threads(column, per_thread(node, column.metric, column.name.inclusive));
}

Presence Callers::presence(NodeId node, std::optional<std::uint32_t> role) const {
  // The instances' observers overlap: without per-thread values the largest number is certain, and exact
  // where there is one instance or where all threads observed one.
  const std::vector<Instance>& instances = entries_[node].instances;
  Presence most;
  for (const Instance& instance : instances) {
    const Presence each = figures_.context_presence(instance.procedure, role);
    most.observers = std::max(most.observers, each.observers);
    most.threads = each.threads;
  }
  most.exact = instances.size() == 1 || most.observers == most.threads;
  return most;
}

std::vector<std::uint64_t> Callers::per_thread(NodeId node, std::uint32_t metric, bool inclusive) const {
  std::vector<std::uint64_t> sum(figures_.experiment().locations.size(), 0);
  for (const Instance& instance : entries_[node].instances) {
    if (inclusive && !instance.outermost) continue;
    const std::vector<std::uint64_t> values = figures_.per_thread(instance.procedure, metric, inclusive);
    for (std::size_t location = 0; location < sum.size(); ++location) sum[location] += values[location];
  }
  return sum;
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
    const std::optional<std::uint32_t> scope = parse_index(id.substr(0, dot), first_.size());
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
