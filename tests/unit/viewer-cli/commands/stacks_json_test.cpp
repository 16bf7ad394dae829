#include "commands/stacks_json.hpp"

#include "commands/stacks.hpp"
#include "stacks/observed.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using stacks::Observation;

Observation on(const std::string& host, std::int32_t first) {
  Observation observation;
  for (const std::int32_t rank : {first, first + 1}) {
    stacks::Location location = stacks::testing::rank(rank);
    location.host = host;
    stacks::testing::add(observation, location,
                         {stacks::testing::in_allreduce(), stacks::testing::in_read()});
  }
  observation.seen[0][1] = stacks::kNotSeen;
  observation.busy = {false, true};
  observation.processes = 2;
  observation.stops_ns = {100'000, 200'000};
  observation.missed = {"thread 7"};
  return observation;
}

TEST_CASE("What was seen on another host is read as it was") {
  const Observation here = on("far", 2);
  const std::string text = "a message of the day\n" + write(stacks_json(here)) + "\nmpirun says bye\n";
  const Observation read = read_stacks(text);
  CHECK(stacks_json(read) == stacks_json(here));
  CHECK(read.busy == here.busy);
  CHECK(read.paths[0].frames[3].mpi);
}

TEST_CASE("Observations of several hosts are one, by rank, and each process is in it once") {
  Observation all = on("near", 4);
  stacks::join(all, on("far", 2));
  stacks::join(all, on("near", 4));
  REQUIRE(all.locations.size() == 4);
  CHECK(all.processes == 4);
  CHECK(all.locations[0].rank == 2);
  CHECK(all.locations[0].host == "far");
  CHECK(all.locations[3].rank == 5);
  CHECK(all.busy == std::vector{false, true, false, true});
  CHECK(all.seen[0][1] == stacks::kNotSeen);
  CHECK(all.paths[all.seen[1][1]].frames.back().name == "read");
  CHECK(all.stops_ns == std::vector<std::uint64_t>{100'000, 200'000});
  CHECK(all.missed.size() == 3);
}

TEST_CASE("What is no observation is refused") {
  Json good = stacks_json(on("far", 2));
  CHECK_THROWS(read_stacks(""));
  CHECK_THROWS(read_stacks("{}"));
  CHECK_THROWS(read_stacks("} {"));
  const auto refuses = [&](const char* place, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(place)] = value;
    CHECK_THROWS_AS(read_stacks(bad.dump()), std::runtime_error);
  };
  refuses("/looks", 1000000);
  refuses("/looks", -1);
  refuses("/looks", 3);
  refuses("/seen/0/paths/0", 99);
  refuses("/seen/0/paths/0", "1");
  refuses("/seen/0/process", "far");
  refuses("/seen/0/rank", 1e300);
  refuses("/seen/0/thread", 5'000'000'000);
  refuses("/paths/0", Json::array());
  refuses("/paths/0/1/name", 7);
  good["seen"][0]["role"] = "\x1b[2J";
  CHECK(read_stacks(good.dump()).locations[0].role.find('\x1b') == std::string::npos);
}

TEST_CASE("What another host writes may be cut or flipped anywhere: an observation, or none") {
  Observation one;
  stacks::testing::add(one, stacks::testing::rank(2), {stacks::testing::in_read()});
  one.busy = {true};
  one.processes = 1;
  one.stops_ns = {100'000};
  const std::string good = stacks_json(one).dump();
  std::size_t refused = 0;
  const auto read = [&refused](const std::string& text) {
    try {
      Observation all = on("near", 4);
      stacks::join(all, read_stacks(text));
      if (all.locations.size() != all.seen.size()) FAIL("a location that was not looked at");
    } catch (const std::runtime_error&) {
      ++refused;
    }
  };
  for (std::size_t at = 0; at < good.size(); ++at) {
    read(good.substr(0, at));
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    read(bytes);
  }
  CHECK(refused > good.size());  // what is cut has no end
}

TEST_CASE("A path from another host with more frames than a walk has is shown as far as one goes") {
  std::string text = R"({"looks": 1, "processes": 1, "stops_s": [0.0], "unseen": [], "missed": [],
    "seen": [{"rank": 0, "thread": 0, "role": "main", "process": "far:7", "paths": [0], "busy": true}],
    "paths": [[{"kind": "root"})";
  for (int i = 0; i < 100'000; ++i)
    text += R"(,{"name": "f", "file": "", "line": 0, "module": "app", "kind": "procedure"})";
  const Observation deep = read_stacks(text + "]]}");
  std::ostringstream out;
  write_stacks(out, {.width = 80, .colour = false, .unicode = true}, deep, {});
  CHECK(out.str().find("2048") != std::string::npos);
  CHECK(stacks_json(deep)["paths"][0].size() == 100'001);
}

}  // namespace
}  // namespace culprit::viewer::testing
