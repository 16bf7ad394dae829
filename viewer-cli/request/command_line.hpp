#pragma once

#include "request/errors.hpp"
#include "request/exports.hpp"
#include "views/difference.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer {

enum class Command : std::uint8_t {
  report,
  view,
  hot_path,
  threads,
  blame,
  suspects,
  waits,
  causes,
  critical_path,
  hotspots,
  variation,
  communication,
  efficiency,
  what_if,
  diff,
  exporting,
  info,
  stuck,
  stacks,
};

enum class ViewKind : std::uint8_t { calling_context, callers, flat };
enum class Format : std::uint8_t { text, json, csv };

/// Of `what-if`.
struct ChangesOfWork {
  std::vector<std::string> removed, balanced;  ///< paths of code
  std::vector<std::string> sped_up;            ///< PATH=FACTOR
  bool each = false;                           ///< balances each interval by itself
};

/// Whose call stacks `stacks` shows, and how often it looks.
struct SubjectsOfStacks {
  std::vector<std::string> subjects;  ///< numbers of processes, or a measurement directory
  std::int32_t launcher = 0;          ///< its number; 0: none
  std::string name;                   ///< of a job: `openmpi:…`, as stacks::parse_job_name() takes it
  bool here = false;                  ///< this host only
  std::uint32_t looks = 3;
};

/// What the user asks for.
struct Invocation {
  std::string database;  ///< a database or a measurement directory
  Command command = Command::report;
  bool command_given = false;  ///< else the browser, where there is a terminal
  ViewKind view = ViewKind::calling_context;
  std::string node;                       ///< threads
  std::string other;                      ///< diff: the second database or measurement directory
  std::optional<views::Scaling> scaling;  ///< diff; not set: what the runs look like
  Export export_format;
  Format format = Format::text;
  std::string sort, metric;          ///< empty: the default
  std::vector<std::string> metrics;  ///< empty: the default
  std::vector<std::string> derive;   ///< NAME=FORMULA each
  std::optional<std::uint32_t> depth;
  std::optional<double> min_percent;
  std::uint32_t finer = 0;  ///< variation: levels below the dominant segment
  std::string procedure;    ///< variation: whose invocations instead; empty: the dominant procedure's
  std::string focus, ranks, role, output;
  bool ids = false, lines = false, inside_waits = false, all = false, quiet = false;
  bool without_startup = false;  ///< report, view, blame, browser: shares without MPI_Init and MPI_Finalize
  bool no_source = false;        ///< export html: without source texts
  bool by_rank = false;          ///< waits, causes, hotspots: a row for each rank
  ChangesOfWork what_if;
  std::vector<std::pair<std::string, std::string>>
      source_map;       ///< browser: path prefixes, as compiled and as they are now
  bool browse = false;  ///< diff: in the browser, where there is a terminal
  double after_s = 10;  ///< stuck: for so long a rank may compute while others wait for it
  SubjectsOfStacks stacks;
  bool follow = false;   ///< of a measurement that goes on: as it is now, until it ends
  double every_s = 0.3;  ///< stacks, follow (default: 2): seconds from look to look
};

/// What to print instead of doing anything (--help, --version); exit status 0.
struct Answer {
  std::string text;
};

/// Reads the command line: either an invocation, or `answer` is set. Options may stand before or after the
/// command. Throws UsageError.
Invocation parse_command_line(int argc, const char* const* argv, std::optional<Answer>& answer);

// What the command line understands, for completion.
std::vector<std::string> command_names();
std::vector<std::string> view_names();
std::vector<std::string> export_names();
/// The long options that have a meaning for a command; those of all commands where it is none.
std::vector<std::string> option_names(std::string_view command);

/// The help of one command, or of the tool where `command` is empty or none of its commands. Examples come
/// first.
std::string help_text(std::string_view command);
/// A help as it is printed: paragraphs and the words of entries are wrapped at `width`, 110 at most; not
/// words that have little room, as those behind long examples.
std::string fit_help(std::string_view help, std::size_t width, bool unicode);

/// What shells print instead of words: names of files fit here, or of databases and directories.
inline constexpr const char* kCompleteFiles = ":files";
inline constexpr const char* kCompleteDatabases = ":databases";

/// What may stand in place of the last of `words` (those behind the tool's name; the last one may be empty or
/// only begun): commands, views, formats, options of the command, and metrics, roles and procedures of the
/// database that is named before. Those that begin like it, behind kCompleteFiles or kCompleteDatabases.
/// Never merges, never throws: what cannot be read completes to nothing.
std::vector<std::string> complete(std::span<const std::string> words);

}  // namespace culprit::viewer
