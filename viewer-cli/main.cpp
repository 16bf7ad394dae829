// viewer-cli: shows what prof-mpi found. Exit status: 0 good, 1 bad data or failure, 2 wrong usage, 3 merged
// just now but degraded.

#include "command_line.hpp"
#include "commands.hpp"
#include "completion.hpp"
#include "database/reader.hpp"
#include "open_database.hpp"
#include "text/screen.hpp"
#include "tui/browse.hpp"
#include "tui/terminal.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <ios>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kDegraded = 3;

int complain(int status, std::string why) {
  std::replace(why.begin(), why.end(), '\n', ' ');
  std::fprintf(stderr, "viewer-cli: %s\n", why.c_str());
  return status;
}

/// What the program still holds back is written; main() tells what cannot be.
int finish_output(int status) {
  std::cout.flush();
  return status;
}

/// Without a command people get the browser, programs the report.
bool wants_browser(const Invocation& invocation) {
  return (invocation.browse || !invocation.command_given) && invocation.format == Format::text &&
         tui::terminal_can_show_screens();
}

/// `viewer-cli --complete WORD...`, asked by shells: candidates for the last word, one a line.
int print_completions(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + 2, argv + argc);
  for (const std::string& word : complete(words)) std::cout << word << '\n';
  return finish_output(0);
}

int run(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--complete") return print_completions(argc, argv);
  std::optional<Answer> answer;
  const Invocation invocation = parse_command_line(argc, argv, answer);
  if (answer) {
    std::cout << answer->text;
    return finish_output(0);
  }
  const Opened opened = open_database(invocation.database, invocation.quiet);
  Opened other;
  if (!invocation.other.empty()) other = open_database(invocation.other, invocation.quiet);
  try {
    if (wants_browser(invocation)) {
      tui::BrowseStart start;
      start.source_map = invocation.source_map;
      if (other.source)
        start.other = {std::move(other.source), other.path, invocation.metric, invocation.scaling};
      const int status = tui::browse(*opened.source, opened.path, find_screen(), std::move(start));
      return status == 0 && opened.degraded ? kDegraded : status;
    }
    run_command(std::cout, find_screen(), *opened.source, invocation, other.source.get());
  } catch (const database::DatabaseError& damaged) {
    std::cout.flush();
    return complain(kFailure, "read: " + damaged.path().string() + ": " + damaged.what());
  }
  return finish_output(opened.degraded || other.degraded ? kDegraded : 0);
}

}  // namespace
}  // namespace culprit::viewer

int main(int argc, char** argv) {
  using namespace culprit::viewer;
  // A reader such as `head` that has seen enough ends the program silently.
  std::signal(SIGPIPE, SIG_DFL);
  std::ios::sync_with_stdio(false);
  // Ends at the first write that fails, while errno tells why.
  std::cout.exceptions(std::ios::badbit);
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    return complain(kUsage, error.what());
  } catch (const std::ios_base::failure&) {
    return complain(kFailure, std::string("write: standard output: ") +
                                  std::strerror(errno == 0 ? EIO : errno) +
                                  " (make room, or write elsewhere)");
  } catch (const std::bad_alloc&) {
    return complain(kFailure, "out of memory (show less with --depth or --min, or use a machine with more)");
  } catch (const std::exception& error) {
    return complain(kFailure, error.what());
  }
}
