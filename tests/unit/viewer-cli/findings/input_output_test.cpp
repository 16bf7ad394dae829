// Where input and output happens, and what it makes of a suspect.
#include "findings/input_output.hpp"

#include "viewer-cli/run.hpp"
#include "views/sample_experiment.hpp"

#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing::input_output_test {
namespace {

using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;

constexpr std::uint32_t kTime = 0, kIdleness = 1, kCpu = 2, kIo = 3, kRead = 4, kWritten = 5;

/// Four ranks that work 10 s each; rank 2 writes for 10 s more, 8 of them in fsync, called on one line with
/// close, while the others wait.
struct Checkpoint {
  SampleExperiment sample{{"REALTIME", "idleness", "CPU", "io", "bytes-read", "bytes-written"}};
  ContextId loop, call, fsync, work;

  Checkpoint() {
    const std::uint32_t role = sample.add_role("main");
    const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
    loop = sample.add(main, {ContextKind::loop, "", "a.c", 4});
    work = sample.add(loop, {ContextKind::statement, "", "a.c", 5});
    call = sample.add(loop, {ContextKind::call, "", "a.c", 6});
    fsync = sample.add(call, {ContextKind::procedure, "fsync", "", 0, "libc.so.6", database::kRunTime});
    const ContextId in_fsync =
        sample.add(fsync, {ContextKind::statement, "", "", 0, "libc.so.6", database::kRunTime});
    const ContextId other =
        sample.add(call, {ContextKind::procedure, "close", "", 0, "libc.so.6", database::kRunTime});
    const ContextId in_other =
        sample.add(other, {ContextKind::statement, "", "", 0, "libc.so.6", database::kRunTime});
    constexpr std::uint8_t kInWait = database::kInWait;
    const ContextId barrier = sample.add(loop, {ContextKind::procedure, "MPI_Barrier", "", 0, "libmpi.so",
                                                database::kFrontier | database::kInWait});
    const ContextId wait = sample.add(barrier, {ContextKind::statement, "", "", 0, "libmpi.so", kInWait});
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      sample.add_location(static_cast<std::int32_t>(rank), 0, role);
      sample.set(work, kTime, rank, 10 * kSecond);
      sample.set(work, kCpu, rank, 10 * kSecond);
      if (rank == 2) {
        for (const std::uint32_t metric : {kTime, kIo}) {
          sample.set(in_fsync, metric, rank, 8 * kSecond);
          sample.set(in_other, metric, rank, 2 * kSecond);
        }
        sample.set(in_other, kWritten, rank, 1'250'000'000);
        sample.set(work, kRead, rank, 1000);  // elsewhere
        continue;
      }
      sample.set(wait, kTime, rank, 10 * kSecond);
      sample.set(wait, kIdleness, rank, 10 * kSecond);
    }
    sample.finish();
    sample.build().blame[0] = {{loop, 30 * kSecond, 0, 0}};
    sample.build().suspects = {{0,
                                loop,
                                loop,
                                {2},
                                7'500'000'000,
                                30 * kSecond,
                                7'500'000'000,
                                10 * kSecond,
                                loop,
                                database::Confidence::sure,
                                database::Doubt::none,
                                {loop},
                                {{loop, 30 * kSecond}}}};
    sample.build().quality.samples = 1000;
  }
};

}  // namespace

TEST_CASE("Most of input and output is in one call") {
  const Checkpoint checkpoint;
  const auto found = input_and_output(views::Figures(checkpoint.sample));
  REQUIRE(found);
  CHECK(found->seconds == Approx(10));
  CHECK(found->where == checkpoint.call);
  CHECK(found->call == checkpoint.fsync);
  CHECK(found->there_s == Approx(8));
  CHECK(found->written == Approx(1.25e9));
  CHECK(found->read == Approx(1000));
}

TEST_CASE("A run without input and output has none") {
  SampleExperiment sample{{"REALTIME", "idleness"}};
  sample.add_role("main");
  sample.add_location(0, 0, 0);
  sample.set(sample.add(0, {ContextKind::statement, "", "a.c", 5}), kTime, 0, kSecond);
  sample.finish();
  CHECK_FALSE(input_and_output(views::Figures(sample)));
}

