#pragma once

#include "measurement/trace_event.hpp"
#include "waits/timeline/event.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// The traced time lines of one process, as the analyses read them: once, forwards. An adapter to the files,
/// and the simulator of the tests, implement it. Not thread-safe.
class ProcessTrace {
 public:
  virtual ~ProcessTrace() = default;
  ProcessTrace() = default;
  ProcessTrace(const ProcessTrace&) = delete;
  ProcessTrace& operator=(const ProcessTrace&) = delete;

  /// In MPI_COMM_WORLD.
  [[nodiscard]] virtual std::int32_t rank() const = 0;
  /// Known as a whole before the first record is read; Record's contexts are indices into it.
  [[nodiscard]] virtual const std::vector<measurement::trace::Definition>& definitions() const = 0;
  [[nodiscard]] virtual std::size_t threads() const = 0;
  /// The next record of a thread; false at its end. Times are on the clock that all hosts share, `node` is a
  /// context of the united tree. Damaged rest of a trace: ends early.
  virtual bool next(std::size_t thread, measurement::trace::Record& record) = 0;
  /// Begins anew, with these receives pushed forward, on top of any before. False: cannot be read again.
  virtual bool rewind(std::span<const ClockViolation> /*violations*/) { return false; }
};

}  // namespace culprit::waits
