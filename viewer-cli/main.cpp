// viewer-cli: shows what prof-mpi found. Exit status: 0 good, 1 bad data or failure, 2 wrong usage, 3 merged
// just now but degraded, or some time lines could not be exported, or some processes not be looked at.

#include "commands/follow.hpp"
#include "commands/run.hpp"
#include "commands/stacks.hpp"
#include "commands/stuck.hpp"
#include "database/reader.hpp"
#include "files/at_death.hpp"
#include "print/output.hpp"
#include "request/command_line.hpp"
#include "request/open_database.hpp"
#include "run_export.hpp"
#include "text/screen.hpp"
#include "tui/browse.hpp"
#include "tui/follow.hpp"
#include "tui/widgets/terminal.hpp"

#include <cerrno>
#include <csignal>
#include <exception>
#include <filesystem>
#include <ios>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kDegraded = 3;

int fail(int status, const std::string& why) {
  print::complain("viewer-cli", why);
  return status;
}

/// Why what was read of databases means nothing: one was written to since it was opened. Empty: none was.
std::string change_of(const Opened& opened, const Opened& other) {
  for (const Opened* const each : {&opened, &other}) {
    if (each->source && each->source->changed())
      return "read: " + each->path +
             ": was overwritten while it was read (start again; replace databases by renaming)";
  }
  return {};
}

/// Without a command people get the browser, programs the report.
bool wants_browser(const Invocation& invocation) {
  return (invocation.browse || !invocation.command_given) && invocation.format == Format::text &&
         tui::terminal_can_show_screens();
}

/// A file that the user names is not replaced, and it is better to know before the run ends than after.
void refuse_to_replace(const std::string& output) {
  std::error_code error;
  if (output.empty() || !std::filesystem::exists(std::filesystem::symlink_status(output, error))) return;
  throw std::runtime_error("follow: " + output +
                           ": already exists (name another file with -o, or leave -o out)");
}

/// Follows a run until it ends: true, or its user quits. What is merged then is anew where it went on before.
bool follow_to_end(const Invocation& invocation, bool& went_on) {
  follow::Follower follower(invocation.database);
  await_run(follower, invocation.database);
  went_on = !follower.ended();
  if (!went_on) {
    print::complain("viewer-cli", "follow: " + invocation.database + ": has ended");
    return true;
  }
  refuse_to_replace(invocation.output);
  if (invocation.format == Format::text && tui::terminal_can_show_screens())
    return tui::follow_on_screen(follower, invocation, find_screen());
  follow_in_lines(std::cout, invocation, follower);
  return true;
}

/// Behind the lines of --format json: one more.
int tell_end(const Opened& opened) {
  const Json end = {{"ended", true}, {"database", opened.path}};
  print::TextStream out(std::cout);
  out << one_line(end) << '\n';
  out.flush();
  std::cout.flush();
  return opened.degraded ? kDegraded : 0;
}

/// `viewer-cli --complete WORD...`, asked by shells: candidates for the last word, one a line.
int print_completions(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + 2, argv + argc);
  print::TextStream out(std::cout);
  for (const std::string& word : complete(words)) out << word << '\n';
  out.flush();
  return 0;
}

int run(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--complete") return print_completions(argc, argv);
  std::optional<Answer> answer;
  const Invocation invocation = parse_command_line(argc, argv, answer);
  if (answer) {
    const Screen screen = find_screen();
    print::TextStream out(std::cout);
    out << fit_help(answer->text, screen.width, screen.unicode) << std::flush;
    return 0;
  }
  if (invocation.command == Command::stuck) {
    const int status = run_stuck(std::cout, find_screen(), invocation);
    std::cout.flush();
    return status;
  }
  if (invocation.command == Command::stacks) {
    const int status = run_stacks(std::cout, find_screen(), invocation);
    std::cout.flush();
    return status;
  }
  const bool exports = invocation.command == Command::exporting;
  bool anew = false;
  if (invocation.follow && !follow_to_end(invocation, anew)) return 0;
  const Opened opened =
      open_database(invocation.database, exports ? std::string() : invocation.output, invocation.quiet, anew);
  if (invocation.follow && invocation.format == Format::json) return tell_end(opened);
  Opened other;
  if (!invocation.other.empty()) other = open_database(invocation.other, {}, invocation.quiet);
  bool degraded = opened.degraded || other.degraded;
  try {
    if (wants_browser(invocation)) {
      tui::BrowseStart start;
      start.source_map = invocation.source_map;
      start.without_startup = invocation.without_startup;
      start.remark = opened.remark;
      if (other.source)
        start.other = {std::move(other.source), other.path, invocation.metric, invocation.scaling};
      const int status = tui::browse(*opened.source, opened.path, find_screen(), std::move(start));
      return status == 0 && opened.degraded ? kDegraded : status;
    }
    if (invocation.command == Command::exporting) {
      degraded = !run_export(std::cout, *opened.source, invocation) || degraded;
    } else {
      run_command(std::cout, find_screen(), *opened.source, invocation, other.source.get());
    }
  } catch (const database::DatabaseError& damaged) {
    const std::string change = change_of(opened, other);
    return fail(kFailure,
                change.empty() ? "read: " + damaged.path().string() + ": " + damaged.what() : change);
  }
  std::cout.flush();
  if (const std::string change = change_of(opened, other); !change.empty()) return fail(kFailure, change);
  return degraded ? kDegraded : 0;
}

}  // namespace
}  // namespace culprit::viewer

int main(int argc, char** argv) {
  using namespace culprit::viewer;
  // A reader such as `head` that has seen enough ends the program silently.
  std::signal(SIGPIPE, SIG_DFL);
  std::ios::sync_with_stdio(false);
  // Ends at the first write that fails, while errno says why.
  std::cout.exceptions(std::ios::badbit);
  culprit::files::put_right_at_death("viewer-cli");
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const std::ios_base::failure&) {
    return fail(kFailure, culprit::print::unwritten_answer(errno));
  } catch (const std::bad_alloc&) {
    return fail(kFailure, std::string("show: ") + culprit::files::kOutOfMemory);
  } catch (const std::exception& error) {
    return fail(kFailure, error.what());
  }
}
