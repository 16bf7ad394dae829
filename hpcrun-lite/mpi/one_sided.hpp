#pragma once

#include "mpi/call_facts.hpp"
#include "mpi/epoch_records.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/window_releases.hpp"
#include "mpi/windows.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

// One-sided communication, watched for the approximation of its waits without a trace (docs/algorithms.md 6):
// how long each call took, by window and peers, and the gaps between an origin's last operation on a target
// and the call that closes its epoch. Of some epochs, which a hash of their number chooses on all processes
// alike, the calls' times themselves are kept (stamps). Memory is bounded; what finds no room is left out.
namespace culprit::mpi {

/// Classes of sizes.
inline std::uint32_t log2_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::bit_width(number));
}

/// One such call, from its enter to its exit.
class EpochCall {
 public:
  /// The window's, where its processes agreed on one; else 0. Also where it could not be made after that.
  [[nodiscard]] std::uint64_t id() const { return records_.window(); }

 protected:
  using enum EpochRecords::Kind;
  static constexpr int kAllTargets = -1;

  explicit EpochCall(Occurrence& occurrence) : occurrence_(occurrence), records_(occurrence) {}

  void begin(MPI_Win window);
  void set_window(Window* window);
  /// The call completed operations on `target`: what they moved is work. Returns whether that was much.
  bool count_moved(EpochRecords::Kind kind, int target);
  /// Until when another process held a lock that this one waited for in this call, on one target or on all.
  /// Only the first call that waited did so.
  void add_lock_wait(int target);
  [[nodiscard]] std::uint32_t passive_class() const;

  Occurrence& occurrence_;
  EpochRecords records_;
  Window* window_ = nullptr;  ///< null: not known, nothing is recorded
};

/// Making and freeing windows.
class WindowCall final : public EpochCall {
 public:
  explicit WindowCall(Occurrence& occurrence) : EpochCall(occurrence) {}

  void enter(const WindowCreation& facts);
  void enter(const WindowRelease& facts);
  void enter(const GroupRelease& facts);
  void exit(const WindowCreation& facts);
  void exit(const WindowRelease& facts);
  void exit(const GroupRelease& /*facts*/) {}
  /// Where the call was no success. Its processes came together for it all the same.
  void fail(const WindowCreation& facts);

 private:
  /// A number for the window, and memory in which they publish its locks: all of its processes together.
  void agree(MPI_Comm comm);
  void count_creation(const WindowCreation& facts, std::uint32_t size);

  WindowReleases releases_{};  ///< of a window that is being made
};

/// Operations on a target: MPI_Put, MPI_Get, …
class AccessCall final : public EpochCall {
 public:
  explicit AccessCall(Occurrence& occurrence) : EpochCall(occurrence) {}

  void enter(const Access& facts) { begin(facts.target.window); }
  void enter(const RequestedAccess& facts) { begin(facts.target.window); }
  void exit(const Access& facts) { exit_access(facts.target); }
  void exit(const RequestedAccess& facts) { exit_access(facts.target); }

 private:
  void exit_access(const Target& target);
  /// As add_lock_wait(), for a target that has to post first. Returns what that makes of the call's class.
  std::uint32_t add_post_wait(int target);
};

/// Epochs that the target takes part in: fences, and start, complete, post and wait.
class ActiveTargetCall final : public EpochCall {
 public:
  explicit ActiveTargetCall(Occurrence& occurrence) : EpochCall(occurrence) {}

  void enter(const Fence& facts);
  void enter(const EpochStart& facts) { begin(facts.window); }
  void enter(const EpochCompletion& facts);
  void enter(const ExposurePost& facts);
  void enter(const ExposureWait& facts) { begin(facts.window); }
  /// `spinning`: right after another attempt in vain.
  void enter(const ExposureAttempt& facts, bool spinning);
  void exit(const Fence& facts);
  void exit(const EpochStart& facts);
  void exit(const EpochCompletion& facts);
  void exit(const ExposurePost& facts);
  void exit(const ExposureWait& facts);
  void exit(const ExposureAttempt& facts);

 private:
  /// One for each member, of the epoch that this process's count of those with the member says.
  void add_stamps(EpochRecords::Kind kind, const Members& members, std::uint32_t Peer::*instances);
};

/// Epochs between a lock and an unlock.
class PassiveTargetCall final : public EpochCall {
 public:
  explicit PassiveTargetCall(Occurrence& occurrence) : EpochCall(occurrence) {}

  void enter(const Lock& facts) { begin(facts.window); }
  void enter(const LockAll& facts) { begin(facts.window); }
  void enter(const Unlock& facts);
  void enter(const UnlockAll& facts);
  void enter(const Flush& facts) { begin(facts.window); }
  void enter(const FlushAll& facts) { begin(facts.window); }
  void enter(const LocalFlush& facts) { begin(facts.window); }
  void enter(const LocalFlushAll& facts) { begin(facts.window); }
  void exit(const Lock& facts);
  void exit(const LockAll& facts);
  void exit(const Unlock& facts);
  void exit(const UnlockAll& facts);
  void exit(const Flush& facts) { exit_flush(facts.target, Flushes::everywhere); }
  void exit(const FlushAll& /*facts*/) { exit_flush(kAllTargets, Flushes::everywhere); }
  void exit(const LocalFlush& facts) { exit_flush(facts.target, Flushes::locally); }
  void exit(const LocalFlushAll& /*facts*/) { exit_flush(kAllTargets, Flushes::locally); }

 private:
  enum class Flushes : std::uint8_t { locally, everywhere };

  void exit_flush(int target, Flushes flushes);
  /// As add_lock_wait(), for MPI_Win_lock_all, which may wait for any of the window's processes.
  void add_wait_for_all_locks();
  void give_back(int target);
};

template <typename Call, typename Facts>
concept WatchesCallsOf = requires(Call call, const Facts& facts) {
  call.exit(facts);
};

/// The class for calls of these facts; PassiveTargetCall for all that are not one-sided, too.
template <typename Facts>
using EpochCallOf =
    std::conditional_t<WatchesCallsOf<WindowCall, Facts>, WindowCall,
                       std::conditional_t<WatchesCallsOf<AccessCall, Facts>, AccessCall,
                                          std::conditional_t<WatchesCallsOf<ActiveTargetCall, Facts>,
                                                             ActiveTargetCall, PassiveTargetCall>>>;

/// Whether calls of these facts are watched by one of these classes.
template <typename Facts>
concept OneSided = WatchesCallsOf<EpochCallOf<Facts>, Facts>;

}  // namespace culprit::mpi