TEST_CASE("What waits at the end of a pipe beside ranks, or beside other processes, waits for no file") {
  for (const bool ranks : {true, false}) {
    SampleExperiment sample({"REALTIME", "idleness", "CPU", "io"});
    const std::uint32_t role = sample.add_role("main");
    const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
    const ContextId work = sample.add(main, {ContextKind::statement, "", "a.c", 5});
    const ContextId call = sample.add(main, {ContextKind::call, "", "a.c", 6});
    const ContextId read =
        sample.add(call, {ContextKind::procedure, "read", "", 0, "libc.so.6", database::kRunTime});
    const ContextId inside =
        sample.add(read, {ContextKind::statement, "", "", 0, "libc.so.6", database::kRunTime});
    sample.add_location(ranks ? 0 : -1, 0, role);
    sample.add_location(-1, 0, role);
    for (const std::uint32_t metric : {kTime, kCpu}) sample.set(work, metric, 0, 10 * kSecond);
    for (const std::uint32_t metric : {kTime, kIo}) sample.set(inside, metric, 1, 10 * kSecond);
    sample.finish();
    sample.build().quality.samples = 1000;
    const views::Figures figures(sample);
    CHECK_FALSE(input_and_output(figures));
    CHECK(main_threads_with_files(figures) == std::vector<std::uint32_t>{0});
    const nlohmann::json verdict =
        nlohmann::json::parse(run(sample, {"report", "--format", "json"}))["verdict"];
    CHECK(verdict["losses"]["io_s"] == 0);
    CHECK(verdict["kind"] == "healthy");
  }
}

TEST_CASE("Input and output of an import belongs to the Python function that imports") {
  SampleExperiment sample({"REALTIME", "io"});
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId module =
      sample.add(0, {ContextKind::procedure, "<module>", "/lib/pack/__init__.py", 1, "<python>"});
  const ContextId call = sample.add(module, {ContextKind::call, "", "/lib/pack/__init__.py", 7, "<python>"});
  const ContextId native =
      sample.add(call, {ContextKind::procedure, "PyEval_EvalCode", "", 0, "/usr/bin/python3.11"});
  const ContextId find = sample.add(
      native, {ContextKind::procedure, "_find_spec", "<frozen importlib._bootstrap>", 9, "<python>"});
  const ContextId at = sample.add(find, {ContextKind::procedure, "PyOS_Open", "", 0, "/usr/bin/python3.11"});
  sample.set(sample.add(at, {ContextKind::statement, "", "", 0, "/usr/bin/python3.11"}), 0, 0, 2 * kSecond);
  const ContextId read =
      sample.add(at, {ContextKind::procedure, "readdir", "", 0, "libc.so.6", database::kRunTime});
  const ContextId line =
      sample.add(read, {ContextKind::statement, "", "", 0, "libc.so.6", database::kRunTime});
  for (const std::uint32_t metric : {0U, 1U}) sample.set(line, metric, 0, 8 * kSecond);
  sample.finish();
  const views::Figures figures(sample);
  const auto io = input_and_output(figures);
  REQUIRE(io);
  CHECK(io->where == call);
  CHECK(io->call == read);
  CHECK(flowing(run(sample, {"report"})).find("in readdir at pack/__init__.py:7 in <module>.") !=
        std::string::npos);
}

TEST_CASE("A suspect that writes is called so, and surely") {
  const Checkpoint checkpoint;
  const std::string printed = run(checkpoint.sample, {});
  std::istringstream words(printed);
  std::string text;
  for (std::string word; words >> word;) text += word + ' ';
  INFO(text);
  CHECK(text.find("12.5 % of the run is input and output (10.0 of 80.0 rank-seconds); 80 % of that in fsync "
                  "at a.c:6") != std::string::npos);
  CHECK(text.find("In main: 1.25 GB written and 1.00 kB read.") != std::string::npos);
  CHECK(text.find("100 % of the extra 7.50 s there is input and output.") != std::string::npos);
  CHECK(text.find("preempted") == std::string::npos);
  const nlohmann::json report = nlohmann::json::parse(run(checkpoint.sample, {"report", "--format", "json"}));
  CHECK(report["verdict"]["kind"] == "io");
  CHECK(report["suspects"][0]["excess_io_share"].get<double>() == Approx(1));
  CHECK(report["suspects"][0]["confidence"] == "sure");
}

