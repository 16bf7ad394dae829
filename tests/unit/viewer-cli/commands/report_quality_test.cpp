// What the report says of gaps in the measurement behind it.
#include "findings/ends.hpp"
#include "measurement/runtime_notes.hpp"
#include "text/prose.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {

using views::testing::SolverSample;

TEST_CASE("What makes the figures less than complete is noted") {
  SolverSample solver;
  database::Quality& quality = solver.sample.build().quality;
  quality.partial = 64'000;
  quality.partial_ns = 320 * kSecond;
  quality.dropped = 12;
  quality.cut_short = 1;
  quality.unreadable = 2;
  quality.slowed = 3;
  quality.most_halvings = 2;
  quality.full = 5;
  const std::string text = run(solver.sample, {});
  INFO(text);
  CHECK(text.find("64 000 partial unwinds (4.0 %)") != std::string::npos);
  CHECK(text.find("Note: 1 process was cut short, or still ran when it was merged: ") != std::string::npos);
  CHECK(text.find("Note: 2 measurement files could not be read and are missing") != std::string::npos);
  CHECK(text.find("Note: 12 samples could not be recorded") != std::string::npos);
  CHECK(text.find("Note: 4.0 % of the time lies in partial unwinds") != std::string::npos);
  CHECK(text.find("Note: sampling cost more than it may") != std::string::npos);
  CHECK(text.find("at times at 1/4 of the rate") != std::string::npos);
  CHECK(text.find("Note: 5 samples had no room for their call path") != std::string::npos);
  CHECK(text.find("no names") == std::string::npos);
}

TEST_CASE("A run of few samples is not told to sample more slowly, whatever its first samples cost") {
  SolverSample solver;
  solver.sample.build().quality.handler_ns = 8000 * kSecond;
  const std::string advice = "sample more slowly (hpcrun-lite -e REALTIME@f100)";
  CHECK(run(solver.sample, {}).find(advice) != std::string::npos);
  solver.sample.build().quality.samples = 19;
  CHECK(run(solver.sample, {}).find(advice) == std::string::npos);
}

TEST_CASE("Where most samples lost their call path, there is no verdict, and where many did, none is sure") {
  SolverSample solver;
  database::Quality& quality = solver.sample.build().quality;
  quality.full = quality.samples / 2 + 1;
  solver.sample.build().run.notes = {"no further space for the measurement: No space left on device"};
  const auto verdict = [&] {
    return nlohmann::json::parse(run(solver.sample, {"report", "--format", "json"}))["verdict"];
  };
  CHECK(verdict()["kind"] == "too-short");
  CHECK(verdict()["confidence"] == "hint");
  CHECK(verdict()["text"] ==
        "Not enough was recorded to say more: 800 001 of 1 600 000 samples have no call path, since the "
        "measurement had no space for them (No space left on device).");
  solver.sample.build().quality.full = 320'000;
  CHECK(verdict()["kind"] != "too-short");
  CHECK(verdict()["confidence"] == "hint");
}

TEST_CASE("Time lines without an end say so in words that hold for a job that runs, too") {
  SolverSample solver;
  solver.sample.build().trace.traced = 8;
  CHECK(last_calls_phrase(solver.sample.experiment()).empty());
  solver.sample.build().quality.cut_short = 8;
  CHECK(
      unwrapped(last_calls_phrase(solver.sample.experiment())) ==
      "8 processes were cut short, or still ran when they were merged: the calls that they were in then are "
      "missing here, and only samples (`view`) show them.");
}

TEST_CASE("Of a job whose ranks were killed, who ended first is said") {
  SolverSample solver;
  database::Experiment& experiment = solver.sample.build();
  experiment.quality.cut_short = 8;
  for (database::Location& location : experiment.locations)
    location.end_ns = (location.rank == 2 ? 7 : 10) * kSecond;
  std::string text = run(solver.sample, {});
  for (char& c : text) c = c == '\n' ? ' ' : c;
  INFO(text);
  CHECK(text.find("Rank 2 ended first, 3.00 s before the last") != std::string::npos);
}

TEST_CASE("Of ranks without an end, the one last seen before all others is named, as is who left") {
  SolverSample solver;
  database::Experiment& experiment = solver.sample.build();
  experiment.quality.cut_short = 8;
  for (database::Location& location : experiment.locations) {
    location.end_ns = (location.rank == 2 ? 9'200 : 10'000) * kMs;
    location.cut_short = true;
  }
  const auto text = [&solver] { return run(solver.sample, {}, 1000); };
  CHECK_THAT(text(), !Catch::Contains("ended first"));
  CHECK_THAT(text(), Catch::Contains("Rank 2 was last seen 800 ms before the others: look there first."));
  solver.sample.build().run.hosts = {"node1", "node2"};
  CHECK_THAT(text(), !Catch::Contains("last seen"));
  solver.sample.build().run.hosts = {"node1"};
  for (database::Location& location : solver.sample.build().locations) {
    if (location.rank == 5) location.end_ns = 9'400 * kMs;
  }
  CHECK_THAT(text(), !Catch::Contains("last seen"));
  for (database::Location& location : solver.sample.build().locations) {
    location.cut_short = location.rank != 2;
    location.left = location.rank == 2;
  }
  CHECK_THAT(text(), Catch::Contains("Rank 2 had ended without MPI_Finalize (exit or return from main)"));
  CHECK_THAT(text(), Catch::StartsWith("Rank 2 ended without MPI_Finalize, for which the launcher killed"));
  solver.sample.build().run.notes = {"rank 2 ended with exit status 3, without MPI_Finalize"};
  CHECK_THAT(text(), Catch::StartsWith("Rank 2 ended with exit status 3 without MPI_Finalize, for which"));
  for (database::Location& location : solver.sample.build().locations) {
    location.cut_short = false;
    location.left = true;
  }
  CHECK_THAT(text(), !Catch::Contains("for which the launcher killed"));
  CHECK_THAT(text(), Catch::Contains("all ranks ended without MPI_Finalize"));
}

