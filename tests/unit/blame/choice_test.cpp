#include "role_fixture.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace choice_test {

// How often the first suspect is right: random programs of 5 to 25 functions below a balanced loop, with
// pairs that compensate each other, alternatives of which some threads run one and the others the other, and
// one cause. unit_blame "[figures]" prints the tables of docs/blame.md.
using namespace culprit;
using namespace culprit::blame;
using database::Confidence;
using database::ContextId;
using database::ContextKind;
using database::Suspect;

namespace {

using Durations = std::vector<std::vector<double>>;  ///< [part][thread], of a run of about 1

/// A cause takes a share of the run between these.
struct Sizes {
  double least = 0, most = 0;
};
constexpr Sizes kLarge{0.01, 0.10}, kSmall{0.002, 0.01};

constexpr double kNatural = 0.003;  ///< standard deviation of a part's time over the threads, relative

/// A random program, and which of its parts makes the others wait where.
class RandomProgram {
 public:
  RandomProgram(std::uint32_t threads, const Sizes& sizes, std::mt19937_64& random)
      : threads_(threads), random_(random) {
    const auto parts = static_cast<std::size_t>(whole(5, 25));
    std::vector<double> share(parts);
    for (double& each : share) each = std::exponential_distribution<>(1)(random_) + 0.05;
    const double sum = std::accumulate(share.begin(), share.end(), 0.0);
    for (const double each : share) {
      std::vector<double>& part = durations.emplace_back();
      for (std::uint32_t t = 0; t < threads_; ++t) part.push_back(each / sum * natural());
    }
    order_.resize(parts);
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::shuffle(order_, random_);
    for (int pairs = whole(0, 2); pairs > 0 && used_ + 2 < parts; --pairs) compensate();
    for (int pairs = whole(0, 2); pairs > 0 && used_ + 2 < parts; --pairs) alternate();
    cause = order_[used_];
    delay(sizes);
  }

  Durations durations;
  std::size_t cause = 0;
  std::vector<std::uint32_t> culprits;  ///< ascending

 private:
  double real(double from, double to) { return std::uniform_real_distribution<>(from, to)(random_); }
  int whole(int from, int to) { return std::uniform_int_distribution<>(from, to)(random_); }
  double natural() { return 1 + kNatural * std::normal_distribution<>()(random_); }
  std::vector<double>& next() { return durations[order_[used_++]]; }

  std::vector<std::uint32_t> some_threads(std::uint32_t count) {
    std::vector<std::uint32_t> threads(threads_);
    std::iota(threads.begin(), threads.end(), 0U);
    std::ranges::shuffle(threads, random_);
    threads.resize(count);
    std::ranges::sort(threads);
    return threads;
  }

  void compensate() {
    std::vector<double>& a = next();
    std::vector<double>& b = next();
    const double most = real(0.1, 0.6) * std::min(a[0], b[0]);
    for (std::uint32_t t = 0; t < threads_; ++t) {
      const double moved = most * real(-1, 1);
      a[t] += moved;
      b[t] -= moved;
    }
  }

  void alternate() {
    std::vector<double>& a = next();
    std::vector<double>& b = next();
    const double length = a[0];
    const auto with_a =
        some_threads(static_cast<std::uint32_t>(whole(1, std::max(1, static_cast<int>(threads_) / 2))));
    for (std::uint32_t t = 0; t < threads_; ++t) {
      const double time = length * natural();
      const bool in_a = std::ranges::binary_search(with_a, t);
      a[t] = in_a ? time : 0;
      b[t] = in_a ? 0 : time;
    }
  }

  /// On one thread, a quarter or a half of them; half of the causes run nowhere else.
  void delay(const Sizes& sizes) {
    constexpr std::array<std::uint32_t, 3> kShares = {0, 4, 2};
    const std::uint32_t share = kShares[static_cast<std::size_t>(whole(0, 2))];
    culprits = some_threads(share == 0 ? 1 : std::max(1U, threads_ / share));
    std::vector<double>& part = durations[cause];
    if (whole(0, 1) == 1) std::ranges::fill(part, 0.0);
    const double extra = real(sizes.least, sizes.most);
    for (const std::uint32_t t : culprits) part[t] += extra;
  }

