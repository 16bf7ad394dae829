#include "database/checked_bytes.hpp"
#include "database/encoding.hpp"
#include "database/tile.hpp"
#include "database/tile_values.hpp"
#include "equality.hpp"

#include <functional>
#include <random>

#include <catch2/catch.hpp>

namespace tiles_test {

using namespace culprit::database;

namespace {

constexpr std::uint32_t kMetrics = 3;

/// Exclusive values as they are: [location][context][metric].
using Dense = std::vector<std::vector<std::vector<std::uint64_t>>>;

struct Sample {
  std::vector<ContextId> parents, ends;
  TileScopes scopes;
  Dense values;
};

/// Two modules: scope 1 with files 2 and 3, scope 4 with file 5.
constexpr FlatId kFlatScopes = 6;
const std::vector<FlatId> kAround = {kNone, kNone, 1, 1, kNone, 4};

TileScopes no_scopes(std::size_t contexts) {
  return {std::vector<FlatId>(contexts, kNone), {}};
}

/// A random tree, more or less deep, of which every location has some contexts.
Sample random_sample(std::mt19937& random, std::uint32_t contexts, std::uint32_t locations, unsigned sparse) {
  Sample sample;
  sample.parents = {kNone};
  for (ContextId x = 1; x < contexts; ++x) {
    ContextId parent = x - 1;
    for (auto up = random() % 4; up > 0 && parent != 0; --up) parent = sample.parents[parent];
    sample.parents.push_back(parent);
  }
  sample.ends.resize(contexts);
  for (ContextId x = contexts; x-- > 0;) {
    sample.ends[x] = std::max(sample.ends[x], x + 1);
    if (x > 0) sample.ends[sample.parents[x]] = std::max(sample.ends[sample.parents[x]], sample.ends[x]);
  }
  constexpr FlatId kSome[] = {kNone, 1, 2, 3, 5};
  for (ContextId x = 0; x < contexts; ++x) sample.scopes.of_context.push_back(kSome[random() % 5]);
  sample.scopes.around = kAround;
  sample.values.resize(locations);
  for (auto& location : sample.values) {
    location.assign(contexts, std::vector<std::uint64_t>(kMetrics));
    for (auto& row : location) {
      if (random() % sparse != 0) continue;
      row[0] = random() % 10'000'000;
      row[1] = random() % 2 == 0 ? row[0] : random() % 1000;
      row[2] = random() % 3 == 0 ? 0 : row[0] - row[1];
    }
  }
  return sample;
}

/// The tiles as they would lie in a file, and their index.
struct Image {
  Bytes file, index;
};

Image write(const Sample& sample, std::uint32_t per_tile) {
  const bool scoped = !sample.scopes.of_context.empty();
  TileBuilder builder(sample.parents, scoped ? sample.scopes : no_scopes(sample.parents.size()), kMetrics);
  Encoder file, index;
  std::uint32_t first = 0;
  const auto flush = [&] {
    const Tile tile = builder.take();
    std::uint64_t sum = 0;
    const Bytes sums = checksums_of(tile.bytes, sum);
    index.put<std::uint64_t>(file.size());
    index.put<std::uint64_t>(tile.bytes.size());
    index.put(sum);
    index.put(first);
    index.put(tile.locations);
    first += tile.locations;
    file.append(tile.bytes);
    file.append(sums);
  };
  for (const auto& location : sample.values) {
    if (builder.collected().locations() == per_tile) flush();
    builder.collected().add_location();
    for (ContextId x = 0; x < location.size(); ++x) builder.collected().add_row(x, location[x]);
  }
  flush();
  return {file.take(), index.take()};
}

std::vector<Value> profile_of(const Sample& sample, std::uint32_t location) {
  std::vector<Value> values;
  for (ContextId x = 0; x < sample.parents.size(); ++x) {
    for (std::uint32_t m = 0; m < kMetrics; ++m) {
      if (sample.values[location][x][m] != 0) values.push_back({x, m, sample.values[location][x][m]});
    }
  }
  return values;
}

std::vector<std::uint64_t> sum_over(const Sample& sample, ContextId first, ContextId end,
                                    std::uint32_t metric) {
  std::vector<std::uint64_t> sums(sample.values.size());
  for (std::size_t l = 0; l < sums.size(); ++l) {
    for (ContextId x = first; x < end; ++x) sums[l] += sample.values[l][x][metric];
  }
  return sums;
}

void read_all(const Sample& sample, const TileValues& values) {
  std::vector<std::uint64_t> sums(values.locations());
  const TileValues::Sums into{0, sums};
  for (std::uint32_t l = 0; l < values.locations(); ++l) (void)values.profile(l);
  for (ContextId x = 0; x < sample.ends.size(); ++x) {
    const TileValues::ContextRange subtree{x, sample.ends[x]};
    values.add_all({&subtree, 1}, {&into, 1});
    values.add_exclusive({&x, 1}, {&into, 1});
  }
  for (FlatId scope = 0; scope < kFlatScopes; ++scope) (void)values.add_exclusive_of(scope, into);
}

}  // namespace

TEST_CASE("tiles give back values by location and by context, inclusive and exclusive") {
  std::mt19937 random(7);
  for (const auto& [contexts, locations, sparse] :
       {std::tuple(1U, 1U, 1U), std::tuple(300U, 40U, 1U), std::tuple(300U, 70U, 3U),
        std::tuple(700U, 30U, 40U), std::tuple(40U, 300U, 2U)}) {
    const Sample sample = random_sample(random, contexts, locations, sparse);
    const Image image = write(sample, 32);
    const TileValues values(image.index, image.file, contexts, kMetrics, "tiles");
    REQUIRE(values.locations() == locations);
    for (std::uint32_t l = 0; l < locations; ++l) CHECK(equal(values.profile(l), profile_of(sample, l)));
    for (ContextId x = 0; x < contexts; ++x) {
      for (std::uint32_t m = 0; m < kMetrics; ++m) {
        std::vector<std::uint64_t> inclusive(locations), exclusive(locations);
        const TileValues::ContextRange subtree{x, sample.ends[x]};
        const TileValues::Sums into{m, inclusive}, into_exclusive{m, exclusive};
        values.add_all({&subtree, 1}, {&into, 1});
        CHECK(inclusive == sum_over(sample, x, sample.ends[x], m));
        values.add_exclusive({&x, 1}, {&into_exclusive, 1});
        CHECK(exclusive == sum_over(sample, x, x + 1, m));
      }
    }
    for (int i = 0; i < 50; ++i) {  // some of a subtree, in two parts
      std::array<ContextId, 4> ends{};
      std::ranges::generate(ends, [&] { return static_cast<ContextId>(random() % (contexts + 1)); });
      std::ranges::sort(ends);
      const std::array<TileValues::ContextRange, 2> ranges = {{{ends[0], ends[1]}, {ends[2], ends[3]}}};
      std::vector<std::uint64_t> found(locations);
      const TileValues::Sums into{1, found};
      values.add_all(ranges, {&into, 1});
      std::vector<std::uint64_t> expected = sum_over(sample, ends[0], ends[1], 1);
      const std::vector<std::uint64_t> more = sum_over(sample, ends[2], ends[3], 1);
      std::ranges::transform(expected, more, expected.begin(), std::plus());
      CHECK(found == expected);
    }
    const std::vector<ContextId> all = {0, contexts / 2 + (contexts > 1 ? 1 : 0)};
    if (all.back() < contexts && all.back() != 0) {
      std::vector<std::uint64_t> several(locations);
      const TileValues::Sums into{0, several};
      values.add_exclusive(all, {&into, 1});
      std::vector<std::uint64_t> expected = sum_over(sample, 0, 1, 0);
      const auto more = sum_over(sample, all.back(), all.back() + 1, 0);
      for (std::size_t l = 0; l < expected.size(); ++l) expected[l] += more[l];
      CHECK(several == expected);
    }
  }
}

TEST_CASE("tiles hold the exclusive values of files and of modules") {
  std::mt19937 random(9);
  const Sample sample = random_sample(random, 300, 70, 3);
  const Image image = write(sample, 32);
  const TileValues values(image.index, image.file, 300, kMetrics, "tiles");
  const auto lies_in = [&](ContextId x, FlatId scope) {
    FlatId at = sample.scopes.of_context[x];
    while (at != kNone && at != scope) at = kAround[at];
    return at == scope;
  };
  for (FlatId scope = 1; scope < kFlatScopes; ++scope) {
    for (std::uint32_t m = 0; m < kMetrics; ++m) {
      std::vector<std::uint64_t> found(70), expected(70);
      REQUIRE(values.add_exclusive_of(scope, {m, found}));
      for (std::uint32_t l = 0; l < 70; ++l) {
        for (ContextId x = 0; x < 300; ++x) expected[l] += lies_in(x, scope) ? sample.values[l][x][m] : 0;
      }
      CHECK(found == expected);
    }
  }
}

TEST_CASE("files and modules are found for what is recorded in them") {
  struct Scope {
    std::uint32_t parent;
    ContextKind kind;
    FlatId flat = kNone;
  };
  const std::vector<Scope> flat = {{kNone, ContextKind::root},  {0, ContextKind::module},
                                   {1, ContextKind::file},      {2, ContextKind::procedure},
                                   {3, ContextKind::statement}, {0, ContextKind::module},
                                   {5, ContextKind::procedure}};
  const std::vector<Scope> contexts = {{kNone, ContextKind::root},     {0, ContextKind::procedure, 3},
                                       {1, ContextKind::statement, 4}, {1, ContextKind::call},
                                       {3, ContextKind::procedure, 6}, {4, ContextKind::statement}};
  const TileScopes scopes = tile_scopes(contexts, flat);
  CHECK(scopes.of_context == std::vector<FlatId>{kNone, 2, 2, 2, 5, 5});
  CHECK(scopes.around == std::vector<FlatId>{kNone, kNone, 1, kNone, kNone, kNone, kNone});
}

TEST_CASE("a broad tree's inclusive values are stored, a chain's are not") {
  const auto directory_of = [](const Sample& sample) {
    const Image image = write(sample, 64);
    std::uint32_t entries = 0;
    std::memcpy(&entries, image.file.data() + 8, sizeof entries);
    return entries;
  };
  // 1 000 leaves below the root, in all locations: the root is stored, once.
  Sample broad;
  broad.parents.assign(1001, 0);
  broad.parents[0] = kNone;
  broad.values.assign(8, std::vector<std::vector<std::uint64_t>>(1001, {5, 0, 0}));
  for (auto& location : broad.values) location[0] = {0, 0, 0};
  CHECK(directory_of(broad) == 1000 + 1);
  // One leaf at the end of a chain: nothing is to be added up.
  Sample chain;
  chain.parents.push_back(kNone);
  for (ContextId x = 1; x < 1001; ++x) chain.parents.push_back(x - 1);
  chain.values.assign(8, std::vector<std::vector<std::uint64_t>>(1001, {0, 0, 0}));
  for (auto& location : chain.values) location[1000] = {7, 0, 0};
  CHECK(directory_of(chain) == 1);
}

TEST_CASE("a tile is the same whatever the builder made before") {
  std::mt19937 random(3);
  const Sample sample = random_sample(random, 200, 64, 2);
  const Image both = write(sample, 32);
  Sample second = sample;
  second.values.erase(second.values.begin(), second.values.begin() + 32);
  const Image alone = write(second, 32);
  const auto tail = ByteSpan(both.file).last(alone.file.size());
  CHECK(std::ranges::equal(tail, alone.file));
}

TEST_CASE("the number of locations in a tile follows the run, not the machine") {
  CHECK(tile_locations(1, 100) == 16);
  CHECK(tile_locations(100'000, 150'000'000) == 512);
  CHECK(tile_locations(3'072, 5'000'000) == 192);
  CHECK(tile_locations(100'000, 100'000 * std::uint64_t{1'000'000}) == 2);
  CHECK(tile_locations(16, std::uint64_t{1} << 40U) == 1);
  CHECK(tile_locations(0, 0) >= 1);
}

TEST_CASE("rows may be added all at once, and locations encoded as they come: the bytes are the same") {
  std::mt19937 random(23);
  const unsigned sparse = GENERATE(1U, 3U, 40U);
  const Sample sample = random_sample(random, 150, 40, sparse);
  TileBuilder one_by_one(sample.parents, sample.scopes, kMetrics);
  TileBuilder at_once(sample.parents, sample.scopes, kMetrics);
  for (int tile = 0; tile < 2; ++tile) {
    for (const auto& location : sample.values) {
      std::vector<ContextId> contexts;
      std::vector<std::uint64_t> values;
      one_by_one.collected().add_location();
      for (ContextId x = 0; x < location.size(); ++x) {
        one_by_one.collected().add_row(x, location[x]);
        // With some rows of zeros in some locations, which are to be left out.
        const bool zeros = location[x] == std::vector<std::uint64_t>(kMetrics);
        if (!zeros || (&location - sample.values.data()) % 3 == 0) contexts.push_back(x);
      }
      for (std::uint32_t m = 0; m < kMetrics; ++m) {
        for (const ContextId x : contexts) values.push_back(location[x][m]);
      }
      at_once.collected().add_location();
      at_once.collected().add_rows(contexts, values);
      if (random() % 4 != 0) at_once.encode_locations();
    }
    CHECK(one_by_one.take().bytes == at_once.take().bytes);
  }
  at_once.collected().add_location();
  const std::vector<std::uint64_t> two_rows = {1, 2, 3, 4, 5, 6};
  const std::vector<ContextId> descending = {5, 4}, beyond = {5, 150}, one = {5};
  for (const auto& contexts : {descending, beyond, one})
    CHECK_THROWS_AS(at_once.collected().add_rows(contexts, two_rows), std::invalid_argument);
}

TEST_CASE("a builder refuses rows that are out of order or fit nowhere") {
  const std::vector<ContextId> parents = {kNone, 0, 0};
  const std::vector<std::uint64_t> row = {1, 2, 3};
  TileBuilder builder(parents, no_scopes(3), kMetrics);
  CHECK_THROWS_AS(builder.collected().add_row(0, row), std::invalid_argument);
  CHECK_THROWS_AS(builder.take(), std::logic_error);
  builder.collected().add_location();
  builder.collected().add_row(1, row);
  CHECK_THROWS_AS(builder.collected().add_row(1, row), std::invalid_argument);
  CHECK_THROWS_AS(builder.collected().add_row(3, row), std::invalid_argument);
  CHECK_THROWS_AS(builder.collected().add_row(2, std::span(row).first(2)), std::invalid_argument);
  builder.collected().add_location();
  builder.collected().add_row(0, row);
  const std::vector<ContextId> disordered = {kNone, 2, 0};
  CHECK_THROWS_AS(TileBuilder(disordered, no_scopes(3), 1), std::invalid_argument);
  CHECK_THROWS_AS(TileBuilder(parents, no_scopes(2), 1), std::invalid_argument);
}

TEST_CASE("damage in a tile is found when it is looked at") {
  std::mt19937 random(11);
  const Sample sample = random_sample(random, 400, 60, 2);
  const Image image = write(sample, 20);
  std::size_t found = 0;
  for (int round = 0; round < 200; ++round) {
    Image damaged = image;
    damaged.file[random() % damaged.file.size()] ^= std::byte{0x20};
    try {
      const TileValues values(damaged.index, damaged.file, 400, kMetrics, "tiles");
      read_all(sample, values);
    } catch (const DatabaseError&) {
      ++found;
    }
  }
  CHECK(found >= 195);  // padding is nobody's
}

}  // namespace tiles_test
