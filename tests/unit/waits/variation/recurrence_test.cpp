#include "waits/variation/recurrence.hpp"

#include "exchange/threads.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace recurrence_test {

using namespace culprit;
using namespace culprit::waits;

namespace {

constexpr std::uint32_t kNone = CallPaths::kNone;

CallPaths random_paths(std::mt19937_64& random, std::uint32_t contexts) {
  CallPaths paths{.parent = {kNone}, .procedure = std::vector<std::uint32_t>(contexts, kNone)};
  // Rather deep than wide.
  for (std::uint32_t context = 1; context < contexts; ++context)
    paths.parent.push_back(context - 1 - static_cast<std::uint32_t>(random() % std::min(context, 4U)));
  return paths;
}

/// With itself, from the inside.
std::vector<std::uint32_t> around(const CallPaths& paths, std::uint32_t context) {
  std::vector<std::uint32_t> scopes;
  for (; context != kNone; context = paths.parent[context]) scopes.push_back(context);
  return scopes;
}

/// The innermost scope around both; of two calls of one path, that which makes them.
std::uint32_t scope_of(const CallPaths& paths, std::uint32_t a, std::uint32_t b) {
  if (a == b) return paths.parent[a];
  const std::vector<std::uint32_t> others = around(paths, b);
  for (const std::uint32_t scope : around(paths, a)) {
    if (std::find(others.begin(), others.end(), scope) != others.end()) return scope;
  }
  return kNone;
}

/// The calls of a time line, as the pass that reads them numbers their gaps.
std::vector<Event> line_of(const std::vector<std::uint32_t>& contexts, RegionNumbers& numbers) {
  std::vector<Event> events;
  std::uint32_t previous = Region::kStart;
  for (const std::uint32_t context : contexts) {
    Event& event = events.emplace_back();
    event.context = context;
    event.gap = 0xfffffffU & numbers.number({previous, context});
    previous = context;
  }
  return events;
}

}  // namespace

TEST_CASE("control comes back to the innermost scope around two calls, whatever is called in between") {
  REQUIRE(rc::check("as if all scopes were looked at", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const auto contexts = *rc::gen::inRange<std::uint32_t>(1, 30);
    const std::uint32_t unknown = *rc::gen::element(0U, 1U, 5U);  // of which the paths tell nothing
    const CallPaths paths = random_paths(random, contexts);
    RegionNumbers numbers;
    std::vector<std::vector<Event>> lines;
    for (int line = 0; line < 3; ++line) {
      std::vector<std::uint32_t> calls(random() % 40);
      for (std::uint32_t& call : calls) call = static_cast<std::uint32_t>(random() % (contexts + unknown));
      lines.push_back(line_of(calls, numbers));
    }
    exchange::run_on_threads(1, [&](exchange::Communicator& analysis) {
      const Regions regions(analysis, numbers);
      Returns returns(paths, regions);
      for (std::vector<Event>& line : lines) {
        returns.begin_line();
        std::optional<std::uint32_t> before;
        for (Event& event : line) {
          event.gap = 0xfffffffU & regions.of_gap(event.gap);
          if (event.context >= contexts) continue;
          const std::uint32_t scope = before ? scope_of(paths, *before, event.context) : kNone;
          RC_ASSERT(returns.call(event) == (scope == kNone ? returns.nothing() : returns.depth(scope)));
          RC_ASSERT(returns.depth(event.context) + 1 == around(paths, event.context).size());
          RC_ASSERT(returns.depth(event.context) < returns.nothing());
          before = event.context;
        }
      }
    });
  }));
}

TEST_CASE("the outermost scope of which the calls divide the time recurs") {
  // Calls of one path: every 10 ns control comes back to a loop at depth 5, every 50 ns to one at depth 3.
  Recurrences recurrences;
  for (std::uint64_t call = 0; call < 20; ++call) recurrences.begins(10 * call, call % 5 == 0 ? 3 : 5);
  const auto count = [&](std::uint32_t depth, std::uint64_t end_ns) {
    return recurrences.level(depth, end_ns).count;
  };
  CHECK(count(2, 200) == 4);   // a procedure around both loops
  CHECK(count(3, 200) == 4);   // the outer loop is in its frame
  CHECK(count(5, 200) == 20);  // a procedure in the inner one
  CHECK(recurrences.level(2, 200).depth == 3);
  // Its last invocation has nearly all of the time, however it is divided.
  CHECK(count(2, 10'000) == 20);
  CHECK(recurrences.level(2, 10'000).uneven(10'000));
  CHECK(Recurrences().level(0, 100).count == 0);
}

}  // namespace recurrence_test
