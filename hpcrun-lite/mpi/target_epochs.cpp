// Accesses to a target, and the epochs around them, active and passive (docs/algorithms.md 6).
#include "measurement/kinds.hpp"
#include "mpi/one_sided.hpp"
#include "mpi/real_call.hpp"
#include "mpi/transfer_stamps.hpp"
#include "mpi/windows.hpp"
#include "mpi/world.hpp"

#include <algorithm>

namespace culprit::mpi {

namespace {

/// When this thread's last MPI_Win_test that found an epoch complete was left. Who asks for several windows
/// in turns waits for one of them at a time.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
__thread std::uint64_t last_found __attribute__((tls_model("initial-exec")));

/// The peer, with a lock on it that was just asked for.
Peer lock_of(Peer peer, bool exclusive) {
  peer.locked = peer.awaited = true;
  peer.exclusive = exclusive;
  return peer;
}

}  // namespace

void AccessCall::exit_access(const Target& target) {
  if (window_ == nullptr) return;
  Peer* peer = peer_of(*window_, target.rank);
  if (peer == nullptr) return;
  int bytes = 0;
  CULPRIT_MPI(PMPI_Type_size)(target.datatype, &bytes);
  const auto amount =
      static_cast<std::uint64_t>(bytes < 0 ? 0 : bytes) * static_cast<std::uint64_t>(target.count);
  std::uint32_t size_class = log2_of(amount);
  if (peer->locked || window_->all_locked) {
    if (!peer->locked) *peer = lock_of(*peer, false);
    add_lock_wait(target.rank);
    size_class |= passive_class();
  } else if (window_->start_exit != 0) {
    size_class |= measurement::kStartedAccess | add_post_wait(target.rank);
  }
  peer->last_exit = records_.end(kAccess, hash_of(peer->world_rank), size_class);
  peer->moved += amount;
}

std::uint32_t AccessCall::add_post_wait(int target) {
  if (!window_->releases.shared()) return 0;
  const Release post = window_->releases.last_post(target, records_.entered(), occurrence_.left());
  if (post.at_ns != 0) records_.add_release(kPostWait, post);
  return measurement::kReleasesKnown;
}

void ActiveTargetCall::add_stamps(EpochRecords::Kind kind, const Members& members,
                                  std::uint32_t Peer::*instances) {
  if (members.known != members.size) return;  // too many to know all
  for (std::uint32_t i = 0; i < members.known; ++i) {
    const Peer& peer = window_->peer[members.peer[i]];
    records_.add_stamp(kind, peer.*instances, members.size, peer.world_rank,
                       peer.last_exit != 0 ? peer.last_exit : window_->start_exit);
  }
}

void ActiveTargetCall::enter(const Fence& facts) {
  begin(facts.window);
  if (window_ == nullptr) return;
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    if (peer.last_exit == 0) continue;
    records_.add_gap(kFenceGap, static_cast<std::uint64_t>(peer.world_rank), peer.last_exit);
    records_.add_stamp(kFenceAccessStamp, window_->fences, window_->size, peer.world_rank, peer.last_exit);
    peer.last_exit = 0;
  }
}

// A fence that need not wait for anybody is known by its assertion, and costs otherwise.
void ActiveTargetCall::exit(const Fence& facts) {
  if (window_ == nullptr) return;
  const bool large = count_moved(kFence, kAllTargets);
  const std::uint32_t bits =
      stamp::flow_bits(Flow::all_to_all) | stamp::operations_bits(1) | (large ? stamp::kWhole : 0);
  records_.add_stamp(kFenceStamp, window_->fences++, window_->size, static_cast<int>(bits));
  records_.end(kFence, 0, static_cast<std::uint32_t>(facts.assertion));
}

void ActiveTargetCall::exit(const EpochStart& facts) {
  if (window_ == nullptr) return;
  Members& members = window_->origin;
  learn(members, *window_, facts.group);
  for (std::uint32_t i = 0; i < members.known; ++i) {
    Peer& peer = window_->peer[members.peer[i]];
    peer.last_exit = 0;
    ++peer.accesses;
  }
  add_stamps(kStartStamp, members, &Peer::accesses);
  window_->start_exit = records_.end(kStart, window_->origin.hash, log2_of(window_->origin.size));
}

void ActiveTargetCall::enter(const EpochCompletion& facts) {
  begin(facts.window);
  if (window_ == nullptr) return;
  const Members& members = window_->origin;
  add_stamps(kCompleteStamp, members, &Peer::accesses);
  for (std::uint32_t i = 0; i < members.known; ++i) {
    Peer& peer = window_->peer[members.peer[i]];
    const std::uint64_t since = peer.last_exit != 0 ? peer.last_exit : window_->start_exit;
    records_.add_gap(kCompleteGap, static_cast<std::uint64_t>(peer.world_rank), since);
    peer.last_exit = 0;
  }
}

void ActiveTargetCall::exit(const EpochCompletion& /*facts*/) {
  if (window_ == nullptr) return;
  count_moved(kComplete, kAllTargets);
  records_.end(kComplete, window_->origin.hash, log2_of(window_->origin.size));
  window_->start_exit = 0;
}

void ActiveTargetCall::enter(const ExposurePost& facts) {
  begin(facts.window);
  if (window_ == nullptr) return;
  learn(window_->exposure, *window_, facts.group);
  if (window_->releases.shared())
    window_->releases.posted(window_->rank, {.at_ns = records_.entered(), .by = own_rank()});
}