TEST_CASE("Waiting for a late rank in a collective write is no input and output") {
  SampleExperiment sample({"REALTIME", "idleness", "CPU", "io"});
  const std::uint32_t role = sample.add_role("main");
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId loop = sample.add(main, {ContextKind::loop, "", "a.c", 4});
  const ContextId work = sample.add(loop, {ContextKind::statement, "", "a.c", 5});
  constexpr std::uint8_t kInWait = database::kInWait;
  const ContextId call = sample.add(loop, {ContextKind::procedure, "MPI_File_write_all", "", 0, "libmpi.so",
                                           database::kFrontier | database::kInWait});
  const ContextId wait = sample.add(call, {ContextKind::statement, "", "", 0, "libmpi.so", kInWait});
  const ContextId written = sample.add(call, {ContextKind::statement, "", "", 1, "libmpi.so", kInWait});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    sample.add_location(static_cast<std::int32_t>(rank), 0, role);
    for (const std::uint32_t metric : {kTime, kCpu})
      sample.set(work, metric, rank, (rank == 0 ? 18 : 8) * kSecond);
    for (const std::uint32_t metric : {kTime, kIo}) sample.set(written, metric, rank, 2 * kSecond);
  }
  for (const std::uint32_t metric : {kTime, kIdleness, kIo}) sample.set(wait, metric, 1, 10 * kSecond);
  sample.finish();
  database::Experiment& e = sample.build();
  e.run.ranks = 2;
  e.quality.samples = 1000;
  e.blame[0] = {{loop, 10 * kSecond, 0, 0}};
  e.suspects = {{.role = 0,
                 .balanced = loop,
                 .suspect = work,
                 .locations = {0},
                 .excess_ns = 5 * kSecond,
                 .explains_ns = 10 * kSecond,
                 .save_balanced_ns = 5 * kSecond,
                 .save_removed_ns = 10 * kSecond,
                 .named = work,
                 .confidence = database::Confidence::sure,
                 .doubt = database::Doubt::none,
                 .scopes = {work},
                 .explained = {{loop, 10 * kSecond}}}};
  const std::string text = flowing(run(sample, {"report"}));
  INFO(text);
  CHECK(text.find(
            "10.0 % of the run is input and output (4.0 of 40.0 rank-seconds), beside 10.0 s of waiting for "
            "late ranks in such calls; 100 % of both in MPI_File_write_all") != std::string::npos);
}

TEST_CASE("Input and output that the verdict is of have their share there alone") {
  SampleExperiment sample({"REALTIME", "idleness", "CPU", "io"});
  sample.add_location(-1, 0, sample.add_role("main"));
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId work = sample.add(main, {ContextKind::statement, "", "a.c", 5});
  for (const std::uint32_t metric : {kTime, kCpu}) sample.set(work, metric, 0, 8 * kSecond);
  const ContextId site = sample.add(main, {ContextKind::call, "", "a.c", 6});
  const ContextId write = sample.add(site, {ContextKind::procedure, "write", "", 0, "libc.so.6"});
  const ContextId line = sample.add(write, {ContextKind::statement, "", "", 0, "libc.so.6"});
  for (const std::uint32_t metric : {kTime, kIo}) sample.set(line, metric, 0, 12 * kSecond);
  sample.finish();
  sample.build().quality.samples = 1000;
  const std::string text = flowing(run(sample, {"report"}));
  INFO(text);
  CHECK(text.starts_with("Input and output take 60 % of the time."));
  CHECK(text.find("Input and output take 12.0 of 20.0 seconds; 100 % of that in write") != std::string::npos);
}

}  // namespace culprit::viewer::testing::input_output_test
