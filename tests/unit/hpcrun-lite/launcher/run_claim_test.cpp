#include "launcher/run_claim.hpp"

#include "launcher/program.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace run_claim_test {

using culprit::launcher::claim_run;
using culprit::launcher::Failure;
namespace fs = std::filesystem;

namespace {

/// A directory of its own, and the environment of rank `rank` of an Open MPI job.
struct Workspace {
  Workspace() : path(fs::temp_directory_path() / ("culprit-claim-" + std::to_string(getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Workspace() {
    fs::remove_all(path);
    for (const char* name : {"OMPI_MCA_orte_precondition_transports", "OMPI_COMM_WORLD_RANK"}) unsetenv(name);
  }
  void be_rank(const char* job, const char* rank) const {
    setenv("OMPI_MCA_orte_precondition_transports", job, 1);
    setenv("OMPI_COMM_WORLD_RANK", rank, 1);
  }
  fs::path path;
};

std::string why(const fs::path& directory) {
  try {
    claim_run(directory.string(), "app");
  } catch (const Failure& failure) {
    CHECK(failure.status() == culprit::launcher::kFailure);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("siblings of one job share a directory and register one by one") {
  const Workspace here;
  here.be_rank("job-a", "0");
  const auto first = claim_run((here.path / "run").string(), "app");
  here.be_rank("job-a", "1");
  const auto second = claim_run((here.path / "run").string(), "app");
  CHECK(first.run_id == second.run_id);
  CHECK(first.directory == second.directory);
  CHECK(fs::file_size(first.directory / "culprit.ranks") == 2);
}

TEST_CASE("another run's directory is refused and left alone") {
  const Workspace here;
  here.be_rank("job-a", "0");
  claim_run((here.path / "run").string(), "app");
  here.be_rank("job-b", "0");
  CHECK(why(here.path / "run").find("holds another run") != std::string::npos);
  unsetenv("OMPI_COMM_WORLD_RANK");
  CHECK(why(here.path / "run").find("holds another run") != std::string::npos);
}

TEST_CASE("a directory with other things in it is refused") {
  const Workspace here;
  std::ofstream(here.path / "thesis.tex") << "text";
  CHECK(why(here.path).find("not empty") != std::string::npos);
  CHECK_FALSE(fs::exists(here.path / "culprit.run"));
}

TEST_CASE("a file in the way and an empty name are reported") {
  const Workspace here;
  std::ofstream(here.path / "file") << "text";
  CHECK(why(here.path / "file" / "run").find("file") != std::string::npos);
  CHECK(why(here.path / "file").find("file") != std::string::npos);
}

TEST_CASE("ranks that start at the same time agree on one marker") {
  const Workspace here;
  here.be_rank("job-c", "0");
  std::vector<std::string> ids(8);
  std::vector<std::thread> ranks;
  for (auto& id : ids) {
    ranks.emplace_back([&] { id = claim_run((here.path / "run").string(), "app").run_id; });
  }
  for (auto& rank : ranks) rank.join();
  for (const auto& id : ids) CHECK(id == ids[0]);
}

TEST_CASE("ranks of one job that run several programs share a directory without a name given") {
  const Workspace here;
  here.be_rank("job-d", "0");
  const fs::path before = fs::current_path();
  fs::current_path(here.path);
  std::vector<fs::path> directories(8);
  std::vector<std::thread> ranks;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    ranks.emplace_back(
        [&, i] { directories[i] = claim_run("", i % 2 == 0 ? "solver" : "coupler").directory; });
  }
  for (auto& rank : ranks) rank.join();
  fs::current_path(before);
  for (const auto& directory : directories) CHECK(directory == directories[0]);
  const std::string name = directories[0].filename().string();
  CHECK((name.starts_with("culprit-solver-") || name.starts_with("culprit-coupler-")));
  const auto entries = std::distance(fs::directory_iterator(here.path), fs::directory_iterator());
  CHECK(entries == 1);  // the lock is gone
}

TEST_CASE("without an MPI job each run has an id and a directory of its own") {
  const Workspace here;
  const auto first = claim_run((here.path / "one").string(), "app");
  const auto second = claim_run((here.path / "two").string(), "app");
  CHECK(first.run_id != second.run_id);
  CHECK_FALSE(fs::exists(first.directory / "culprit.ranks"));
}

}  // namespace run_claim_test
