#include "findings/mpi_calls.hpp"
#include "text/quantity.hpp"
#include "viewer-cli/run.hpp"
#include "views/figures.hpp"
#include "views/solver_sample.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using views::testing::SolverSample;

/// Eight ranks reduce 8 bytes; rank 0 sends to ranks 1 and 2, in the world and in another communicator.
struct TrafficSample : SolverSample {
  TrafficSample() {
    database::Experiment& e = sample.build();
    e.trace.traced = 8;
    e.communication.calls = {{.context = allreduce,
                              .threads = 8,
                              .busiest = 3,
                              .calls = 8000,
                              .ns = 4000 * kMs,
                              .busiest_ns = 900 * kMs,
                              .longest_ns = 12 * kMs,
                              .messages = 8000,
                              .message_bytes = 64'000,
                              .smallest = 8,
                              .largest = 8,
                              .sent_bytes = 64'000,
                              .received_bytes = 64'000}};
    e.communication.partners = {
        {.communicator = 1, .members = 8, .from = 0, .to = 1, .messages = 3, .bytes = 3000},
        {.communicator = 1, .members = 8, .from = 0, .to = 2, .messages = 1, .bytes = 12},
        {.communicator = 77, .members = 2, .from = 2, .to = 0, .messages = 1, .bytes = 5}};
  }
};

}  // namespace

TEST_CASE("communication: functions, call paths with their messages, and who sends to whom") {
  const TrafficSample traffic;
  CHECK(run(traffic.sample, {"communication"}) ==
        R"(8 000 MPI calls took 4.00 s, 0.1 % of all threads' time. They sent 64.0 kB and received 64.0 kB.

  time     of run  calls    mean  longest  size       rate  call
4.00 s  under 1 %  8 000  500 µs    12 ms   8 B  16.0 kB/s  MPI_Allreduce

  time     of run  calls    mean  longest  size       rate  call path
4.00 s  under 1 %  8 000  500 µs    12 ms   8 B  16.0 kB/s  MPI_Allreduce
    main › cg_iterate › loop at solver.c:412 › MPI_Allreduce at solver.c:418, on 8 ranks, most on
    rank 3 (900 ms), sent 64.0 kB, received 64.0 kB

Who sends to whom, by messages and one-sided operations:
MPI_COMM_WORLD: 3.01 kB in 4 messages; 1 rank sends to 2 others
  from \ to  0        1     2
          0  ·  3.00 kB  12 B
          1  ·        ·     ·
          2  ·        ·     ·
a communicator of 2 processes: 5 B in 1 message; 1 rank sends to 1 other
  from \ to    0  2
          0    ·  ·
          2  5 B  ·
)");
}

TEST_CASE("communication: a stub of the linkage table is the function that it leads to") {
  TrafficSample traffic;
  database::Experiment& e = traffic.sample.build();
  e.trace.traced = 0;
  e.strings[e.contexts[traffic.allreduce].name] = "MPI_Allreduce@plt";
  const auto json = nlohmann::json::parse(run(traffic.sample, {"communication", "--format", "json"}));
  CHECK(json["mpi"][0]["call"] == "MPI_Allreduce");
  CHECK(mpi_call_name(traffic.sample.experiment(), traffic.allreduce) == "MPI_Allreduce");
}

TEST_CASE("communication: a narrow screen has fewer columns") {
  const TrafficSample traffic;
  const std::string text = run(traffic.sample, {"communication"}, 60);
  CHECK(text.find("\n  time     of run  calls    mean  longest  call\n") != std::string::npos);
}

TEST_CASE("communication: polls that found nothing stand beside those that found something") {
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME", "idleness", "polls-in-vain"});
  const std::uint32_t main_role = sample.add_role("main");
  for (std::int32_t rank = 0; rank < 2; ++rank) sample.add_location(rank, 0, main_role);
  const database::ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 1});
  const database::ContextId site = sample.add(main, {ContextKind::call, "", "a.c", 7});
  const database::ContextId test = sample.add(site, {ContextKind::procedure, "MPI_Test", "", 0, "libmpi.so",
                                                     database::kFrontier | database::kInWait});
  const database::ContextId line =
      sample.add(test, {ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait});
  for (std::uint32_t location = 0; location < 2; ++location) {
    sample.set(line, 0, location, 10'000 * kMs);
    sample.set(line, 1, location, 10'000 * kMs);
    sample.set(line, 2, location, 1'000'000);
  }
  sample.finish();
  sample.build().communication.calls = {
      {.context = test, .threads = 2, .calls = 8, .ns = 20'000 * kMs, .busiest_ns = 10'000 * kMs}};
  const std::string text = run(sample, {"communication"});
  INFO(text);
  CHECK(text.find("8 MPI calls took 20.0 s") == 0);
  CHECK(text.find("2 000 000 more polls found nothing.") != std::string::npos);
  CHECK(text.find("2 000 000 polls in vain") != std::string::npos);
  const std::string report = run(sample, {"report"});
  INFO(report);
  CHECK(report.find("found nothing") != std::string::npos);
  CHECK(report.find("Loops of polls") == std::string::npos);
  sample.build().trace.traced = 2;
  sample.build().communication.calls.front().ns = 50'000 * kMs;
  const std::string waits = run(sample, {"waits"});
  INFO(waits);
  CHECK(waits.find("Loops of polls wait for 50.0 s by time lines.") != std::string::npos);
  CHECK(waits.find("30.0 s, as work.") != std::string::npos);
}

TEST_CASE("communication: without a trace, no call's own time is known, and what is not counted is said") {
  TrafficSample traffic;
  database::Experiment& e = traffic.sample.build();
  e.trace.traced = 0;
  e.communication.calls.front().longest_ns = 0;
  e.communication.partners.clear();
  const std::string text = run(traffic.sample, {"communication"});
  CHECK(text.find("\n4.00 s  under 1 %  8 000  500 µs   8 B  16.0 kB/s  MPI_Allreduce\n") !=
        std::string::npos);
  CHECK(text.find("\nCounted without a trace: ") != std::string::npos);
}

TEST_CASE("communication: where no call was counted, that is said, and nothing fails") {
  TrafficSample traffic;
  database::Experiment& e = traffic.sample.build();
  e.trace.traced = 0;
  e.communication = {};
  CHECK(
      run(traffic.sample, {"communication"}).starts_with("No MPI calls were counted: the program made none"));
  CHECK(nlohmann::json::parse(run(traffic.sample, {"communication", "--format", "json"}))["calls"] == 0);
}

TEST_CASE("communication: communicators have the names that the program gave them") {
  TrafficSample traffic;
  traffic.sample.build().run.names = {{77, "row"}};
  CHECK(run(traffic.sample, {"communication"})
            .find("\ncommunicator \"row\" (2 processes): 5 B in 1 message; 1 rank sends to 1 other\n") !=
        std::string::npos);
  const auto json = nlohmann::json::parse(run(traffic.sample, {"communication", "--format", "json"}));
  CHECK(json["partners"][0]["name"].is_null());
  CHECK(json["partners"][2]["name"] == "row");
}

TEST_CASE("communication: of communicators beyond the first few the sums are listed") {
  TrafficSample traffic;
  std::vector<database::PartnerTraffic>& partners = traffic.sample.build().communication.partners;
  partners.clear();
  for (std::uint64_t communicator = 2; communicator < 16; ++communicator)
    partners.push_back(
        {.communicator = communicator, .members = 2, .from = 1, .to = 3, .messages = 1, .bytes = 5});
  const std::string text = run(traffic.sample, {"communication"});
  INFO(text);
  CHECK(text.find("a communicator of 2 processes: 5 B in 1 message; ranks 1, 3\n"
                  "a communicator") != std::string::npos);
  CHECK(text.find("and 2 communicators more (--format json)\n") != std::string::npos);
}

TEST_CASE("communication: sizes of messages that differ are a range") {
  TrafficSample traffic;
  database::CallTraffic& call = traffic.sample.build().communication.calls.front();
  call.largest = 4'000'000;
  CHECK(flowing(run(traffic.sample, {"communication"})).find(", messages of 8 B to 4.00 MB ") !=
        std::string::npos);
}

TEST_CASE("communication: the longest call of a function is unknown where that of one path is") {
  TrafficSample traffic;
  const auto longest = [&](std::uint64_t of_second) {
    std::vector<database::CallTraffic>& calls = traffic.sample.build().communication.calls;
    calls.resize(1);
    calls.push_back(calls.front());
    calls.back().longest_ns = of_second;
    return mpi_traffic(views::Figures(traffic.sample)).calls.at(0).longest_ns;
  };
  CHECK(longest(30 * kMs) == 30 * kMs);
  CHECK(longest(0) == 0);
}

TEST_CASE("communication, waits: without MPI_Init and MPI_Finalize") {
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME", "idleness"});
  const std::uint32_t main_role = sample.add_role("main");
  sample.add_location(0, 0, main_role);
  const database::ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 1});
  const auto add = [&](const char* name, std::uint64_t ns) {
    const std::uint8_t frontier = database::kFrontier | database::kInWait;
    const database::ContextId call =
        sample.add(main, {ContextKind::procedure, name, "", 0, "libmpi.so", frontier});
    sample.set(sample.add(call, {ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait}), 0, 0,
               ns);
    return call;
  };
  const database::ContextId init = add("MPI_Init", 600 * kMs), receive = add("MPI_Recv", 100 * kMs);
  sample.set(sample.add(main, {ContextKind::statement, "", "a.c", 2}), 0, 0, 300 * kMs);
  sample.finish();
  database::Experiment& e = sample.build();
  e.trace.traced = 1;
  e.communication.calls = {
      {.context = init, .threads = 1, .calls = 1, .ns = 600 * kMs, .longest_ns = 600 * kMs},
      {.context = receive, .threads = 1, .calls = 4, .ns = 100 * kMs, .longest_ns = 60 * kMs}};
  using database::WaitPattern;
  e.waits = {{WaitPattern::wait_at_init, 0, init, 0, database::kNone, true, 500 * kMs, 1},
             {WaitPattern::late_sender, 0, receive, 0, database::kNone, true, 50 * kMs, 2}};
  const std::string text = run(sample, {"communication", "--without-startup"});
  INFO(text);
  CHECK(text.find(
            "4 MPI calls took 100 ms, 25.0 % of all threads' time without MPI_Init and MPI_Finalize.") == 0);
  CHECK(text.find("MPI_Init\n") == std::string::npos);
  CHECK(run(sample, {"communication"}).find("5 MPI calls took 700 ms, 70.0 % of all threads' time. ") == 0);
  const auto json =
      nlohmann::json::parse(run(sample, {"communication", "--without-startup", "--format", "json"}));
  CHECK(json["whole_s"] == 0.4);
  CHECK(json["paths"].size() == 1);
  const std::string waits = run(sample, {"waits", "--without-startup"});
  INFO(waits);
  CHECK(waits.find("50 ms in all outside MPI_Init and MPI_Finalize") != std::string::npos);
  CHECK(waits.find("wait-at-init") == std::string::npos);
  CHECK(run(sample, {"waits"}).find("wait-at-init") != std::string::npos);
}

