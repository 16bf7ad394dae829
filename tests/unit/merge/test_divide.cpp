#include "merge/divide.hpp"

#include <numeric>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using culprit::merge::canonically_before;
using culprit::merge::even_ranges;
using culprit::merge::prevailing_run;
using culprit::merge::ProcessSummary;

namespace {

ProcessSummary process(std::optional<int> rank, std::uint64_t pid, const std::string& run) {
  ProcessSummary summary;
  summary.process.rank = rank;
  summary.process.pid = pid;
  summary.process.run_id = run;
  return summary;
}

}  // namespace

TEST_CASE("ranges cover all items once, in order, and share the weight") {
  CHECK(rc::check([] {
    const auto weights =
        *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(1, 1000));
    const auto parts = *rc::gen::inRange<std::size_t>(1, 12);
    const std::vector<std::size_t> first = even_ranges(weights, parts);
    RC_ASSERT(first.size() == parts + 1);
    RC_ASSERT(std::is_sorted(first.begin(), first.end()));
    RC_ASSERT((weights.empty() || first.front() == 0U));
    RC_ASSERT(first.back() == weights.size());
    const auto total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    const auto largest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
    for (std::size_t p = 0; p < parts; ++p) {
      std::uint64_t share = 0;
      for (std::size_t i = first[p]; i < first[p + 1]; ++i) share += weights[i];
      RC_ASSERT(share <= total / parts + largest + 1);
    }
  }));
}

TEST_CASE("locations: ranks by rank, then others by host and pid") {
  CHECK(canonically_before(process(2, 9, ""), process(10, 1, "")));
  CHECK(canonically_before(process(10, 9, ""), process(std::nullopt, 1, "")));
  CHECK(canonically_before(process(std::nullopt, 1, ""), process(std::nullopt, 2, "")));
  ProcessSummary a = process(std::nullopt, 5, "");
  ProcessSummary b = process(std::nullopt, 4, "");
  a.process.host = "a";
  b.process.host = "b";
  CHECK(canonically_before(a, b));
}

TEST_CASE("the run that most processes belong to") {
  CHECK(prevailing_run({}).empty());
  CHECK(prevailing_run({process(0, 1, "b"), process(1, 2, "b"), process(0, 3, "a")}) == "b");
  CHECK(prevailing_run({process(0, 1, "b"), process(0, 2, "a")}) == "a");
  // Ranks decide, however many children they had.
  CHECK(prevailing_run({process(0, 1, "b"), process(std::nullopt, 2, "a"), process(std::nullopt, 3, "a")}) ==
        "b");
}
