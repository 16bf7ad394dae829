#pragma once

#include "waits/path/thread_changes.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace culprit::waits {

/// The critical path leaves a time line at call `left`, which waited, and goes on `to`.
struct PathStep {
  PathPosition to;
  std::uint32_t left = 0;
};

/// The next waits, backwards, of the time lines on which the critical path was: all ranks of the analysis
/// know them, so that the path need not be handed over when it comes back there.
class KnownWaits {
 public:
  /// `sent`: none are sent otherwise; the path is handed over at each wait.
  KnownWaits(Location lines, bool sent);

  /// Whether `append` may append any.
  [[nodiscard]] bool sent() const { return most_ != 0; }
  /// To the step with which the path has just left a line: the line's waits before it at which the path
  /// leaves the line, too, wherever it comes back. For the rank of the analysis that has the line.
  void append(const TimeLine& line, std::vector<PathStep>& steps) const;

  /// In place of those that are known of the line; the latest first.
  void keep(Location location, std::span<const PathStep> steps);
  /// The step with which the path leaves the line that it has come to; nothing where it is not known. The
  /// same on all ranks of the analysis. On each line the path comes to earlier and earlier calls.
  [[nodiscard]] std::optional<PathStep> after(const PathPosition& at);

 private:
  struct Line {
    std::vector<PathStep> steps;
    std::size_t next = 0;
  };

  std::size_t most_ = 0;     // of one line
  std::vector<Line> lines_;  // by location
};

}  // namespace culprit::waits