TEST_CASE("communication: many ranks are a shaded matrix of blocks, and their largest pairs") {
  TrafficSample traffic;
  database::Communication& communication = traffic.sample.build().communication;
  communication.partners.clear();
  for (std::int32_t rank = 0; rank < 64; ++rank)
    communication.partners.push_back({.communicator = 1,
                                      .members = 64,
                                      .from = rank,
                                      .to = (rank + 1) % 64,
                                      .messages = 10,
                                      .bytes = 1000 + static_cast<std::uint64_t>(rank)});
  communication.partners.push_back(
      {.communicator = 1, .members = 64, .from = 60, .to = 0, .messages = 1, .bytes = 3000});
  const std::string text = run(traffic.sample, {"communication"}, 80);
  INFO(text);
  CHECK(text.find("  each row and column is 4 ranks, named by the first; four shades from ░ to █,\n"
                  "  at most 4.06 kB; · nothing\n"
                  "  from \\ to  0   4   8   12  16  20  24  28  32  36  40  44  48  52  56  60\n"
                  "          0  ▓▓▓ ░░░  ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·\n"
                  "          4   ·  ▓▓▓ ░░░") != std::string::npos);
  CHECK(text.find("\n         60  ███  ·   ·   ·") != std::string::npos);
  CHECK(text.find("MPI_COMM_WORLD: 69.0 kB in 641 messages; 64 ranks send to 1 to 2 others\n") !=
        std::string::npos);
  CHECK(text.find("    bytes  from rank  to rank  messages     size\n"
                  "  3.00 kB         60        0         1  3.00 kB\n"
                  "  1.06 kB         63        0        10    106 B\n") != std::string::npos);
  CHECK(text.find("and 55 more pairs (--format json)") != std::string::npos);
}

