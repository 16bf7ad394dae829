#pragma once

#include "database/database.hpp"
#include "measurement/trace_operation.hpp"

#include <cstdint>
#include <span>

// One time line as a sequence of events, for exports: what code ran, which MPI calls it made, and what these
// waited for. Contexts are those of the calling context tree; times are in ns on the clock that all hosts
// share.
namespace culprit::merge {

/// An MPI call.
struct LineCall {
  std::uint32_t index = 0;          ///< on its time line
  database::ContextId context = 0;  ///< where it is shown
  std::uint64_t enter_ns = 0, exit_ns = 0;
};

/// A wait of a call, or the part of one that lies between two of the calls within it.
struct LineWait {
  database::WaitPattern pattern{};
  database::ContextId context = 0;         ///< the call's
  std::uint32_t cause = database::kNone;   ///< the time line that was waited for; kNone: none
  database::ContextId cause_context = 0;   ///< the call there that ended the wait
  std::uint64_t arrow = 0;                 ///< from that call to the end of the wait, in the run; 0: none
  std::uint64_t begin_ns = 0, end_ns = 0;  ///< of the whole wait
  bool continued = false;                  ///< not the first part
};

/// Receives a time line's events in the order of time. Calls, waits and frames nest: what was entered last is
/// left first. Operations and samples lie between.
class LineEvents {
 public:
  virtual ~LineEvents() = default;
  LineEvents() = default;
  LineEvents(const LineEvents&) = delete;
  LineEvents& operator=(const LineEvents&) = delete;

  /// A scope of the code; only outside of MPI calls.
  virtual void enter(std::uint64_t ns, database::ContextId frame) = 0;
  virtual void leave(std::uint64_t ns, database::ContextId frame) = 0;
  /// `arrows`: those that begin at this call.
  virtual void enter_call(std::uint64_t ns, const LineCall& call, std::span<const std::uint64_t> arrows) = 0;
  virtual void leave_call(std::uint64_t ns, const LineCall& call) = 0;
  virtual void begin_wait(std::uint64_t ns, const LineWait& wait) = 0;
  virtual void end_wait(std::uint64_t ns, const LineWait& wait) = 0;
  /// What the call begins, and what it completes, in argument order: behind enter_call() and before
  /// leave_call(). A series of polls has both at its end.
  virtual void begin_operations(std::uint64_t /*ns*/, const LineCall& /*call*/,
                                std::span<const measurement::trace::Operation> /*operations*/) {}
  virtual void complete_operations(std::uint64_t /*ns*/, const LineCall& /*call*/,
                                   std::span<const measurement::trace::Operation> /*operations*/) {}
  /// A sample at `ns` that stands for `weight_ns`, also within calls.
  virtual void sample(std::uint64_t /*ns*/, std::uint64_t /*weight_ns*/, database::ContextId /*context*/) {}
  /// The thread waited for others of its process, outside of MPI calls: behind all other events, in the order
  /// of time.
  virtual void thread_wait(std::uint64_t /*begin_ns*/, std::uint64_t /*end_ns*/,
                           database::WaitPattern /*pattern*/) {}
  /// The program marked iteration `number`.
  virtual void iteration(std::uint64_t /*ns*/, std::uint64_t /*number*/) {}
};

}  // namespace culprit::merge
