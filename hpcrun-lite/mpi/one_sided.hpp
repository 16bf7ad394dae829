#pragma once

#include "measurement/kinds.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/window_releases.hpp"
#include "mpi/windows.hpp"
#include "runtime/api.hpp"

#include <cstddef>
#include <cstdint>

// One-sided communication, watched for the approximation of its waits without a trace (docs/algorithms.md 6):
// how long each call took, by window and peers, and the gaps between an origin's last operation on a target
// and the call that closes its epoch. Of some epochs, which a hash of their number chooses on all processes
// alike, the calls' times themselves are kept (stamps). Memory is bounded; what finds no room is left out.
namespace culprit::mpi {

/// One such call, from its enter to its exit.
class EpochCall {
 public:
  explicit EpochCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  void enter(const WindowCreation& facts);
  void enter(const WindowRelease& facts);
  void enter(const Access& facts) { begin(facts.target.window); }
  void enter(const RequestedAccess& facts) { begin(facts.target.window); }
  void enter(const Fence& facts);
  void enter(const EpochStart& facts) { begin(facts.window); }
  void enter(const EpochCompletion& facts);
  void enter(const ExposurePost& facts);
  void enter(const ExposureWait& facts) { begin(facts.window); }
  /// `spinning`: right after another attempt in vain.
  void enter(const ExposureAttempt& facts, bool spinning);
  void enter(const Lock& facts) { begin(facts.window); }
  void enter(const LockAll& facts) { begin(facts.window); }
  void enter(const Unlock& facts);
  void enter(const UnlockAll& facts);
  void enter(const Flush& facts) { begin(facts.window); }
  void enter(const FlushAll& facts) { begin(facts.window); }
  void enter(const LocalFlush& facts) { begin(facts.window); }
  void enter(const LocalFlushAll& facts) { begin(facts.window); }
  void enter(const GroupRelease& facts);

  void exit(const WindowCreation& facts);
  void exit(const WindowRelease& facts);
  void exit(const Access& facts) { exit_access(facts.target); }
  void exit(const RequestedAccess& facts) { exit_access(facts.target); }
  void exit(const Fence& facts);
  void exit(const EpochStart& facts);
  void exit(const EpochCompletion& facts);
  void exit(const ExposurePost& facts);
  void exit(const ExposureWait& facts);
  void exit(const ExposureAttempt& facts);
  void exit(const Lock& facts);
  void exit(const LockAll& facts);
  void exit(const Unlock& facts);
  void exit(const UnlockAll& facts);
  void exit(const Flush& facts) { exit_flush(facts.target, Flushes::everywhere); }
  void exit(const FlushAll& /*facts*/) { exit_flush(kAllTargets, Flushes::everywhere); }
  void exit(const LocalFlush& facts) { exit_flush(facts.target, Flushes::locally); }
  void exit(const LocalFlushAll& /*facts*/) { exit_flush(kAllTargets, Flushes::locally); }
  void exit(const GroupRelease& /*facts*/) {}

  /// Where the call was no success. Its processes came together for it all the same.
  void fail(const WindowCreation& facts);

  /// The window's, where its processes agreed on one; else 0. Also where it could not be made after that.
  [[nodiscard]] std::uint64_t id() const { return id_; }

 private:
  /// As culprit::measurement::EpochKind.
  enum Kind : std::uint32_t {
    kCreate = 1,
    kFree,
    kAccess,
    kStart,
    kComplete,
    kWait,
    kFence,
    kLock,
    kFlush,
    kCompleteGap,
    kFenceGap,
    kCreateStamp,
    kFreeStamp,
    kFenceStamp,
    kFenceAccessStamp,
    kPostStamp,
    kStartStamp,
    kCompleteStamp,
    kWaitStamp,
    kLockWait = static_cast<std::uint32_t>(measurement::EpochKind::lock_wait),
    kPostWait = static_cast<std::uint32_t>(measurement::EpochKind::post_wait)
  };
  enum class Flushes : std::uint8_t { locally, everywhere };
  static constexpr int kAllTargets = -1;

  void begin(MPI_Win window);
  void set_window(Window* window);
  /// The call's exit: records it, and the gaps. Returns the time.
  std::uint64_t end(Kind kind, std::uint64_t peers, std::uint32_t size_class);
  /// Hands over what was noted.
  void keep();
  void add_gap(Kind kind, std::uint64_t target, std::uint64_t since);
  /// Notes a stamp, if its turn has come, whose exit is the call's.
  void add_stamp(Kind kind, std::uint32_t instance, std::uint32_t members, int peer, std::uint64_t last = 0);
  /// One for each member, of the epoch that this process's count of those with the member says.
  void add_stamps(Kind kind, const Members& members, std::uint32_t Peer::*instances);
  void exit_access(const Target& target);
  /// The call completed operations on `target`: what they moved is work.
  void count_moved(Kind kind, int target);
  void exit_flush(int target, Flushes flushes);
  /// A number for the window, and memory in which they publish its locks: all of its processes together.
  void agree(MPI_Comm comm);
  void count_creation(const WindowCreation& facts, std::uint32_t size);
  /// Until when another process held a lock that this one waited for in this call, on one target or on all.
  /// Only the first call that waited did so.
  void add_lock_wait(int target);
  /// The same for MPI_Win_lock_all, which may wait for any of the window's processes.
  void add_wait_for_all_locks();
  /// The same for an operation on a target that has to post first. Returns what that makes of its class.
  std::uint32_t add_post_wait(int target);
  void add_release(Kind kind, const Release& release);
  [[nodiscard]] std::uint32_t passive_class() const;
  void give_back(int target);

  Occurrence& occurrence_;
  Window* window_ = nullptr;  ///< null: not known, nothing is recorded
  std::uint64_t entered_ = 0;
  std::uint64_t id_ = 0;  ///< of the window, also of one that is being made
  bool moved_large_ = false;
  WindowReleases releases_{};  ///< of a window that is being made
  std::size_t records_ = 0;    ///< of gaps, added when the call ends
  CulpritEpoch record_[kMaxTargets + 1];
  std::size_t stamps_ = 0;
  CulpritStamp stamp_[kMaxTargets + 1];
};

/// Whether calls of these facts are EpochCalls.
template <typename Facts>
concept OneSided = requires(EpochCall call, const Facts& facts) {
  call.exit(facts);
};

}  // namespace culprit::mpi
