#include "merge/divide.hpp"
#include "merge/survey.hpp"

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
  culprit::merge::Launch launch;
  launch.run_id = run;
  summary.rank = rank;
  summary.pid = pid;
  summary.launch = std::make_shared<const culprit::merge::Launch>(launch);
  return summary;
}

ProcessSummary on_host(ProcessSummary summary, const std::string& host) {
  culprit::merge::Launch launch = *summary.launch;
  launch.host = host;
  summary.launch = std::make_shared<const culprit::merge::Launch>(launch);
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
  CHECK(canonically_before(on_host(process(std::nullopt, 5, ""), "a"),
                           on_host(process(std::nullopt, 4, ""), "b")));
}

TEST_CASE("the run that most processes belong to") {
  CHECK(prevailing_run({}).empty());
  CHECK(prevailing_run({process(0, 1, "b"), process(1, 2, "b"), process(0, 3, "a")}) == "b");
  CHECK(prevailing_run({process(0, 1, "b"), process(0, 2, "a")}) == "a");
  // Ranks decide, however many children they had.
  CHECK(prevailing_run({process(0, 1, "b"), process(std::nullopt, 2, "a"), process(std::nullopt, 3, "a")}) ==
        "b");
}

TEST_CASE("summaries survive a message, and what processes share is shared again") {
  using namespace culprit;
  measurement::Measurement file;
  file.process.host = "node1";
  file.process.run_id = "run";
  file.process.pid = 7;
  file.process.rank = 3;
  file.process.program = "/bin/app";
  file.process.arguments = {"app", "-x"};
  file.process.events = {{"REALTIME", "ns", 5'000'000}};
  file.process.start_realtime_ns = -5;
  file.process.end = measurement::EndReason::abort;
  file.modules = {
      {.key = {.path = "/bin/app", .build_id = "ab", .size = 1, .mtime_ns = 2}, .executable = true},
      {.key = {.path = "/lib/so", .build_id = "cd", .size = 1, .mtime_ns = 2}, .bridged = 9}};
  file.threads.resize(2);
  file.threads[1].ordinal = 1;
  file.threads[1].start_routine = {.offset = 0x40, .module = 1, .kind = cct::FrameKind::call};
  file.threads[1].quality.samples = 11;
  file.threads[1].quality.most_halvings = 2;
  file.threads[1].cells.resize(4);
  merge::Summarizer here;
  std::vector<ProcessSummary> sent{here.summarize(file, "/run/a", 100)};
  file.process.rank.reset();
  sent.push_back(here.summarize(file, "/run/b", 200));
  cct::MessageWriter writer;
  here.write(writer, sent);
  const auto bytes = writer.take();
  cct::MessageReader reader(bytes);
  merge::Summarizer there;
  file.process.run_id = "other";
  (void)there.summarize(file, "/run/c", 300);
  file.process.run_id = "run";
  (void)there.summarize(file, "/run/d", 300);
  std::vector<ProcessSummary> got;
  there.read(reader, got);
  reader.end();
  REQUIRE(got.size() == 2);
  CHECK(got[0].path == "/run/a");
  CHECK(got[1].path == "/run/b");
  CHECK(got[1].bytes == 200);
  CHECK(got[0].cells == 4);
  CHECK(got[0].rank == 3);
  CHECK(!got[1].rank);
  CHECK(got[0].cut_short());
  CHECK(*got[0].launch == *sent[0].launch);
  CHECK(got[0].launch == got[1].launch);
  CHECK(got[0].launch->executable.path == "/bin/app");
  REQUIRE(got[0].flaws.size() == 1);
  CHECK(got[0].flaws[0].module->path == "/lib/so");
  CHECK(got[0].flaws[0].bridged == 9);
  REQUIRE(got[0].threads.size() == 2);
  CHECK(!got[0].threads[0].start_module);
  CHECK(got[0].threads[1].start_module->path == "/lib/so");
  CHECK(got[0].threads[1].start_offset == 0x40);
  // Counters are kept for a run as a whole, wherever its processes were summarized.
  CHECK(there.quality("run").sum.samples == 3 * 11);
  CHECK(there.quality("run").slowed == 3);
  CHECK(there.quality("other").sum.samples == 11);
  CHECK(there.quality("none").sum.samples == 0);
  CHECK(got[0].threads[1].start_module == got[1].threads[1].start_module);
}
