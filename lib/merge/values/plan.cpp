// Works out where values go when they are accumulated, once for all threads (docs/algorithms.md 3). Contexts
// whose values are equal in every thread share one accumulator: chains of only children without own values
// (groups), leaves' inclusive and exclusive values, contexts with the same contributions (rows). So a deep
// tree costs as many accumulators as it has places where values differ.
#include "merge/values/plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace culprit::merge {

using database::ContextId;
using database::kNone;

Plan::Plan(const Shape& shape, std::span<const std::uint8_t> valued,
           std::span<const database::ContextId> further) {
  find_slots(shape, valued, further);
  const FlatTargets flat(shape);
  find_groups(shape, flat);
  find_flat(shape, flat);
  find_exclusive(shape);
}

void Plan::find_slots(const Shape& shape, std::span<const std::uint8_t> valued,
                      std::span<const database::ContextId> further) {
  slots.assign(further.begin(), further.end());
  const auto expected = [&](std::size_t node) { return node == 0 || valued[node] != 0; };
  for (std::size_t node = 0; node < shape.own.size(); ++node) {
    if (expected(node)) slots.push_back(shape.own[node]);
  }
  std::ranges::sort(slots);
  const auto rest = std::unique(slots.begin(), slots.end());
  slots.erase(rest, slots.end());
  std::vector<std::uint32_t> number(shape.contexts.size(), kNone);
  for (std::uint32_t s = 0; s < slots.size(); ++s) number[slots[s]] = s;
  slot_of.reserve(shape.own.size());
  for (std::size_t node = 0; node < shape.own.size(); ++node)
    slot_of.push_back(expected(node) ? number[shape.own[node]] : kNone);
}

void Plan::find_groups(const Shape& shape, const FlatTargets& flat) {
  const std::size_t contexts = shape.contexts.size();
  std::vector<std::uint8_t> alone(contexts, 1);  // the last context of its group
  std::vector<std::uint32_t> children(contexts, 0);
  for (ContextId x = 1; x < contexts; ++x) ++children[shape.contexts[x].parent];
  for (ContextId x = 0; x < contexts; ++x) alone[x] = children[x] == 1 ? 0 : 1;
  for (const ContextId x : slots) alone[x] = 1;
  // In pre-order an only child follows its parent, so a group is a range of contexts.
  flat_leaf.resize(shape.flat.size(), 1);
  for (ContextId x = 0; x < contexts; ++x) {
    if (children[x] == 0 || shape.contexts[x].flat == kNone) continue;
    for (database::FlatId f = shape.contexts[x].flat; f != kNone; f = shape.flat[f].parent) flat_leaf[f] = 0;
  }
  for (const Shape::Flat& scope : shape.flat) {
    if (scope.parent != kNone) flat_leaf[scope.parent] = 0;
  }
  group_of.reserve(contexts);
  bool begins = true;
  for (ContextId x = 0; x < contexts; ++x) {
    if (begins) {
      group_flat.add_list();
      group_parent.push_back(x == 0 ? kNone : group_of[shape.contexts[x].parent]);
    }
    group_of.push_back(static_cast<std::uint32_t>(group_parent.size() - 1));
    for (const database::FlatId f : flat.inclusive(x)) {
      if (flat_leaf[f] == 0) group_flat.add(f);
    }
    begins = alone[x] != 0;
  }
  for (const ContextId x : slots) slot_leaf.push_back(children[x] == 0 ? 1 : 0);
}

void Plan::find_flat(const Shape& shape, const FlatTargets& flat) {
  std::vector<std::uint32_t> source_of(shape.flat.size(), kNone);
  std::uint32_t sources = 0;
  for (const ContextId x : slots) {
    const std::span<const database::FlatId> targets = flat.exclusive(x);
    if (targets.empty()) {
      slot_source.push_back(kNone);
      continue;
    }
    std::uint32_t& source = source_of[targets.front()];  // the innermost
    if (source == kNone) {
      source = sources++;
      source_flat.add_list();
      for (const database::FlatId f : targets) source_flat.add(f);
    }
    slot_source.push_back(source);
  }
  flat_sources = sources;
}

void Plan::find_exclusive(const Shape& shape) {
  const IdLists targets = exclusive_contexts(shape);
  std::vector<std::vector<std::uint32_t>> contributions(shape.contexts.size());  // slots
  for (std::uint32_t s = 0; s < slots.size(); ++s) {
    for (const ContextId target : targets[slots[s]]) contributions[target].push_back(s);
  }
  exclusive_group.resize(shape.contexts.size(), kNone);
  exclusive_row.resize(shape.contexts.size(), kNone);
  std::map<std::vector<std::uint32_t>, std::uint32_t> rows;
  std::vector<std::vector<std::uint32_t>> rows_of(slots.size());
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    std::vector<std::uint32_t>& from = contributions[x];
    if (from.empty()) continue;
    if (from.size() == 1 && slot_leaf[from[0]] != 0) {
      exclusive_group[x] = group_of[slots[from[0]]];
      continue;
    }
    const auto [entry, fresh] = rows.try_emplace(std::move(from), static_cast<std::uint32_t>(rows.size()));
    exclusive_row[x] = entry->second;
    for (std::size_t i = 0; fresh && i < entry->first.size(); ++i)
      rows_of[entry->first[i]].push_back(entry->second);
  }
  exclusive_rows = rows.size();
  for (const std::vector<std::uint32_t>& list : rows_of) {
    slot_exclusive.add_list();
    for (const std::uint32_t row : list) slot_exclusive.add(row);
  }
}

}  // namespace culprit::merge
