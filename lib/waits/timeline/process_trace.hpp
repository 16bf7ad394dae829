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
  /// How often the thread's sampling rate was halved, at most.
  [[nodiscard]] virtual unsigned halvings(std::size_t /*thread*/) const { return 0; }
  /// The next record of a thread; false at its end. Times are on the clock that all hosts share, `node` is a
  /// context of the united tree: of a region its own, or the root where that is not known. Damaged rest of a
  /// trace: ends early.
  virtual bool next(std::size_t thread, measurement::trace::Record& record) = 0;
  /// Begins anew, with these receives pushed forward, on top of any before. False: cannot be read again.
  virtual bool rewind(std::span<const ClockViolation> /*violations*/) { return false; }
};

/// An MPI call while it is being read. (What is kept side by side elsewhere is apart here: read as one, right
/// after it was written one by one, it would have the processor wait.)
struct CallSite {
  std::size_t process = 0;  ///< of this rank's own
  EventId id;
  /// When the last call before it on its time line was left that may have waited for a message; 0: none.
  std::uint64_t received_ns = 0;
  std::uint64_t left_ns = 0;  ///< when the call before on its time line was left; 0: there is none
  std::int32_t rank = -1;     ///< in MPI_COMM_WORLD
  std::uint32_t context = 0;  ///< its call path, of the united tree
  std::uint64_t enter_ns = 0;
  bool any = false;
  bool alone = false;  ///< it takes part in one operation only
  std::uint64_t exit_ns = 0;
};

}  // namespace culprit::waits
