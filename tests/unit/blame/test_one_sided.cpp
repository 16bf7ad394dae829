#include "blame/one_sided.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using culprit::blame::approximate_waits;
using culprit::blame::EpochRow;
using culprit::database::kNone;
using culprit::database::Wait;
using culprit::database::WaitPattern;
using culprit::measurement::EpochKind;
using culprit::measurement::WaitKind;

namespace {

constexpr std::uint64_t kWindow = 7;

/// Calls of `rank`'s only thread: `count` calls of `total` ns in all, the shortest `least`; sampled idle
/// `idle`.
EpochRow row(std::int32_t rank, std::uint32_t context, EpochKind kind, std::uint64_t count,
             std::uint64_t total, std::uint64_t least, std::uint64_t idle) {
  return {.location = static_cast<std::uint32_t>(rank),
          .rank = rank,
          .context = context,
          .kind = kind,
          .window = kWindow,
          .count = count,
          .total_ns = total,
          .least_ns = least,
          .idle_ns = idle};
}

EpochRow gap(std::int32_t rank, std::uint32_t context, EpochKind kind, std::int32_t target,
             std::uint64_t total) {
  EpochRow made = row(rank, context, kind, 10, total, total / 10, 0);
  made.peers = static_cast<std::uint64_t>(target);
  return made;
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

}  // namespace

TEST_CASE("a call waits beyond what the shortest such call of the run takes") {
  // Rank 1 never waits: its shortest call shows what a start costs. Rank 0 always does.
  const auto waits = approximate_waits(std::vector{row(0, 5, EpochKind::start, 10, 10'000, 900, 9'950),
                                                   row(1, 5, EpochKind::start, 10, 60, 5, 0)});
  CHECK(ns(waits, WaitPattern::late_post, 0) == 9'950);
  CHECK(ns(waits, WaitPattern::late_post, 1) == 0);
  const Wait* wait = find(waits, WaitPattern::late_post, 0);
  REQUIRE(wait != nullptr);
  CHECK(wait->count == 10);
  CHECK_FALSE(wait->exact);
  CHECK(wait->cause_location == kNone);
}

TEST_CASE("where all always wait, what was sampled as work bounds the intrinsic cost") {
  // Shortest call 900 ns, yet only 2 000 of 10 000 ns were work: b = 200.
  const auto waits = approximate_waits(std::vector{row(0, 5, EpochKind::lock, 10, 10'000, 900, 8'000)});
  CHECK(ns(waits, WaitPattern::lock_wait, 0) == 8'000);
}

TEST_CASE("the estimate never exceeds the idleness that was sampled") {
  std::vector rows{row(0, 5, EpochKind::fence, 10, 10'000, 10, 3'000),
                   row(0, 5, EpochKind::fence, 10, 30'000, 10, 3'000)};
  rows[1].window = kWindow + 1;
  const auto waits = approximate_waits(rows);
  CHECK(ns(waits, WaitPattern::wait_at_fence, 0) <= 3'000);
  CHECK(ns(waits, WaitPattern::wait_at_fence, 0) >= 2'999);
}

TEST_CASE("calls of other sizes have other costs") {
  std::vector rows{row(0, 5, EpochKind::access, 10, 10'000, 1'000, 9'000),
                   row(1, 5, EpochKind::access, 10, 50, 5, 0)};
  rows[0].size_class = 20;
  CHECK(ns(approximate_waits(rows), WaitPattern::early_transfer, 0) == 9'000);
  rows[0].idle_ns = 100;
  CHECK(ns(approximate_waits(rows), WaitPattern::early_transfer, 0) == 100);
  rows[0].idle_ns = 0;
  CHECK(approximate_waits(rows).empty());
}

TEST_CASE("of a target's wait at most its latest origin's gap is a late completion") {
  const auto waits = approximate_waits(std::vector{
      row(0, 5, EpochKind::wait, 10, 9'000, 1, 9'000), row(0, 5, EpochKind::create, 1, 1, 1, 9'000),
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
  std::vector rows{row(0, 5, EpochKind::fence, 10, 1'000, 0, 1'000), row(1, 5, EpochKind::fence, 10, 0, 0, 0),
                   row(2, 5, EpochKind::fence, 10, 900, 0, 900), gap(1, 5, EpochKind::fence_gap, 0, 300)};
  const auto waits = approximate_waits(rows);
  CHECK(ns(waits, WaitPattern::early_fence, 0) == 700);
  CHECK(find(waits, WaitPattern::early_fence, 0)->cause_location == 1);
  // Nobody accessed process 2.
  CHECK(ns(waits, WaitPattern::early_fence, 2) == 0);
  CHECK(ns(waits, WaitPattern::wait_at_fence, 2) == 900);
  // Without a common name of the window nothing is known of others.
  for (EpochRow& each : rows) each.window = 0;
  CHECK(ns(approximate_waits(rows), WaitPattern::early_fence, 0) == 0);
}

TEST_CASE("waits of threads are their idleness") {
  EpochRow waiting = row(0, 9, EpochKind::none, 0, 0, 0, 1'234);
  waiting.thread_wait = WaitKind::omp_barrier;
  const auto waits = approximate_waits(std::vector{waiting});
  CHECK(ns(waits, WaitPattern::omp_barrier, 0) == 1'234);
}

TEST_CASE("the order of rows does not show, and the longest wait comes first") {
  std::vector rows{row(0, 5, EpochKind::fence, 10, 1'000, 0, 1'000),
                   row(1, 5, EpochKind::fence, 10, 10, 0, 10), row(2, 6, EpochKind::lock, 3, 5'000, 2, 4'000),
                   gap(1, 5, EpochKind::fence_gap, 0, 300)};
  const auto first = approximate_waits(rows);
  std::ranges::reverse(rows);
  const auto second = approximate_waits(rows);
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].pattern == second[i].pattern);
    CHECK(first[i].ns == second[i].ns);
    CHECK(first[i].location == second[i].location);
  }
  CHECK(first[0].pattern == WaitPattern::lock_wait);
}
