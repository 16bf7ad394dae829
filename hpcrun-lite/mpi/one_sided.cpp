// Times and gaps of one-sided epochs by window and peers, and the stamps of some (docs/algorithms.md 6).
// Bounded memory.
#include "mpi/one_sided.hpp"

#include "mpi/host_clocks.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"
#include "mpi/transfer_stamps.hpp"
#include "mpi/transfers.hpp"
#include "mpi/windows.hpp"
#include "mpi/world.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

namespace culprit::mpi {

namespace {

std::uint32_t log2_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::bit_width(number));
}

/// Of making and freeing a window of this many processes.
std::uint32_t size_class_of(const WindowCreation& facts, std::uint32_t size) {
  return log2_of(size) | static_cast<std::uint32_t>(facts.flavor) << 8 |
         log2_of(static_cast<std::uint64_t>(facts.bytes)) << 16;
}

std::atomic<std::uint32_t> windows_made{0};

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

/// In MPI_COMM_WORLD.
int own_rank() {
  static std::atomic<int> known{-1};
  int rank = known.load(std::memory_order_relaxed);
  if (rank >= 0) return rank;
  CULPRIT_MPI(PMPI_Comm_rank)(world(), &rank);
  known.store(rank, std::memory_order_relaxed);
  return rank;
}

}  // namespace

// Threads that are not sampled count the epochs as well, so that the processes' counts agree.
void EpochCall::begin(MPI_Win window) {
  if (!culprit_rt_active()) return;
  set_window(find_window(window));
  entered_ = occurrence_.entered();
}

void EpochCall::set_window(Window* window) {
  window_ = window;
  if (window != nullptr) id_ = window->id;
}

std::uint64_t EpochCall::end(Kind kind, std::uint64_t peers, std::uint32_t size_class) {
  const std::uint64_t exited = occurrence_.left();
  // What a wait here is called depends on no other process's epochs: libraries that lock and flush many
  // windows from many places would use up the accumulators.
  const bool alone = kind == kAccess || kind == kLock || kind == kFlush;
  record_[records_++] = {.kind = kind,
                         .size_class = size_class,
                         .window = alone ? 0 : id_,
                         .peers = alone ? 0 : peers,
                         .time_ns = exited - entered_};
  for (std::size_t i = 0; i < stamps_; ++i) stamp_[i].exit_ns = exited;
  keep();
  return exited;
}

void EpochCall::keep() {
  if (culprit_rt_thread.state == nullptr) return;
  stamp_level.raise_to(culprit_rt_count_epochs(record_, records_, stamp_, stamps_, occurrence_.path()));
}

void EpochCall::add_stamp(Kind kind, std::uint32_t instance, std::uint32_t members, int peer,
                          std::uint64_t last) {
  if (id_ == 0 || stamps_ == kMaxTargets + 1) return;
  const std::uint64_t order = order_of(id_, instance);
  if (!stamp_level.keeps(order)) return;
  stamp_[stamps_++] = {.kind = kind,
                       .instance = instance,
                       .members = members,
                       .peer = static_cast<std::uint32_t>(peer),
                       .window = id_,
                       .order = order,
                       .enter_ns = entered_,
                       .exit_ns = entered_,
                       .last_ns = last};
}

void EpochCall::add_stamps(Kind kind, const Members& members, std::uint32_t Peer::*instances) {
  if (members.known != members.size) return;  // too many to know all
  for (std::uint32_t i = 0; i < members.known; ++i) {
    const Peer& peer = window_->peer[members.peer[i]];
    add_stamp(kind, peer.*instances, members.size, peer.world_rank,
              peer.last_exit != 0 ? peer.last_exit : window_->start_exit);
  }
}

void EpochCall::add_gap(Kind kind, std::uint64_t target, std::uint64_t since) {
  record_[records_++] = {.kind = kind,
                         .size_class = 0,
                         .window = id_,
                         .peers = target,
                         .time_ns = entered_ > since ? entered_ - since : 0};
}

