// Waits for locks of passive targets (ours; docs/algorithms.md 7). From each origin's lock to its unlock the
// calls that may have been blocked travel to the rank of the analysis that has the target. There holdings are
// compared in the order of their ends: a call waited if another origin's conflicting lock was given back
// while it lasted. Libraries may get a lock at any call up to the first that has to complete an operation, so
// all these calls are looked at. A holding that ends later and may not have had the lock before kept nobody
// waiting.
// Cost: each holding with those that overlap it, at most 4096.
#include "waits/matching/locks.hpp"

#include "waits/timeline/dependencies.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace culprit::waits {

namespace trace = measurement::trace;
using trace::Operation;

namespace {

HoldingCall holding_call(const CallSite& call, bool completes) {
  return {.call = call.id,
          .enter_ns = call.enter_ns,
          .exit_ns = call.exit_ns,
          .completes = completes,
          .context = call.context};
}

bool earlier(const HoldingCall& a, const HoldingCall& b) {
  return std::tuple(a.enter_ns, a.call) < std::tuple(b.enter_ns, b.call);
}

}  // namespace

Locks::Owner Locks::owner(const CallSite& call, const Operation& operation) const {
  const View& view = contexts_.view(call.process, operation.context);
  Owner found{.rank = call.rank, .window = 0, .target_rank = trace::kAllTargets};
  if (view.shared == View::kUnknown) return found;
  found.window = contexts_.shared(view.shared).global_id;
  if (operation.peer != trace::kAllTargets && view.members != nullptr) {
    found.target_rank = view.members->at(operation.peer).value_or(trace::kNobody);
  }
  return found;
}

void Locks::lock(const CallSite& call, const Operation& operation) {
  const Owner key = owner(call, operation);
  if (key.window == 0 || key.target_rank == trace::kNobody) return;
  held_[key] = {
      .exclusive = operation.exclusive, .lock = holding_call(call, false), .uses = {}, .uses_of_all = {}};
}

void Locks::use(const CallSite& call, const Operation& operation) {
  const Owner key = owner(call, operation);
  auto held = held_.find(key);
  if (held == held_.end()) held = held_.find({key.rank, key.window, trace::kAllTargets});
  const HoldingCall use = holding_call(call, operation.kind == trace::OperationKind::flush);
  if (key.target_rank != trace::kAllTargets) {
    if (held != held_.end()) held->second.uses[key.target_rank].push_back(use);
    return;
  }
  // A flush of all targets, whichever of them are locked.
  for (auto one = held_.lower_bound({key.rank, key.window, INT32_MIN});
       one != held_.end() && one->first.rank == key.rank && one->first.window == key.window; ++one) {
    one->second.uses_of_all.push_back(use);
  }
}

void Locks::unlock(const CallSite& call, const Operation& operation) {
  const auto entry = held_.find(owner(call, operation));
  if (entry == held_.end()) {
    ++store_.unmatched.locks;
    return;
  }
  const auto [key, held] = *entry;
  held_.erase(entry);
  const HoldingCall unlock = holding_call(call, true);
  if (key.target_rank != trace::kAllTargets) {
    release(key, key.target_rank, held, unlock);
    return;
  }
  // Of locks to all, those to targets that nothing was done to are nobody's concern.
  for (const auto& [target, uses] : held.uses) release(key, target, held, unlock);
}

void Locks::release(const Owner& key, std::int32_t target, const Held& held, const HoldingCall& unlock) {
  const int at = rank_map_.owner_of(target);
  if (at < 0) {
    ++store_.unmatched.strangers;
    return;
  }
  std::vector<HoldingCall> calls{held.lock};
  const auto uses = held.uses.find(target);
  if (uses != held.uses.end()) calls.insert(calls.end(), uses->second.begin(), uses->second.end());
  calls.insert(calls.end(), held.uses_of_all.begin(), held.uses_of_all.end());
  std::sort(calls.begin(), calls.end(), earlier);
  calls.push_back(unlock);
  exchange_.send(at, HoldingNotice{key.window, target, key.rank, held.exclusive}, calls);
}

void Locks::receive(const HoldingNotice& notice, std::span<const HoldingCall> calls) {
  arrived_[{notice.window, notice.target_rank}].push_back(
      {notice.origin_rank, notice.exclusive, {calls.begin(), calls.end()}});
}

void Locks::close_round() {
  for (auto& [place, arrived] : std::exchange(arrived_, {})) {
    std::sort(arrived.begin(), arrived.end(), [](const Holding& a, const Holding& b) {
      return std::tuple(a.end_ns(), a.origin_rank) < std::tuple(b.end_ns(), b.origin_rank);
    });
    std::deque<Holding>& ended = ended_[place];
    for (Holding& holding : arrived) {
      for (auto other = ended.rbegin(); other != ended.rend() && other->end_ns() > holding.begin_ns();
           ++other) {
        if (other->origin_rank == holding.origin_rank || !(other->exclusive || holding.exclusive)) continue;
        compare(holding, *other);
        compare(*other, holding);
      }
      ended.push_back(std::move(holding));
      if (ended.size() > kRemembered) ended.pop_front();
    }
  }
}

bool Locks::Holding::surely_held() const {
  return std::any_of(calls.begin(), calls.end() - 1, [](const HoldingCall& call) { return call.completes; });
}

std::uint32_t Locks::Holding::lock() const {
  const bool of_one_thread = calls.front().call.location == calls.back().call.location;
  return of_one_thread ? calls.front().call.index : Candidate::kNoCall;
}

void Locks::compare(const Holding& waiter, const Holding& other) {
  const HoldingCall& unlock = other.calls.back();
  if (other.end_ns() > waiter.end_ns() && !other.surely_held()) return;
  for (const HoldingCall& call : waiter.calls) {
    if (call.enter_ns >= unlock.enter_ns) return;
    if (unlock.enter_ns < call.exit_ns) {
      exchange_.send(rank_map_.owner_of(waiter.origin_rank),
                     LockWaitNotice{call.call, unlock.call, unlock.context, other.lock(), unlock.enter_ns});
    }
    if (call.completes) return;
  }
}

void Locks::receive(const LockWaitNotice& notice) {
  if (store_.dependencies != nullptr)
    store_.dependencies->add(
        notice.call.location,
        {.event = notice.call.index, .pattern = WaitPattern::lock_wait, .cause = notice.unlock});
  store_.add(notice.call.location, Candidate{.event = notice.call.index,
                                             .pattern = WaitPattern::lock_wait,
                                             .ns = notice.until_ns,
                                             .cause = notice.unlock,
                                             .cause_context = notice.unlock_context,
                                             .since = notice.lock});
}

void Locks::finish() {
  store_.unmatched.locks += held_.size();
}

}  // namespace culprit::waits
