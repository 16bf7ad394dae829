// The windows of one-sided communication and their targets (docs/algorithms.md 6), in tables of bounded size.
#include "mpi/windows.hpp"

#include "mpi/members.hpp"
#include "mpi/real_call.hpp"
#include "mpi/world.hpp"

namespace culprit::mpi {
namespace {

/// Windows that live at one time; those beyond are not watched.
constexpr std::size_t kMaxWindows = 64;

/// Counts up when a group is freed.
std::atomic<std::uint64_t> group_generation{1};

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): zero
constinit Window windows[kMaxWindows] = {};

/// The window that a thread used last: libraries have dozens of them.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
__thread Window* last_window __attribute__((tls_model("initial-exec")));

bool is_of(const Window& window, MPI_Win handle) {
  return window.handle == handle && window.used.load(std::memory_order_relaxed);
}

}  // namespace

Window* find_window(MPI_Win handle) {
  if (last_window != nullptr && is_of(*last_window, handle)) return last_window;
  for (Window& window : windows) {
    if (is_of(window, handle)) return last_window = &window;
  }
  return nullptr;
}

Window* add_window(MPI_Win handle) {
  for (Window& window : windows) {
    bool unused = false;
    if (!window.used.compare_exchange_strong(unused, true, std::memory_order_acq_rel)) continue;
    window.handle = handle;
    window.fences = 0;
    window.peers = 0;
    window.origin = {};
    window.exposure = {};
    window.releases = {};
    window.all_locked = false;
    window.start_exit = 0;
    window.tested_from = window.tested_until = window.tested_before = 0;
    return &window;
  }
  return nullptr;
}

Peer* peer_of(Window& window, int rank) {
  for (std::uint32_t i = 0; i < window.peers; ++i) {
    if (window.peer[i].rank == rank) return &window.peer[i];
  }
  if (rank < 0 || window.peers == kMaxTargets) return nullptr;
  Peer& peer = window.peer[window.peers];
  peer = {};
  peer.rank = rank;
  peer.world_rank = translate(window.group, rank, world_group());
  ++window.peers;
  return &peer;
}

void learn(Members& members, Window& window, MPI_Group group) {
  const std::uint64_t generation = group_generation.load(std::memory_order_relaxed);
  if (members.generation == generation && members.group == group) return;
  int size = 0;
  CULPRIT_MPI(PMPI_Group_size)(group, &size);
  members.group = group;
  members.generation = generation;
  members.size = static_cast<std::uint32_t>(size);
  members.hash = 0;
  members.known = 0;
  for (int i = 0; i < size; ++i) {
    members.hash += hash_of(translate(group, i, world_group()));
    if (members.known == kMaxTargets) continue;
    if (const Peer* peer = peer_of(window, translate(group, i, window.group)))
      members.peer[members.known++] = static_cast<std::uint8_t>(peer - window.peer);
  }
}

void forget_groups() {
  group_generation.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t hash_of(int world_rank) {
  std::uint64_t mixed = (static_cast<std::uint64_t>(world_rank) + 1) * 0x9e3779b97f4a7c15U;
  mixed ^= mixed >> 32;
  return mixed * 0xd6e8feb86659fd93U;
}

}  // namespace culprit::mpi
