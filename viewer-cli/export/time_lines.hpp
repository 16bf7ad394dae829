#pragma once

#include "merge/replay.hpp"
#include "views/frame.hpp"
#include "views/source.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// The time lines of a run for exports. A database keeps sums; the single events are in the measurement that
// it was made from.
namespace culprit::viewer {

struct TimeLineRequest {
  std::string given;                ///< the database or measurement directory on the command line
  std::string purpose;              ///< for messages: `export: otf2`
  std::filesystem::path directory;  ///< where what does not fit into memory goes
  bool quiet = false;               ///< no progress
  bool on_screen = false;           ///< of the browser, where nothing else may be written
  bool arrows = false;              ///< from causes to waits
  bool required = true;             ///< a run without time lines is an error
};

/// Whether a scope says something: no part of what only leads to main, and no loop of which no line is known,
/// which would be called like all others.
bool is_shown_over_time(const database::Contents& experiment, const database::Context& frame);

/// A run's time lines, with the database's names.
class RunLines {
 public:
  RunLines(const database::Contents& experiment, merge::Replay& replay,
           std::function<void(std::uint64_t done, std::uint64_t total)> progress);

  [[nodiscard]] const database::Contents& experiment() const { return experiment_; }
  [[nodiscard]] merge::Replay& replay() const { return replay_; }
  /// is_shown_over_time() of a context.
  [[nodiscard]] bool is_shown(database::ContextId frame) const;
  /// What a scope, or an MPI call, is called.
  [[nodiscard]] std::string name_of(database::ContextId context) const;
  /// The line of the source that a call is at: the innermost call site at or above it; no file: not known.
  [[nodiscard]] views::Frame call_site(database::ContextId call) const;
  /// Nanoseconds since 1970 at `ns` on the clock of the time lines.
  [[nodiscard]] std::int64_t realtime_ns(std::uint64_t ns) const;
  /// From the beginning of the run, which is that of its earliest process, to `ns` on the clock of the time
  /// lines.
  [[nodiscard]] std::int64_t since_start_ns(std::uint64_t ns) const;
  /// Reads the time line, and shows that it was.
  void run(std::size_t line, merge::LineEvents& events) const;

 private:
  const database::Contents& experiment_;
  merge::Replay& replay_;
  std::function<void(std::uint64_t, std::uint64_t)> progress_;
};

/// What was found of a run's time lines.
struct LinesRead {
  bool any = false;
  bool whole = true;  ///< nothing was left out
};

/// Calls `work` with the time lines of the run, if it has any. Problems of their files go to standard error.
/// Throws CommandError where the measurement is not there any more or is another one, and where its call
/// paths are not those of the database.
LinesRead with_time_lines(const views::Source& source, const TimeLineRequest& request,
                          const std::function<void(const RunLines&)>& work);

}  // namespace culprit::viewer
