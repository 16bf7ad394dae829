#include "merge/input/divide.hpp"

#include "merge/input/process_packing.hpp"
#include "merge/values/survey.hpp"

#include <numeric>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace divide_test {

using culprit::merge::canonically_before;
using culprit::merge::InputFiles;
using culprit::merge::part_of;
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

std::string prevailing_run(const std::vector<ProcessSummary>& processes) {
  culprit::merge::RunVotes here, elsewhere;
  for (std::size_t p = 0; p < processes.size(); ++p) (p % 2 == 0 ? here : elsewhere).add(processes[p]);
  culprit::cct::MessageWriter message;
  elsewhere.write(message);
  const auto bytes = message.take();
  culprit::cct::MessageReader reader(bytes);
  here.read(reader);
  return here.prevailing();
}

}  // namespace

TEST_CASE("parts cover all items once, in order, and share the weight") {
  CHECK(rc::check([] {
    const auto weights =
        *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 1000));
    const auto parts = *rc::gen::inRange<std::size_t>(1, 12);
    const auto total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    const auto largest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
    std::vector<std::uint64_t> shares(parts, 0);
    std::uint64_t before = 0;
    std::size_t last = 0;
    for (const std::uint64_t weight : weights) {
      const std::size_t part = part_of(before, total, parts);
      RC_ASSERT(part >= last);
      RC_ASSERT(part < parts);
      last = part;
      shares[part] += weight;
      before += weight;
    }
    for (const std::uint64_t share : shares) RC_ASSERT(share <= total / parts + largest + 1);
  }));
  // No product of them is too large for 64 bits.
  CHECK(part_of(std::uint64_t{1} << 62, std::uint64_t{1} << 63, 1000) == 500);
}

TEST_CASE("a list of files comes back as it was made, here and from a message") {
  CHECK(rc::check([] {
    const auto names = *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
    const auto begin = *rc::gen::element(std::string(), std::string("/run/4f/"), std::string("m/node-1-"));
    std::vector<std::pair<std::string, std::uint64_t>> files, here, there;
    InputFiles list;
    for (const std::string& name : names) {
      files.emplace_back(begin + name, *rc::gen::arbitrary<std::uint64_t>());
      list.add(files.back().first, files.back().second);
    }
    RC_ASSERT(list.size() == files.size());
    for (InputFiles::Cursor file(list); file.next();) here.emplace_back(file.path(), file.bytes());
    RC_ASSERT(here == files);
    const InputFiles received = InputFiles::from(std::move(list).take());
    RC_ASSERT(received.size() == files.size());
    for (InputFiles::Cursor file(received); file.next();) there.emplace_back(file.path(), file.bytes());
    RC_ASSERT(there == files);
    std::vector<std::pair<std::string, std::uint64_t>> rest;
    const InputFiles others = files.empty() ? InputFiles() : received.without({{files[0].first, "gone"}});
    for (InputFiles::Cursor file(others); file.next();) rest.emplace_back(file.path(), file.bytes());
    std::erase_if(there, [&](const auto& file) { return file.first == files[0].first; });
    RC_ASSERT(rest == there);
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

TEST_CASE("summaries survive being packed and sent, and what processes share is shared again") {
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
  file.process.samples_lost = 5;
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
  merge::ProcessPacker packer;
  database::Encoder packed[2];
  for (std::size_t p = 0; p < sent.size(); ++p) packer.add(sent[p], packed[p]);
  cct::MessageWriter writer;
  here.write(writer, packer.shared());
  const auto bytes = writer.take();
  cct::MessageReader reader(bytes);
  merge::Summarizer there;
  file.process.run_id = "other";
  (void)there.summarize(file, "/run/c", 300);
  file.process.run_id = "run";
  (void)there.summarize(file, "/run/d", 300);
  const merge::SharedByProcesses shared = there.read(reader);
  reader.end();
  std::vector<ProcessSummary> got(2);
  merge::unpack(database::ByteSpan(packed[0].bytes()).subspan(merge::kPackedSize), shared, got[0]);
  got[1] = got[0];  // each goes on where the one before it ended
  merge::unpack(database::ByteSpan(packed[1].bytes()).subspan(merge::kPackedSize), shared, got[1]);
  CHECK(got[0].path == "/run/a");
  CHECK(got[1].path == "/run/b");
  CHECK(got[1].bytes == 200);
  CHECK(got[0].start_realtime_ns == -5);
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
  CHECK(there.quality("run").samples_lost == 3 * 5);
  CHECK(there.quality("other").sum.samples == 11);
  CHECK(there.quality("none").sum.samples == 0);
  CHECK(got[0].threads[1].start_module == got[1].threads[1].start_module);
}

}  // namespace divide_test