// The id comes from the communicator's first process. All is agreed on before the call, where all processes
// are sure to come together; one that failed alone in the call would leave the others waiting after it.
void EpochCall::agree(MPI_Comm comm) {
  struct {
    std::uint64_t id, host;
    WindowReleases::Invitation invitation;
  } word{};
  int rank = 0;
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_rank)(comm, &rank);
  CULPRIT_MPI(PMPI_Comm_size)(comm, &size);
  if (rank == 0) {
    word.id = (static_cast<std::uint64_t>(own_rank()) + 1) << 32 | ++windows_made;
    word.host = this_host();
    word.invitation = releases_.make(static_cast<std::uint32_t>(size));
  }
  broadcast(comm, &word.id, sizeof word / sizeof word.id);
  if (rank != 0 && word.host == this_host())
    releases_.join(word.invitation, static_cast<std::uint32_t>(size));
  id_ = word.id;
}

void EpochCall::enter(const WindowCreation& facts) {
  entered_ = occurrence_.entered();
  if (everyone_measured() && within_world(facts.comm)) agree(facts.comm);
}

void EpochCall::count_creation(const WindowCreation& facts, std::uint32_t size) {
  add_stamp(kCreateStamp, 0, size, 0);
  end(kCreate, 0, size_class_of(facts, size));
}

// Nobody leaves the call before all have come to it: by now they have joined.
void EpochCall::exit(const WindowCreation& facts) {
  releases_.close();
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_size)(facts.comm, &size);
  count_creation(facts, static_cast<std::uint32_t>(size));
  window_ = add_window(*facts.window);
  if (window_ == nullptr) {
    releases_.leave();
    return;
  }
  window_->id = id_;
  window_->releases = releases_;
  CULPRIT_MPI(PMPI_Win_get_group)(*facts.window, &window_->group);
  CULPRIT_MPI(PMPI_Group_rank)(window_->group, &window_->rank);
  window_->size = static_cast<std::uint32_t>(size);
  window_->size_class = size_class_of(facts, window_->size);
}

// A communicator that nobody agreed on anything in may be the reason why, and none that could be asked.
void EpochCall::fail(const WindowCreation& facts) {
  releases_.leave();
  if (id_ == 0) return;
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_size)(facts.comm, &size);
  count_creation(facts, static_cast<std::uint32_t>(size));
}

void EpochCall::enter(const WindowRelease& facts) {
  set_window(find_window(*facts.window));
  entered_ = occurrence_.entered();
}

void EpochCall::exit(const WindowRelease& /*facts*/) {
  if (window_ == nullptr) return;
  add_stamp(kFreeStamp, 0, window_->size, 0);
  end(kFree, 0, window_->size_class);
  CULPRIT_MPI(PMPI_Group_free)(&window_->group);
  window_->releases.leave();
  window_->used.store(false, std::memory_order_release);
}

void EpochCall::exit_access(const Target& target) {
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
  peer->last_exit = end(kAccess, hash_of(peer->world_rank), size_class);
  peer->moved += amount;
}

void EpochCall::count_moved(Kind kind, int target) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    if (target == kAllTargets || peer.rank == target) bytes += std::exchange(peer.moved, 0);
  }
  moved_large_ = bytes >= kLargeTransfer;
  if (!moved_large_ || culprit_rt_thread.state == nullptr) return;
  const CulpritTransfer transfer{.family = std::uint64_t{kind} << 32 | window_->size,
                                 .size_class = log2_of(bytes),
                                 .unused = 0,
                                 .sent = bytes,
                                 .received = bytes,
                                 .time_ns = occurrence_.left() - entered_};
  keep_stamps(&transfer, nullptr, 0, occurrence_.path());
}

void EpochCall::enter(const Fence& facts) {
  begin(facts.window);
  if (window_ == nullptr) return;
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    if (peer.last_exit == 0) continue;
    add_gap(kFenceGap, static_cast<std::uint64_t>(peer.world_rank), peer.last_exit);
    add_stamp(kFenceAccessStamp, window_->fences, window_->size, peer.world_rank, peer.last_exit);
    peer.last_exit = 0;
  }
}

