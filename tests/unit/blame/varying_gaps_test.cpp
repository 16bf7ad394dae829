#include "blame/varying_gaps.hpp"

#include <cmath>
#include <random>

#include <catch2/catch.hpp>

namespace varying_gaps_test {

using namespace culprit;
using blame::GapSums;

namespace {

constexpr std::uint32_t kThreads = 8;
constexpr database::ContextId kCall = 3, kBefore = 2;

/// What 8 threads' gaps of 1 000 iterations give, and how long they waited for each other in the call:
/// exactly.
struct Simulated {
  std::vector<GapSums> gaps;
  std::uint64_t idle_ns = 0;

  template <typename Length>
  explicit Simulated(Length length) {
    constexpr int kIterations = 1000;
    GapSums pair{.context = kCall, .after = kBefore};
    GapSums all{.context = kCall, .after = GapSums::kAny};
    std::vector<double> total(kThreads), squares(kThreads);
    for (int i = 0; i < kIterations; ++i) {
      std::vector<double> lengths;
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        lengths.push_back(length(i, t));
        total[t] += lengths[t];
        squares[t] += lengths[t] * lengths[t];
      }
      const double longest = *std::max_element(lengths.begin(), lengths.end());
      for (const double ns : lengths) idle_ns += static_cast<std::uint64_t>(longest - ns);
    }
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      GapSums mine{.threads = 1, .count = kIterations, .total_ns = static_cast<std::uint64_t>(total[t])};
      mine.most_ns = mine.total_ns;
      mine.add_squares(
          static_cast<metrics::Uint128>(std::max(0.0, squares[t] - total[t] * total[t] / kIterations)));
      pair.add(mine);
      all.add(mine);
    }
    gaps = {pair, all};
  }

  [[nodiscard]] std::vector<database::VaryingGap> find() const {
    const std::uint64_t idle[] = {idle_ns};
    return blame::find_varying_gaps(
        gaps, [this](std::uint32_t, database::ContextId) { return idle_ns; }, idle);
  }
};

}  // namespace

TEST_CASE("gaps whose long ones alternate between threads are named") {
  const Simulated run(
      [](int i, std::uint32_t t) { return static_cast<unsigned>(i) % kThreads == t ? 1.5e6 : 1e6; });
  const auto found = run.find();
  REQUIRE(found.size() == 1);
  CHECK(found[0].context == kCall);
  CHECK(found[0].after == kBefore);
  CHECK(found[0].threads == kThreads);
  CHECK(found[0].count == 8000);
  CHECK(static_cast<double>(found[0].mean_ns) == Approx(1.0625e6));
  CHECK(static_cast<double>(found[0].deviation_ns) == Approx(0.1654e6).epsilon(1e-3));
  CHECK(found[0].unexplained_ns == found[0].idle_ns);
}

TEST_CASE("a thread that is late each time explains all, however much all vary together") {
  const Simulated run([](int i, std::uint32_t t) { return (i % 10 == 0 ? 5e6 : 1e6) + (t == 0 ? 2e5 : 0); });
  CHECK(run.find().empty());
}

TEST_CASE("random lengths explain the waiting for the largest of them") {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 1e5);
  const Simulated run([&](int, std::uint32_t) { return 2e6 + noise(random); });
  const auto found = run.find();
  REQUIRE(found.size() == 1);
  CHECK(static_cast<double>(found[0].unexplained_ns) > 0.9 * static_cast<double>(run.idle_ns));
}

TEST_CASE("waiting that gaps vary too little for is not laid on them") {
  Simulated run([](int i, std::uint32_t t) { return (i + static_cast<int>(t)) % 2 == 0 ? 1e6 : 1.01e6; });
  run.idle_ns *= 20;  // messages that take long, say
  CHECK(run.find().empty());
}

TEST_CASE("a stall amid a million short gaps does not explain what calls wait all the time") {
  GapSums pair{.context = kCall, .after = kBefore, .threads = 2, .count = 2'000'000, .total_ns = 300'000'000};
  pair.most_ns = 200'000'000;
  pair.add_squares(metrics::Uint128{100'000'000} * 100'000'000);  // of the one that stalled for 0.1 s
  GapSums all = pair;
  all.after = GapSums::kAny;
  const std::vector<GapSums> gaps = {pair, all};
  const auto found = [&](std::uint64_t idle_ns) {
    const std::uint64_t idle[] = {idle_ns};
    return blame::find_varying_gaps(
        gaps, [&](std::uint32_t, database::ContextId) { return idle_ns; }, idle);
  };
  CHECK(found(2'000'000'000).empty());
  CHECK(found(300'000'000).size() == 1);  // so much it may explain
}

}  // namespace varying_gaps_test
