// Finds the measurement that a database was made from, reads its time lines, and makes sure that both speak
// of the same call paths.
#include "export/time_lines.hpp"

#include "exchange/threads.hpp"
#include "findings/coverage.hpp"
#include "print/output.hpp"
#include "print/text.hpp"
#include "request/errors.hpp"
#include "request/progress_line.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

namespace culprit::viewer {
namespace {

namespace fs = std::filesystem;
using database::ContextId;
using database::ContextKind;

[[noreturn]] void refuse(const TimeLineRequest& request, const std::string& what, const std::string& why) {
  throw CommandError(request.purpose + ": " + what + ": " + why);
}

/// The measurement: what was given, or the directory beside a database that is called like it, without `.db`.
/// Empty: it is not there.
fs::path find_measurement(const views::Source& source, const TimeLineRequest& request) {
  std::error_code ignored;
  if (fs::is_directory(request.given, ignored)) return request.given;
  fs::path beside = source.file();
  if (beside.extension() != ".db") return {};
  beside.replace_extension();
  return fs::is_directory(beside, ignored) ? beside : fs::path();
}

/// Why there is nothing to export.
[[noreturn]] void refuse_without_trace(const TimeLineRequest& request) {
  refuse(request, request.given,
         "the run was measured without a trace (measure it with hpcrun-lite --trace)");
}

/// The same where there are traces; the first that is `unused` stands for all.
[[noreturn]] void refuse_unused(const TimeLineRequest& request, const std::vector<std::string>& unused) {
  const std::size_t others = unused.size() - 1;
  throw CommandError(request.purpose + ": " + unused.front() +
                     (others == 0 ? "" : ", nor " + print::counted(others, "other")));
}

/// Whether the measurement's threads are the database's, so that both number them alike.
bool has_same_threads(const database::Contents& experiment, const merge::Replay& replay) {
  return experiment.locations.size() == replay.locations() &&
         std::ranges::all_of(replay.lines(), [&](const merge::ReplayedLine& line) {
           const database::LocationEntry location = experiment.locations[line.location];
           return location.pid == line.pid && (line.rank < 0 || location.rank == line.rank);
         });
}

/// Whether the measurement's call paths are the database's, so that both number them alike. Files may differ:
/// the database may have been merged with other prefixes of their paths.
bool has_same_paths(const database::Contents& experiment, const merge::Replay& replay) {
  const std::vector<database::Context>& contexts = replay.contexts();
  if (contexts.size() != experiment.contexts.size()) return false;
  for (ContextId id = 0; id < contexts.size(); ++id) {
    const database::Context& one = experiment.contexts[id];
    const database::Context& other = contexts[id];
    if (one.parent != other.parent || one.kind != other.kind || one.line != other.line) return false;
    if (experiment.strings[one.name] != print::spelled(replay.strings()[other.name])) return false;
  }
  return true;
}

/// All but what `work` does; `loops`: whether merging looks for them. Nothing where the measurement has other
/// call paths.
std::optional<LinesRead> replay_lines(const views::Source& source, const TimeLineRequest& request,
                                      const fs::path& measurement, bool loops,
                                      const std::function<void(const RunLines&)>& work) {
  ProgressLine line("reading", request.quiet || request.on_screen);
  std::optional<LinesRead> read;
  exchange::run_on_threads(1, [&](exchange::Communicator& comm) {
    merge::Replay replay(
        comm,
        {.measurement = measurement,
         .loops = loops,
         .structure_cache = structure::default_cache(),
         .directory = request.directory,
         .arrows = request.arrows},
        [&](const char* phase, std::uint64_t done, std::uint64_t total) { line.update(phase, done, total); });
    const database::Contents& experiment = source.experiment();
    if (replay.run_id() != experiment.run.run_id)
      refuse(request, print::spelled(measurement.string()),
             "is another run than " + request.given + " (give the directory in place of the database)");
    if (!has_same_threads(experiment, replay))
      refuse(request, print::spelled(measurement.string()),
             "its processes are not those of " + request.given +
                 ": files were added or removed since it was merged (merge it anew: prof-mpi --force " +
                 print::shell_path(measurement.string()) + ')');
    const bool any = !replay.lines().empty();
    if (!any && request.required && !replay.unused().empty()) refuse_unused(request, replay.unused());
    if (!any && request.required) refuse_without_trace(request);
    if (any && !has_same_paths(experiment, replay)) return;
    if (any)
      work(RunLines(experiment, replay,
                    [&](std::uint64_t done, std::uint64_t total) { line.update("time line", done, total); }));
    const std::vector<std::string> problems = any ? replay.problems() : replay.unused();
    read = {.any = any, .whole = problems.empty()};
    if (request.on_screen) return;
    for (const std::string& problem : problems) print::complain("viewer-cli", problem);
  });
  return read;
}

}  // namespace

RunLines::RunLines(const database::Contents& experiment, merge::Replay& replay,
                   std::function<void(std::uint64_t, std::uint64_t)> progress)
    : experiment_(experiment), replay_(replay), progress_(std::move(progress)) {}

bool is_shown_over_time(const database::Contents& experiment, const database::Context& frame) {
  const bool without_place = frame.kind == ContextKind::loop && experiment.strings[frame.file].empty();
  return (frame.flags & database::kStartUp) == 0 && !without_place;
}

bool RunLines::is_shown(ContextId frame) const {
  return is_shown_over_time(experiment_, experiment_.contexts[frame]);
}

std::string RunLines::name_of(ContextId context) const {
  return views::label(views::frame_of(experiment_, experiment_.contexts[context]));
}

views::Frame RunLines::call_site(ContextId call) const {
  ContextId at = experiment_.contexts[call].parent;
  for (; at != database::kNone; at = experiment_.contexts[at].parent) {
    const database::Context& context = experiment_.contexts[at];
    if (context.kind == ContextKind::call) return views::frame_of(experiment_, context);
    if (context.kind == ContextKind::procedure || context.kind == ContextKind::inlined) break;
  }
  return {};
}

std::int64_t RunLines::realtime_ns(std::uint64_t ns) const {
  const merge::Moment start = replay_.start();
  return start.realtime_ns + static_cast<std::int64_t>(ns - start.ns);
}

std::int64_t RunLines::since_start_ns(std::uint64_t ns) const {
  return realtime_ns(ns) - experiment_.run.start_realtime_ns;
}

void RunLines::run(std::size_t line, merge::LineEvents& events) const {
  progress_(line, replay_.lines().size());
  replay_.run(line, events);
}

LinesRead with_time_lines(const views::Source& source, const TimeLineRequest& request,
                          const std::function<void(const RunLines&)>& work) {
  const database::Contents& experiment = source.experiment();
  // Of processes that are no rank, the database does not know.
  const bool traced = experiment.trace().traced > 0;
  if (!traced && experiment.run.ranks > 0 && !traces_were_recorded(experiment)) {
    if (request.required) refuse_without_trace(request);
    return {};
  }
  const fs::path measurement = find_measurement(source, request);
  if (measurement.empty() && !traced && !request.required) return {};
  if (measurement.empty())
    refuse(request, request.given,
           "its measurement directory, which has single calls, is not beside it (give that instead)");
  for (const bool loops : {true, false}) {
    if (const auto read = replay_lines(source, request, measurement, loops, work)) return *read;
  }
  refuse(request, print::spelled(measurement.string()),
         "its call paths are not those of " + request.given +
             ": the run went on since, programs or their debug information changed, or it was merged with "
             "options (merge it anew: prof-mpi --force " +
             print::shell_path(measurement.string()) + ')');
}

}  // namespace culprit::viewer
