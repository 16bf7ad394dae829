#include "request/open_database.hpp"

#include "exchange/threads.hpp"
#include "merge/input/marker.hpp"
#include "merge/merge.hpp"
#include "print/output.hpp"
#include "print/text.hpp"
#include "request/progress_line.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <fmt/core.h>

namespace culprit::viewer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMergeProblemsListed = 20;

void print_problems(const merge::Outcome& outcome) {
  const std::size_t listed = std::min(outcome.problems.size(), kMergeProblemsListed);
  for (std::size_t problem = 0; problem < listed; ++problem) {
    print::complain("viewer-cli", outcome.problems[problem]);
  }
  if (listed < outcome.problems.size()) {
    print::complain("viewer-cli", fmt::format("and {} more (prof-mpi -v --dry-run lists all)",
                                              outcome.problems.size() - listed));
  }
}

bool merge_directory(const fs::path& directory, const fs::path& output, bool quiet, bool replace) {
  merge::Options options;
  options.measurement = directory;
  options.output = output;
  options.force = replace;
  options.structure_cache = structure::default_cache();
  merge::Outcome outcome;
  {
    ProgressLine line("merging", quiet);
    const auto cores = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 64U));
    exchange::run_on_threads(cores, [&](exchange::Communicator& comm) {
      const bool first = comm.rank() == 0;
      merge::Outcome own =
          merge::merge(comm, options, [&](const char* phase, std::uint64_t done, std::uint64_t total) {
            if (first) line.update(phase, done, total);
          });
      if (first) outcome = std::move(own);
    });
  }
  print_problems(outcome);
  return outcome.degraded();
}

/// DIR.db beside DIR, whatever slashes DIR ends with.
fs::path database_beside(const fs::path& directory) {
  fs::path path = directory.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (path == "." || path == ".." || path.empty()) path = fs::canonical(directory);
  path += ".db";
  return path;
}

/// Why a database that was merged before lacks a part of the run in `directory`; empty where it does not.
std::string why_outdated(const database::Contents& experiment, const fs::path& database,
                         const fs::path& directory) {
  const database::Run& run = experiment.run;
  std::error_code error;
  const fs::file_time_type merged = fs::last_write_time(database, error);
  if (error) return {};
  if (experiment.quality.cut_short > 0 &&
      merge::went_on(directory, merged, run.start_realtime_ns + static_cast<std::int64_t>(run.duration_ns))) {
    return "was merged before the run in " + directory.string() + " had ended, and shows it up to then";
  }
  if (run.ranks < run.world_size && merge::measurements_came_later(directory, database))
    return "was merged before all ranks' files were in " + directory.string() + ", and lacks those";
  return {};
}

}  // namespace

Opened open_database(const std::string& path, const std::string& output, bool quiet, bool anew) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    const std::string why =
        error && error != std::errc::no_such_file_or_directory ? error.message() : "does not exist";
    throw std::runtime_error("open: " + path + ": " + why +
                             " (give a database of prof-mpi or a measurement directory of hpcrun-lite)");
  }
  Opened opened;
  fs::path database = path;
  bool merged = false;
  if (fs::is_directory(status)) {
    database = output.empty() ? database_beside(path) : fs::path(output);
    merged = anew || !fs::exists(database);
    if (merged) opened.degraded = merge_directory(path, database, quiet, anew && output.empty());
  }
  try {
    opened.source = std::make_unique<views::DatabaseSource>(database);
    opened.path = database.string();
  } catch (const database::DatabaseError& refused) {
    throw std::runtime_error("open: " + refused.path().string() + ": " + refused.what());
  }
  const bool is_merged_before = database != fs::path(path) && !merged;
  if (is_merged_before && merge::is_of_another_run(opened.source->experiment().run.run_id, path)) {
    throw std::runtime_error("open: " + database.string() + ": belongs to another run than " + path +
                             " (prof-mpi --force " + print::shell_path(path) +
                             " replaces it, or give the database itself)");
  }
  if (!is_merged_before) return opened;
  const std::string why = why_outdated(opened.source->experiment(), database, path);
  if (!why.empty()) {
    opened.degraded = true;
    opened.remark = "open: " + database.string() + ": " + why + " (prof-mpi --force " +
                    print::shell_path(path) + " merges it again)";
    print::complain("viewer-cli", opened.remark);
  }
  return opened;
}

}  // namespace culprit::viewer