// A fence that need not wait for anybody is known by its assertion, and costs otherwise.
void EpochCall::exit(const Fence& facts) {
  if (window_ == nullptr) return;
  count_moved(kFence, kAllTargets);
  const std::uint32_t bits =
      stamp::flow_bits(Flow::all_to_all) | stamp::operations_bits(1) | (moved_large_ ? stamp::kWhole : 0);
  add_stamp(kFenceStamp, window_->fences++, window_->size, static_cast<int>(bits));
  end(kFence, 0, static_cast<std::uint32_t>(facts.assertion));
}

void EpochCall::exit(const EpochStart& facts) {
  if (window_ == nullptr) return;
  Members& members = window_->origin;
  learn(members, *window_, facts.group);
  for (std::uint32_t i = 0; i < members.known; ++i) {
    Peer& peer = window_->peer[members.peer[i]];
    peer.last_exit = 0;
    ++peer.accesses;
  }
  add_stamps(kStartStamp, members, &Peer::accesses);
  window_->start_exit = end(kStart, window_->origin.hash, log2_of(window_->origin.size));
}

void EpochCall::enter(const EpochCompletion& facts) {
  begin(facts.window);
  if (window_ == nullptr) return;
  const Members& members = window_->origin;
  add_stamps(kCompleteStamp, members, &Peer::accesses);
  for (std::uint32_t i = 0; i < members.known; ++i) {
    Peer& peer = window_->peer[members.peer[i]];
    const std::uint64_t since = peer.last_exit != 0 ? peer.last_exit : window_->start_exit;
    add_gap(kCompleteGap, static_cast<std::uint64_t>(peer.world_rank), since);
    peer.last_exit = 0;
  }
}

void EpochCall::exit(const EpochCompletion& /*facts*/) {
  if (window_ == nullptr) return;
  count_moved(kComplete, kAllTargets);
  end(kComplete, window_->origin.hash, log2_of(window_->origin.size));
  window_->start_exit = 0;
}

void EpochCall::enter(const ExposurePost& facts) {
  begin(facts.window);
  if (window_ == nullptr) return;
  learn(window_->exposure, *window_, facts.group);
  if (window_->releases.shared())
    window_->releases.posted(window_->rank, {.at_ns = entered_, .by = own_rank()});
}

void EpochCall::exit(const ExposurePost& /*facts*/) {
  if (window_ == nullptr) return;
  const Members& members = window_->exposure;
  for (std::uint32_t i = 0; i < members.known; ++i) ++window_->peer[members.peer[i]].exposures;
  add_stamps(kPostStamp, members, &Peer::exposures);
  if (stamps_ != 0) keep();
}

void EpochCall::exit(const ExposureWait& /*facts*/) {
  if (window_ == nullptr) return;
  add_stamps(kWaitStamp, window_->exposure, &Peer::exposures);
  end(kWait, window_->exposure.hash, log2_of(window_->exposure.size));
}

void EpochCall::enter(const ExposureAttempt& facts, bool spinning) {
  begin(facts.window);
  if (window_ == nullptr) return;
  if (spinning && window_->tested_from != 0) return;
  const std::uint64_t since = std::max(window_->tested_from, last_found);
  if (window_->tested_from != 0 && window_->tested_until > since)
    window_->tested_before += window_->tested_until - since;
  window_->tested_from = entered_;
}

void EpochCall::exit(const ExposureAttempt& facts) {
  if (window_ == nullptr) return;
  if (*facts.done == 0) {
    window_->tested_until = occurrence_.left();
    return;
  }
  entered_ = std::max(window_->tested_from, last_found) - window_->tested_before;
  last_found = occurrence_.left();
  window_->tested_from = window_->tested_before = 0;
  add_stamps(kWaitStamp, window_->exposure, &Peer::exposures);
  end(kWait, window_->exposure.hash, log2_of(window_->exposure.size));
}

void EpochCall::add_release(Kind kind, const Release& release) {
  record_[records_++] = {.kind = kind,
                         .size_class = 0,
                         .window = 0,
                         .peers = static_cast<std::uint64_t>(release.by) + 1,
                         .time_ns = release.at_ns - entered_};
}

