#include "blame/role_facts.hpp"
#include "role_fixture.hpp"

#include <cmath>
#include <stdexcept>

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace balance_test {

using namespace culprit;
using namespace culprit::blame;
using database::Balance;
using database::ContextId;
using database::ContextKind;

namespace {

/// A root with one procedure under test and one that fills up the rest of each thread's time.
struct Pair {
  TreeFixture tree;
  ContextId tested = tree.add(0, ContextKind::procedure);
  ContextId rest = tree.add(0, ContextKind::procedure);
};

Options exact_only() {
  Options options;
  options.alpha = 0;
  options.tau = 0;
  return options;
}

double cv(const std::vector<double>& values) {
  double mean = 0, square = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) square += (v - mean) * (v - mean) / static_cast<double>(values.size());
  return std::sqrt(square) / mean;
}

}  // namespace

TEST_CASE("the paper's test compares coefficients of variation") {
  Pair pair;
  Options options;
  options.mode = Mode::paper;
  const auto tested = [&](std::initializer_list<std::uint64_t> values,
                          std::initializer_list<std::uint64_t> rest) {
    RoleFixture role(pair.tree.contexts(), 4);
    role.spend(pair.tested, values);
    role.spend(pair.rest, rest);
    return test_balance(pair.tree.contexts(), role.view(), options)[pair.tested];
  };
  // Root 100 100 100 104: CV 0.017149; times α = 1.1 that is 0.018864.
  REQUIRE(1.1 * cv({100, 100, 100, 104}) == Approx(0.018864).epsilon(1e-4));
  CHECK(cv({50, 50, 50, 52}) == Approx(0.017149).epsilon(1e-4));
  CHECK(tested({50, 50, 50, 52}, {50, 50, 50, 52}) == Balance::balanced);
  REQUIRE(cv({500, 500, 500, 522}) < 0.018864);
  CHECK(tested({500, 500, 500, 522}, {500, 500, 500, 518}) == Balance::balanced);
  REQUIRE(cv({500, 500, 500, 523}) > 0.018864);
  CHECK(tested({500, 500, 500, 523}, {500, 500, 500, 517}) == Balance::imbalanced);
  // A root without any spread leaves nothing balanced but what has none either.
  CHECK(tested({10, 10, 10, 11}, {10, 10, 10, 9}) == Balance::imbalanced);
  CHECK(tested({10, 10, 10, 10}, {10, 10, 10, 10}) == Balance::balanced);
}

