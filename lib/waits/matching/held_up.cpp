// Who was held up inside a broadcast, scatter, reduction or scan by a member that it does not need by
// definition (docs/algorithms.md 7, Wait at Root; our own). Libraries pass data along trees: a rank that
// comes late keeps its parent (where that must hand over what is too large to be buffered) and all below it,
// though the root came long ago. Time stamps show it: a member left only after another one had come, which
// came long after all that the member needs by definition. Long: longer than the bytes cost, which is
// estimated by the shortest stay of all members (who came last found all others ready) for each level of a
// binary tree. And the member left soon after: what came after is no longer than the wait, or than what the
// bytes cost. What the bytes cost is no waiting. Cost: sorts the members by their enters.
#include "waits/matching/held_up.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <tuple>

namespace culprit::waits {

namespace {

bool enters_before(const Presence& a, const Presence& b) {
  return std::tuple(a.enter_ns, a.rank, a.call) < std::tuple(b.enter_ns, b.rank, b.call);
}

/// The shortest stay, for each level of a binary tree; at most the largest number.
std::uint64_t cost_of_bytes(const std::vector<Presence>& members) {
  std::uint64_t shortest = Presence::kNobody;
  for (const Presence& one : members) shortest = std::min(shortest, one.exit_ns - one.enter_ns);
  const auto levels = static_cast<std::uint64_t>(std::bit_width(members.size() - 1));
  return shortest > Presence::kNobody / levels ? Presence::kNobody : shortest * levels;
}

}  // namespace

const HeldUp* find_held_up(std::span<const HeldUp> held_up, const EventId& call) {
  const auto found =
      std::lower_bound(held_up.begin(), held_up.end(), call,
                       [](const HeldUp& one, const EventId& wanted) { return one.call < wanted; });
  return found != held_up.end() && found->call == call ? &*found : nullptr;
}

std::vector<HeldUp> held_up(std::vector<Presence> members) {
  std::vector<HeldUp> found;
  if (members.size() < 2) return found;
  std::sort(members.begin(), members.end(), enters_before);
  const std::uint64_t cost = cost_of_bytes(members);
  std::vector<bool> holds(members.size(), false);
  for (const Presence& member : members) {
    if (member.free_ns == Presence::kNobody) continue;
    // The last to come before it left.
    auto next = std::lower_bound(members.begin(), members.end(), member.exit_ns,
                                 [](const Presence& one, std::uint64_t ns) { return one.enter_ns < ns; });
    if (next != members.begin() && std::prev(next)->call == member.call) --next;
    if (next == members.begin()) continue;
    const Presence& last = *std::prev(next);
    if (last.enter_ns <= member.free_ns) continue;
    const std::uint64_t wait = last.enter_ns - member.free_ns;
    if (wait <= cost || member.exit_ns - last.enter_ns > std::max(wait, cost)) continue;
    const auto holder = static_cast<std::size_t>(&last - members.data());
    found.push_back(
        {.call = member.call, .by = last, .until_ns = last.enter_ns - cost, .first = !holds[holder]});
    holds[holder] = true;
  }
  std::sort(found.begin(), found.end(), [](const HeldUp& a, const HeldUp& b) { return a.call < b.call; });
  return found;
}

}  // namespace culprit::waits
