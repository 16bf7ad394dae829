#pragma once

#include <cstdint>

namespace culprit::measurement {

/// Keeps the signals that a failing write raises (SIGXFSZ beyond RLIMIT_FSIZE, SIGPIPE without a reader) from
/// the program while it lives: they are blocked in the calling thread, and one that was not pending before is
/// taken back. A write of ours then fails with EFBIG or EPIPE and the program never learns of it.
/// Async-signal-safe; leaves errno alone.
class WriteSignals {
 public:
  WriteSignals() noexcept;
  WriteSignals(const WriteSignals&) = delete;
  WriteSignals& operator=(const WriteSignals&) = delete;
  ~WriteSignals();

 private:
  std::uint64_t mask_before_ = 0;
  std::uint64_t pending_before_ = 0;
};

}  // namespace culprit::measurement
