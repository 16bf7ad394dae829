#include "database/writer.hpp"

#include "database/reader.hpp"
#include "database/section_table.hpp"
#include "equality.hpp"
#include "example.hpp"
#include "exchange/threads.hpp"
#include "image.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <system_error>
#include <utility>

#include <catch2/catch.hpp>

namespace writer_test {

using namespace culprit;
using namespace culprit::database;

namespace {

/// Collective: this rank's tiles of an example, in turns. `write`: called when they have their places.
void place_tiles(exchange::Communicator& comm, Writer& writer, const std::vector<Tile>& tiles,
                 const std::function<void(std::size_t round)>& write) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (std::size_t round = 0; round * ranks < tiles.size(); ++round) {
    const std::size_t mine = round * ranks + static_cast<std::size_t>(comm.rank());
    writer.place_tiles(mine < tiles.size() ? std::span(&tiles[mine], 1) : std::span<const Tile>());
    write(round);
  }
}

void add_tiles(exchange::Communicator& comm, Writer& writer, const std::vector<Tile>& tiles) {
  place_tiles(comm, writer, tiles, [&](std::size_t /*round*/) { writer.write_placed(); });
}

void write_on(int ranks, const Example& example, const std::filesystem::path& path) {
  const std::vector<Tile> tiles = tiles_of(example, 3);
  exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
    Writer writer(comm, path);
    add_tiles(comm, writer, tiles);
    writer.add_experiment(comm.rank() == 0 ? example.experiment : Experiment{});
    writer.finish();
  });
}

std::size_t files_in(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

/// Runs `write` on one rank and expects it to throw `Error` and to leave nothing behind.
template <class Error, class Write>
void expect_refusal(Write write) {
  const Scratch scratch;
  CHECK_THROWS_AS(exchange::run_on_threads(1,
                                           [&](exchange::Communicator& comm) {
                                             Writer writer(comm, scratch / "a.db");
                                             write(comm, writer);
                                             writer.finish();
                                           }),
                  Error);
  CHECK(files_in(scratch.path()) == 0);
}

}  // namespace

TEST_CASE("the bytes do not depend on the number of ranks") {
  const Scratch scratch;
  const Example example = make_example();
  write_on(1, example, scratch / "1.db");
  const std::vector<std::byte> expected = bytes_of(scratch / "1.db");
  for (const int ranks : {2, 3, 7, 16}) {
    write_on(ranks, example, scratch / "n.db");
    CHECK(bytes_of(scratch / "n.db") == expected);
  }
  CHECK(files_in(scratch.path()) == 2);
}

TEST_CASE("tiles that are placed are written whenever the rank pleases, and once") {
  const Scratch scratch;
  const Example example = make_example();
  write_on(1, example, scratch / "1.db");
  const std::vector<Tile> tiles = tiles_of(example, 3);
  exchange::run_on_threads(2, [&](exchange::Communicator& comm) {
    Writer writer(comm, scratch / "n.db");
    // Rank 0 never asks for it, rank 1 in every second round, twice.
    place_tiles(comm, writer, tiles, [&](std::size_t round) {
      if (comm.rank() == 0 || round % 2 != 0) return;
      writer.write_placed();
      writer.write_placed();
    });
    writer.add_experiment(comm.rank() == 0 ? example.experiment : Experiment{});
    writer.finish();
  });
  CHECK(bytes_of(scratch / "n.db") == bytes_of(scratch / "1.db"));
}

TEST_CASE("tiles are written round by round, with the same bytes for any number of ranks") {
  const Scratch scratch;
  const Example example = make_example();
  const std::vector<Tile> tiles = tiles_of(example, 2);
  REQUIRE(tiles.size() == 6);
  std::vector<std::vector<std::byte>> files;
  for (const std::size_t ranks : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{9}}) {
    exchange::run_on_threads(static_cast<int>(ranks), [&](exchange::Communicator& comm) {
      Writer writer(comm, scratch / "tiles.db");
      add_tiles(comm, writer, tiles);
      const TileValues& values =
          writer.end_tiles(parents_of(example.experiment), example.experiment.metrics.size());
      if (comm.rank() == 0) CHECK(equal(values.profile(11), example.profiles[11]));
      writer.add_experiment(comm.rank() == 0 ? example.experiment : Experiment{});
      writer.finish();
    });
    files.push_back(bytes_of(scratch / "tiles.db"));
    CHECK(files.back() == files.front());
  }
  const Reader reader(scratch / "tiles.db");
  for (std::uint32_t l = 0; l < example.profiles.size(); ++l) {
    CHECK(equal(reader.profile_values(l), example.profiles[l]));
  }
}

TEST_CASE("locations that do not lie in the experiment are written as if they did, however many there are") {
  const Scratch scratch;
  Example example = make_example();
  const std::vector<Location> some = example.experiment.locations;
  const std::vector<std::vector<Value>> profiles = example.profiles;
  while (example.experiment.locations.size() < 6000) {  // more than is written at once, and no round number
    example.experiment.locations.insert(example.experiment.locations.end(), some.begin(), some.end());
    example.profiles.insert(example.profiles.end(), profiles.begin(), profiles.end());
  }
  for (std::uint64_t l = 0; l < example.experiment.locations.size(); ++l)
    example.experiment.locations[l].pid = l;
  write_example(example, scratch / "held.db");
  const Reader reader(scratch / "held.db");
  CHECK(equal(collect(reader.experiment()), example.experiment));
  const std::vector<Location> all = std::exchange(example.experiment.locations, {});
  const auto write = [&](std::size_t count) {
    exchange::run_on_threads(2, [&](exchange::Communicator& comm) {
      Writer writer(comm, scratch / "reported.db");
      const std::vector<Tile> tiles = tiles_of(example, 16);
      writer.place_tiles(comm.rank() == 0 ? std::span(tiles) : std::span<const Tile>());
      writer.add_experiment(comm.rank() == 0 ? example.experiment : Experiment{}, [&](const auto& visit) {
        for (std::size_t l = 0; l < count; ++l) visit(all[l]);
      });
      writer.finish();
    });
  };
  write(all.size());
  CHECK(bytes_of(scratch / "reported.db") == bytes_of(scratch / "held.db"));
  CHECK_THROWS_WITH(write(all.size() - 1),
                    "the tiles must hold the values of as many locations as there are");
}

