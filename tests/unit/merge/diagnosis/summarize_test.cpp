// Accumulators of several ranks of the analysis, combined: the same for any number of them.
#include "merge/diagnosis/summarize.hpp"

#include "diagnosed_run.hpp"

#include <atomic>

#include <catch2/catch.hpp>

namespace summarize_test {

using namespace culprit;
using merge::Columns;

namespace {

merge::Summaries summaries_of(const DiagnosedRun& run, int ranks) {
  const merge::Plan plan(run.shape, std::vector<std::uint8_t>{0, 0, 0, 1, 1});
  merge::Summaries at_root;
  std::atomic<int> with_some = 0;  // ranks are threads, which Catch2 does not allow to check anything
  run.analyse(ranks, [&](exchange::Communicator& comm, merge::ThreadAccumulation& accumulation) {
    merge::Summaries found = merge::summarize(comm, run.shape, plan, accumulation.roles());
    if (!found.contexts.empty() || !found.roles.empty()) ++with_some;
    if (comm.rank() == 0) at_root = std::move(found);
  });
  CHECK(with_some == 1);
  return at_root;
}

metrics::Accumulator over(std::initializer_list<std::uint64_t> values) {
  metrics::Accumulator sum;
  for (const std::uint64_t value : values) sum.accumulate(value);
  return sum;
}

}  // namespace

TEST_CASE("each context's time is summed over all threads, whichever rank had them") {
  DiagnosedRun run;
  run.thread(100, 10);
  run.thread(200, 20);
  run.thread(400, 40);
  for (const int ranks : {1, 2, 3, 5}) {
    INFO(ranks << " ranks");
    const merge::Summaries found = summaries_of(run, ranks);
    REQUIRE(found.roles.size() == 1);
    const merge::RoleTotals& totals = found.roles[0];
    CHECK(totals.time[DiagnosedRun::kFirst] == over({100, 200, 400}));
    CHECK(totals.time[DiagnosedRun::kSecond] == over({10, 20, 40}));
    CHECK(totals.time[DiagnosedRun::kProcedure] == over({110, 220, 440}));
    CHECK(totals.time[0] == over({110, 220, 440}));
    CHECK(totals.idleness[0] == metrics::Accumulator{});
    // Squared weights of samples, of a context and all below it.
    CHECK(totals.weight_sq[DiagnosedRun::kFirst] == 3 * 4);
    CHECK(totals.weight_sq[DiagnosedRun::kProcedure] == 2 * 3 * 4);
    const database::Summary& time = found.contexts.at(Columns::kRealtime);
    CHECK(time.metric == Columns::kRealtime);
    for (const database::SummaryEntry& entry : time.entries) {
      CHECK(entry.inclusive == totals.time[entry.scope]);
      if (entry.scope == DiagnosedRun::kFirst) CHECK(entry.exclusive == over({100, 200, 400}));
    }
    CHECK(found.flat.size() == found.contexts.size());
  }
}

TEST_CASE("a rank without threads leaves the sums as they are") {
  DiagnosedRun run;
  run.thread(7, 3);
  CHECK(summaries_of(run, 4).roles.at(0).time[0] == over({10}));
}

}  // namespace summarize_test
