#pragma once

#include "mpi/window_releases.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <mpi.h>

// The windows of one-sided communication as this process sees them, in a table of bounded size.
namespace culprit::mpi {

inline constexpr std::size_t kMaxTargets = 64;  ///< of one process in one window that gaps are kept for

/// A target of this process's operations, or a member of an epoch's group.
struct Peer {
  int rank;  ///< in the window
  int world_rank;
  std::uint64_t last_exit;  ///< of an operation on it in the present epoch; 0: none
  std::uint64_t moved;      ///< bytes, by operations on it that are not known to be complete
  std::uint32_t accesses;   ///< epochs started with it in the group
  std::uint32_t exposures;  ///< epochs posted for it
  bool locked;              ///< by a lock of this process, of its own or to all and used
  bool exclusive;           ///< that lock
  bool awaited;             ///< that lock, as far as calls have shown yet
};

/// The members of a group that an epoch was opened with. Kept until another group is used.
struct Members {
  MPI_Group group;
  std::uint64_t generation;  ///< 0: nothing kept
  std::uint64_t hash;
  std::uint32_t size;
  std::uint32_t known;             ///< of them in `peer`
  std::uint8_t peer[kMaxTargets];  ///< indices of the window's peers
};

/// A window as this process sees it. Calls of several threads on one window may mix up each other's gaps,
/// nothing else.
struct Window {
  std::atomic<bool> used;
  MPI_Win handle;
  std::uint64_t id;
  MPI_Group group;
  int rank;                  ///< of this process
  std::uint32_t size;        ///< processes
  std::uint32_t size_class;  ///< of making and freeing it
  std::uint32_t fences;
  std::uint32_t peers;
  Peer peer[kMaxTargets];
  Members origin, exposure;
  WindowReleases releases;
  bool all_locked;                          ///< by MPI_Win_lock_all
  std::uint64_t start_exit;                 ///< of MPI_Win_start; 0: none, or it is completed
  std::uint64_t tested_from, tested_until;  ///< of the present series of MPI_Win_test in vain; 0: none
  std::uint64_t tested_before;              ///< ns of earlier series for the same epoch
};

/// Null where the window is not watched.
Window* find_window(MPI_Win handle);
/// A new one; null where the table is full.
Window* add_window(MPI_Win handle);

/// The entry of a rank of the window, made at first sight; null when there are too many.
Peer* peer_of(Window& window, int rank);

/// Reads the members of `group`, unless `members` holds them already.
void learn(Members& members, Window& window, MPI_Group group);
/// A group is freed: its handle may then mean another.
void forget_groups();

/// Of one rank of MPI_COMM_WORLD; those of several are added up, so that their order does not matter.
std::uint64_t hash_of(int world_rank);

}  // namespace culprit::mpi