TEST_CASE("the paper's test agrees with its formula on any values") {
  CHECK(rc::check("CV(x) ≤ α · CV(root)", [] {
    Pair pair;
    const std::uint32_t threads = *rc::gen::inRange<std::uint32_t>(2, 9);
    RoleFixture role(pair.tree.contexts(), threads);
    std::vector<double> tested, root;
    for (std::uint32_t t = 0; t < threads; ++t) {
      const auto a = *rc::gen::inRange<std::uint64_t>(0, 1000),
                 b = *rc::gen::inRange<std::uint64_t>(1, 100'000);
      role.spend(pair.tested, t, a);
      role.spend(pair.rest, t, b);
      tested.push_back(static_cast<double>(a));
      root.push_back(static_cast<double>(a + b));
    }
    Options options;
    options.mode = Mode::paper;
    const double limit = options.alpha * cv(root), found = cv(tested);
    RC_PRE(std::isfinite(found) && std::abs(found - limit) > 1e-9);
    const Balance expected = found <= limit ? Balance::balanced : Balance::imbalanced;
    RC_ASSERT(test_balance(pair.tree.contexts(), role.view(), options)[pair.tested] == expected);
  }));
}

TEST_CASE("sampling variance counts separate samples and blocked calls") {
  // 4 threads, Σ w² = 100, a quarter of the root: 0.75 · 100/4 periods².
  CHECK(sampling_variance(100, 0, 0, 0.25, 4, 10) == Approx(0.75 * 25 * 100));
  // 8 blocked samples: a quarter of a period² each, over 4 threads, whatever the share.
  CHECK(sampling_variance(0, 8, 0, 0.25, 4, 10) == Approx(8.0 / 4 / 4 * 100));
  CHECK(sampling_variance(100, 8, 0, 1, 4, 10) == Approx(50));
  CHECK(sampling_variance(100, 8, 0, 1, 0, 10) == 0);
}

TEST_CASE("samples that only divide gaps of known length vary less") {
  const auto covered = [](double weight_sq) {
    return static_cast<metrics::Uint128>(kCoveredUnit * weight_sq);
  };
  // All of its gaps, whatever its share of the root.
  CHECK(sampling_variance(100, 0, covered(100), 0.25, 4, 10) == 0);
  // Half of each: s (1 - s) of 200 periods².
  CHECK(sampling_variance(100, 0, covered(50), 0.01, 4, 10) == Approx(50.0 / 4 * 100));
  // A scope that holds nearly all of the root's samples was known to vary little before.
  CHECK(sampling_variance(100, 0, covered(10), 0.95, 4, 10) == Approx(5.0 / 4 * 100));
  // More than all, by rounding.
  CHECK(sampling_variance(100, 0, covered(101), 0.25, 4, 10) == 0);
}

TEST_CASE("the dispersion criterion turns at its quantile") {
  Pair pair;
  const double limit_sq = boost::math::quantile(boost::math::chi_squared(7), 0.99) / 8;
  Options options = exact_only();
  // 8 threads at 1000 ± d: CV = d / 1000, the farthest is d / 1000 too. Dispersion is the tighter one:
  REQUIRE(std::sqrt(limit_sq) < boost::math::quantile(boost::math::normal(), 1 - 0.01 / 16));
  RoleFixture role(pair.tree.contexts(), 8);
  for (std::uint32_t t = 0; t < 8; ++t) role.spend(pair.tested, t, t % 2 == 0 ? 1'000'050'000 : 999'950'000);
  const double spread = 0.00005;
  options.tau = spread / std::sqrt(limit_sq) * 1.001;
  CHECK(test_balance(pair.tree.contexts(), role.view(), options)[pair.tested] == Balance::balanced);
  options.tau = spread / std::sqrt(limit_sq) * 0.999;
  CHECK(test_balance(pair.tree.contexts(), role.view(), options)[pair.tested] == Balance::imbalanced);
}

TEST_CASE("the extremes criterion finds one slow thread of 64 that hardly moves the CV") {
  Pair pair;
  Options options = exact_only();
  RoleFixture role(pair.tree.contexts(), 64);
  for (std::uint32_t t = 0; t < 64; ++t) role.spend(pair.tested, t, t == 17 ? 1'064'000 : 1'000'000);
  const double mean = 1'001'000, farthest = 63'000 / mean, spread = 64'000 * std::sqrt(63.0) / 64 / mean;
  const double quantile = boost::math::quantile(boost::math::normal(), 1 - 0.01 / 128);
  REQUIRE(spread < 0.008);
  REQUIRE(farthest / quantile > spread);
  options.tau = farthest / quantile * 1.001;
  CHECK(test_balance(pair.tree.contexts(), role.view(), options)[pair.tested] == Balance::balanced);
  options.tau = farthest / quantile * 0.999;
  CHECK(test_balance(pair.tree.contexts(), role.view(), options)[pair.tested] == Balance::imbalanced);
}

TEST_CASE("a thread that did not observe a node counts as 0") {
  Pair pair;
  Options options = exact_only();
  options.tau = 0.25;  // the three that observed it lie within 1 %
  RoleFixture role(pair.tree.contexts(), 4);
  role.spend(pair.tested, {1'000'000, 1'000'000, 1'010'000, 0});
  CHECK(test_balance(pair.tree.contexts(), role.view(), options)[pair.tested] == Balance::imbalanced);
}

TEST_CASE("the tolerance grows with the root's spread and with sampling noise") {
  Pair pair;
  Options options = exact_only();
  const auto tested = [&](std::uint64_t samples, std::uint64_t blocked) {
    RoleFixture role(pair.tree.contexts(), 4);
    const std::uint64_t values[] = {97'000'000, 100'000'000, 103'000'000, 100'000'000};
    for (std::uint32_t t = 0; t < 4; ++t) {
      role.spend(pair.tested, t, values[t], false, samples);
      role.spend(pair.rest, t, 400'000'000 - values[t]);
    }
    role.block(pair.tested, blocked);
    return test_balance(pair.tree.contexts(), role.view(), options)[pair.tested];
  };
  options.period_ns = 1'000'000;
  CHECK(tested(0, 0) == Balance::imbalanced);
  CHECK(tested(100, 0) == Balance::balanced);
  CHECK(tested(0, 400) == Balance::balanced);
  CHECK(tested(1, 0) == Balance::imbalanced);

  RoleFixture uneven(pair.tree.contexts(), 4);
  uneven.spend(pair.tested, {97'000'000, 100'000'000, 103'000'000, 100'000'000});
  uneven.spend(pair.rest, {97'000'000, 100'000'000, 103'000'000, 100'000'000});
  CHECK(test_balance(pair.tree.contexts(), uneven.view(), options)[pair.tested] == Balance::imbalanced);
  options.alpha = 1.1;
  CHECK(test_balance(pair.tree.contexts(), uneven.view(), options)[pair.tested] == Balance::balanced);
}

TEST_CASE("a node with too few samples is undecided") {
  Pair pair;
  Options options;
  options.period_ns = 1'000'000;
  const auto tested = [&](std::uint64_t samples) {
    RoleFixture role(pair.tree.contexts(), 2);
    for (std::uint32_t t = 0; t < 2; ++t) {
      role.spend(pair.tested, t, samples * 1'000'000, false, samples);
      role.spend(pair.rest, t, 1'000'000'000'000);
    }
    return test_balance(pair.tree.contexts(), role.view(), options)[pair.tested];
  };
  // v / mean² = 1 / samples (the share of the root is negligible).
  CHECK(tested(9) == Balance::undecided);
  CHECK(tested(11) == Balance::balanced);
}

TEST_CASE("what is not tested stays untested") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId site = tree.add(main, ContextKind::call);
  const ContextId wait = tree.add(site, ContextKind::procedure, database::kFrontier);
  const ContextId inside = tree.add(wait, ContextKind::statement);
  const ContextId mixed = tree.add(main, ContextKind::call);
  const ContextId other_wait = tree.add_wait(mixed);
  const ContextId work = tree.add(mixed, ContextKind::procedure);
  const ContextId never = tree.add(main, ContextKind::procedure);
  const ContextId library = tree.add(main, ContextKind::procedure, database::kRunTime);
  for (const Mode mode : {Mode::paper, Mode::noise_aware}) {
    Options options;
    options.mode = mode;
    RoleFixture role(tree.contexts(), 2);
    for (const ContextId leaf : {inside, other_wait, work, library}) role.spend(leaf, {1000, 1000});
    const std::vector<Balance> balance = test_balance(tree.contexts(), role.view(), options);
    CHECK(balance[0] == Balance::balanced);
    CHECK(balance[main] == Balance::balanced);
    CHECK(balance[site] == Balance::untested);
    CHECK(balance[library] == (mode == Mode::paper ? Balance::balanced : Balance::untested));
    CHECK(balance[wait] == Balance::untested);
    CHECK(balance[inside] == Balance::untested);
    CHECK(balance[mixed] == (mode == Mode::paper ? Balance::balanced : Balance::untested));
    CHECK(balance[work] == Balance::balanced);
    CHECK(balance[never] == Balance::untested);
  }
}

TEST_CASE("what wraps communication is not tested, unless one thread works there while the others wait") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId wrapper = tree.add(main, ContextKind::procedure);
  const ContextId wait = tree.add_wait(wrapper);
  const ContextId own = tree.add(wrapper, ContextKind::statement);
  const ContextId work = tree.add(main, ContextKind::procedure);
  using Times = std::initializer_list<std::uint64_t>;
  const auto tested = [&](Times waits, Times works, std::uint64_t elsewhere, Mode mode = Mode::noise_aware) {
    RoleFixture role(tree.contexts(), 4);
    role.spend(wait, waits, true);
    role.spend(own, works);
    role.spend(work, {elsewhere, elsewhere, elsewhere, elsewhere});
    Options options;
    options.mode = mode;
    const std::vector<Balance> balance = test_balance(tree.contexts(), role.view(), options);
    CHECK(balance[main] == Balance::balanced);
    return balance[wrapper];
  };
  CHECK(tested({1000, 1000, 1000, 1000}, {124, 124, 124, 124}, 2000) == Balance::untested);
  CHECK(tested({1000, 1000, 1000, 1000}, {126, 126, 126, 126}, 2000) == Balance::balanced);
  CHECK(tested({1000, 1000, 1000, 1000}, {124, 124, 124, 124}, 2000, Mode::paper) == Balance::balanced);
  // Little work in all, but on one thread, for which the others wait.
  CHECK(tested({1000, 1000, 1000, 0}, {10, 10, 10, 1010}, 2000) == Balance::balanced);
  // A role that hardly ever works, here 4000 of waiting to 200 of work: eight times that.
  CHECK(tested({1000, 1000, 1000, 1000}, {7, 7, 7, 7}, 43) == Balance::balanced);
  CHECK(tested({1000, 1000, 1000, 1000}, {6, 6, 6, 6}, 44) == Balance::untested);
  // No work at all, anywhere.
  CHECK(tested({1000, 1000, 1000, 1000}, {0, 0, 0, 0}, 0) == Balance::balanced);
}

