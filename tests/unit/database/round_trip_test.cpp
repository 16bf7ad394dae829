#include "database/reader.hpp"
#include "equality.hpp"
#include "example.hpp"
#include "image.hpp"
#include "scratch.hpp"

#include <map>

#include <catch2/catch.hpp>

namespace round_trip_test {

using namespace culprit;
using namespace culprit::database;

namespace {

template <class AnyExperiment>
ContextId find_procedure(const AnyExperiment& e, std::string_view name) {
  for (ContextId x = 0; x < e.contexts.size(); ++x) {
    if (e.contexts[x].kind == ContextKind::procedure && e.strings[e.contexts[x].name] == name) return x;
  }
  FAIL("no procedure " << name);
  return kNone;
}

}  // namespace

TEST_CASE("what is written is read back") {
  const Scratch scratch;
  const Example example = make_example();
  write_example(example, scratch / "a.db");
  const Reader reader(scratch / "a.db");
  CHECK(equal(collect(reader.experiment()), example.experiment));
  for (std::uint32_t l = 0; l < example.profiles.size(); ++l) {
    CHECK(equal(reader.profile_values(l), example.profiles[l]));
  }
  for (ContextId x = 0; x < example.contexts.size(); ++x) {
    for (std::uint32_t m = 0; m < example.experiment.metrics.size(); ++m) {
      std::vector<std::uint64_t> expected(example.profiles.size());
      for (const Value& value : example.contexts[x]) {
        if (value.metric == m) expected[value.index] = value.value;
      }
      CHECK(reader.inclusive_values({&x, 1}, m) == expected);
    }
  }
}

TEST_CASE("what the machine is suspected of is read back") {
  const Scratch scratch;
  Example example = make_example();
  example.experiment.machine = example_machine();
  write_example(example, scratch / "a.db");
  CHECK(Reader(scratch / "a.db").experiment().machine() == example_machine());
  example.experiment.machine = {};
  write_example(example, scratch / "b.db");
  CHECK(Reader(scratch / "b.db").experiment().machine() == Machine{});
}

TEST_CASE("a reader hands out no text that is not printable, but for the words of the command") {
  const std::string odd = "a\n\033[31m\xff";
  const std::string spelled = "a\\n\\u001b[31m\\xff";
  const Scratch scratch;
  Example example = make_example();
  Experiment& e = example.experiment;
  e.strings.back() += odd;
  e.run.program = e.run.directory = e.run.mpi = odd;
  e.run.command = e.run.notes = e.run.events = {odd};
  e.run.names = {{77, odd}};
  e.modules[0].path = odd;
  e.modules[0].notes = {odd};
  for (Role& role : e.roles) role.name += odd;
  for (std::string& host : e.run.hosts) host += odd;
  for (Location& location : e.locations) location.host += odd;
  for (Metric& metric : e.metrics) metric.description = odd;
  write_example(example, scratch / "a.db");
  const Reader reader(scratch / "a.db");
  const Contents& read = reader.experiment();
  const auto last = static_cast<StringId>(read.strings.size() - 1);
  CHECK(read.strings[last].ends_with(spelled));
  CHECK(read.strings[last].data() == read.strings[last].data());  // it stays where it is
  CHECK(read.run.command == std::vector{odd});
  for (const std::string& text :
       {read.run.program, read.run.directory, read.run.mpi, read.run.notes[0], read.run.events[0],
        read.run.names.at(77), read.modules[0].path, read.modules[0].notes[0], read.metrics[0].description})
    CHECK(text == spelled);
  for (const Role& role : read.roles) CHECK(role.name.ends_with(spelled));
  for (const std::string& host : read.run.hosts) CHECK(host.ends_with(spelled));
  for (std::uint32_t l = 0; l < read.locations.size(); ++l) CHECK(read.locations[l].host.ends_with(spelled));
}

TEST_CASE("a reader looks things up by number") {
  const Scratch scratch;
  const Example example = make_example();
  write_example(example, scratch / "a.db");
  const Reader reader(scratch / "a.db");
  const Contents& e = reader.experiment();

  CHECK(e.strings[0].empty());
  CHECK_THROWS_AS(e.strings[static_cast<StringId>(e.strings.size())], DatabaseError);
  CHECK_THROWS_AS(e.contexts[e.contexts.size()], DatabaseError);
  CHECK_THROWS_AS(e.locations[e.locations.size()], DatabaseError);
  CHECK_THROWS_AS(reader.profile_values(12), std::out_of_range);
  const auto beyond = static_cast<ContextId>(e.contexts.size());
  CHECK_THROWS_AS(reader.inclusive_values({&beyond, 1}, 0), std::out_of_range);

  const ContextId spmv = find_procedure(e, "cg::spmv(Matrix const&, Vector const&, Vector&)");
  const std::vector<std::uint64_t> times = reader.inclusive_values({&spmv, 1}, kRealtime);
  REQUIRE(times.size() == 12);
  metrics::Accumulator expected;
  for (std::uint32_t l = 0; l < times.size(); ++l) {
    if (e.locations[l].role == 0) expected.accumulate(times[l]);
  }
  CHECK(e.context_summaries.get(0, kRealtime, spmv, true) == expected);
  CHECK(e.context_summaries.get(1, kRealtime, spmv, true).observers == 0);
  CHECK(e.context_summaries.get(0, kImbalance, spmv, true).observers == 0);
  CHECK(e.flat_summaries.get(0, kRealtime, e.contexts[spmv].flat, true) == expected);
}

TEST_CASE("a reader reads from memory") {
  const Scratch scratch;
  const Example example = make_example();
  write_example(example, scratch / "a.db");
  const std::vector<std::byte> bytes = bytes_of(scratch / "a.db");
  const Reader reader(bytes, "in memory");
  CHECK(equal(collect(reader.experiment()), example.experiment));
}

TEST_CASE("the example conserves and tells its story") {
  const Example example = make_example();
  const Experiment& e = example.experiment;
  for (std::uint32_t role = 0; role < 2; ++role) {
    std::uint64_t blamed = 0;
    for (const BlameRow& row : e.blame[role]) blamed += row.sum;
    std::uint64_t idle = 0;
    for (const Value& value : example.contexts[0]) {
      if (value.metric == kIdleness && e.locations[value.index].role == role) idle += value.value;
    }
    CHECK(blamed == idle);
    CHECK(blamed > 0);
  }
  REQUIRE_FALSE(e.suspects.empty());
  const Suspect& top = e.suspects.front();
  std::vector<std::int32_t> ranks;
  for (const std::uint32_t l : top.locations) ranks.push_back(e.locations[l].rank);
  CHECK(ranks == std::vector<std::int32_t>{3, 7});
  const ContextId spmv = find_procedure(e, "cg::spmv(Matrix const&, Vector const&, Vector&)");
  CHECK(top.suspect >= spmv);
  CHECK(top.suspect < e.contexts[spmv].end);
}

}  // namespace round_trip_test
