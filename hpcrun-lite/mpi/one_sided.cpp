// Times and gaps of one-sided epochs by window and peers, and the stamps of some (docs/algorithms.md 6).
// Bounded memory. Here is what all these calls have in common, and making and freeing windows; the rest is in
// target_epochs.cpp.
#include "mpi/one_sided.hpp"

#include "measurement/kinds.hpp"
#include "mpi/host_clocks.hpp"
#include "mpi/real_call.hpp"
#include "mpi/transfer_stamps.hpp"
#include "mpi/transfers.hpp"
#include "mpi/windows.hpp"
#include "mpi/world.hpp"

#include <atomic>
#include <utility>

namespace culprit::mpi {

namespace {

/// Of making and freeing a window of this many processes.
std::uint32_t size_class_of(const WindowCreation& facts, std::uint32_t size) {
  return log2_of(size) | static_cast<std::uint32_t>(facts.flavor) << 8 |
         log2_of(static_cast<std::uint64_t>(facts.bytes)) << 16;
}

std::atomic<std::uint32_t> windows_made{0};

}  // namespace

// Threads that are not sampled count the epochs as well, so that the processes' counts agree.
void EpochCall::begin(MPI_Win window) {
  if (!culprit_rt_active()) return;
  set_window(find_window(window));
  records_.set_entered(occurrence_.entered());
}

void EpochCall::set_window(Window* window) {
  window_ = window;
  if (window != nullptr) records_.set_window(window->id);
}

bool EpochCall::count_moved(EpochRecords::Kind kind, int target) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    if (target == kAllTargets || peer.rank == target) bytes += std::exchange(peer.moved, 0);
  }
  const bool large = bytes >= kLargeTransfer;
  if (!large || culprit_rt_thread.state == nullptr) return large;
  const CulpritTransfer transfer{.family = std::uint64_t{kind} << 32 | window_->size,
                                 .size_class = log2_of(bytes),
                                 .unused = 0,
                                 .sent = bytes,
                                 .received = bytes,
                                 .time_ns = occurrence_.left() - records_.entered()};
  keep_stamps(&transfer, nullptr, 0, occurrence_.path());
  return true;
}

void EpochCall::add_lock_wait(int target) {
  if (!window_->releases.shared()) return;
  Release latest{};
  for (std::uint32_t i = 0; i < window_->peers; ++i) {
    Peer& peer = window_->peer[i];
    if (!peer.awaited || (target != kAllTargets && peer.rank != target)) continue;
    const Release last =
        window_->releases.last_lock(peer.rank, peer.exclusive, records_.entered(), occurrence_.left());
    if (last.at_ns == 0) continue;
    peer.awaited = false;
    if (last.at_ns > latest.at_ns) latest = last;
  }
  if (latest.at_ns != 0) records_.add_release(kLockWait, latest);
}

std::uint32_t EpochCall::passive_class() const {
  return measurement::kPassiveTarget | (window_->releases.shared() ? measurement::kReleasesKnown : 0);
}

// The id comes from the communicator's first process. All is agreed on before the call, where all processes
// are sure to come together; one that failed alone in the call would leave the others waiting after it.
void WindowCall::agree(MPI_Comm comm) {
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
  records_.set_window(word.id);
}

void WindowCall::enter(const WindowCreation& facts) {
  records_.set_entered(occurrence_.entered());
  if (everyone_measured() && within_world(facts.comm)) agree(facts.comm);
}

void WindowCall::count_creation(const WindowCreation& facts, std::uint32_t size) {
  records_.add_stamp(kCreateStamp, 0, size, 0);
  records_.end(kCreate, 0, size_class_of(facts, size));
}

// Nobody leaves the call before all have come to it: by now they have joined.
void WindowCall::exit(const WindowCreation& facts) {
  releases_.close();
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_size)(facts.comm, &size);
  count_creation(facts, static_cast<std::uint32_t>(size));
  window_ = add_window(*facts.window);
  if (window_ == nullptr) {
    releases_.leave();
    return;
  }
  window_->id = id();
  window_->releases = releases_;
  CULPRIT_MPI(PMPI_Win_get_group)(*facts.window, &window_->group);
  CULPRIT_MPI(PMPI_Group_rank)(window_->group, &window_->rank);
  window_->size = static_cast<std::uint32_t>(size);
  window_->size_class = size_class_of(facts, window_->size);
}

// A communicator that nobody agreed on anything in may be the reason why, and none that could be asked.
void WindowCall::fail(const WindowCreation& facts) {
  releases_.leave();
  if (id() == 0) return;
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_size)(facts.comm, &size);
  count_creation(facts, static_cast<std::uint32_t>(size));
}

void WindowCall::enter(const WindowRelease& facts) {
  set_window(find_window(*facts.window));
  records_.set_entered(occurrence_.entered());
}

void WindowCall::exit(const WindowRelease& /*facts*/) {
  if (window_ == nullptr) return;
  records_.add_stamp(kFreeStamp, 0, window_->size, 0);
  records_.end(kFree, 0, window_->size_class);
  CULPRIT_MPI(PMPI_Group_free)(&window_->group);
  window_->releases.leave();
  window_->used.store(false, std::memory_order_release);
}

void WindowCall::enter(const GroupRelease& /*facts*/) {
  forget_groups();
}

}  // namespace culprit::mpi
