#include "commands/run.hpp"
#include "file_formats.hpp"
#include "memory_file.hpp"
#include "repair.hpp"
#include "request/command_line.hpp"
#include "request/errors.hpp"
#include "run_export.hpp"
#include "views/source.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

// Whatever a database holds behind right checksums, each command and export shows it, or says why not.
namespace {

namespace viewer = culprit::viewer;
using Words = std::vector<const char*>;

viewer::Invocation parse(Words words) {
  words.insert(words.begin(), {"viewer-cli", "/no/such/run.db"});
  std::optional<viewer::Answer> answer;
  return viewer::parse_command_line(static_cast<int>(words.size()), words.data(), answer);
}

std::vector<viewer::Invocation> invocations() {
  std::vector<viewer::Invocation> all;
  for (const char* const command :
       {"report", "blame", "suspects", "waits", "causes", "critical-path", "hotspots", "variation",
        "communication", "efficiency", "info", "hot-path"}) {
    for (const char* const format : {"text", "json", "csv"}) {
      try {
        all.push_back(parse({command, "--format", format}));
      } catch (const viewer::UsageError&) {
        continue;  // its output is no table
      }
    }
  }
  for (const char* const view : {"calling-context", "callers", "flat"})
    all.push_back(parse({"view", view, "--all", "--ids", "--depth", "6"}));
  all.push_back(parse({"view", "calling-context", "--ranks", "0-1", "--focus", "solve"}));
  all.push_back(parse({"threads", "c1"}));
  all.push_back(parse({"diff", "/no/such/other.db"}));
  for (const char* const format :
       {"collapsed", "speedscope", "pprof", "hatchet", "caliper", "firefox", "html", "csv", "json"})
    all.push_back(parse({"export", format}));
  return all;
}

void run(const culprit::views::Source& source, const viewer::Invocation& invocation) {
  std::ostringstream out;
  try {
    if (invocation.command == viewer::Command::exporting) {
      viewer::run_export(out, source, invocation);
    } else {
      viewer::run_command(out, {}, source, invocation, &source);
    }
  } catch (const culprit::database::DatabaseError&) {
  } catch (const viewer::UsageError&) {
  } catch (const viewer::CommandError&) {
  }
}

}  // namespace

FUZZ_MUTATE_BY(fuzz::kDatabase)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<viewer::Invocation> all = invocations();
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(first, first + size);
  culprit::database::repair_checksums(file);
  try {
    const culprit::views::DatabaseSource source(
        memory_file(fuzz::bytes_of(reinterpret_cast<const std::uint8_t*>(file.data()), size)));
    for (const viewer::Invocation& invocation : all) run(source, invocation);
  } catch (const culprit::database::DatabaseError&) {
    return 0;
  }
  return 0;
}
