#pragma once

#include "mpi/call_facts.hpp"
#include "mpi/occurrence.hpp"
#include "runtime/api.hpp"

#include <cstddef>
#include <cstdint>

// One-sided communication, watched for the approximation of its waits without a trace (algorithms.md 6): how
// long each call took, by window and peers, and the gaps between an origin's last operation on a target and
// the call that closes its epoch. Of some epochs, which a hash of their number chooses on all processes
// alike, the calls' times themselves are kept (stamps). Memory is bounded; what finds no room is left out.
namespace culprit::mpi {

struct Window;
struct Members;
struct Peer;

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
  void enter(const Unlock& facts) { begin(facts.window); }
  void enter(const UnlockAll& facts) { begin(facts.window); }
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
  void exit(const Lock& facts) { exit_passive(kLock, facts.target); }
  void exit(const LockAll& /*facts*/) { exit_passive(kLock, kAllTargets); }
  void exit(const Unlock& facts) { exit_passive(kFlush, facts.target); }
  void exit(const UnlockAll& /*facts*/) { exit_passive(kFlush, kAllTargets); }
  void exit(const Flush& facts) { exit_passive(kFlush, facts.target); }
  void exit(const FlushAll& /*facts*/) { exit_passive(kFlush, kAllTargets); }
  void exit(const LocalFlush& facts) { exit_passive(kFlush, facts.target); }
  void exit(const LocalFlushAll& /*facts*/) { exit_passive(kFlush, kAllTargets); }
  void exit(const GroupRelease& /*facts*/) {}

  /// Of a window that was made, where its processes agreed on one; else 0.
  [[nodiscard]] std::uint64_t id() const { return id_; }

  static constexpr std::size_t kMaxTargets = 64;  ///< of one process in one window that gaps are kept for

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
    kWaitStamp
  };
  static constexpr int kAllTargets = -1;

  void begin(MPI_Win window);
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
  void exit_passive(Kind kind, int target);

  Occurrence& occurrence_;
  Window* window_ = nullptr;  ///< null: not known, nothing is recorded
  std::uint64_t entered_ = 0;
  std::uint64_t id_ = 0;  ///< of a window that is being made
  bool moved_large_ = false;
  std::size_t records_ = 0;  ///< of gaps, added when the call ends
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
