#include "simulation.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

namespace simulated_test {

// Sampled runs of a program whose truth is known, with a seeded generator: sampling noise, natural variation,
// and the faults of the paper's figures.
using namespace culprit;
using namespace culprit::blame;
using database::Balance;
using database::ContextId;
using database::ContextKind;

namespace {

/// main → loop → { even, first, slow, second, collective }
struct Iterative {
  TreeFixture tree;
  ContextId main = tree.add(0, ContextKind::procedure);
  ContextId loop = tree.add(main, ContextKind::loop);
  ContextId even = part(), even_line = line(even);
  ContextId first = part(), first_line = line(first);
  ContextId slow = part(), slow_line = line(slow);
  ContextId second = part(), second_line = line(second);
  ContextId wait = tree.add_wait(tree.add(loop, ContextKind::call));

  ContextId part() { return tree.add(tree.add(loop, ContextKind::call), ContextKind::procedure); }
  ContextId line(ContextId procedure) { return tree.add(procedure, ContextKind::statement); }

  /// `extra` seconds in slow on one thread; ± `shift` in first, made good in second.
  [[nodiscard]] Simulation simulation(std::uint32_t threads, double extra, double shift) const {
    Simulation s;
    s.threads = threads;
    const std::uint32_t culprit = threads / 2;
    s.parts = {{even_line, [](std::uint32_t) { return 0.010; }},
               {first_line, [=](std::uint32_t t) { return t % 2 == 0 ? 0.005 + shift : 0.005 - shift; }},
               {slow_line, [=](std::uint32_t t) { return t == culprit ? 0.004 + extra : 0.004; }},
               {second_line, [=](std::uint32_t t) { return t % 2 == 0 ? 0.005 - shift : 0.005 + shift; }}};
    s.wait = wait;
    return s;
  }
};

struct Outcome {
  RoleFixture::Result result;
  double idle_s = 0;  ///< what the program itself would have logged
};

Outcome run(const Iterative& program, const Simulation& simulation, std::uint64_t seed,
            const Options& options = {}) {
  std::mt19937_64 random(seed);
  RoleFixture role(program.tree.contexts(), simulation.threads);
  const double idle = simulation.run(role, random);
  return {role.analyse(options), idle};
}

double blame_of(const RoleFixture::Result& result, ContextId context) {
  double sum = 0;
  for (const database::BlameRow& row : result.blame) {
    if (row.context == context) sum += static_cast<double>(row.sum) * 1e-9;
  }
  return sum;
}

bool below(const Iterative& program, ContextId x, ContextId ancestor) {
  return x >= ancestor && x < program.tree.contexts()[ancestor].end;
}

}  // namespace

TEST_CASE("one slow function on one rank is found among any number of ranks") {
  const Iterative program;
  for (const std::uint32_t threads : {4U, 16U, 64U, 256U}) {
    CAPTURE(threads);
    const Outcome outcome = run(program, program.simulation(threads, 0.004, 0), 100 + threads);
    CHECK(outcome.result.balance[program.loop] == Balance::balanced);
    CHECK(outcome.result.balance[program.slow] == Balance::imbalanced);
    CHECK(blame_of(outcome.result, program.loop) == Approx(outcome.idle_s).epsilon(0.05));
    REQUIRE_FALSE(outcome.result.suspects.empty());
    const database::Suspect& top = outcome.result.suspects.front();
    CHECK(top.balanced == program.loop);
    CHECK(below(program, top.suspect, program.slow));
    CHECK(top.locations == std::vector<std::uint32_t>{threads / 2});
    // Without the 4 ms, each of 400 iterations would take that much less.
    CHECK(static_cast<double>(top.save_removed_ns) * 1e-9 == Approx(400 * 0.004).epsilon(0.2));
  }
}

TEST_CASE("functions that compensate each other are innocent, with and without a culprit") {
  const Iterative program;
  for (const std::uint32_t threads : {4U, 16U, 64U}) {
    for (const double extra : {0.0, 0.004}) {
      CAPTURE(threads, extra);
      const Outcome outcome = run(program, program.simulation(threads, extra, 0.003), 200 + threads);
      CHECK(outcome.result.balance[program.loop] == Balance::balanced);
      CHECK(outcome.result.balance[program.first] == Balance::imbalanced);
      CHECK(outcome.result.balance[program.second] == Balance::imbalanced);
      for (const database::Suspect& suspect : outcome.result.suspects) {
        CHECK_FALSE(below(program, suspect.suspect, program.first));
        CHECK_FALSE(below(program, suspect.suspect, program.second));
      }
      if (extra == 0) continue;
      REQUIRE_FALSE(outcome.result.suspects.empty());
      CHECK(below(program, outcome.result.suspects.front().suspect, program.slow));
    }
  }
}

TEST_CASE("balanced scopes are called imbalanced no more often than epsilon allows") {
  const Iterative program;
  Options noise_only;  // nothing but sampling noise is tolerated, and nothing else is there
  noise_only.alpha = 0;
  noise_only.tau = 0;
  int tested = 0, wrong = 0;
  for (const std::uint32_t threads : {4U, 16U, 64U}) {
    Simulation simulation = program.simulation(threads, 0, 0);
    simulation.natural = 0;
    simulation.iterations = 200;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const auto balance = run(program, simulation, 300 + seed, noise_only).result.balance;
      for (const ContextId x : {program.even, program.first, program.slow, program.second}) {
        ++tested;
        wrong += balance[x] == Balance::balanced ? 0 : 1;
      }
    }
  }
  CHECK(wrong <= 2 * noise_only.epsilon * tested);
}

