#include "waits/causes/path_excess.hpp"

#include "exchange/threads.hpp"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

namespace path_excess_test {

using namespace culprit;
using namespace culprit::waits;

namespace {

constexpr std::uint64_t kPeriod = 5'000'000, kMs = 1'000'000;
constexpr std::uint32_t kNone = CallPaths::kNone;

// The tree: main; MPI_Send and MPI_Recv in it; f, from two call sites, g, and h in g.
enum Context : std::uint32_t { kRoot, kMain, kSend, kReceive, kF, kSite, kFThere, kG, kH, kSendThere };

struct Account {
  Account() {
    paths.parent = {kNone, kRoot, kMain, kMain, kMain, kMain, kSite, kMain, kG, kSite};
    paths.procedure = {kNone, 1, 2, 3, 4, kNone, 4, 5, 6, 2};
    RegionNumbers numbers;
    numbers.number({kSend, kReceive});
    numbers.number({kReceive, kSend});
    numbers.number({kReceive, kSendThere});
    exchange::run_on_threads(1,
                             [&](exchange::Communicator& analysis) { regions.emplace(analysis, numbers); });
  }

  static std::uint32_t number(const Regions& regions, const Region& region) {
    for (std::uint32_t i = 0; i < regions.size(); ++i) {
      if (regions[i] == region) return i;
    }
    FAIL("no such region");
    return 0;
  }
  /// Samples of one path each 5 ms, and as much time of the gap.
  void add(Side side, const Region& region, std::uint32_t context, std::uint64_t ms) {
    const std::uint32_t at = number(*regions, region);
    times[{at, side, RegionTime::kWhole}].ns += ms * kMs;
    PathTime& samples = times[{at, side, context}];
    samples.ns += ms * kMs;
    samples.variance += ms * kMs / kPeriod * (kPeriod / 1000) * (kPeriod / 1000);
  }
  void add_exact(Side side, const Region& region, std::uint64_t ms) {
    times[{number(*regions, region), side, RegionTime::kWhole}].ns += ms * kMs;
  }

  [[nodiscard]] std::map<std::uint32_t, double> shares(std::uint64_t cost_ms) const {
    std::vector<PathTime> sorted;
    for (const auto& [key, time] : times) {
      sorted.push_back(time);
      std::tie(sorted.back().region, sorted.back().side, sorted.back().context) = key;
    }
    double sum = 0;
    std::map<std::uint32_t, double> shares;
    for (const PathWeight& one : path_excess(sorted, *regions, ProcedureChains(paths), cost_ms * kMs)) {
      shares[one.path.context] += static_cast<double>(one.weight);
      sum += static_cast<double>(one.weight);
    }
    for (auto& [context, share] : shares) share /= sum;
    return shares;
  }

  CallPaths paths;
  std::optional<Regions> regions;
  std::map<std::tuple<std::uint32_t, Side, std::uint32_t>, PathTime> times;
};

constexpr Region kAfterSend{kSend, kReceive}, kAfterReceive{kReceive, kSend};
using Shares = std::map<std::uint32_t, double>;

}  // namespace

TEST_CASE("the same code between other calls, and from another call site, is no excess") {
  Account account;
  account.add(Side::delayer, kAfterSend, kF, 1000);
  account.add(Side::delayer, kAfterSend, kH, 200);
  account.add(Side::waiter, kAfterReceive, kFThere, 1000);
  CHECK(account.shares(200) == Shares{{kH, 1}});
}

TEST_CASE("what only one side runs stands for what only the other runs, as far as it takes as long") {
  Account account;
  account.add(Side::delayer, kAfterSend, kF, 1000);
  account.add(Side::delayer, kAfterSend, kMain, 200);
  account.add(Side::waiter, kAfterSend, kH, 980);
  CHECK(account.shares(220) == Shares{{kMain, 1}});
}

TEST_CASE("a difference within the noise of samples is undetermined; an MPI call bears what its stamps say") {
  Account account;
  account.add(Side::delayer, kAfterSend, kF, 510);
  account.add(Side::delayer, kAfterSend, kG, 500);
  account.add(Side::waiter, kAfterSend, kF, 500);
  account.add(Side::waiter, kAfterSend, kG, 500);
  account.add_exact(Side::delayer, {kSend, Region::kCall}, 3);
  account.add_exact(Side::waiter, {kSend, Region::kCall}, 1);
  const Shares shares = account.shares(12);
  REQUIRE(shares.size() == 2);
  CHECK(shares.at(kSend) == Approx(2. / 12));
  CHECK(shares.at(PathOfRegion::kBetween) == Approx(10. / 12));
}

TEST_CASE("a path that covers its gap is as exact as the stamps") {
  Account account;
  account.add(Side::delayer, kAfterSend, kF, 1010);
  account.add(Side::waiter, kAfterSend, kF, 1000);
  CHECK(account.shares(10) == Shares{{kF, 1}});
}

TEST_CASE("a call from two call sites is one") {
  Account account;
  account.add(Side::delayer, kAfterSend, kH, 30);
  account.add_exact(Side::delayer, {kSend, Region::kCall}, 400);
  account.add_exact(Side::delayer, {kSendThere, Region::kCall}, 500);
  account.add_exact(Side::waiter, {kSendThere, Region::kCall}, 900);
  CHECK(account.shares(30) == Shares{{kH, 1}});
}

TEST_CASE("a gap without samples bears its own difference") {
  Account account;
  account.add_exact(Side::delayer, kAfterSend, 7);
  account.add_exact(Side::waiter, kAfterSend, 4);
  CHECK(account.shares(3) == Shares{{PathOfRegion::kBetween, 1}});
}

TEST_CASE("where one side alone was sampled in a gap, its samples tell of both") {
  Account account;
  account.add(Side::delayer, kAfterSend, kF, 20);
  account.add_exact(Side::waiter, kAfterSend, 8);
  CHECK(account.shares(12) == Shares{{kF, 1}});
}

}  // namespace path_excess_test