TEST_CASE("one thread is always balanced, and the super-root too") {
  Pair pair;
  RoleFixture alone(pair.tree.contexts(), 1);
  alone.spend(pair.tested, {7});
  for (const Mode mode : {Mode::paper, Mode::noise_aware}) {
    Options options;
    options.mode = mode;
    CHECK(test_balance(pair.tree.contexts(), alone.view(), options)[pair.tested] == Balance::balanced);
  }
  RoleFixture nobody(pair.tree.contexts(), 0);
  CHECK(test_balance(pair.tree.contexts(), nobody.view(), {})[0] == Balance::balanced);
  RoleFixture uneven(pair.tree.contexts(), 2);
  uneven.spend(pair.tested, {1, 1'000'000});
  CHECK(test_balance(pair.tree.contexts(), uneven.view(), {})[0] == Balance::balanced);
}

TEST_CASE("senseless options and sizes are refused") {
  Pair pair;
  RoleFixture role(pair.tree.contexts(), 2);
  const auto refused = [&](auto change) {
    Options options;
    change(options);
    CHECK_THROWS_AS(test_balance(pair.tree.contexts(), role.view(), options), std::invalid_argument);
  };
  refused([](Options& o) { o.epsilon = 0; });
  refused([](Options& o) { o.epsilon = 1; });
  refused([](Options& o) { o.alpha = -1; });
  refused([](Options& o) { o.tau = std::nan(""); });
  CHECK_THROWS_AS(test_balance(std::span(pair.tree.contexts()).first(2), role.view(), {}),
                  std::invalid_argument);
}

}  // namespace balance_test
