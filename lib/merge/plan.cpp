#include "merge/plan.hpp"

#include <algorithm>

namespace culprit::merge {

using database::ContextId;
using database::kNone;

Plan::Plan(const Shape& shape, std::span<const std::uint8_t> valued) {
  find_slots(shape, valued);
  find_groups(shape);
  find_exclusive(shape);
}

void Plan::find_slots(const Shape& shape, std::span<const std::uint8_t> valued) {
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

void Plan::find_groups(const Shape& shape) {
  const std::size_t contexts = shape.contexts.size();
  std::vector<std::uint8_t> alone(contexts, 1);  // the last context of its group
  std::vector<std::uint32_t> children(contexts, 0);
  for (ContextId x = 1; x < contexts; ++x) ++children[shape.contexts[x].parent];
  for (ContextId x = 0; x < contexts; ++x) alone[x] = children[x] == 1 ? 0 : 1;
  for (const ContextId x : slots) alone[x] = 1;
  leaf.resize(contexts);
  for (ContextId x = 0; x < contexts; ++x) leaf[x] = children[x] == 0 ? 1 : 0;
  // In pre-order an only child follows its parent, so a group is a range of contexts.
  const FlatTargets flat(shape);
  group_of.reserve(contexts);
  bool begins = true;
  for (ContextId x = 0; x < contexts; ++x) {
    if (begins) {
      group_flat.add_list();
      group_parent.push_back(x == 0 ? kNone : group_of[shape.contexts[x].parent]);
    }
    group_of.push_back(static_cast<std::uint32_t>(group_parent.size() - 1));
    for (const database::FlatId f : flat.inclusive(x)) group_flat.add(f);
    begins = alone[x] != 0;
  }
  for (const ContextId x : slots) {
    slot_flat.add_list();
    for (const database::FlatId f : flat.exclusive(x)) slot_flat.add(f);
  }
}

void Plan::find_exclusive(const Shape& shape) {
  const IdLists targets = exclusive_contexts(shape);
  exclusive_row.resize(shape.contexts.size(), kNone);
  for (const ContextId x : slots) {
    slot_exclusive.add_list();
    for (const ContextId target : targets[x]) {
      if (leaf[target] != 0) continue;
      if (exclusive_row[target] == kNone)
        exclusive_row[target] = static_cast<std::uint32_t>(exclusive_rows++);
      slot_exclusive.add(exclusive_row[target]);
    }
  }
}

}  // namespace culprit::merge
