#include "blame/one_sided.hpp"

#include <algorithm>
#include <optional>

#include <catch2/catch.hpp>

namespace one_sided_test {

using culprit::blame::approximate_waits;
using culprit::blame::Approximation;
using culprit::blame::EpochRow;
using culprit::blame::EpochStamp;
using culprit::blame::match_stamps;
using culprit::database::kNone;
using culprit::database::Wait;
using culprit::database::WaitPattern;
using culprit::measurement::EpochKind;
using culprit::measurement::kGivesLockBack;
using culprit::measurement::kPassiveTarget;
using culprit::measurement::kReleasesKnown;
using culprit::measurement::kStartedAccess;
using culprit::measurement::WaitKind;

namespace {

constexpr std::uint64_t kWindow = 7;

/// How many calls, how many ns in all, in the shortest, and sampled idle.
struct Calls {
  std::uint64_t count, total, least, idle;
};

/// Calls of `rank`'s only thread.
EpochRow row(std::int32_t rank, std::uint32_t context, EpochKind kind, Calls calls) {
  return {.location = static_cast<std::uint32_t>(rank),
          .rank = rank,
          .context = context,
          .kind = kind,
          .window = kWindow,
          .count = calls.count,
          .total_ns = calls.total,
          .least_ns = calls.least,
          .idle_ns = calls.idle};
}

EpochRow gap(std::int32_t rank, std::uint32_t context, EpochKind kind, std::int32_t target,
             std::uint64_t total) {
  EpochRow made = row(rank, context, kind, {10, total, total / 10, 0});
  made.peers = static_cast<std::uint64_t>(target);
  return made;
}

std::vector<Wait> only_waits(const std::vector<EpochRow>& rows) {
  return approximate_waits(rows).waits;
}

const Wait* find(const std::vector<Wait>& waits, WaitPattern pattern, std::uint32_t location) {
  const auto found = std::ranges::find_if(
      waits, [&](const Wait& wait) { return wait.pattern == pattern && wait.location == location; });
  return found == waits.end() ? nullptr : &*found;
}

std::uint64_t ns(const std::vector<Wait>& waits, WaitPattern pattern, std::uint32_t location) {
  const Wait* wait = find(waits, pattern, location);
  return wait == nullptr ? 0 : wait->ns;
}

/// A call's, in ns; `last` where its kind has one.
struct Times {
  std::uint64_t enter, exit, last = 0;
};

/// A call of `rank`; `peer` where its kind has one.
EpochStamp stamp(std::int32_t rank, EpochKind kind, std::uint32_t instance, Times times,
                 std::int32_t peer = -1, std::uint32_t members = 1) {
  return {.location = static_cast<std::uint32_t>(rank),
          .rank = rank,
          .context = 50 + static_cast<std::uint32_t>(kind),
          .kind = kind,
          .instance = instance,
          .members = members,
          .peer = peer,
          .window = kWindow,
          .enter_ns = times.enter,
          .exit_ns = times.exit,
          .last_ns = times.last};
}

EpochStamp fence(std::int32_t rank, std::uint32_t instance, std::uint64_t enter, std::uint64_t exit) {
  EpochStamp made = stamp(rank, EpochKind::fence_stamp, instance, {enter, exit});
  made.members = 3;
  made.context = 5;
  return made;
}

}  // namespace

TEST_CASE("a call waits beyond what the shortest such call of the run takes") {
  // Rank 1 never waits: its shortest call shows what a start costs. Rank 0 always does.
  const auto waits = only_waits(std::vector{row(0, 5, EpochKind::start, {10, 10'000, 900, 9'950}),
                                            row(1, 5, EpochKind::start, {10, 60, 5, 0})});
  CHECK(ns(waits, WaitPattern::late_post, 0) == 9'950);
  CHECK(ns(waits, WaitPattern::late_post, 1) == 0);
  const Wait* wait = find(waits, WaitPattern::late_post, 0);
  REQUIRE(wait != nullptr);
  CHECK(wait->count == 10);
  CHECK_FALSE(wait->exact);
  CHECK(wait->cause_location == kNone);
}

TEST_CASE("where all always wait, what was sampled as work bounds the intrinsic cost") {
  // The shortest call took 900 us, longer than any handshake, yet only 2 of 10 ms were work.
  CHECK(ns(only_waits({row(0, 5, EpochKind::lock, {10, 10'000'000, 900'000, 8'000'000})}),
           WaitPattern::lock_wait, 0) == 8'000'000);
  // Short calls may be all handshake, however they were sampled.
  CHECK(ns(only_waits({row(0, 5, EpochKind::lock, {10, 10'000, 900, 8'000})}), WaitPattern::lock_wait, 0) ==
        1'000);
}

TEST_CASE("in a collective call the last process shows what it takes, however long that is") {
  // Making a window takes 2 ms; only process 0 waits for the other, though both were sampled inside all
  // along.
  const auto result =
      approximate_waits(std::vector{row(0, 5, EpochKind::create, {1, 7'000'000, 7'000'000, 7'000'000}),
                                    row(1, 5, EpochKind::create, {1, 2'000'000, 2'000'000, 2'000'000})});
  CHECK(ns(result.waits, WaitPattern::wait_at_create, 0) == 5'000'000);
  CHECK(ns(result.waits, WaitPattern::wait_at_create, 1) == 0);
  CHECK(result.unclassified_ns == 4'000'000);
  CHECK(result.excess_ns == 0);
}

TEST_CASE("what is estimated beyond the sampled idleness is left out and reported") {
  const auto result = approximate_waits(std::vector{row(0, 5, EpochKind::fence, {10, 10'000, 10, 3'000})});
  CHECK(ns(result.waits, WaitPattern::wait_at_fence, 0) == 3'000);
  CHECK(result.excess_ns == 6'900);
  CHECK(result.unclassified_ns == 0);
}

TEST_CASE("the estimate never exceeds the idleness that was sampled") {
  std::vector rows{row(0, 5, EpochKind::fence, {10, 10'000, 10, 3'000}),
                   row(0, 5, EpochKind::fence, {10, 30'000, 10, 3'000})};
  rows[1].window = kWindow + 1;
  const auto waits = only_waits(rows);
  CHECK(ns(waits, WaitPattern::wait_at_fence, 0) <= 3'000);
  CHECK(ns(waits, WaitPattern::wait_at_fence, 0) >= 2'999);
}

TEST_CASE("calls of other sizes have other costs") {
  std::vector rows{row(0, 5, EpochKind::access, {10, 10'000'000, 1'000'000, 9'000'000}),
                   row(1, 5, EpochKind::access, {10, 5'000'000, 500'000, 0})};
  rows[0].size_class = rows[1].size_class = kStartedAccess;
  CHECK(ns(only_waits(rows), WaitPattern::early_transfer, 0) == 9'000'000);
  rows[0].size_class = kStartedAccess | 20;
  rows[1].size_class = kStartedAccess | 5;
  rows[1].least_ns = 5;
  CHECK(ns(only_waits(rows), WaitPattern::early_transfer, 0) == 9'000'000);
  rows[0].idle_ns = 100'000;
  CHECK(ns(only_waits(rows), WaitPattern::early_transfer, 0) == 100'000);
  rows[0].idle_ns = 0;
  CHECK(only_waits(rows).empty());
}

TEST_CASE("an operation waits for a post after a start, for a lock after a lock, for nothing after a fence") {
  const auto pattern = [](std::uint32_t size_class) {
    EpochRow each = row(0, 5, EpochKind::access, {10, 10'000, 0, 10'000});
    each.size_class = size_class;
    const Approximation result = approximate_waits(std::vector{each});
    CHECK(result.unclassified_ns == (result.waits.empty() ? 10'000 : 0));
    return result.waits.empty() ? std::nullopt : std::optional(result.waits[0].pattern);
  };
  CHECK(pattern(kStartedAccess | 3) == WaitPattern::early_transfer);
  CHECK(pattern(kPassiveTarget | 3) == WaitPattern::lock_wait);
  CHECK(pattern(kPassiveTarget | kReleasesKnown | 3) == std::nullopt);
  CHECK(pattern(3) == std::nullopt);
}

TEST_CASE("where releases of locks are known, waiting for them is what was measured, and for whom") {
  // Process 0 waited 3 000 of the 9 000 ns that its locks took for locks of 1, which it gave back at context
  // 8 mostly, and 1 000 for those of 2; then 2 000 of 5 000 for them in flushes.
  const std::uint32_t known = kPassiveTarget | kReleasesKnown;
  const auto held = [](std::uint32_t context, std::int32_t by, std::uint64_t total, std::uint64_t idle) {
    EpochRow made = row(0, context, EpochKind::lock_wait, {4, total, 1, idle});
    made.peers = static_cast<std::uint64_t>(by) + 1;
    return made;
  };
  std::vector rows{row(0, 5, EpochKind::lock, {10, 9'000, 900, 8'500}), held(5, 1, 3'000, 8'500),
                   held(5, 2, 1'000, 8'500), row(0, 6, EpochKind::flush, {10, 5'000, 100, 5'000}),
                   held(6, 2, 2'000, 5'000)};
  rows[0].size_class = rows[3].size_class = known;
  for (const auto& [context, total] : {std::pair{7U, 10U}, {8U, 900U}}) {
    rows.push_back(row(1, context, EpochKind::flush, {3, total, 1, 0}));
    rows.back().size_class = known | kGivesLockBack;
  }
  Approximation result = approximate_waits(rows);
  const auto wait_at = [&](WaitPattern pattern, std::uint32_t context) {
    return *std::ranges::find_if(result.waits, [&](const Wait& wait) {
      return wait.pattern == pattern && wait.location == 0 && wait.context == context;
    });
  };
  CHECK(wait_at(WaitPattern::lock_wait, 5).ns == 4'000);
  CHECK(wait_at(WaitPattern::lock_wait, 5).count == 8);
  CHECK(wait_at(WaitPattern::lock_wait, 5).cause_location == 1);
  CHECK(wait_at(WaitPattern::lock_wait, 5).cause_context == 8);
  CHECK(wait_at(WaitPattern::lock_wait, 6).ns == 2'000);
  CHECK(wait_at(WaitPattern::flush_wait, 6).ns == 2'000);  // 5 000 - 10 * 100 - 2 000
  CHECK(result.unclassified_ns == 4'500 + 1'000);
  // So of operations that waited for a post, which somebody of whom there is a stamp did.
  std::vector transfers{row(0, 9, EpochKind::access, {10, 7'000, 10, 6'000}),
                        row(0, 9, EpochKind::post_wait, {3, 4'000, 1, 6'000})};
  transfers[0].size_class = kStartedAccess | kReleasesKnown | 12;
  transfers[1].peers = 3;
  const Wait early =
      approximate_waits(transfers, std::vector{stamp(2, EpochKind::post_stamp, 1, {10, 11}, 0)}).waits.at(0);
  CHECK(early.pattern == WaitPattern::early_transfer);
  CHECK(early.ns == 4'000);
  CHECK(early.count == 3);
  CHECK(early.cause_location == 2);
  CHECK(early.cause_context == 50 + static_cast<std::uint32_t>(EpochKind::post_stamp));
  // What was measured goes before what is estimated where less was sampled as idle.
  for (EpochRow& each : rows) each.idle_ns = each.context == 6 ? 2'500 : 3'000;
  result = approximate_waits(rows);
  CHECK(wait_at(WaitPattern::lock_wait, 5).ns == 3'000);
  CHECK(wait_at(WaitPattern::lock_wait, 6).ns == 2'000);
  CHECK(wait_at(WaitPattern::flush_wait, 6).ns == 500);
}

TEST_CASE("of a target's wait at most its latest origin's gap is a late completion") {
  const auto waits = only_waits(std::vector{
      row(0, 5, EpochKind::wait, {10, 9'000, 1, 9'000}), row(0, 5, EpochKind::create, {1, 1, 1, 9'000}),
      gap(1, 8, EpochKind::complete_gap, 0, 4'000), gap(2, 8, EpochKind::complete_gap, 0, 6'000),
      gap(2, 8, EpochKind::complete_gap, 3, 8'500)});
  CHECK(ns(waits, WaitPattern::late_complete, 0) == 6'000);
  const Wait* wait = find(waits, WaitPattern::late_complete, 0);
  REQUIRE(wait != nullptr);
  CHECK(wait->cause_location == 2);
  CHECK(wait->cause_context == 8);
  CHECK(ns(waits, WaitPattern::early_wait, 0) >= 8'990);
  CHECK(ns(waits, WaitPattern::late_complete, 3) == 0);
}

TEST_CASE("a fence is early for as long as the latest operation on its process lasts") {
  // Target 0 waits 1 000 for origin 1, which waits not at all and leaves a gap of 300 after its operation.
  std::vector rows{row(0, 5, EpochKind::fence, {10, 1'000, 0, 1'000}),
                   row(1, 5, EpochKind::fence, {10, 0, 0, 0}), row(2, 5, EpochKind::fence, {10, 900, 0, 900}),
                   gap(1, 5, EpochKind::fence_gap, 0, 300)};
  const auto waits = only_waits(rows);
  CHECK(ns(waits, WaitPattern::early_fence, 0) == 700);
  CHECK(find(waits, WaitPattern::early_fence, 0)->cause_location == 1);
  // Nobody accessed process 2.
  CHECK(ns(waits, WaitPattern::early_fence, 2) == 0);
  CHECK(ns(waits, WaitPattern::wait_at_fence, 2) == 900);
  // Without a common name of the window nothing is known of others.
  for (EpochRow& each : rows) each.window = 0;
  CHECK(ns(only_waits(rows), WaitPattern::early_fence, 0) == 0);
}

TEST_CASE("waits of threads are their idleness") {
  EpochRow waiting = row(0, 9, EpochKind::none, {0, 0, 0, 1'234});
  waiting.thread_wait = WaitKind::omp_barrier;
  const auto waits = only_waits(std::vector{waiting});
  CHECK(ns(waits, WaitPattern::omp_barrier, 0) == 1'234);
}

TEST_CASE("the order of rows does not show, and the longest wait comes first") {
  std::vector rows{row(0, 5, EpochKind::fence, {10, 1'000, 0, 1'000}),
                   row(1, 5, EpochKind::fence, {10, 10, 0, 10}),
                   row(2, 6, EpochKind::lock, {3, 5'000, 2, 4'000}), gap(1, 5, EpochKind::fence_gap, 0, 300)};
  const auto first = only_waits(rows);
  std::ranges::reverse(rows);
  const auto second = only_waits(rows);
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].pattern == second[i].pattern);
    CHECK(first[i].ns == second[i].ns);
    CHECK(first[i].location == second[i].location);
  }
  CHECK(first[0].pattern == WaitPattern::lock_wait);
}

TEST_CASE("processes that take turns in being late at fences are distinguished by stamps") {
  // Three processes, two fences. In the first, 1 accesses 0 until 60 and comes last, at 100; in the second 0
  // accesses 2 until 230 and comes last, at 300.
  std::vector<EpochStamp> stamps{fence(0, 0, 10, 110),  fence(1, 0, 100, 110), fence(2, 0, 20, 110),
                                 fence(0, 1, 300, 310), fence(1, 1, 210, 310), fence(2, 1, 200, 310)};
  stamps.push_back(stamp(1, EpochKind::fence_access_stamp, 0, {100, 110, 60}, 0));
  stamps.push_back(stamp(0, EpochKind::fence_access_stamp, 1, {300, 310, 230}, 2));
  // All calls, of which the stamps show a tenth.
  std::vector<EpochRow> rows{row(0, 5, EpochKind::fence, {20, 1'100, 10, 1'100}),
                             row(1, 5, EpochKind::fence, {20, 1'100, 10, 1'100}),
                             row(2, 5, EpochKind::fence, {20, 2'000, 10, 2'000})};
  const auto waits = approximate_waits(rows, stamps).waits;
  CHECK(ns(waits, WaitPattern::wait_at_fence, 0) == 1'100 * 90 / 110);
  CHECK(ns(waits, WaitPattern::wait_at_fence, 1) == 1'100 * 90 / 110);
  CHECK(ns(waits, WaitPattern::wait_at_fence, 2) == 2'000 * 180 / 200);
  CHECK(ns(waits, WaitPattern::early_fence, 0) == 1'100 * 50 / 110);
  CHECK(ns(waits, WaitPattern::early_fence, 1) == 0);
  CHECK(ns(waits, WaitPattern::early_fence, 2) == 2'000 * 30 / 200);
  CHECK(find(waits, WaitPattern::wait_at_fence, 0)->cause_location == 1);
  CHECK(find(waits, WaitPattern::wait_at_fence, 2)->cause_location == 0);
  CHECK(find(waits, WaitPattern::early_fence, 2)->cause_location == 0);
  // Stamps of other hosts' clocks, or not of all processes, say nothing.
  for (EpochStamp& each : stamps) each.host = static_cast<std::uint32_t>(each.rank == 2);
  CHECK(match_stamps(stamps).empty());
  std::erase_if(stamps, [](const EpochStamp& each) { return each.rank == 2; });
  CHECK(match_stamps(stamps).empty());
}

TEST_CASE("a fence that lets go before all came waits only for operations") {
  const std::vector<EpochStamp> stamps{fence(0, 0, 10, 50), fence(1, 0, 60, 70), fence(2, 0, 20, 30),
                                       stamp(1, EpochKind::fence_access_stamp, 0, {60, 70, 45}, 0)};
  const auto calls = match_stamps(stamps);
  const auto& target = calls.at({0, 5, EpochKind::fence});
  CHECK(target.all.ns == 35);
  CHECK(target.part.ns == 35);
  CHECK(calls.at({2, 5, EpochKind::fence}).all.ns == 0);
}

TEST_CASE("stamps of posts and completions tell what starts and waits waited for") {
  // Origin 0 with targets 1 and 2, which post at 40 and 70; it starts at 10, accesses 1 until 85 and 2 until
  // 90, and completes at 120. Target 1 waits from 50, target 2 from 100.
  const std::vector<EpochStamp> stamps{
      stamp(1, EpochKind::post_stamp, 3, {40, 41}, 0),
      stamp(2, EpochKind::post_stamp, 8, {70, 71}, 0),
      stamp(0, EpochKind::start_stamp, 3, {10, 80}, 1, 2),
      stamp(0, EpochKind::start_stamp, 8, {10, 80}, 2, 2),
      stamp(0, EpochKind::complete_stamp, 3, {120, 130, 85}, 1, 2),
      stamp(0, EpochKind::complete_stamp, 8, {120, 130, 90}, 2, 2),
      stamp(1, EpochKind::wait_stamp, 3, {50, 125}, 0),
      stamp(2, EpochKind::wait_stamp, 8, {100, 140}, 0),
  };
  const auto calls = match_stamps(stamps);
  const auto at = [&](std::uint32_t location, EpochKind stamped, EpochKind kind) {
    return calls.at({location, 50 + static_cast<std::uint32_t>(stamped), kind});
  };
  const auto start = at(0, EpochKind::start_stamp, EpochKind::start);
  CHECK(start.duration_ns == 70);
  CHECK(start.all.ns == 60);
  CHECK(start.all.causes.begin()->first.first == 2);
  CHECK(at(0, EpochKind::complete_stamp, EpochKind::complete).all.ns == 0);
  const auto first = at(1, EpochKind::wait_stamp, EpochKind::wait);
  CHECK(first.duration_ns == 75);
  CHECK(first.all.ns == 70);
  CHECK(first.part.ns == 35);
  const auto second = at(2, EpochKind::wait_stamp, EpochKind::wait);
  CHECK(second.all.ns == 20);
  CHECK(second.part.ns == 20);
  CHECK(second.part.causes.begin()->first.first == 0);
}

TEST_CASE("where start does not block, completion is late because of the post") {
  const std::vector<EpochStamp> stamps{stamp(1, EpochKind::post_stamp, 1, {100, 101}, 0),
                                       stamp(0, EpochKind::start_stamp, 1, {10, 11}, 1),
                                       stamp(0, EpochKind::complete_stamp, 1, {30, 120, 12}, 1),
                                       stamp(1, EpochKind::wait_stamp, 1, {101, 121}, 0)};
  const auto calls = match_stamps(stamps);
  CHECK(
      calls.at({0, 50 + static_cast<std::uint32_t>(EpochKind::complete_stamp), EpochKind::complete}).all.ns ==
      70);
  CHECK(calls.at({1, 50 + static_cast<std::uint32_t>(EpochKind::wait_stamp), EpochKind::wait}).all.ns == 0);
}

}  // namespace one_sided_test
