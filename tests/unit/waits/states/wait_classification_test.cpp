// What decides what a call waited for, from candidates as the matching pass leaves them.
#include "waits/states/wait_classification.hpp"

#include "exchange/threads.hpp"

#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

namespace wait_classification_test {

using namespace culprit::waits;

namespace {

/// One time line, location 0, whose calls have path 1.
struct OneLine {
  OneLine() { store.open(0); }

  std::uint32_t call(std::uint64_t enter, std::uint64_t exit, bool any = false) {
    return store.add(0, Event{.enter_ns = enter, .exit_ns = exit, .context = 1, .any = any}).index;
  }
  void candidate(std::uint32_t call, WaitPattern pattern, std::uint64_t ns, Location cause) {
    store.add(0, Candidate{.event = call, .pattern = pattern, .ns = ns, .cause = {cause, 0}});
  }

  /// Call, pattern, length, delayer.
  using Found = std::vector<std::tuple<std::uint32_t, WaitPattern, std::uint64_t, Location>>;
  Found classify() {
    Found found;
    culprit::exchange::run_on_threads(1, [&](culprit::exchange::Communicator& analysis) {
      const Regions regions(analysis, store.regions);
      WaitSums sums;
      WaitClassification(regions, sums).classify(store.line(0));
      for (const Wait& wait : store.line(0).waits)
        found.emplace_back(wait.event, wait.pattern, wait.ns, wait.cause.location);
      std::uint64_t summed = 0, listed = 0;
      for (const WaitSum& sum : sums.take()) summed += sum.ns;
      for (const auto& [call, pattern, ns, cause] : found) listed += ns;
      CHECK(summed == listed);
    });
    return found;
  }

  TraceStore store;
};

}  // namespace

TEST_CASE("the latest candidate decides, or the earliest where the call returns at the first") {
  for (const bool any : {false, true}) {
    OneLine line;
    const std::uint32_t call = line.call(100, 900, any);
    line.candidate(call, WaitPattern::late_sender, 700, 2);
    line.candidate(call, WaitPattern::late_sender, 300, 1);
    if (any) {
      CHECK(line.classify() == OneLine::Found{{call, WaitPattern::late_sender, 200, 1}});
    } else {
      CHECK(line.classify() == OneLine::Found{{call, WaitPattern::late_sender, 600, 2}});
    }
  }
}

TEST_CASE("of candidates of one moment the lowest time line decides") {
  OneLine line;
  const std::uint32_t call = line.call(100, 900);
  line.candidate(call, WaitPattern::late_sender, 500, 3);
  line.candidate(call, WaitPattern::late_sender, 500, 1);
  CHECK(line.classify() == OneLine::Found{{call, WaitPattern::late_sender, 400, 1}});
}

TEST_CASE("a call waited only for what falls between its enter and its exit") {
  OneLine line;
  for (const std::uint64_t ns : {50U, 100U, 200U, 300U})
    line.candidate(line.call(100, 200), WaitPattern::late_sender, ns, 1);
  CHECK(line.classify().empty());
  // The latest decides, also where it came too late to be waited for and an earlier one did not.
  OneLine other;
  const std::uint32_t call = other.call(100, 200);
  other.candidate(call, WaitPattern::late_sender, 150, 1);
  other.candidate(call, WaitPattern::late_sender, 250, 2);
  CHECK(other.classify().empty());
}

TEST_CASE("a receive that came after the call shows that its sends needed none") {
  for (const bool any : {false, true}) {
    OneLine line;
    const std::uint32_t call = line.call(100, 200, any);
    line.candidate(call, WaitPattern::late_receiver, 180, 1);
    line.candidate(call, WaitPattern::late_receiver, 250, 2);
    CHECK(line.classify() ==
          (any ? OneLine::Found{{call, WaitPattern::late_receiver, 80, 1}} : OneLine::Found{}));
  }
  OneLine both;
  const std::uint32_t call = both.call(100, 200);
  both.candidate(call, WaitPattern::late_receiver, 180, 1);
  both.candidate(call, WaitPattern::late_receiver, 250, 1);
  both.candidate(call, WaitPattern::late_sender, 150, 2);
  CHECK(both.classify() == OneLine::Found{{call, WaitPattern::late_sender, 50, 2}});
}

TEST_CASE("two that exchange messages which were seen to need no receive wait for each other's sends") {
  OneLine line;
  line.candidate(line.call(10, 20), WaitPattern::late_receiver, 30, 2);
  for (const std::uint32_t receiver : {2U, 3U}) {
    const std::uint32_t call = line.call(100, 200);
    line.candidate(call, WaitPattern::late_sender, 150, receiver);
    line.candidate(call, WaitPattern::late_receiver, 152, receiver);
  }
  // Nothing else keeps it: too many may be under way.
  const std::uint32_t alone = line.call(300, 400);
  line.candidate(alone, WaitPattern::late_sender, 290, 2);
  line.candidate(alone, WaitPattern::late_receiver, 360, 2);
  CHECK(line.classify() == OneLine::Found{{1, WaitPattern::late_sender, 50, 2},
                                          {2, WaitPattern::late_receiver, 52, 3},
                                          {alone, WaitPattern::late_receiver, 60, 2}});
}

TEST_CASE("of an early wait, late-complete lasts from the latest arrival on") {
  OneLine line;
  const std::uint32_t call = line.call(100, 900);
  line.candidate(call, WaitPattern::early_wait, 800, 1);
  line.candidate(call, WaitPattern::late_complete, 600, 1);
  line.candidate(call, WaitPattern::late_complete, 300, 2);
  CHECK(line.classify() ==
        OneLine::Found{{call, WaitPattern::early_wait, 700, 1}, {call, WaitPattern::late_complete, 200, 1}});
}

TEST_CASE("an early fence is part of a wait at the fence, or all of it where there is no other") {
  OneLine line;
  const std::uint32_t both = line.call(100, 900);
  line.candidate(both, WaitPattern::wait_at_fence, 500, 1);
  line.candidate(both, WaitPattern::early_fence, 800, 2);
  const std::uint32_t alone = line.call(1000, 1900);
  line.candidate(alone, WaitPattern::early_fence, 1700, 2);
  CHECK(line.classify() == OneLine::Found{{both, WaitPattern::wait_at_fence, 400, 1},
                                          {both, WaitPattern::early_fence, 700, 2},
                                          {alone, WaitPattern::wait_at_fence, 700, 2},
                                          {alone, WaitPattern::early_fence, 700, 2}});
}

TEST_CASE("a completion lasts until the call's exit, beside its wait") {
  OneLine line;
  const std::uint32_t call = line.call(100, 900);
  line.candidate(call, WaitPattern::wait_at_barrier, 600, 1);
  line.candidate(call, WaitPattern::barrier_completion, 650, 1);
  const std::uint32_t first_out = line.call(1000, 1100);
  line.candidate(first_out, WaitPattern::barrier_completion, 1100, 1);
  CHECK(line.classify() == OneLine::Found{{call, WaitPattern::wait_at_barrier, 500, 1},
                                          {call, WaitPattern::barrier_completion, 250, 1}});
}

}  // namespace wait_classification_test
