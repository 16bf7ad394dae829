#include "mpi/handle_table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace culprit::mpi {
namespace {

template <typename Lock>
using Table = HandleTable<std::uint64_t, 2, 16, Lock>;

/// What the table is to hold, in the order of adding.
struct Model {
  struct Entry {
    std::uint64_t key, value;
  };
  std::vector<Entry> entries;

  [[nodiscard]] std::size_t newest(std::uint64_t key) const {
    for (std::size_t i = entries.size(); i > 0; --i) {
      if (entries[i - 1].key == key) return i - 1;
    }
    return entries.size();
  }
};

/// Few keys, so that chains and equal keys are many.
template <typename Lock>
void compare_with_model(Table<Lock>& table, unsigned seed) {
  Model model;
  std::mt19937 random(seed);
  for (std::uint64_t step = 1; step < 5000; ++step) {
    const std::uint64_t key = (random() % 12 + 1) * 0x340;
    if (random() % 2 == 0) {
      if (table.add(key, step)) model.entries.push_back({key, step});
      continue;
    }
    std::uint64_t value = 0;
    const bool found = table.take(key, value);
    const std::size_t expected = model.newest(key);
    REQUIRE(found == (expected != model.entries.size()));
    if (!found) continue;
    REQUIRE(value == model.entries[expected].value);
    model.entries.erase(model.entries.begin() + static_cast<std::ptrdiff_t>(expected));
  }
}

TEST_CASE("a table of handles gives back what was added last") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto table = std::make_unique<Table<SpinLock>>();
    compare_with_model(*table, seed);
  }
}

TEST_CASE("a table of handles needs no lock where calls come one after the other") {
  CallLock::needed.store(false);
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto table = std::make_unique<Table<CallLock>>();
    compare_with_model(*table, seed);
  }
  CallLock::needed.store(true);
}

TEST_CASE("a full table of handles has no room until something is taken") {
  const auto table = std::make_unique<HandleTable<int, 1, 16>>();
  std::uint64_t added = 0;
  while (table->add(added + 1, 0)) ++added;
  CHECK(added == 12);  // three quarters
  int value = 0;
  CHECK_FALSE(table->find(added + 1, value));
  CHECK(table->take(3, value));
  CHECK(table->add(added + 1, 7));
  CHECK(table->find(added + 1, value));
  CHECK(value == 7);
  CHECK_FALSE(table->add(0, 0));  // no handle
}

/// More threads than the lock is for: whatever becomes of the values, all of them come to an end.
TEST_CASE("searches end also where threads come that were not to come") {
  CallLock::needed.store(false);
  const auto table = std::make_unique<HandleTable<std::uint64_t, 1, 16, CallLock>>();
  std::vector<std::thread> threads;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    threads.emplace_back([&table, number] {
      std::uint64_t value = 0;
      for (int i = 0; i < 200'000; ++i) {
        table->add(number, number);
        table->take(number, value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CallLock::needed.store(true);
}

TEST_CASE("threads that call at once have all their values") {
  const auto table = std::make_unique<HandleTable<std::uint64_t, 4, 1024, CallLock>>();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint64_t number = 1; number <= 4; ++number) {
    threads.emplace_back([&table, &wrong, number] {
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        const std::uint64_t key = number << 32 | (i % 100 + 1);
        std::uint64_t value = 0;
        if (!table->add(key, i) || !table->take(key, value) || value != i) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace culprit::mpi
