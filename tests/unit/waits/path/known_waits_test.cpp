#include "waits/path/known_waits.hpp"

#include "waits/timeline/event.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

namespace known_waits_test {

using namespace culprit::waits;

namespace {

/// Six calls, of which the first initializes MPI; each waits for the call of the same index on line 1.
struct Waiting {
  Waiting() {
    store.open(0);
    for (std::uint32_t call = 0; call < 6; ++call) {
      store.add(0, Event{.enter_ns = 100 * call + 100, .exit_ns = 100 * call + 150});
      Event& event = store.line(0).events.change(call);
      event.waits = call;
      event.wait = 20;
      Wait wait;
      wait.event = call;
      wait.pattern = WaitPattern::late_sender;
      wait.until_ns = 100 * call + 120;
      wait.cause = {1, call};
      store.line(0).waits.push_back(wait);
    }
    store.initializes({0, 0});
  }
  TraceStore store;
};

/// The steps before the one with which the path leaves the line at call `left`.
std::vector<PathStep> before(const KnownWaits& known, const TimeLine& line, std::uint32_t left) {
  std::vector<PathStep> steps{{.to = {.call = {1, left}}, .left = left}};
  known.append(line, steps);
  steps.erase(steps.begin());
  return steps;
}

PathPosition behind(std::uint32_t call, std::uint64_t ns) {
  return {.call = {0, call}, .ns = ns, .at_exit = true, .ended = false};
}

}  // namespace

TEST_CASE("the waits before one are known down to those of MPI_Init") {
  Waiting run;
  const KnownWaits known(2, true);
  const std::vector<PathStep> steps = before(known, run.store.line(0), 5);
  REQUIRE(steps.size() == 4);
  CHECK(steps.front().left == 4);
  CHECK(steps.front().to.call == EventId{1, 4});
  CHECK(steps.front().to.ns == 520);
  CHECK(steps.back().left == 1);
}

TEST_CASE("no wait before an overlapped one is known") {
  Waiting run;
  run.store.line(0).waits.change(2).overlapped = true;
  const std::vector<PathStep> steps = before(KnownWaits(2, true), run.store.line(0), 5);
  REQUIRE(steps.size() == 2);
  CHECK(steps.back().left == 3);
}

TEST_CASE("the path leaves a line at the last known wait before where it comes to it") {
  Waiting run;
  KnownWaits known(2, true);
  known.keep(0, before(known, run.store.line(0), 5));
  CHECK(known.after(behind(3, 440))->left == 3);
  const PathPosition at_enter{.call = {0, 3}, .ns = 310, .at_exit = false, .ended = false};
  CHECK(known.after(at_enter)->left == 2);
  CHECK(known.after(at_enter)->to.ns == 310);
  CHECK_FALSE(known.after({.call = {0, 1}, .ns = 200, .at_exit = false, .ended = false}));
  CHECK_FALSE(known.after({.call = {1, 5}, .ns = 200, .at_exit = false, .ended = false}));
}

}  // namespace known_waits_test
