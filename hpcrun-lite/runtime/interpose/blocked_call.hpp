#pragma once

#include "runtime/api.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/system_calls.hpp"

#include <cstdint>

namespace culprit::runtime {

/// A call that a signal would break off, for as long as this lives: the sampling signal is held back, so that
/// the program sees no EINTR and no short wait, and the whole wait arrives as one sample at its end, charged
/// to the call. Where the wait may be long it is also published in the measurement, for the case that the
/// process dies in it. Does nothing on threads that are not sampled.
class BlockedCall {
 public:
  /// `function` is the real function, which call paths show for the wrapper; `limit_ns` is how long
  /// the call may last at most.
  BlockedCall(const void* function, std::uint64_t limit_ns);
  ~BlockedCall();
  BlockedCall(const BlockedCall&) = delete;
  BlockedCall& operator=(const BlockedCall&) = delete;

  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

 private:
  Thread* thread_;
  std::uint32_t interposed_around_ = 0;
  std::uintptr_t outer_ = 0;
  bool was_blocked_ = false;
  bool published_ = false;
};

}  // namespace culprit::runtime