TEST_CASE("the paper's test calls a well-balanced program imbalanced, the noise-aware one does not") {
  const Iterative program;
  const Simulation simulation = program.simulation(16, 0, 0);
  Options paper;
  paper.mode = Mode::paper;
  const auto by_paper = run(program, simulation, 400, paper).result.balance;
  const auto by_noise = run(program, simulation, 400).result.balance;
  for (const ContextId x : {program.even, program.first, program.slow, program.second}) {
    CHECK(by_paper[x] == Balance::imbalanced);
    CHECK(by_noise[x] == Balance::balanced);
  }
}

TEST_CASE("a run too short to tell is undecided, not blamed") {
  const Iterative program;
  Simulation simulation = program.simulation(8, 0, 0);
  simulation.iterations = 8;
  const Outcome outcome = run(program, simulation, 500);
  CHECK(outcome.result.balance[program.slow] == Balance::undecided);
  CHECK(blame_of(outcome.result, program.slow) == 0);
}

TEST_CASE("in nested imbalance each loop is blamed for its own idleness") {
  // Two phases, each with its own collective; each has its slow function on its own rank.
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  ContextId phase[2], slow[2], wait[2];
  for (int i = 0; i < 2; ++i) {
    phase[i] = tree.add(main, ContextKind::loop);
    slow[i] = tree.add(tree.add(phase[i], ContextKind::call), ContextKind::procedure);
    wait[i] = tree.add_wait(phase[i]);
  }
  RoleFixture role(tree.contexts(), 8);
  std::mt19937_64 random(600);
  double idle[2];
  for (int i = 0; i < 2; ++i) {
    Simulation simulation;
    const std::uint32_t culprit = i == 0 ? 1 : 6;
    simulation.parts = {{slow[i], [=](std::uint32_t t) { return t == culprit ? 0.012 : 0.010; }}};
    simulation.wait = wait[i];
    idle[i] = simulation.run(role, random);
  }
  const RoleFixture::Result result = role.analyse({});
  for (int i = 0; i < 2; ++i) {
    CHECK(blame_of(result, phase[i]) == Approx(idle[i]).epsilon(0.05));
    const auto suspect = std::ranges::find(result.suspects, phase[i], &database::Suspect::balanced);
    REQUIRE(suspect != result.suspects.end());
    CHECK(suspect->suspect == slow[i]);
    CHECK(suspect->locations == std::vector<std::uint32_t>{i == 0 ? 1U : 6U});
  }
}

namespace {

constexpr database::StringId kCommon = 1, kFirst = 2, kSecond = 3, kThird = 4, kHelper = 5;

/// main → loop → { … }, whose threads do not run the same calls; sampled, analysed from balance to suspects.
struct Asymmetric {
  TreeFixture tree;
  ContextId main = tree.add(0, ContextKind::procedure);
  ContextId loop = tree.add(main, ContextKind::loop);
  Simulation simulation;
  std::uint32_t line = 10;

