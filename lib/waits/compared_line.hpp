#pragma once

#include "waits/contexts.hpp"
#include "waits/ledger.hpp"
#include "waits/roster.hpp"
#include "waits/synchronization_interval.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace culprit::waits {

/// A settled time line with all that it takes to compare its synchronization intervals with others': as that
/// of a waiter, and as that of whom others waited for. It refers to the line, which must outlive it.
class ComparedLine {
 public:
  ComparedLine(const TimeLine& line, const Contexts& contexts, const Roster& roster);

  [[nodiscard]] const TimeLine& line() const { return *line_; }
  /// How long a call waited, parts and completions left out.
  [[nodiscard]] std::uint64_t wait_of(std::uint32_t call) const { return wait_of_[call]; }
  /// Where the interval of the line's `wait`-th wait begins.
  [[nodiscard]] const IntervalStart& start(std::size_t wait) const { return starts_[wait]; }
  /// What the line did in the interval of its `wait`-th wait.
  [[nodiscard]] std::vector<PieceTime> before_wait(std::size_t wait) const;
  /// As another line's cause: the call here at whose end an interval begins that the waiter knows by
  /// `start`, or IntervalStart::kBeginning.
  [[nodiscard]] std::uint32_t begins_after(const IntervalStart& start) const;
  /// Where a call's piece of between(after, …) is.
  [[nodiscard]] std::uint32_t call_path(const Piece& piece, std::uint32_t after) const {
    return piece.previous == Piece::kMet ? line_->events[after].context : piece.previous;
  }

  /// What the line did from call `after` to the enter of call `until`, as profile() gives it.
  [[nodiscard]] std::vector<PieceTime> between(std::uint32_t after, std::uint32_t until) const {
    return profile(*line_, wait_of_, after, until);
  }

 private:
  const TimeLine* line_;
  std::vector<std::uint64_t> wait_of_;                                         // by call
  std::vector<IntervalStart> starts_;                                          // by wait
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> attended_;  // by collective and instance
};

}  // namespace culprit::waits
