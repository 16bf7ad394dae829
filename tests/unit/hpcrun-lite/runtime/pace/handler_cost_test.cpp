#include "runtime/pace/handler_cost.hpp"

#include <cstdint>

#include <catch2/catch.hpp>

namespace handler_cost_test {

using culprit::runtime::HandlerCost;

namespace {

constexpr std::uint64_t kPeriod = 5'000'000;
constexpr std::uint64_t kLimit = kPeriod / HandlerCost::kShare;

/// Handler runs at a steady rate.
struct Thread {
  HandlerCost cost;
  std::uint64_t now = 1'000'000'000;
  std::uint64_t charged = 0;
  int verdicts = 0;

  Thread() { cost.start(); }

  template <typename Taken>
  void run(std::uint64_t count, Taken taken) {
    for (std::uint64_t i = 0; i < count; ++i) {
      now += kPeriod;
      if (!cost.begin()) continue;
      const HandlerCost::Account account = cost.end(taken(i), now);
      charged += account.ns;
      if (account.too_costly) ++verdicts;
    }
  }
};

constexpr std::uint64_t kRuns = HandlerCost::kWindow * HandlerCost::kEvery;

}  // namespace

TEST_CASE("timed runs stand for all runs, the first ones for themselves") {
  Thread thread;
  thread.run(1, [](std::uint64_t) { return std::uint64_t{3'000'000}; });
  CHECK(thread.charged == 3'000'000);
  thread.run(HandlerCost::kFirst - 1, [](std::uint64_t) { return std::uint64_t{2000}; });
  thread.run(16'000, [](std::uint64_t) { return std::uint64_t{2000}; });
  CHECK(thread.charged == 3'000'000 + (HandlerCost::kFirst - 1) * 2000 + 16'000 * 2000);
  CHECK(thread.verdicts == 0);
}

TEST_CASE("a handler that takes more than a tenth of the time is found out, one that takes less is not") {
  Thread light, heavy;
  light.run(HandlerCost::kFirst + 10 * kRuns, [](std::uint64_t) { return kLimit - 1000; });
  CHECK(light.verdicts == 0);
  heavy.run(HandlerCost::kFirst + kRuns - 1, [](std::uint64_t) { return kLimit + 1000; });
  CHECK(heavy.verdicts == 0);
  heavy.run(1, [](std::uint64_t) { return kLimit + 1000; });
  CHECK(heavy.verdicts == 1);
  heavy.run(9 * kRuns, [](std::uint64_t) { return kLimit + 1000; });
  CHECK(heavy.verdicts == 10);
}

TEST_CASE("what the first runs take, and one long run in a window, decides nothing") {
  Thread thread;
  thread.run(HandlerCost::kFirst, [](std::uint64_t) { return 100 * kPeriod; });
  thread.run(20 * kRuns, [](std::uint64_t i) {
    return i / kRuns % 2 == 0 && i % kRuns == 5 * HandlerCost::kEvery - 1 ? 1000 * kPeriod
                                                                          : std::uint64_t{2000};
  });
  CHECK(thread.charged > 1000 * kPeriod);
  CHECK(thread.verdicts == 0);
}

}  // namespace handler_cost_test