  /// A procedure called from a line of its own, in `caller` or the loop.
  ContextId call(database::StringId name, ContextId caller = 0) {
    return tree.call(caller != 0 ? caller : loop, name, line++);
  }
  /// Milliseconds of one iteration at `scope`, by thread.
  void work(ContextId scope, const std::function<double(std::uint32_t)>& ms) {
    simulation.parts.push_back({scope, [ms](std::uint32_t t) { return 1e-3 * ms(t); }});
  }
  std::vector<database::Suspect> suspects(std::uint32_t threads, std::uint64_t seed) {
    simulation.threads = threads;
    simulation.iterations = 200;
    if (simulation.wait == 0) simulation.wait = tree.add_wait(tree.add(loop, ContextKind::call));
    std::mt19937_64 random(seed);
    RoleFixture role(tree.contexts(), threads);
    (void)simulation.run(role, random);
    return role.analyse({}).suspects;
  }
};

using Threads = std::vector<std::uint32_t>;
constexpr std::uint64_t kSeeds = 10;

}  // namespace

TEST_CASE(
    "sampled: common work by different call sites is innocent, what only one rank does besides is not") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    Asymmetric program;
    std::vector<ContextId> sites;
    for (std::uint32_t t = 0; t < 3; ++t) {
      sites.push_back(program.call(kCommon));
      program.work(sites.back(), [t](std::uint32_t thread) { return thread == t ? 30.0 : 0.0; });
    }
    const ContextId second = program.call(kSecond);
    program.work(second, [](std::uint32_t t) { return t == 0 ? 10.0 : 0.0; });
    const ContextId third = program.call(kThird);
    program.work(third, [](std::uint32_t t) { return t == 1 ? 5.0 : 0.0; });
    const auto suspects = program.suspects(3, 700 + seed);
    REQUIRE_FALSE(suspects.empty());
    CHECK(suspects[0].suspect == second);
    CHECK(suspects[0].locations == Threads{0});
    for (const database::Suspect& suspect : suspects)
      for (const ContextId site : sites) CHECK(suspect.suspect != site);
  }
}

TEST_CASE("sampled: code with a counterpart elsewhere is innocent") {
  for (const std::uint32_t threads : {4U, 16U, 64U}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      CAPTURE(threads, seed);
      Asymmetric program;
      const ContextId common = program.call(kCommon);
      program.work(common, [](std::uint32_t) { return 10.0; });
      program.work(program.call(kFirst), [](std::uint32_t t) { return t == 0 ? 20.0 : 0.0; });
      program.work(program.call(kSecond), [](std::uint32_t t) { return t == 0 ? 0.0 : 20.0; });
      const ContextId extra = program.call(kThird);
      program.work(extra, [](std::uint32_t t) { return t == 0 ? 5.0 : 0.0; });
      const auto suspects = program.suspects(threads, 800 + seed);
      REQUIRE(suspects.size() == 1);
      CHECK(suspects[0].suspect == extra);
      CHECK(suspects[0].locations == Threads{0});
    }
  }
}

TEST_CASE("sampled: two causes below one caller") {
  for (const std::uint32_t threads : {4U, 16U}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      CAPTURE(threads, seed);
      Asymmetric program;
      program.work(program.call(kCommon), [](std::uint32_t) { return 10.0; });
      const ContextId step = program.call(kFirst);
      const ContextId a = program.call(kSecond, step);
      const ContextId b = program.call(kThird, step);
      const ContextId even = program.call(kHelper, step);
      program.work(a, [](std::uint32_t t) { return t == 0 ? 14.0 : 8.0; });
      program.work(b, [](std::uint32_t t) { return t == 1 ? 13.0 : 8.0; });
      program.work(even, [](std::uint32_t) { return 8.0; });
      const auto suspects = program.suspects(threads, 900 + seed);
      REQUIRE(suspects.size() == 2);
      const bool first_is_a = suspects[0].suspect == a;
      CHECK(suspects[first_is_a ? 0 : 1].suspect == a);
      CHECK(suspects[first_is_a ? 0 : 1].locations == Threads{0});
      CHECK(suspects[first_is_a ? 1 : 0].suspect == b);
      CHECK(suspects[first_is_a ? 1 : 0].locations == Threads{1});
    }
  }
}

TEST_CASE("sampled: work in a shared helper is named by the function that asked for it") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    Asymmetric program;
    std::vector<ContextId> functions, helpers;
    for (const database::StringId name : {kFirst, kSecond, kThird}) {
      functions.push_back(program.call(name));
      helpers.push_back(program.call(kHelper, functions.back()));
      const bool slow = name == kSecond;
      program.work(helpers.back(), [slow](std::uint32_t t) { return slow && t == 2 ? 14.0 : 10.0; });
    }
    const auto suspects = program.suspects(8, 1000 + seed);
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].suspect == helpers[1]);
    CHECK(suspects[0].named == functions[1]);
    CHECK(suspects[0].locations == Threads{2});
  }
}

}  // namespace simulated_test
