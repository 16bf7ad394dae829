#include "waits/states/wait_sums.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace wait_sums_test {

using namespace culprit::waits;

namespace {

Wait wait(WaitPattern pattern, std::uint32_t context, EventId cause, std::uint32_t cause_context,
          std::uint64_t ns) {
  Wait made;
  made.pattern = pattern;
  made.context = context;
  made.cause = cause;
  made.cause_context = cause_context;
  made.ns = ns;
  return made;
}

/// A call path of a time line.
struct Place {
  Location location;
  std::uint32_t context;
};

WaitSum sum(WaitPattern pattern, Place waiter, Place cause, std::uint64_t ns, std::uint64_t count) {
  return {.pattern = pattern,
          .location = waiter.location,
          .cause = cause.location,
          .context = waiter.context,
          .cause_context = cause.context,
          .ns = ns,
          .count = count};
}

}  // namespace

TEST_CASE("waits of one call path by one pattern for one call path of another are one sum") {
  WaitSums sums;
  sums.add(wait(WaitPattern::late_sender, 5, {1, 0}, 7, 100));
  sums.add(wait(WaitPattern::late_sender, 5, {1, 3}, 7, 30));  // another call of the same path
  sums.add(wait(WaitPattern::late_sender, 5, {1, 4}, 8, 4));
  sums.add(wait(WaitPattern::late_sender, 5, {2, 0}, 7, 2));
  sums.add(wait(WaitPattern::wait_at_barrier, 5, {1, 0}, 7, 1));
  sums.close(0);
  CHECK(sums.take() == std::vector<WaitSum>{sum(WaitPattern::late_sender, {0, 5}, {1, 7}, 130, 2),
                                            sum(WaitPattern::late_sender, {0, 5}, {1, 8}, 4, 1),
                                            sum(WaitPattern::late_sender, {0, 5}, {2, 7}, 2, 1),
                                            sum(WaitPattern::wait_at_barrier, {0, 5}, {1, 7}, 1, 1)});
}

TEST_CASE("sums come by pattern, then by time line, whichever was closed first") {
  WaitSums sums;
  sums.add(wait(WaitPattern::wait_at_barrier, 1, {0, 0}, 1, 10));
  sums.add(wait(WaitPattern::late_sender, 2, {0, 1}, 1, 20));
  sums.close(3);
  sums.close(2);  // a time line without waits
  sums.add(wait(WaitPattern::late_sender, 2, {3, 1}, 1, 40));
  sums.close(1);
  CHECK(sums.take() == std::vector<WaitSum>{sum(WaitPattern::late_sender, {1, 2}, {3, 1}, 40, 1),
                                            sum(WaitPattern::late_sender, {3, 2}, {0, 1}, 20, 1),
                                            sum(WaitPattern::wait_at_barrier, {3, 1}, {0, 1}, 10, 1)});
}

TEST_CASE("without waits there are no sums") {
  WaitSums sums;
  sums.close(0);
  CHECK(sums.take().empty());
}

}  // namespace wait_sums_test