void EpochCall::add_lock_wait(int target) {
  if (!window_->releases.shared()) return;
  Release latest{};
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    if (!peer.awaited || (target != kAllTargets && peer.rank != target)) continue;
    const Release last = window_->releases.last_lock(peer.rank, peer.exclusive, entered_, occurrence_.left());
    if (last.at_ns == 0) continue;
    peer.awaited = false;
    if (last.at_ns > latest.at_ns) latest = last;
  }
  if (latest.at_ns != 0) add_release(kLockWait, latest);
}

// Most need not wait at all: these are not to pay for as many looks as there are processes.
void EpochCall::add_wait_for_all_locks() {
  constexpr std::uint64_t kWorthLooking = 10'000;  // ns
  const std::uint64_t left = occurrence_.left();
  if (!window_->releases.shared() || left - entered_ < kWorthLooking) return;
  Release latest{};
  for (std::uint32_t rank = 0; rank < window_->size; ++rank) {
    const Release last = window_->releases.last_lock(static_cast<int>(rank), false, entered_, left);
    if (last.at_ns > latest.at_ns) latest = last;
  }
  if (latest.at_ns != 0) add_release(kLockWait, latest);
}

std::uint32_t EpochCall::add_post_wait(int target) {
  if (!window_->releases.shared()) return 0;
  const Release post = window_->releases.last_post(target, entered_, occurrence_.left());
  if (post.at_ns != 0) add_release(kPostWait, post);
  return measurement::kReleasesKnown;
}

std::uint32_t EpochCall::passive_class() const {
  return measurement::kPassiveTarget | (window_->releases.shared() ? measurement::kReleasesKnown : 0);
}

void EpochCall::exit(const Lock& facts) {
  if (window_ == nullptr) return;
  Peer* peer = peer_of(*window_, facts.target);
  if (peer != nullptr) {
    *peer = lock_of(*peer, facts.exclusive);
    peer->last_exit = 0;
    add_lock_wait(facts.target);
  }
  end(kLock, peer == nullptr ? 0 : hash_of(peer->world_rank), passive_class());
}

void EpochCall::exit(const LockAll& /*facts*/) {
  if (window_ == nullptr) return;
  window_->all_locked = true;
  add_wait_for_all_locks();
  end(kLock, 0, passive_class());
}

// A lock to all that was not used on a target is nobody's concern there.
void EpochCall::give_back(int target) {
  if (!window_->releases.shared()) return;
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    const Peer& peer = window_->peer[i];
    if (!peer.locked || (target != kAllTargets && peer.rank != target)) continue;
    window_->releases.lock_released(peer.rank, peer.exclusive, {.at_ns = entered_, .by = own_rank()});
  }
}

void EpochCall::enter(const Unlock& facts) {
  begin(facts.window);
  if (window_ != nullptr) give_back(facts.target);
}

void EpochCall::enter(const UnlockAll& facts) {
  begin(facts.window);
  if (window_ != nullptr) give_back(kAllTargets);
}

void EpochCall::exit(const Unlock& facts) {
  if (window_ == nullptr) return;
  add_lock_wait(facts.target);
  Peer* peer = peer_of(*window_, facts.target);
  if (peer != nullptr) {
    peer->locked = peer->awaited = false;
    peer->last_exit = 0;
  }
  count_moved(kFlush, facts.target);
  end(kFlush, peer == nullptr ? 0 : hash_of(peer->world_rank), passive_class() | measurement::kGivesLockBack);
}

void EpochCall::exit(const UnlockAll& /*facts*/) {
  if (window_ == nullptr) return;
  add_lock_wait(kAllTargets);
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    peer.locked = peer.awaited = false;
    peer.last_exit = 0;
  }
  window_->all_locked = false;
  count_moved(kFlush, kAllTargets);
  end(kFlush, 0, passive_class() | measurement::kGivesLockBack);
}

// What is complete at the target was done under the lock: nobody waits for that any more.
void EpochCall::exit_flush(int target, Flushes flushes) {
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
  end(kFlush, peers, passive_class());
}

void EpochCall::enter(const GroupRelease& /*facts*/) {
  forget_groups();
}

}  // namespace culprit::mpi
