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
    std::vector<double> total(kThreads), squares(kThreads), most(kThreads);
    for (int i = 0; i < kIterations; ++i) {
      std::vector<double> lengths;
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        lengths.push_back(length(i, t));
        total[t] += lengths[t];
        squares[t] += lengths[t] * lengths[t];
        most[t] = std::max(most[t], lengths[t]);
      }
      const double longest = *std::max_element(lengths.begin(), lengths.end());
      for (const double ns : lengths) idle_ns += static_cast<std::uint64_t>(longest - ns);
    }
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      GapSums mine{.threads = 1, .count = kIterations, .total_ns = static_cast<std::uint64_t>(total[t])};
      mine.most_ns = mine.total_ns;
      mine.longest_ns = static_cast<std::uint64_t>(most[t]);
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

TEST_CASE("one of very many threads that is late in turn is named") {
  constexpr std::uint32_t kMany = 1000;
  GapSums pair{.context = kCall, .after = kBefore};
  for (std::uint32_t t = 0; t < kMany; ++t) {  // 10 ms once, 1 ms else
    GapSums mine{.threads = 1, .count = 1000, .total_ns = 1'009'000'000, .longest_ns = 10'000'000};
    mine.most_ns = mine.total_ns;
    mine.add_squares(metrics::Uint128{80'919'000} * 1'000'000);
    pair.add(mine);
  }
  GapSums all = pair;
  all.after = GapSums::kAny;
  const std::vector<GapSums> gaps = {pair, all};
  const std::uint64_t idle[] = {9'000'000ULL * 999 * 1000};
  const auto found = blame::find_varying_gaps(
      gaps, [&](std::uint32_t, database::ContextId) { return idle[0]; }, idle);
  CHECK(found.size() == 1);
}

TEST_CASE("who is late at one call explains what others wait at the next") {
  Simulated run(
      [](int i, std::uint32_t t) { return static_cast<unsigned>(i) % kThreads == t ? 1.5e6 : 1e6; });
  // One neighbour waits there; the six others wait in a collective that gaps of one length lead to.
  constexpr database::ContextId kLater = 4;
  GapSums even{.context = kLater,
               .after = kCall,
               .threads = kThreads,
               .count = 8000,
               .total_ns = 8'000'000'000,
               .most_ns = 1'000'000'000,
               .longest_ns = 1'000'000};
  run.gaps.push_back(even);
  even.after = GapSums::kAny;
  run.gaps.push_back(even);
  const std::uint64_t idle[] = {run.idle_ns};
  const auto idleness = [&](std::uint32_t, database::ContextId at) {
    return at == kCall ? run.idle_ns / 7 : run.idle_ns - run.idle_ns / 7;
  };
  const auto found = blame::find_varying_gaps(run.gaps, idleness, idle);
  REQUIRE(found.size() == 1);
  CHECK(found[0].context == kCall);
  CHECK(found[0].idle_ns == run.idle_ns / 7);
  CHECK(static_cast<double>(found[0].unexplained_ns) > 0.98 * static_cast<double>(run.idle_ns));
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
  pair.longest_ns = 100'000'000;
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
