#include "database/reader.hpp"
#include "equality.hpp"
#include "example.hpp"
#include "image.hpp"
#include "repair.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <fstream>
#include <random>

#include <catch2/catch.hpp>
#include <sys/stat.h>

namespace damage_test {

using namespace culprit::database;

namespace {

/// A database with something in every section, yet small enough to damage each byte of.
std::vector<std::byte> tiny_database(const Scratch& scratch) {
  Example tiny;
  Experiment& e = tiny.experiment;
  e.run.program = "a";
  e.run.command = {"a", "b"};
  e.strings = {"", "f", "main"};
  e.modules = {{"a", "00ff", 3, {"no symbols"}}};
  e.contexts = {{kNone, 3, 0, 0, 0, 0, kNone, ContextKind::root, 0, 0},
                {0, 3, 2, 1, 1, 1, 1, ContextKind::procedure, 0, 0},
                {1, 3, 0, 1, 7, 1, 1, ContextKind::statement, kFrontier | kInWait, 1}};
  e.flat = {{kNone, 2, 0, 0, 0, 0, ContextKind::root}, {0, 2, 2, 1, 1, 1, ContextKind::procedure}};
  e.metrics = {{"REALTIME", "ns", "time", false}, {"idleness", "ns", "", true}};
  e.roles = {{"main", 2}};
  e.locations = {{0, 0, 0, 10, "h", 1, 9, false}, {1, 0, 0, 11, "h", 1, 9, true}};
  culprit::metrics::Accumulator a, b;
  a.accumulate(5);
  a.accumulate(70'000);
  b.accumulate(5);
  e.context_summaries = {{0, 0, {{0, a, {}}, {1, a, b}, {2, a, a}}}};
  e.flat_summaries = {{0, 0, {{1, a, b}}}};
  e.balance = {{Balance::balanced, Balance::imbalanced, Balance::untested}};
  e.blame = {{{0, 75, 0, 70}}};
  e.suspects = {{0, 0, 1, {1}, 1, 2, 3, 4, 1, Confidence::likely, Doubt::rivals, {1}, {{0, 2}}}};
  e.waits = {{.pattern = WaitPattern::late_sender,
              .location = 0,
              .context = 2,
              .cause_location = 1,
              .cause_context = 1,
              .exact = true,
              .ns = 9,
              .count = 1,
              .direct_ns = 4}};
  e.trace = example_trace(2, 3);
  e.machine = example_machine();
  e.varying_gaps = {{.role = 0, .context = 2, .after = kNone, .threads = 2, .count = 9, .mean_ns = 8}};
  e.communication = {
      .calls = {{.context = 2, .threads = 2, .busiest = 1, .calls = 9, .ns = 80, .messages = 9}},
      .partners = {{.communicator = 1, .members = 2, .from = 0, .to = 1, .messages = 9, .bytes = 72}}};
  e.sources = {{1, std::string(50, 'x')}};
  tiny.profiles = {{{2, 0, 5}}, {{2, 0, 70'000}}};
  const std::vector<Value> inclusive = {{0, 0, 5}, {1, 0, 70'000}};
  tiny.contexts = {inclusive, inclusive, inclusive};
  write_example(tiny, scratch / "tiny.db");
  return bytes_of(scratch / "tiny.db");
}

/// All that a reader gives of a database.
struct Everything {
  Experiment experiment;
  std::vector<std::vector<Value>> profiles;
  bool operator==(const Everything& other) const {
    return equal(experiment, other.experiment) &&
           std::ranges::equal(profiles, other.profiles,
                              [](const auto& one, const auto& two) { return equal(one, two); });
  }
};

Everything everything(const std::vector<std::byte>& file) {
  const Reader reader(file, "tiny.db");
  Everything all{.experiment = collect(reader.experiment()), .profiles = {}};
  for (std::uint32_t l = 0; l < all.experiment.locations.size(); ++l)
    all.profiles.push_back(reader.profile_values(l));
  return all;
}

std::string why_not(const std::filesystem::path& path) {
  try {
    const Reader reader(path);
  } catch (const DatabaseError& error) {
    CHECK(error.path() == path);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a database cut short anywhere is refused") {
  const Scratch scratch;
  const std::vector<std::byte> whole = tiny_database(scratch);
  REQUIRE(read_all(whole));
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < whole.size(); ++size)
    accepted += read_all(std::span(whole).first(size)) ? 1 : 0;
  CHECK(accepted == 0);
}

TEST_CASE("a database with a byte too many is refused") {
  const Scratch scratch;
  std::vector<std::byte> longer = tiny_database(scratch);
  longer.push_back({});
  CHECK_FALSE(read_all(longer));
}

TEST_CASE("a flipped byte anywhere is noticed, or changes nothing that a reader gives") {
  const Scratch scratch;
  const std::vector<std::byte> whole = tiny_database(scratch);
  const Everything before = everything(whole);
  std::vector<std::byte> damaged = whole;
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    damaged[at] ^= static_cast<std::byte>(1U << at % 8);
    if (read_all(damaged)) {
      ++accepted;
      if (!(everything(damaged) == before)) FAIL("byte " << at);
    }
    damaged[at] = whole[at];
  }
  // At most 7 bytes of padding before each of 22 sections and the table; the checksum of self-checked
  // sections is unused.
  CHECK(accepted <= 23 * 7 + 5 * 8);
}

TEST_CASE("what lies behind the checksums is not trusted either") {
  const Scratch scratch;
  const std::vector<std::byte> whole = tiny_database(scratch);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned pattern : {0x01U, 0x80U, 0xffU}) {
      std::vector<std::byte> damaged = whole;
      damaged[at] ^= static_cast<std::byte>(pattern);
      repair_checksums(damaged);
      refused += read_all(damaged) ? 0 : 1;
    }
  }
  CHECK(refused > whole.size() / 4);
}

TEST_CASE("many random changes at once do no harm") {
  const Scratch scratch;
  const std::vector<std::byte> whole = tiny_database(scratch);
  std::mt19937 random(20101);
  std::size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> damaged = whole;
    for (int change = 0; change < 1 + round % 8; ++change) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    repair_checksums(damaged);
    refused += read_all(damaged) ? 0 : 1;
  }
  CHECK(refused > 100);
}

TEST_CASE("what is no database is refused with a reason") {
  const Scratch scratch;
  CHECK(why_not(scratch / "absent.db") == "No such file or directory");
  CHECK(why_not(scratch.path()).starts_with("not a regular file"));

  REQUIRE(::mkfifo((scratch / "fifo").c_str(), 0600) == 0);
  CHECK(why_not(scratch / "fifo").starts_with("not a regular file"));

  std::ofstream(scratch / "empty.db").close();
  CHECK(why_not(scratch / "empty.db").starts_with("not a Culprit database"));

  std::ofstream(scratch / "text.db")
      << "This is no database, only some words that are long enough to hold a header.";
  CHECK(why_not(scratch / "text.db").starts_with("not a Culprit database"));
}

TEST_CASE("a later version is refused by its number") {
  const Scratch scratch;
  std::vector<std::byte> later = tiny_database(scratch);
  later[8] = std::byte{3};
  repair_checksums(later);
  std::ofstream(scratch / "later.db", std::ios::binary)
      .write(reinterpret_cast<const char*>(later.data()), static_cast<std::streamsize>(later.size()));
  CHECK(why_not(scratch / "later.db").starts_with("database format 3, this version reads 2"));
}

}  // namespace damage_test
