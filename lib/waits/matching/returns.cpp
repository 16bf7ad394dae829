// Finds who waited in a nonblocking collective operation until another member came back into MPI to complete
// it (docs/algorithms.md 7, Late return; our own). Most libraries move data only while a process is inside
// MPI: an operation of several steps stands still while one member computes, however early all have begun it.
// The rule is that of blocking operations with a root (held_up.cpp), with the completing calls in the place
// of the operation: who left its call only after another member had entered its own, long after all that it
// needs by definition, and soon after that, had waited for it, if that one was outside MPI for half of that
// or more. Cost: one message per instance and rank of the analysis, with each member; and an answer where
// somebody waited.
#include "waits/matching/returns.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace culprit::waits {

using measurement::trace::OperationKind;

namespace {

/// Since when what each needs by definition has begun: of all, of the root, or of the lower ranks.
void find_needed(std::vector<Return>& members, OperationKind kind) {
  std::sort(members.begin(), members.end(), [](const Return& a, const Return& b) {
    return std::tuple(a.completing.rank, a.completing.call) <
           std::tuple(b.completing.rank, b.completing.call);
  });
  std::uint64_t latest = 0, root = 0, lower = 0;
  for (const Return& one : members) {
    latest = std::max(latest, one.begun_ns);
    if (one.root) root = one.begun_ns;
  }
  for (Return& one : members) {
    std::uint64_t needed = joins_all(kind) || (kind == OperationKind::all_to_one && one.root) ? latest : 0;
    if (kind == OperationKind::one_to_all) needed = root;
    if (kind == OperationKind::prefix) needed = lower;
    lower = std::max(lower, one.begun_ns);
    one.completing.free_ns = std::max(one.completing.enter_ns, needed);
  }
}

/// Whether the member that held it up was outside of MPI for half of that or more.
bool was_outside(const Return& late, std::uint64_t free_ns) {
  const std::uint64_t enter_ns = late.completing.enter_ns;
  return 2 * (enter_ns - std::max(late.left_ns, free_ns)) >= enter_ns - free_ns;
}

}  // namespace

int CollectiveReturns::home_of(const Key& key) const {
  return static_cast<int>(InstanceKey::Hash{}(key) % static_cast<std::size_t>(exchange_.ranks()));
}

void CollectiveReturns::begin(const CallSite& call, const Begin& operation) {
  const Key key{operation.context, operation.instance};
  const auto [begun, first] = begun_.try_emplace(call.process, operation.operation);
  if (!first) return;  // only damage begins it again
  *begun = {.key = key,
            .ns = call.enter_ns,
            .rank = operation.rank,
            .root = operation.root,
            .bystander = operation.bystander};
  Own& own = own_[key];
  if (own.notice.members == 0) {
    own.notice = {
        .context = key.context, .instance = key.instance, .size = operation.size, .kind = operation.kind};
    own.open = operation.own_processes;
  }
  ++own.notice.members;
  own.notice.contradictory = own.notice.contradictory || own.notice.kind != operation.kind;
}

void CollectiveReturns::complete(const CallSite& call, std::uint64_t operation) {
  const Begun* const begun = begun_.find(call.process, operation);
  if (begun == nullptr) return;
  const Key key = begun->key;
  const auto found = own_.find(key);
  Own& own = found.value();
  if (!begun->bystander) {
    own.members.push_back({.completing = {.enter_ns = call.enter_ns,
                                          .exit_ns = call.exit_ns,
                                          .call = call.id,
                                          .rank = begun->rank,
                                          .context = call.context},
                           .begun_ns = begun->ns,
                           .left_ns = call.left_ns,
                           .from = exchange_.here(),
                           .root = begun->root,
                           .any = call.any});
  }
  begun_.erase(call.process, operation);
  if (--own.open > 0) return;
  exchange_.send(home_of(key), own.notice, own.members);
  own_.erase(found);
}

void CollectiveReturns::receive(const ReturnNotice& notice, std::span<const Return> members) {
  const Key key{notice.context, notice.instance};
  Instance& instance = instances_[key];
  instance.members += notice.members;
  instance.contradictory = instance.contradictory || notice.contradictory;
  instance.present.insert(instance.present.end(), members.begin(), members.end());
  if (instance.members < notice.size) return;
  if (!instance.contradictory) answer(instance.present, notice.kind);
  instances_.erase(key);
}

/// Tells those who waited; a call that returns at the first of several operations need not have.
void CollectiveReturns::answer(std::vector<Return>& members, OperationKind kind) {
  find_needed(members, kind);
  std::vector<Presence> present;
  present.reserve(members.size());
  for (const Return& one : members) present.push_back(one.completing);
  const std::vector<HeldUp> found = held_up(std::move(present));
  if (found.empty()) return;
  std::stable_sort(members.begin(), members.end(),
                   [](const Return& a, const Return& b) { return a.from < b.from; });
  std::map<EventId, const Return*> by_call;
  for (const Return& one : members) by_call.emplace(one.completing.call, &one);
  const ReturnedNotice notice{joins_all(kind) ? pattern_of(kind) : WaitPattern::wait_at_root};
  std::vector<HeldUp> waited;
  for (auto one = members.cbegin(); one != members.cend();) {
    const int to = one->from;
    waited.clear();
    for (; one != members.cend() && one->from == to; ++one) {
      const HeldUp* const held_up = one->any ? nullptr : find_held_up(found, one->completing.call);
      if (held_up != nullptr && was_outside(*by_call.at(held_up->by.call), one->completing.free_ns))
        waited.push_back(*held_up);
    }
    if (!waited.empty()) exchange_.send(to, notice, waited);
  }
}

void CollectiveReturns::receive(const ReturnedNotice& notice, std::span<const HeldUp> held_up) {
  for (const HeldUp& one : held_up) {
    store_.add(one.call.location, Candidate{.event = one.call.index,
                                            .pattern = notice.pattern,
                                            .first = one.first,
                                            .ns = one.until_ns,
                                            .cause = one.by.call,
                                            .cause_context = one.by.context});
  }
}

}  // namespace culprit::waits
