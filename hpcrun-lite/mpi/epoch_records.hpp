#pragma once

#include "measurement/kinds.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/window_releases.hpp"
#include "mpi/windows.hpp"
#include "runtime/api.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::mpi {

/// What is noted of one call of one-sided communication, up to its exit: its time, gaps and stamps.
class EpochRecords {
 public:
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

  explicit EpochRecords(Occurrence& occurrence) : occurrence_(occurrence) {}

  /// When the call, or the series of calls that it ends, began.
  [[nodiscard]] std::uint64_t entered() const { return entered_; }
  void set_entered(std::uint64_t ns) { entered_ = ns; }
  /// The window's number; 0: none that its processes agreed on.
  [[nodiscard]] std::uint64_t window() const { return window_; }
  void set_window(std::uint64_t number) { window_ = number; }

  void add_gap(Kind kind, std::uint64_t target, std::uint64_t since);
  void add_release(Kind kind, const Release& release);
  /// Notes a stamp, if its turn has come, whose exit is the call's.
  void add_stamp(Kind kind, std::uint32_t instance, std::uint32_t members, int peer, std::uint64_t last = 0);
  [[nodiscard]] bool has_stamps() const { return stamps_ != 0; }
  /// The call's exit: records it, and what was noted. Returns the time.
  std::uint64_t end(Kind kind, std::uint64_t peers, std::uint32_t size_class);
  /// Hands over what was noted.
  void keep();

 private:
  Occurrence& occurrence_;
  std::uint64_t entered_ = 0;
  std::uint64_t window_ = 0;
  std::size_t records_ = 0;
  CulpritEpoch record_[kMaxTargets + 1];
  std::size_t stamps_ = 0;
  CulpritStamp stamp_[kMaxTargets + 1];
};

}  // namespace culprit::mpi
