#include "views/sample_experiment.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace culprit::views::testing {

using database::Context;
using database::ContextId;
using database::ContextKind;
using database::FlatId;
using database::kNone;

namespace {

/// A flat scope while the flat tree grows.
struct Growing {
  using Key = std::tuple<ContextKind, std::string, std::string, std::uint32_t, std::string>;
  std::map<Key, Growing> children;
  FlatId id = kNone;
};

bool has_flat(ContextKind kind) {
  return kind == ContextKind::procedure || kind == ContextKind::inlined || kind == ContextKind::loop ||
         kind == ContextKind::statement;
}

bool sums_procedures(ContextKind kind) {
  return kind == ContextKind::file || kind == ContextKind::module || kind == ContextKind::root;
}

}  // namespace

SampleExperiment::SampleExperiment(const std::vector<std::string>& metrics) {
  for (const std::string& name : metrics) {
    experiment_.metrics.push_back({name, name == "samples" ? "count" : "ns", "", name == "imbalance"});
  }
  experiment_.contexts.push_back({});
  scopes_.push_back({ContextKind::root, "", "", 0, "", 0});
}

std::uint32_t SampleExperiment::add_role(const std::string& name) {
  experiment_.roles.push_back({name, 0});
  return static_cast<std::uint32_t>(experiment_.roles.size() - 1);
}

std::uint32_t SampleExperiment::add_location(std::int32_t rank, std::uint32_t thread, std::uint32_t role) {
  database::Location location;
  location.rank = rank;
  location.thread = thread;
  location.role = role;
  location.host = "node1";
  location.pid = 1000 + static_cast<std::uint64_t>(std::max(rank, 0));
  experiment_.locations.push_back(location);
  ++experiment_.roles[role].threads;
  return static_cast<std::uint32_t>(experiment_.locations.size() - 1);
}

ContextId SampleExperiment::add(ContextId parent, const Scope& scope) {
  Context context;
  context.parent = parent;
  context.kind = scope.kind;
  context.flags = scope.flags;
  context.line = scope.line;
  experiment_.contexts.push_back(context);
  scopes_.push_back(scope);
  return static_cast<ContextId>(experiment_.contexts.size() - 1);
}

void SampleExperiment::set(ContextId context, std::uint32_t metric, std::uint32_t location,
                           std::uint64_t value) {
  if (value != 0) values_[location][{context, metric}] = value;
}

std::uint64_t SampleExperiment::own(ContextId context, std::uint32_t metric, std::uint32_t location) const {
  const auto profile = values_.find(location);
  if (profile == values_.end()) return 0;
  const auto value = profile->second.find({context, metric});
  return value == profile->second.end() ? 0 : value->second;
}

bool SampleExperiment::within(ContextId context, ContextId above) const {
  while (context != kNone && context != above) context = experiment_.contexts[context].parent;
  return context == above;
}

ContextId SampleExperiment::procedure(ContextId context) const {
  while (context != kNone && experiment_.contexts[context].kind != ContextKind::procedure) {
    context = experiment_.contexts[context].parent;
  }
  return context;
}

bool SampleExperiment::exclusive_to(ContextId statement, ContextId scope) const {
  if (statement == scope) return true;
  if (experiment_.contexts[scope].kind == ContextKind::procedure) return procedure(statement) == scope;
  return experiment_.contexts[statement].parent == scope;
}

void SampleExperiment::make_strings() {
  std::set<std::string> strings = {""};
  for (const Scope& scope : scopes_) strings.insert({scope.name, scope.file, scope.module});
  experiment_.strings.assign(strings.begin(), strings.end());
  const auto id = [&](const std::string& text) {
    return static_cast<database::StringId>(
        std::lower_bound(experiment_.strings.begin(), experiment_.strings.end(), text) -
        experiment_.strings.begin());
  };
  for (std::size_t context = 0; context < scopes_.size(); ++context) {
    experiment_.contexts[context].name = id(scopes_[context].name);
    experiment_.contexts[context].file = id(scopes_[context].file);
    experiment_.contexts[context].module = id(scopes_[context].module);
  }
}

void SampleExperiment::make_flat() {
  Growing root;
  std::vector<Growing*> flat_of(scopes_.size(), nullptr);
  for (ContextId context = 0; context < scopes_.size(); ++context) {
    const Scope& scope = scopes_[context];
    if (!has_flat(scope.kind)) continue;
    ContextId outer = experiment_.contexts[context].parent;
    while (outer != kNone && !has_flat(scopes_[outer].kind)) outer = experiment_.contexts[outer].parent;
    Growing* parent = &root;
    if (scope.kind == ContextKind::procedure || outer == kNone) {
      parent = &parent->children[{ContextKind::module, "", "", 0, scope.module}];
      parent = &parent->children[{ContextKind::file, "", scope.file, 0, scope.module}];
    } else {
      parent = flat_of[outer];
    }
    flat_of[context] = &parent->children[{scope.kind, scope.name, scope.file, scope.line, scope.module}];
  }
  const auto string = [&](const std::string& text) {
    return static_cast<database::StringId>(
        std::lower_bound(experiment_.strings.begin(), experiment_.strings.end(), text) -
        experiment_.strings.begin());
  };
  const std::function<void(Growing&, FlatId)> number = [&](Growing& scope, FlatId id) {
    scope.id = id;
    for (auto& [key, child] : scope.children) {
      const auto& [kind, name, file, line, module] = key;
      const auto next = static_cast<FlatId>(experiment_.flat.size());
      experiment_.flat.push_back({id, 0, string(name), string(file), line, string(module), kind});
      number(child, next);
    }
    experiment_.flat[id].end = static_cast<FlatId>(experiment_.flat.size());
  };
  experiment_.flat.push_back({});
  number(root, 0);
  for (ContextId context = 0; context < scopes_.size(); ++context) {
    if (flat_of[context] != nullptr) experiment_.contexts[context].flat = flat_of[context]->id;
  }
}

