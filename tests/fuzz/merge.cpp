#include "merge/merge.hpp"

#include "exchange/threads.hpp"
#include "recording.hpp"
#include "repair.hpp"
#include "run_files.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

// Whatever the files of a run hold behind right checksums, merging gives a database that can be read in
// whole, or says that there is nothing to merge; on one rank as on two, between which messages travel. One
// fuzzer for whole measurements, one for those of killed processes: CULPRIT_FUZZED.
namespace {

namespace merge = culprit::merge;

[[noreturn]] void fail(const char* what, const std::string& why) {
  std::fprintf(stderr, "merge: %s: %s\n", what, why.c_str());
  abort();
}

/// Whether the run held nothing that could be merged, which is a fault of the run.
bool is_nothing_to_merge(std::string_view why) {
  return why.starts_with("reading: ") && (why.find(": no readable measurement (") != std::string_view::npos ||
                                          why.find(": no samples were recorded (") != std::string_view::npos);
}

/// What keeps a database from being written is left out of it: the last resort, which nothing should reach.
void check(const merge::Outcome& outcome) {
  for (const std::string& problem : outcome.problems) {
    if (problem.find("contradict each other") != std::string::npos) fail("fell back", problem);
  }
}

/// The database; empty where there was nothing to merge.
fuzz::Bytes merged(const std::filesystem::path& run, const std::filesystem::path& output, int ranks) {
  merge::Options options;
  options.measurement = run;
  options.output = output;
  options.force = true;
  options.segments = {"<app>"};
  try {
    culprit::exchange::run_on_threads(
        ranks, [&](culprit::exchange::Communicator& comm) { check(merge::merge(comm, options, {})); });
  } catch (const std::exception& error) {
    if (is_nothing_to_merge(error.what())) return {};
    fail("ended", error.what());
  }
  return recording::bytes_of(output);
}

}  // namespace

FUZZ_MUTATE_BY(CULPRIT_FUZZED.format)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Parts files = CULPRIT_FUZZED.format.split(fuzz::bytes_of(data, size));
  if (files.empty()) return -1;
  static const recording::Directory directory(recording::scratch());
  const std::filesystem::path run = directory / "run", by_one = directory / "1.db",
                              by_two = directory / "2.db";
  std::filesystem::create_directory(run);
  fuzz::write_run(CULPRIT_FUZZED, files, run);
  const fuzz::Bytes database = merged(run, by_one, 1);
  if (!database.empty() && !culprit::database::read_all(std::as_bytes(std::span(database))))
    fail("cannot be read", by_one);
  if (merged(run, by_two, 2).empty() != database.empty()) fail("succeeds on one rank or on two only", run);
  return 0;
}
