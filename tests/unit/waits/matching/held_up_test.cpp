#include "waits/matching/held_up.hpp"

#include "scripted_run.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace held_up_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

/// Ranks that need nobody but themselves.
std::vector<Presence> present(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& times) {
  std::vector<Presence> members;
  for (const auto& [enter, exit] : times) {
    const auto rank = static_cast<std::int32_t>(members.size());
    members.push_back({.enter_ns = enter,
                       .exit_ns = exit,
                       .free_ns = enter,
                       .call = {static_cast<Location>(rank), 0},
                       .rank = rank});
  }
  return members;
}

/// (who, by whom)
std::vector<std::pair<std::int32_t, std::int32_t>> pairs(const std::vector<HeldUp>& found) {
  std::vector<std::pair<std::int32_t, std::int32_t>> list;
  for (const HeldUp& one : found)
    list.emplace_back(static_cast<std::int32_t>(one.call.location), one.by.rank);
  return list;
}

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

}  // namespace

TEST_CASE("who leaves only after a late member has come was held up by it") {
  CHECK(pairs(held_up(present({{10, 93}, {60, 62}, {90, 92}, {12, 13}}))) == Pairs{{0, 2}});
  // By the last one that came before it left.
  CHECK(pairs(held_up(present({{10, 63}, {60, 62}, {90, 92}, {12, 13}}))) == Pairs{{0, 1}});
}

TEST_CASE("of those whom one member held up, who came first is distinguished") {
  const std::vector<HeldUp> found = held_up(present({{20, 93}, {10, 94}, {90, 92}}));
  REQUIRE(pairs(found) == Pairs{{0, 2}, {1, 2}});
  CHECK_FALSE(found[0].first);
  CHECK(found[1].first);
}

TEST_CASE("what the bytes would have cost anyway is no waiting") {
  const std::vector<HeldUp> found = held_up(present({{10, 93}, {60, 63}, {90, 92}, {12, 13}}));
  REQUIRE(pairs(found) == Pairs{{0, 2}});
  CHECK(found[0].until_ns == 90 - 2 * 1);
}

TEST_CASE("who stays no longer than the bytes take, or long after the last one came, was not held up") {
  CHECK(held_up(present({{10, 90}, {20, 110}, {60, 120}})).empty());
  CHECK(held_up(present({{10, 90}, {19, 21}, {20, 22}})).empty());
  CHECK(held_up(present({{10, 90}})).empty());
}

TEST_CASE("the order of members does not matter; a held-up member left after its holder came") {
  CHECK(rc::check("any members, in any order", [](std::vector<std::pair<std::uint16_t, std::uint16_t>> some) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> times;
    for (const auto& [enter, stay] : some) times.emplace_back(enter, std::uint64_t{enter} + stay);
    std::vector<Presence> members = present(times);
    const std::vector<HeldUp> found = held_up(members);
    for (const HeldUp& one : found) {
      const auto& [enter, exit] = times[one.call.location];
      RC_ASSERT(one.by.call != one.call);
      RC_ASSERT(enter < one.by.enter_ns && one.by.enter_ns < exit);
      RC_ASSERT(enter < one.until_ns && one.until_ns <= one.by.enter_ns);
    }
    std::reverse(members.begin(), members.end());
    RC_ASSERT(pairs(held_up(members)) == pairs(found));
  }));
}

TEST_CASE("a root, and a rank below a late one, wait in a broadcast") {
  ScriptedRun run(4);
  run.call(0, 100, 920, {on(OperationKind::one_to_all, 0, 0)});
  run.call(1, 900, 910, {on(OperationKind::one_to_all, 0, 0)});
  run.call(2, 200, 215, {on(OperationKind::one_to_all, 0, 0)});
  run.call(3, 50, 930, {on(OperationKind::one_to_all, 0, 0)});
  for (const int analysts : {1, 2, 4}) {
    CHECK(analyse(run, analysts).waits ==
          std::vector<FoundWait>{{0, 0, WaitPattern::wait_at_root, 780, 1, 0},
                                 {3, 0, WaitPattern::wait_at_root, 830, 1, 0}});
  }
}

TEST_CASE("ranks that a reduction's root waits for wait for those below them; in a scan for higher ones") {
  ScriptedRun run(4);
  run.call(0, 100, 950, {on(OperationKind::all_to_one, 0, 0)});
  run.call(1, 900, 910, {on(OperationKind::all_to_one, 0, 0)});
  run.call(2, 200, 205, {on(OperationKind::all_to_one, 0, 0)});
  run.call(3, 50, 930, {on(OperationKind::all_to_one, 0, 0)});
  run.call(0, 1000, 1020, {on(OperationKind::prefix, 0)});
  run.call(1, 1050, 1920, {on(OperationKind::prefix, 0)});
  run.call(2, 1900, 1925, {on(OperationKind::prefix, 0)});
  run.call(3, 1010, 1930, {on(OperationKind::prefix, 0)});
  for (const int analysts : {1, 3}) {
    CHECK(analyse(run, analysts).waits == std::vector<FoundWait>{{0, 0, WaitPattern::early_reduce, 800, 1, 0},
                                                                 {1, 1, WaitPattern::wait_at_root, 810, 2, 1},
                                                                 {3, 0, WaitPattern::wait_at_root, 840, 1, 0},
                                                                 {3, 1, WaitPattern::early_scan, 890, 2, 1}});
  }
}

}  // namespace held_up_test