void SampleExperiment::make_summaries() {
  const auto in_flat = [&](ContextId context, FlatId scope) {
    const FlatId own_scope = experiment_.contexts[context].flat;
    return own_scope != kNone && own_scope >= scope && own_scope < experiment_.flat[scope].end;
  };
  const auto some_ancestor_in = [&](ContextId statement, FlatId scope) {
    for (ContextId at = statement; at != kNone; at = experiment_.contexts[at].parent) {
      if (in_flat(at, scope)) return true;
    }
    return false;
  };
  const auto exclusive_to_flat = [&](ContextId statement, FlatId scope) {
    if (scope == 0) return false;
    if (sums_procedures(experiment_.flat[scope].kind)) {
      return procedure(statement) != kNone && in_flat(procedure(statement), scope);
    }
    for (ContextId at = statement; at != kNone; at = experiment_.contexts[at].parent) {
      if (experiment_.contexts[at].flat == scope && exclusive_to(statement, at)) return true;
    }
    return false;
  };
  const auto summarise_scopes = [&](std::uint32_t role, std::uint32_t metric, std::size_t scopes,
                                    auto inclusive, auto exclusive) {
    database::Summary summary{role, metric, {}};
    for (std::uint32_t scope = 0; scope < scopes; ++scope) {
      database::SummaryEntry entry{scope, {}, {}};
      for (const auto& [location, profile] : values_) {
        if (experiment_.locations[location].role != role) continue;
        std::uint64_t inclusive_sum = 0;
        std::uint64_t exclusive_sum = 0;
        for (const auto& [key, value] : profile) {
          if (key.second != metric) continue;
          if (inclusive(key.first, scope)) inclusive_sum += value;
          if (exclusive(key.first, scope)) exclusive_sum += value;
        }
        if (inclusive_sum != 0) entry.inclusive.accumulate(inclusive_sum);
        if (exclusive_sum != 0) entry.exclusive.accumulate(exclusive_sum);
      }
      if (entry.inclusive.observers != 0) summary.entries.push_back(entry);
    }
    return summary;
  };
  for (std::uint32_t role = 0; role < experiment_.roles.size(); ++role) {
    for (std::uint32_t metric = 0; metric < experiment_.metrics.size(); ++metric) {
      if (experiment_.metrics[metric].summary_only) continue;
      experiment_.context_summaries.push_back(summarise_scopes(
          role, metric, scopes_.size(),
          [&](ContextId statement, ContextId scope) { return within(statement, scope); },
          [&](ContextId statement, ContextId scope) { return exclusive_to(statement, scope); }));
      experiment_.flat_summaries.push_back(
          summarise_scopes(role, metric, experiment_.flat.size(), some_ancestor_in, exclusive_to_flat));
    }
  }
}

void SampleExperiment::finish() {
  for (std::size_t context = experiment_.contexts.size(); context-- > 0;) {
    Context& self = experiment_.contexts[context];
    self.end = std::max(self.end, static_cast<ContextId>(context + 1));
    if (self.parent != kNone) {
      Context& parent = experiment_.contexts[self.parent];
      parent.end = std::max(parent.end, self.end);
    }
  }
  make_strings();
  make_flat();
  make_summaries();
  experiment_.blame.resize(experiment_.roles.size());
  experiment_.balance.assign(experiment_.roles.size(),
                             std::vector<database::Balance>(scopes_.size(), database::Balance::untested));
  std::set<std::int32_t> ranks;
  for (const database::Location& location : experiment_.locations) {
    if (location.rank >= 0) ranks.insert(location.rank);
  }
  experiment_.run.ranks = static_cast<std::uint32_t>(ranks.size());
}

std::vector<database::Value> SampleExperiment::profile_values(std::uint32_t location) const {
  std::vector<database::Value> values;
  const auto profile = values_.find(location);
  if (profile == values_.end()) return values;
  for (const auto& [key, value] : profile->second) values.push_back({key.first, key.second, value});
  return values;
}

std::vector<std::uint64_t> SampleExperiment::inclusive_values(std::span<const ContextId> contexts,
                                                              std::uint32_t metric) const {
  std::vector<std::uint64_t> dense(experiment_.locations.size(), 0);
  for (const auto& [location, profile] : values_) {
    for (const auto& [key, value] : profile) {
      if (key.second != metric) continue;
      for (const ContextId context : contexts) {
        if (within(key.first, context)) dense[location] += value;
      }
    }
  }
  return dense;
}

std::vector<std::uint64_t> SampleExperiment::exclusive_values(std::span<const ContextId> contexts,
                                                              std::uint32_t metric) const {
  std::vector<std::uint64_t> dense(experiment_.locations.size(), 0);
  for (const ContextId context : contexts) {
    for (std::uint32_t location = 0; location < dense.size(); ++location)
      dense[location] += own(context, metric, location);
  }
  return dense;
}

const database::Contents& SampleExperiment::experiment() const {
  if (!image_) image_ = std::make_shared<const database::Image>(experiment_);
  return image_->contents();
}

}  // namespace culprit::views::testing