void ActiveTargetCall::exit(const ExposurePost& /*facts*/) {
  if (window_ == nullptr) return;
  const Members& members = window_->exposure;
  for (std::uint32_t i = 0; i < members.known; ++i) ++window_->peer[members.peer[i]].exposures;
  add_stamps(kPostStamp, members, &Peer::exposures);
  if (records_.has_stamps()) records_.keep();
}

void ActiveTargetCall::exit(const ExposureWait& /*facts*/) {
  if (window_ == nullptr) return;
  add_stamps(kWaitStamp, window_->exposure, &Peer::exposures);
  records_.end(kWait, window_->exposure.hash, log2_of(window_->exposure.size));
}

void ActiveTargetCall::enter(const ExposureAttempt& facts, bool spinning) {
  begin(facts.window);
  if (window_ == nullptr) return;
  if (spinning && window_->tested_from != 0) return;
  const std::uint64_t since = std::max(window_->tested_from, last_found);
  if (window_->tested_from != 0 && window_->tested_until > since)
    window_->tested_before += window_->tested_until - since;
  window_->tested_from = records_.entered();
}

void ActiveTargetCall::exit(const ExposureAttempt& facts) {
  if (window_ == nullptr) return;
  if (*facts.done == 0) {
    window_->tested_until = occurrence_.left();
    return;
  }
  records_.set_entered(std::max(window_->tested_from, last_found) - window_->tested_before);
  last_found = occurrence_.left();
  window_->tested_from = window_->tested_before = 0;
  add_stamps(kWaitStamp, window_->exposure, &Peer::exposures);
  records_.end(kWait, window_->exposure.hash, log2_of(window_->exposure.size));
}

// Most need not wait at all: these are not to pay for as many looks as there are processes.
void PassiveTargetCall::add_wait_for_all_locks() {
  constexpr std::uint64_t kWorthLooking = 10'000;  // ns
  const std::uint64_t left = occurrence_.left();
  if (!window_->releases.shared() || left - records_.entered() < kWorthLooking) return;
  Release latest{};
  for (std::uint32_t rank = 0; rank < window_->size; ++rank) {
    const Release last = window_->releases.last_lock(static_cast<int>(rank), false, records_.entered(), left);
    if (last.at_ns > latest.at_ns) latest = last;
  }
  if (latest.at_ns != 0) records_.add_release(kLockWait, latest);
}

void PassiveTargetCall::exit(const Lock& facts) {
  if (window_ == nullptr) return;
  Peer* peer = peer_of(*window_, facts.target);
  if (peer != nullptr) {
    *peer = lock_of(*peer, facts.exclusive);
    peer->last_exit = 0;
    add_lock_wait(facts.target);
  }
  records_.end(kLock, peer == nullptr ? 0 : hash_of(peer->world_rank), passive_class());
}

void PassiveTargetCall::exit(const LockAll& /*facts*/) {
  if (window_ == nullptr) return;
  window_->all_locked = true;
  add_wait_for_all_locks();
  records_.end(kLock, 0, passive_class());
}

// A lock to all that was not used on a target is nobody's concern there.
void PassiveTargetCall::give_back(int target) {
  if (!window_->releases.shared()) return;
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    const Peer& peer = window_->peer[i];
    if (!peer.locked || (target != kAllTargets && peer.rank != target)) continue;
    window_->releases.lock_released(peer.rank, peer.exclusive,
                                    {.at_ns = records_.entered(), .by = own_rank()});
  }
}

void PassiveTargetCall::enter(const Unlock& facts) {
  begin(facts.window);
  if (window_ != nullptr) give_back(facts.target);
}

void PassiveTargetCall::enter(const UnlockAll& facts) {
  begin(facts.window);
  if (window_ != nullptr) give_back(kAllTargets);
}

void PassiveTargetCall::exit(const Unlock& facts) {
  if (window_ == nullptr) return;
  add_lock_wait(facts.target);
  Peer* peer = peer_of(*window_, facts.target);
  if (peer != nullptr) {
    peer->locked = peer->awaited = false;
    peer->last_exit = 0;
  }
  count_moved(kFlush, facts.target);
  records_.end(kFlush, peer == nullptr ? 0 : hash_of(peer->world_rank),
               passive_class() | measurement::kGivesLockBack);
}

void PassiveTargetCall::exit(const UnlockAll& /*facts*/) {
  if (window_ == nullptr) return;
  add_lock_wait(kAllTargets);
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    peer.locked = peer.awaited = false;
    peer.last_exit = 0;
  }
  window_->all_locked = false;
  count_moved(kFlush, kAllTargets);
  records_.end(kFlush, 0, passive_class() | measurement::kGivesLockBack);
}

// What is complete at the target was done under the lock: nobody waits for that any more.
void PassiveTargetCall::exit_flush(int target, Flushes flushes) {
  if (window_ == nullptr) return;
  add_lock_wait(target);
  std::uint64_t peers = 0;
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    if (target != kAllTargets && peer.rank != target) continue;
    if (flushes == Flushes::everywhere) peer.awaited = false;
    peer.last_exit = 0;
    if (target != kAllTargets) peers = hash_of(peer.world_rank);
  }
  count_moved(kFlush, target);
  records_.end(kFlush, peers, passive_class());
}

}  // namespace culprit::mpi