  std::uint32_t threads_;
  std::mt19937_64& random_;
  std::vector<std::size_t> order_;
  std::size_t used_ = 0;
};

/// The durations in samples of which each thread takes `samples`; as they are, in 1e6, where that is 0.
std::vector<std::vector<std::uint64_t>> sampled(const Durations& durations, double length, int samples,
                                                std::mt19937_64& random) {
  std::vector<std::vector<std::uint64_t>> counts(durations.size());
  for (std::size_t t = 0; t < durations.front().size(); ++t) {
    double left = length;
    int untaken = samples;
    for (std::size_t part = 0; part < durations.size(); ++part) {
      const double time = durations[part][t];
      const double chance = std::clamp(time / std::max(left, 1e-12), 0.0, 1.0);
      const int taken = untaken > 0 ? std::binomial_distribution<>(untaken, chance)(random) : 0;
      left -= time;
      untaken -= taken;
      counts[part].push_back(samples > 0 ? static_cast<std::uint64_t>(taken)
                                         : static_cast<std::uint64_t>(1e6 * time));
    }
  }
  return counts;
}

/// What came of a program: nothing listed, or how sure the first suspect was, and whether it was right.
struct Outcome {
  bool listed = false, right = false, threads_right = false;
  Confidence confidence = Confidence::hint;
};

Outcome judge_one(std::uint32_t threads, int samples, const Sizes& sizes, std::mt19937_64& random) {
  const RandomProgram program(threads, sizes, random);
  TreeFixture tree;
  const ContextId loop = tree.add(tree.add(0, ContextKind::procedure), ContextKind::loop);
  std::vector<ContextId> parts;
  for (std::uint32_t part = 0; part < program.durations.size(); ++part)
    parts.push_back(tree.call(loop, part + 1, part + 1));
  const ContextId wait = tree.add_wait(loop);
  double length = 0;
  for (std::uint32_t t = 0; t < threads; ++t) {
    double sum = 0;
    for (const std::vector<double>& part : program.durations) sum += part[t];
    length = std::max(length, sum);
  }
  constexpr std::uint64_t kPeriod = 5'000'000;
  const auto counts = sampled(program.durations, length, samples, random);
  const auto all = static_cast<std::uint64_t>(samples > 0 ? samples : static_cast<int>(1e6 * length));
  RoleFixture role(tree.contexts(), threads);
  for (std::uint32_t t = 0; t < threads; ++t) {
    std::uint64_t work = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const std::uint64_t count = counts[part][t];
      role.spend(parts[part], t, count * kPeriod, false, samples > 0 ? count : 0);
      work += count;
    }
    role.spend(wait, t, (all - std::min(all, work)) * kPeriod, true, samples > 0 ? all - work : 0);
  }
  const RoleView& view = role.view();
  const std::vector<database::BlameRow> blame = {
      {loop, static_cast<std::uint64_t>(view.idleness[0].sum), 0, 0}};
  const auto suspects =
      find_suspects(tree.contexts(), {0, role.locations()}, view, blame, role.by_thread(), {});
  if (suspects.empty()) return {};
  const Suspect& first = suspects.front();
  return {.listed = true,
          .right = first.suspect == parts[program.cause],
          .threads_right = first.locations == program.culprits,
          .confidence = first.confidence};
}

struct Score {
  int programs = 0, listed = 0, right = 0, threads_right = 0;
  std::array<int, 3> of{}, right_of{};  ///< by confidence
};

Score score(std::uint32_t threads, int samples, int programs, const Sizes& sizes = kLarge) {
  std::mt19937_64 random(1000 + threads);
  Score score;
  for (; score.programs < programs; ++score.programs) {
    const Outcome outcome = judge_one(threads, samples, sizes, random);
    if (!outcome.listed) continue;
    ++score.listed;
    score.right += outcome.right ? 1 : 0;
    score.threads_right += outcome.right && outcome.threads_right ? 1 : 0;
    const auto sure = static_cast<std::size_t>(outcome.confidence);
    ++score.of[sure];
    score.right_of[sure] += outcome.right ? 1 : 0;
  }
  return score;
}

}  // namespace

TEST_CASE("the first suspect of a random program is right, and most of all where it is sure") {
  // Least shares of right ones, below what was reached by what 200 programs leave open.
  struct Expected {
    std::uint32_t threads;
    double right;
  };
  for (const Expected& expected :
       {Expected{2, 0.85}, Expected{4, 0.93}, Expected{8, 0.95}, Expected{64, 0.95}}) {
    CAPTURE(expected.threads);
    const Score result = score(expected.threads, 20'000, expected.threads == 64 ? 60 : 200);
    CHECK(result.right >= expected.right * result.programs);
    const auto sure = static_cast<std::size_t>(Confidence::sure);
    CHECK(result.of[sure] >= 0.5 * result.programs);
    CHECK(result.right_of[sure] >= 0.96 * result.of[sure]);
  }
}

TEST_CASE("figures: how often the first suspect is right", "[.][figures]") {
  std::printf(
      "samples threads  listed  right  threads |  sure: of, right | likely: of, right | hint: of, right "
      "(%%)\n");
  struct Row {
    Sizes sizes;
    int samples;
  };
  for (const Row& row : {Row{kLarge, 0}, Row{kLarge, 20'000}, Row{kLarge, 2'000}, Row{kLarge, 500},
                         Row{kSmall, 0}, Row{kSmall, 20'000}}) {
    for (const std::uint32_t threads : {2U, 4U, 8U, 64U}) {
      const Score s = score(threads, row.samples, threads == 64 ? 300 : 1000, row.sizes);
      const auto percent = [](int part, int whole) { return whole > 0 ? 100.0 * part / whole : 0.0; };
      std::printf("%4.1f-%2.0f %% %7d %7u  %5.1f  %5.1f  %5.1f", 100 * row.sizes.least, 100 * row.sizes.most,
                  row.samples, threads, percent(s.listed, s.programs), percent(s.right, s.programs),
                  percent(s.threads_right, s.programs));
      for (std::size_t sure = 3; sure-- > 0;)
        std::printf(" | %5.1f %5.1f", percent(s.of[sure], s.programs), percent(s.right_of[sure], s.of[sure]));
      std::printf("\n");
    }
  }
}

}  // namespace choice_test
