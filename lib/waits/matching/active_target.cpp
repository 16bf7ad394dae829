// One-sided communication with active targets (Hermanns 2009, section 4; Hermanns 2013, section 4;
// docs/algorithms.md 7). Per pair of origin and target the n-th MPI_Win_post opens the n-th MPI_Win_start's
// epoch: late post at start and complete, early transfer at the operations between. The n-th MPI_Win_complete
// ends the n-th exposure: early wait, and late complete after the origin's last operation. For fences each
// origin reports to its targets the exit of its last operation before the fence: early fence.
// Cost: one message per pair and epoch.
#include "waits/matching/active_target.hpp"

#include "waits/timeline/dependencies.hpp"

#include <algorithm>
#include <utility>

namespace culprit::waits {

namespace trace = measurement::trace;
using trace::Operation;

ActiveTarget::Place ActiveTarget::place(const CallSite& call, const Operation& operation) const {
  const View& view = contexts_.view(call.process, operation.context);
  return {call.rank, view.shared == View::kUnknown ? 0 : contexts_.shared(view.shared).global_id};
}

namespace {

/// The members of a group, as ranks in MPI_COMM_WORLD.
std::vector<std::int32_t> members_of(const View& group) {
  std::vector<std::int32_t> ranks;
  if (group.members == nullptr) return ranks;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(group.members->size()); ++i) {
    ranks.push_back(*group.members->at(i));
  }
  return ranks;
}

}  // namespace

// ---- what origins do

void ActiveTarget::access(const CallSite& call, const Operation& operation) {
  const View& view = contexts_.view(call.process, operation.context);
  if (view.members == nullptr || operation.peer == trace::kNobody) return;
  const std::optional<std::int32_t> target = view.members->at(operation.peer);
  if (!target) return;
  const Place here = place(call, operation);
  Origin& origin = origins_[here];
  if (std::find(origin.targets.begin(), origin.targets.end(), *target) != origin.targets.end()) {
    Access& access = accesses_.at({here, *target}).back();
    access.operations.push_back(call.id);
    access.last_exit_ns = call.exit_ns;
  } else {
    origin.fence_last[*target] = {call.id, call.context, call.exit_ns};
  }
}

void ActiveTarget::fence(const CallSite& call, const Operation& operation) {
  const Place here = place(call, operation);
  if (here.window == 0) return;
  const View& view = contexts_.view(call.process, operation.context);
  if (contexts_.shared(view.shared).size < 2) {  // there is nobody whose operations could arrive late
    origins_[here].fence_last.clear();
    return;
  }
  Fences& fences = fences_[here];
  const auto instance = fences.first + static_cast<std::uint32_t>(fences.calls.size());
  fences.calls.push_back(call.id);
  for (const auto& [target, last] : std::exchange(origins_[here].fence_last, {})) {
    const int owner = rank_map_.owner_of(target);
    if (owner < 0 || target == call.rank) continue;
    exchange_.send(owner,
                   LastAccessNotice{here.window, target, instance, last.call, last.context, last.exit_ns});
  }
  const auto early = early_.find({here, instance});
  if (early == early_.end()) return;
  for (const LastAccessNotice& notice : std::exchange(early->second, {})) receive(notice);
  early_.erase(early);
}

void ActiveTarget::start(const CallSite& call, const Operation& operation) {
  const Place here = place(call, operation);
  Origin& origin = origins_[here];
  origin.targets = members_of(contexts_.view(call.process, operation.group));
  for (const std::int32_t target : origin.targets) {
    accesses_[{here, target}].push_back({.start = call.id,
                                         .complete = {},
                                         .start_exit_ns = call.exit_ns,
                                         .operations = {},
                                         .last_exit_ns = 0});
  }
}

void ActiveTarget::complete(const CallSite& call, const Operation& operation) {
  const Place here = place(call, operation);
  for (const std::int32_t target : std::exchange(origins_[here].targets, {})) {
    const Pair pair{here, target};
    Access& access = accesses_.at(pair).back();
    access.complete = call.id;
    const int owner = rank_map_.owner_of(target);
    if (owner >= 0) {
      exchange_.send(owner, CompleteNotice{.window = here.window,
                                           .target_rank = target,
                                           .origin_rank = call.rank,
                                           .call = call.id,
                                           .call_context = call.context,
                                           .enter_ns = call.enter_ns,
                                           .arrived_ns = access.operations.empty() ? access.start_exit_ns
                                                                                   : access.last_exit_ns});
    }
    match(pair);
  }
}

void ActiveTarget::receive(const PostNotice& notice) {
  const Pair pair{{notice.origin_rank, notice.window}, notice.target_rank};
  posts_[pair].push_back(notice);
  match(pair);
}

/// The n-th post of a target for an origin opens the n-th access of that origin to the target.
void ActiveTarget::match(const Pair& pair) {
  const auto posts = posts_.find(pair);
  const auto accesses = accesses_.find(pair);
  if (posts == posts_.end() || accesses == accesses_.end()) return;
  while (!posts->second.empty() && !accesses->second.empty() && accesses->second.front().complete.known()) {
    explain(accesses->second.front(), posts->second.front());
    accesses->second.pop_front();
    posts->second.pop_front();
  }
}