TEST_CASE("communication: who sends to nobody but itself, and to itself as well") {
  TrafficSample traffic;
  std::vector<database::PartnerTraffic>& partners = traffic.sample.build().communication.partners;
  partners = {{.communicator = 5, .members = 1, .from = 0, .to = 0, .messages = 2, .bytes = 10}};
  CHECK(run(traffic.sample, {"communication"})
            .find("a communicator of 1 process: 10 B in 2 messages; 1 rank sends to itself\n") !=
        std::string::npos);
  traffic.sample.build().communication.partners.push_back(
      {.communicator = 5, .members = 1, .from = 1, .to = 1, .messages = 2, .bytes = 10});
  CHECK(run(traffic.sample, {"communication"}).find("; 2 ranks send, each to itself\n") != std::string::npos);
  traffic.sample.build().communication.partners[1].to = 0;
  traffic.sample.build().communication.partners.push_back(
      {.communicator = 5, .members = 1, .from = 0, .to = 1, .messages = 2, .bytes = 10});
  CHECK(run(traffic.sample, {"communication"}).find("; 2 ranks send to 1 other each\n") != std::string::npos);
}

TEST_CASE("communication: pairs of groups of ranks say so") {
  TrafficSample traffic;
  std::vector<database::PartnerTraffic>& partners = traffic.sample.build().communication.partners;
  partners.clear();
  for (std::int32_t group = 0; group < 11; ++group)
    partners.push_back({.communicator = 1,
                        .members = 4096,
                        .from = 0,
                        .to = 64 * (group + 1),
                        .ranks = 64,
                        .messages = 10,
                        .bytes = 5000});
  const std::string text = run(traffic.sample, {"communication"});
  INFO(text);
  CHECK(text.find("5.00 kB       0-63   64-127        10  500 B\n") != std::string::npos);
  CHECK(text.find("  each row and column is 64 ranks, named by the first; ") != std::string::npos);
  CHECK(text.find("  from \\ to  0   64  128 192 256 320 384 448 512 576 640 704\n"
                  "          0   ·  ███ ███ ███ ███ ███ ███ ███ ███ ███ ███ ███\n") != std::string::npos);
}

TEST_CASE("Bytes have three significant digits at most, and a unit that fits") {
  CHECK(bytes(0) == "0 B");
  CHECK(bytes(999) == "999 B");
  CHECK(bytes(999.6) == "1.00 kB");
  CHECK(bytes(1250) == "1.25 kB");
  CHECK(bytes(37'149'000) == "37.1 MB");
  CHECK(bytes(999'600'000) == "1.00 GB");
  CHECK(bytes(4.2e17) == "420 PB");
}

}  // namespace culprit::viewer::testing
