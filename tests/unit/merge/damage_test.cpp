// What prof-mpi makes of a run of two processes in which one file is cut at any byte, or has one bit turned
// over in any byte: the same database to the byte, or one that says what is left out and of which file (exit
// 3). A merge without a word and with other figures is what these tests look for.
#include "damaged_file.hpp"
#include "database/reader.hpp"
#include "exchange/threads.hpp"
#include "measurement/run_marker.hpp"
#include "merge/merge.hpp"
#include "recorded_rank.hpp"

#include <algorithm>
#include <exception>

#include <catch2/catch.hpp>

namespace merge_damage_test {

using namespace culprit;
using recording::kStart;
namespace trace = recording::trace;

namespace {

constexpr std::uint64_t kStep = 10'000'000;
constexpr int kSteps = 6;

trace::Operation on(trace::OperationKind kind, std::int32_t peer) {
  return {.kind = kind, .begins = true, .completes = true, .context = 0, .peer = peer, .tag = 1, .bytes = 64};
}

trace::Record call_at(std::uint64_t enter_ns, std::uint64_t exit_ns, const trace::Operation& operation,
                      std::uint32_t place) {
  trace::Record record;
  record.kind = trace::RecordKind::call;
  record.enter_ns = kStart + enter_ns;
  record.exit_ns = kStart + exit_ns;
  record.node = place;
  record.operations = {operation};
  return record;
}

enum class Kind : std::uint8_t { ranks, killed_ranks, without_mpi };

/// Rank 0 computes, then sends; rank 1 waits for the message; then both meet in a barrier.
void record_rank(const std::filesystem::path& directory, int number, Kind kind) {
  recording::Rank rank(directory, number, false, kind != Kind::without_mpi);
  trace::Definition world;
  world.global_id = 1;
  world.size = 2;
  world.rank = number;
  world.members = {0, 1};
  rank.define(world);
  rank.add_clocks({.monotonic_ns = kStart, .realtime_ns = recording::kStartRealtime});
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const std::uint64_t from = step * kStep;
    if (number == 0) {
      rank.add(call_at(from + 6'000'000, from + 6'100'000, on(trace::OperationKind::send, 1), 0));
    } else {
      rank.add(call_at(from + 1'000'000, from + 6'100'000, on(trace::OperationKind::receive, 0), 1));
    }
    rank.add(
        call_at(from + 7'000'000, from + 7'200'000, on(trace::OperationKind::barrier, trace::kNobody), 2));
  }
  if (kind == Kind::killed_ranks) {
    rank.leave();
  } else {
    rank.seal();
  }
}

/// What a merge gave: a database and what it says to have left out, or why there is none.
struct Merged {
  std::vector<char> database;
  std::vector<std::string> problems;
  std::string failure;
};

/// A run of two processes, and what it gives when nothing is damaged.
class Run {
 public:
  explicit Run(Kind kind) : directory_(recording::scratch()) {
    std::filesystem::create_directory(path());
    for (int rank = 0; rank < 2; ++rank) record_rank(path(), rank, kind);
    recording::write_bytes(path() / measurement::kRunMarker, marker());
    whole_ = merged();
    REQUIRE(whole_.failure.empty());
    REQUIRE_FALSE(whole_.database.empty());
  }
  [[nodiscard]] std::filesystem::path path() const { return directory_ / "run"; }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return path() / name; }
  [[nodiscard]] const Merged& whole() const { return whole_; }

  [[nodiscard]] Merged merged() const {
    merge::Options options;
    options.measurement = path();
    options.output = directory_ / "run.db";
    options.force = true;
    std::filesystem::remove(options.output);
    Merged merged;
    try {
      exchange::run_on_threads(1, [&](exchange::Communicator& comm) {
        merged.problems = merge::merge(comm, options, {}).problems;
      });
      merged.database = recording::bytes_of(options.output);
    } catch (const std::exception& error) {
      merged.failure = error.what();
    }
    return merged;
  }

 private:
  static std::vector<char> marker() {
    const std::string text = R"({"format": "culprit-run", "version": 1, "run_id": "0123"})";
    return {text.begin(), text.end()};
  }

  recording::Directory directory_;
  Merged whole_;
};

/// What is wrong with how the merge takes the damage to the file `name`; empty where nothing is.
std::string wrong(const Run& run, const std::string& name) {
  const Merged now = run.merged();
  const std::string path = run.file(name).string() + ": ";
  if (!now.failure.empty())
    return now.failure.find(path) != std::string::npos ? "" : "the merge ends: " + now.failure;
  const auto reported = [&](const std::string& problem) {  // a process that was killed has a line in any case
    return problem.starts_with(path) && problem.find(" was cut short: ") == std::string::npos;
  };
  if (std::ranges::any_of(now.problems, reported)) return "";
  if (now.problems != run.whole().problems)
    return "other problems than without damage, and none of this file";
  return now.database == run.whole().database ? "" : "another database, and nothing is said";
}

void check_damage(const Run& run, const std::string& name) {
  damage::File file(run.file(name), recording::bytes_of(run.file(name)));
  damage::flip_each(file, [&](std::size_t at) {
    if (const std::string what = wrong(run, name); !what.empty()) FAIL("byte " << at << ": " << what);
  });
  damage::cut_each(file, [&](std::size_t size) {
    if (const std::string what = wrong(run, name); !what.empty()) FAIL("cut at " << size << ": " << what);
  });
  CHECK(run.merged().database == run.whole().database);
}

}  // namespace

TEST_CASE("a merge reports damage to the measurement of a clean end") {
  check_damage(Run(Kind::ranks), "rank-0.culprit");
}

TEST_CASE("a merge reports damage to the measurement of a killed process") {
  check_damage(Run(Kind::killed_ranks), "rank-0.culprit");
}

TEST_CASE("a merge reports damage to a complete trace") {
  check_damage(Run(Kind::ranks), "rank-0.culprit.trace");
}

TEST_CASE("a merge reports damage to the trace of a process that is no rank") {
  check_damage(Run(Kind::without_mpi), "rank-0.culprit.trace");
}

TEST_CASE("a merge reports damage to the trace of a killed process") {
  check_damage(Run(Kind::killed_ranks), "rank-0.culprit.trace");
}

TEST_CASE("a merge reports damage to the run marker, or needs none of it") {
  check_damage(Run(Kind::ranks), measurement::kRunMarker);
}

}  // namespace merge_damage_test