TEST_CASE("Ranks that call no MPI are copies of one program, unless another process calls it") {
  SolverSample solver;
  solver.sample.build().run.notes = {measurement::kRankWithoutMpi};
  CHECK(run(solver.sample, {}).find("call of MPI") == std::string::npos);
  solver.sample.build().run.ranks = 0;
  CHECK(run(solver.sample, {}).find("Note: a launcher started the processes as ranks") != std::string::npos);
}

TEST_CASE("Messages received before being sent are the clocks' fault only where there are several") {
  SolverSample solver;
  solver.sample.build().quality.clock_violations = 5;
  CHECK(run(solver.sample, {}).find("On one host this happens") != std::string::npos);
  CHECK(run(solver.sample, {}).find("clocks of the hosts") == std::string::npos);
  solver.sample.build().run.hosts = {"node1", "node2"};
  CHECK(run(solver.sample, {}).find("On one host") == std::string::npos);
  CHECK(run(solver.sample, {}).find("clocks of the hosts") != std::string::npos);
}

TEST_CASE("One of something is no several") {
  SolverSample solver;
  database::Experiment& e = solver.sample.build();
  e.quality.partial = 1;
  e.modules.front().samples = 1;
  CHECK(run(solver.sample, {}).find("1 partial unwind (") != std::string::npos);
  CHECK(run(solver.sample, {"info"}).find("1 sample   ") != std::string::npos);
}

TEST_CASE("Which ranks ran which program is said where they ran several") {
  SolverSample solver;
  database::Run& of = solver.sample.build().run;
  of.notes = {std::string(database::kNoteOfPrograms) + "ranks 0-3 ran solver, ranks 4-7 coupler"};
  CHECK(run(solver.sample, {}).find("\nRanks 0-3 ran solver, ranks 4-7 coupler.\n") != std::string::npos);
  const std::string info = run(solver.sample, {"info"});
  CHECK(info.find("\nprograms    ranks 0-3 ran solver, ranks 4-7 coupler\n") != std::string::npos);
  CHECK(info.find("note ") == std::string::npos);
}

TEST_CASE("What found no partner in the time lines is counted by kind") {
  SolverSample solver;
  database::TraceAnalyses& trace = solver.sample.build().trace;
  trace.traced = 8;
  trace.stopped = 1;
  trace.unmatched = {.sends = 1, .receives = 5, .strangers = 3};
  trace.unmatched_ranks = {2, 3, 4};
  std::string text;
  for (const char c : run(solver.sample, {}))
    if (c != '\n' && c != ' ') text += c;
  INFO(text);
  CHECK(
      text.find(
          "9operationsinthetracesfoundnopartner(1send,5receivesand3operationswithunrecordedprocesses;messages"
          "ofranks2-4)") != std::string::npos);
  const nlohmann::json quality =
      nlohmann::json::parse(run(solver.sample, {"report", "--format", "json"}))["quality"];
  CHECK(quality["traces_stopped"] == 1);
  CHECK(quality["unmatched_ranks"] == std::vector{2, 3, 4});
  CHECK(quality["unmatched"]["sends"] == 1);
  CHECK(quality["unmatched"]["receives"] == 5);
  CHECK(quality["unmatched"]["collectives"] == 0);
  CHECK(quality["unmatched"]["with_unrecorded_processes"] == 3);
}

TEST_CASE("What sampling took is divided by the samples of all events") {
  SolverSample solver;
  const auto each_us = [&] {
    return nlohmann::json::parse(run(solver.sample, {"info", "--format", "json"}))["sampling_us"]
        .get<double>();
  };
  CHECK(each_us() == Approx(0.1));  // 160 ms by 1 600 000 samples of 8 000 s
  solver.sample.build().run.events = {"CPU@1000", "CPU@9x", "REALTIME@5000", "another@7"};
  CHECK(each_us() == Approx(0.1 / 6));
  CHECK(flowing(run(solver.sample, {"info"})).find("9 600 000 samples of all events, 0.0 µs each") !=
        std::string::npos);
  solver.sample.build().run.period_ns = 0;  // then all were counted
  CHECK(each_us() == Approx(0.1));
}

TEST_CASE("A program that was rebuilt or deleted before merging is reported, with what to do") {
  SolverSample solver;
  std::vector<database::ModuleInfo>& modules = solver.sample.build().modules;
  modules.push_back({.path = "/home/me/libsmall.so",
                     .build_id = "",
                     .samples = 3,
                     .notes = {"cannot be read: No such file"}});
  modules.push_back({.path = "/home/me/app",
                     .build_id = "",
                     .samples = 70,
                     .notes = {"changed since it was measured: its build-id differs"}});
  modules.push_back(
      {.path = "/lib/libc.so", .build_id = "", .samples = 9, .notes = {"no debug information"}});
  std::string text;
  for (const char c : run(solver.sample, {}))
    if (c != '\n' && c != ' ') text += c;
  INFO(text);
  CHECK(text.find("Note:nonamesfortheproceduresof/home/me/app(changedsinceitwasmeasured:itsbuild-iddiffers),"
                  "/home/me/libsmall.so(cannotberead:Nosuchfile).Mergeagainwhere") != std::string::npos);
}

}  // namespace culprit::viewer::testing