TEST_CASE("a section that comes in pieces is the section that comes at once") {
  for (const std::size_t size : {0UL, 8UL, 48UL, 16384UL, 16392UL, 65536UL, 65584UL, 200000UL}) {
    for (const std::size_t chunks : {1UL, 2UL, 5UL}) {
      std::vector<std::byte> bytes(size);
      for (std::size_t b = 0; b < size; ++b) bytes[b] = static_cast<std::byte>(b * 31 >> 3);
      SectionTable at_once(112), in_pieces(112);
      const Bytes expected = at_once.add(format::Section::locations, bytes);
      Encoder got;
      got.append(in_pieces.begin(format::Section::locations));
      for (ByteSpan rest = bytes; !rest.empty();) {
        const ByteSpan piece = rest.first(std::min<std::size_t>(rest.size(), chunks * format::kChunk));
        CHECK(in_pieces.place() == 112 + got.size());
        in_pieces.extend(piece);
        got.append(piece);
        rest = rest.subspan(piece.size());
      }
      got.append(in_pieces.end());
      CHECK(got.bytes() == expected);
      CHECK(in_pieces.table() == at_once.table());
      CHECK(in_pieces.header() == at_once.header());
    }
  }
}

TEST_CASE("a database replaces an older one only when it is complete") {
  const Scratch scratch;
  const Example example = make_example();
  std::ofstream(scratch / "a.db") << "older";
  exchange::run_on_threads(2, [&](exchange::Communicator& comm) {
    Writer writer(comm, scratch / "a.db");
    add_tiles(comm, writer, tiles_of(example, 3));
  });
  CHECK(bytes_of(scratch / "a.db").size() == 5);
  CHECK(files_in(scratch.path()) == 1);
  write_on(2, example, scratch / "a.db");
  CHECK(equal(collect(Reader(scratch / "a.db").experiment()), example.experiment));
  CHECK(files_in(scratch.path()) == 1);
}

TEST_CASE("a writer refuses what its reader would refuse") {
  const Example good = make_example();
  const auto write = [](const Example& example) {
    return [&example](exchange::Communicator& comm, Writer& writer) {
      add_tiles(comm, writer, tiles_of(example, 3));
      writer.add_experiment(example.experiment);
    };
  };
  SECTION("a list too few") {
    Example bad = good;
    bad.profiles.pop_back();
    expect_refusal<std::logic_error>(write(bad));
  }
  SECTION("a broken tree") {
    Example bad = good;
    bad.experiment.contexts[5].parent = 0;
    expect_refusal<std::runtime_error>(write(bad));
  }
  SECTION("strings out of order") {
    Example bad = good;
    std::swap(bad.experiment.strings[1], bad.experiment.strings[2]);
    expect_refusal<std::runtime_error>(write(bad));
  }
  SECTION("a string that does not exist") {
    Example bad = good;
    bad.experiment.flat.back().name = 1'000'000;
    expect_refusal<std::runtime_error>(write(bad));
  }
  SECTION("blame of a context that does not exist") {
    Example bad = good;
    bad.experiment.blame[0].push_back({1'000'000, 1, 1, 1});
    expect_refusal<std::runtime_error>(write(bad));
  }
  SECTION("a summary of a metric that does not exist") {
    Example bad = good;
    bad.experiment.flat_summaries.back().metric = 99;
    expect_refusal<std::runtime_error>(write(bad));
  }
  SECTION("nothing but values") {
    expect_refusal<std::logic_error>(
        [&](exchange::Communicator& comm, Writer& writer) { add_tiles(comm, writer, tiles_of(good, 3)); });
  }
}

TEST_CASE("a failure on one rank is a failure on all") {
  const Scratch scratch;
  Example bad = make_example();
  bad.experiment.contexts[5].parent = 0;
  std::vector<std::string> messages(3);
  exchange::run_on_threads(3, [&](exchange::Communicator& comm) {
    try {
      Writer writer(comm, scratch / "a.db");
      add_tiles(comm, writer, tiles_of(bad, 3));
      writer.add_experiment(comm.rank() == 0 ? bad.experiment : Experiment{});
    } catch (const std::exception& error) {
      messages[static_cast<std::size_t>(comm.rank())] = error.what();
    }
  });
  CHECK_FALSE(messages[0].empty());
  CHECK(messages == std::vector<std::string>(3, messages[0]));
  CHECK(files_in(scratch.path()) == 0);
}

TEST_CASE("a directory that does not exist is an error on every rank") {
  const Scratch scratch;
  CHECK_THROWS_AS(write_on(2, make_example(), scratch / "absent" / "a.db"), std::system_error);
}

}  // namespace writer_test
