#include "storage/spill.hpp"

#include "storage/sequence.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit::storage;

namespace {

/// Of several fields, one of which goes on by steps.
struct Item {
  std::uint32_t event = 0;
  std::uint64_t sent_ns = 0;
};

/// One block of a few items in memory, everything else in the file.
SpillOptions tiny() {
  return {.directory = {}, .memory = 1, .block = 1, .calls_sorted_together = 3};
}

}  // namespace

TEST_CASE("a sequence gives back what was put in, however little of it fits into memory") {
  REQUIRE(rc::check("like a vector", [] {
    SpillOptions options = tiny();
    options.block = *rc::gen::inRange<std::size_t>(1, 300);
    options.memory = *rc::gen::inRange<std::size_t>(1, 3000);
    Spill spill(options);
    Sequence<std::uint64_t> first(spill);
    Sequence<Item> second(spill);
    std::vector<std::uint64_t> numbers;
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const int steps = *rc::gen::inRange(0, 2000);
    for (int i = 0; i < steps; ++i) {
      const std::uint64_t action = random() % 8;
      if (action == 0 && !numbers.empty()) {
        numbers.pop_back();
        first.pop_back();
      } else if (action == 1 && !numbers.empty()) {
        const std::size_t at = random() % numbers.size();
        numbers[at] = random();
        first.set(at, numbers[at]);
      } else {
        numbers.push_back(random());
        first.push_back(numbers.back());
      }
      second.push_back({.event = static_cast<std::uint32_t>(i), .sent_ns = 7});
      if (random() % 500 == 0) second.clear();
    }
    RC_ASSERT(first.size() == numbers.size());
    for (std::size_t i = numbers.size(); i-- > 0;) RC_ASSERT(first[i] == numbers[i]);
    RC_ASSERT(std::equal(first.begin(), first.end(), numbers.begin(), numbers.end()));
    for (std::size_t i = 1; i < second.size(); ++i) RC_ASSERT(second[i].event == second[i - 1].event + 1);
  }));
}

TEST_CASE("blocks that do not fit into memory stay there packed, and only what is left goes to the file") {
  REQUIRE(rc::check("like a vector", [] {
    SpillOptions options;
    options.block = 1024;
    options.memory = *rc::gen::inRange<std::size_t>(1, 40) * options.block;
    Spill spill(options);
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    // Some are packed to a sixteenth, some not at all.
    std::vector<Sequence<Item>> sequences;
    std::vector<std::vector<Item>> vectors(6);
    for (std::size_t i = 0; i < vectors.size(); ++i) sequences.emplace_back(spill);
    for (int i = 0; i < 6000; ++i) {
      const std::size_t which = random() % vectors.size();
      std::vector<Item>& expected = vectors[which];
      Item item;
      item.event = static_cast<std::uint32_t>(i);
      item.sent_ns = which == 0 ? 7 : random() >> (12 * which - 1);
      if (random() % 4 == 0 && !expected.empty()) {
        const std::size_t at = random() % expected.size();
        expected[at] = item;
        sequences[which].set(at, item);
      } else {
        expected.push_back(item);
        sequences[which].push_back(item);
      }
      if (random() % 2000 == 0) {
        expected.clear();
        sequences[which].clear();
      }
    }
    for (std::size_t which = 0; which < vectors.size(); ++which) {
      RC_ASSERT(std::equal(
          sequences[which].begin(), sequences[which].end(), vectors[which].begin(), vectors[which].end(),
          [](const Item& a, const Item& b) { return a.event == b.event && a.sent_ns == b.sent_ns; }));
    }
  }));
}

TEST_CASE("three times as much as fits into memory needs no file, if it can be packed") {
  SpillOptions options;
  options.block = 1024;
  options.memory = 64 * options.block;
  Spill spill(options);
  Sequence<std::uint64_t> numbers(spill);
  constexpr std::uint64_t kCount = 3 * 64 * 1024 / sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < kCount; ++i) numbers.push_back(1'000'000'000'000 + 100 * i);
  CHECK(spill.written() == 0);
  std::uint64_t expected = 1'000'000'000'000;
  numbers.for_each([&expected](std::uint64_t number) {
    CHECK(number == expected);
    expected += 100;
  });
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < kCount; ++i) numbers.push_back(random());
  CHECK(spill.written() > 0);
  CHECK(numbers[17] == 1'000'000'001'700);
}
