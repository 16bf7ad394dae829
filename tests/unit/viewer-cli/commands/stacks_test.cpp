#include "commands/stacks.hpp"

#include "commands/stacks_json.hpp"
#include "stacks/observed.hpp"

#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using stacks::Observation;
using stacks::testing::frame;
using stacks::testing::in_allreduce;
using stacks::testing::in_read;

std::string text(const Observation& observation, const Invocation& invocation = {}) {
  std::ostringstream out;
  write_stacks(out, {.width = 100, .colour = false, .unicode = true}, observation, invocation);
  return out.str();
}

/// Three ranks in a collective call, one at another place.
Observation job() {
  Observation observation;
  for (int number = 0; number < 3; ++number)
    stacks::testing::add(observation, stacks::testing::rank(number), {in_allreduce(), in_allreduce()});
  stacks::testing::add(observation, stacks::testing::rank(3), {in_read(), in_read()});
  observation.processes = 4;
  observation.stops_ns = {150'000, 200'000};
  return observation;
}

TEST_CASE("Stacks begin with who is where, and unite the paths below") {
  CHECK(text(job()) ==
        "- ranks 0-2 stand in MPI_Allreduce under solve at app.c:20\n"
        "- rank 3 stands in read under load_mesh at app.c:31\n"
        "\n"
        "main                                ranks 0-3\n"
        "├ solve › MPI_Allreduce (app.c:20)  ranks 0-2\n"
        "└ load_mesh › read (app.c:31)       rank 3\n"
        "\n"
        "4 processes, 4 threads, 2 looks, 300 ms apart; no thread was stopped for longer than 200 µs.\n");
}

TEST_CASE("With everything, stacks show start-up frames and what lies inside MPI") {
  Invocation all;
  all.all = true;
  const std::string shown = text(job(), all);
  CHECK(shown.find("_start › main") != std::string::npos);
  CHECK(shown.find("MPI_Allreduce › poll") != std::string::npos);
}

TEST_CASE("Rows say who was there in some looks only, and how deep recursion is") {
  Observation observation;
  const std::vector<stacks::Frame> deep = {frame("main", 1), frame("descend", 2), frame("descend", 2),
                                           frame("descend", 2)};
  stacks::testing::add(observation, stacks::testing::process(7),
                       {deep, deep, {frame("main", 1), frame("ascend", 9)}});
  observation.processes = 1;
  const std::string shown = text(observation);
  CHECK(shown.find("- main thread moves within main\n") != std::string::npos);
  CHECK(shown.find("ascend (app.c:9)       main thread in 1 of 3 looks") != std::string::npos);
  CHECK(shown.find("descend × 3 (app.c:2)  main thread in 2 of 3 looks") != std::string::npos);
}

TEST_CASE("The json of stacks has whole paths with their locations") {
  const Json found = stacks_json(job());
  CHECK(found["processes"] == 4);
  CHECK(found["threads"] == 4);
  CHECK(found["looks"] == 2);
  CHECK(found["longest_stop_s"] == 200e-6);
  CHECK(found["stops_s"] == Json({150e-6, 200e-6}));
  REQUIRE(found["roots"].size() == 1);
  const Json& root = found["roots"][0];
  CHECK(root["frame"]["kind"] == "root");
  CHECK(root["locations"].size() == 4);
  CHECK(root["locations"][3] ==
        Json({{"rank", 3}, {"thread", 0}, {"role", "main"}, {"process", "node:103"}}));
  CHECK(root["children"][0]["frame"]["name"] == "_start");
  CHECK(root["children"][0]["children"].size() == 2);  // main, at two lines
}

}  // namespace
}  // namespace culprit::viewer::testing