/// Which of these calls waits is the library's choice; the last one does at any rate.
void ActiveTarget::depend(const Access& access, const PostNotice& post) {
  const auto add = [&](EventId call, WaitPattern pattern, std::uint16_t size) {
    store_.dependencies->add(call.location,
                             {.event = call.index, .pattern = pattern, .size = size, .cause = post.call});
  };
  add(access.start, WaitPattern::late_post, Dependency::kMayPass);
  for (const EventId operation : access.operations)
    add(operation, WaitPattern::early_transfer, Dependency::kMayPass);
  add(access.complete, WaitPattern::late_post, 0);
}

void ActiveTarget::explain(const Access& access, const PostNotice& post) {
  const auto candidate = [&post](EventId call, WaitPattern pattern) {
    return Candidate{.event = call.index,
                     .pattern = pattern,
                     .ns = post.enter_ns,
                     .cause = post.call,
                     .cause_context = post.call_context};
  };
  const Location here = access.start.location;
  if (store_.dependencies != nullptr) depend(access, post);
  store_.add(here, candidate(access.start, WaitPattern::late_post));
  store_.add(access.complete.location, candidate(access.complete, WaitPattern::late_post));
  for (const EventId operation : access.operations) {
    store_.add(operation.location, candidate(operation, WaitPattern::early_transfer));
  }
}

// ---- what targets do

void ActiveTarget::post(const CallSite& call, const Operation& operation) {
  const Place here = place(call, operation);
  std::vector<std::int32_t> origins = members_of(contexts_.view(call.process, operation.group));
  for (const std::int32_t origin : origins) {
    const int owner = rank_map_.owner_of(origin);
    if (owner >= 0)
      exchange_.send(owner, PostNotice{here.window, call.rank, origin, call.id, call.context, call.enter_ns});
  }
  exposed_[here].push_back(std::move(origins));
}

void ActiveTarget::wait(const CallSite& call, const Operation& operation) {
  const Place here = place(call, operation);
  std::deque<std::vector<std::int32_t>>& exposed = exposed_[here];
  if (exposed.empty()) {
    ++store_.unmatched.epochs;
    return;
  }
  for (const std::int32_t origin : exposed.front()) {
    const Pair pair{here, origin};
    waits_[pair].push_back(call.id);
    expose(pair);
  }
  exposed.pop_front();
}

void ActiveTarget::receive(const CompleteNotice& notice) {
  const Pair pair{{notice.target_rank, notice.window}, notice.origin_rank};
  completes_[pair].push_back(notice);
  expose(pair);
}

/// The n-th complete of an origin ends the n-th exposure of the target to it.
void ActiveTarget::expose(const Pair& pair) {
  std::deque<EventId>& waits = waits_[pair];
  std::deque<CompleteNotice>& completes = completes_[pair];
  while (!waits.empty() && !completes.empty()) {
    const EventId wait = waits.front();
    const CompleteNotice complete = completes.front();
    waits.pop_front();
    completes.pop_front();
    Candidate candidate{.event = wait.index,
                        .pattern = WaitPattern::early_wait,
                        .ns = complete.enter_ns,
                        .cause = complete.call,
                        .cause_context = complete.call_context};
    store_.add(wait.location, candidate);
    if (store_.dependencies != nullptr)
      store_.dependencies->add(
          wait.location, {.event = wait.index, .pattern = WaitPattern::early_wait, .cause = complete.call});
    candidate.pattern = WaitPattern::late_complete;
    candidate.ns = complete.arrived_ns;
    store_.add(wait.location, candidate);
  }
}

void ActiveTarget::receive(const LastAccessNotice& notice) {
  const Place target{notice.target_rank, notice.window};
  const Fences& fences = fences_[target];
  if (notice.fence < fences.first) return;  // only damage can say so
  const std::uint32_t at = notice.fence - fences.first;
  if (at >= fences.calls.size()) {
    early_[{target, notice.fence}].push_back(notice);
    return;
  }
  const EventId fence = fences.calls[at];
  const Event& event = store_.line(fence.location).events[fence.index];
  if (store_.dependencies != nullptr)
    store_.dependencies->add(fence.location, {.event = fence.index,
                                              .pattern = WaitPattern::wait_at_fence,
                                              .on = Dependency::On::exit,
                                              .cause = notice.call});
  if (notice.exit_ns <= event.enter_ns) return;
  store_.add(fence.location, Candidate{.event = fence.index,
                                       .pattern = WaitPattern::early_fence,
                                       .ns = notice.exit_ns,
                                       .cause = notice.call,
                                       .cause_context = notice.call_context});
}

void ActiveTarget::fenced(std::uint64_t window, std::int32_t rank, EventId call) {
  const auto found = fences_.find({rank, window});
  if (found == fences_.end()) return;
  Fences& fences = found->second;
  const auto at = std::find(fences.calls.begin(), fences.calls.end(), call);
  if (at == fences.calls.end()) return;
  fences.first += static_cast<std::uint32_t>(at - fences.calls.begin()) + 1;
  fences.calls.erase(fences.calls.begin(), at + 1);
}

void ActiveTarget::finish() {
  for (const auto& [pair, accesses] : accesses_) store_.unmatched.epochs += accesses.size();
  for (const auto& [pair, posts] : posts_) store_.unmatched.epochs += posts.size();
}

}  // namespace culprit::waits
