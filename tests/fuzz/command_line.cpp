#include "request/command_line.hpp"

#include "commands/run.hpp"
#include "example.hpp"
#include "request/errors.hpp"
#include "run_export.hpp"
#include "views/source.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

// Any lines are words behind `viewer-cli RUN.db`: paths of code, patterns, lists of ranks, formulas. They are
// refused, or a command shows the example by them.
namespace {

namespace viewer = culprit::viewer;

std::vector<std::string> words_of(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words = {"viewer-cli", "/no/such/run.db"};
  std::istringstream lines(std::string(data, data + size));
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, '\0');
    words.push_back(line);
  }
  return words;
}

/// A new file; what is opened of it stays when it is removed.
std::filesystem::path write_example() {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("example-" + std::to_string(::getpid()) + ".db");
  culprit::database::write_example(culprit::database::make_example(), path);
  return path;
}

void run(const viewer::Invocation& invocation) {
  static const culprit::views::DatabaseSource example(write_example());
  std::filesystem::remove(example.file());
  if (!invocation.output.empty()) return;  // any file of this machine
  std::ostringstream out;
  if (invocation.command == viewer::Command::exporting) {
    viewer::run_export(out, example, invocation);
  } else {
    viewer::run_command(out, {}, example, invocation, &example);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> words = words_of(data, size);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  try {
    std::optional<viewer::Answer> answer;
    const viewer::Invocation invocation =
        viewer::parse_command_line(static_cast<int>(words.size()), arguments.data(), answer);
    if (!answer) run(invocation);
  } catch (const viewer::UsageError&) {
  } catch (const viewer::CommandError&) {
  }
  return 0;
}
