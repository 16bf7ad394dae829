#include "merge/merge.hpp"

#include "database/reader.hpp"
#include "exchange/threads.hpp"
#include "measurement/trace.hpp"
#include "merge/timelines/time_line_analyses.hpp"
#include "sampled.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>

#include <catch2/catch.hpp>

namespace merge_test {

using namespace culprit;
using database::ContextKind;
using recorder::At;
using recorder::marked;
using recorder::Process;
using recorder::sample;
using recorder::work;

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

merge::Outcome merge_with(int ranks, const merge::Options& options, const merge::Progress& progress = {}) {
  merge::Outcome outcome;
  std::mutex mutex;
  exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
    merge::Outcome own = merge::merge(comm, options, progress);
    const std::lock_guard lock(mutex);
    if (comm.rank() == 0) outcome = std::move(own);
  });
  return outcome;
}

merge::Options options_for(const recorder::Directory& directory, const std::string& output = "out.db") {
  merge::Options options;
  options.measurement = directory / "run";
  options.output = directory / output;
  return options;
}

std::string failure(int ranks, const merge::Options& options) {
  try {
    merge_with(ranks, options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

/// One rank of a program: work, more on the last rank, then an allreduce in which the others wait.
void record_rank(const std::filesystem::path& directory, int rank, int ranks, const std::string& run = "cafe",
                 bool seal = true) {
  const std::string name = "r" + std::to_string(rank) + run + ".culprit";
  Process process(directory / name,
                  {.rank = rank, .world = ranks, .pid = 100 + static_cast<std::uint64_t>(rank), .run = run});
  const std::uint32_t other = process.module("/no/such/library.so");
  const std::uint32_t app = process.module(sampled::kLibrary, measurement::LiveFile::kModuleExecutable);
  const std::uint32_t own = process.module("/opt/libculprit-runtime.so", measurement::LiveFile::kModuleOwn);
  const std::uint32_t fortran = process.module(sampled::kFortranLibrary);
  measurement::ThreadTree& tree = process.thread();
  const bool slow = rank == ranks - 1;
  const At main = sampled::in(app, "app_main");
  const At step = sampled::in(app, "app_step");
  const At binding{fortran, sampled::address(sampled::kFortranLibrary, "mpi_allreduce_") + 4};
  const std::vector<At> allreduce = {main, step, {own, 0x40}, binding, sampled::in(app, "MPI_Allreduce")};
  for (std::uint64_t i = 0; i < 50; ++i) {
    sample(tree, {main, step, sampled::in(app, "app_work")}, work(slow ? 8 : 4));
    sample(tree, {main, step, sampled::in(app, "app_more_work")}, work(2));
    if (!slow) sample(tree, allreduce, marked(4));
  }
  sample(tree, {main, sampled::in(app, "MPI_Init")}, work(20));
  sample(tree, {main, {other, 0x1234 + static_cast<std::uint64_t>(rank)}}, work(1));
  if (rank % 2 == 0) {
    measurement::ThreadTree& worker =
        process.thread({.offset = sampled::address(sampled::kLibrary, "worker_start"),
                        .module = app,
                        .kind = cct::FrameKind::call});
    sample(worker, {sampled::in(app, "worker_start"), sampled::in(app, "app_work")}, work(10),
           recorder::Below::thread_root);
    worker.life().finish(1'500'000'000);
  }
  if (seal) process.seal();
}

void record_run(const recorder::Directory& directory, int ranks) {
  std::filesystem::create_directory(directory / "run");
  for (int rank = 0; rank < ranks; ++rank) record_rank(directory / "run", rank, ranks);
}

/// The first context of this kind and name.
database::ContextId find(const database::Contents& e, ContextKind kind, const std::string& name) {
  for (database::ContextId x = 0; x < e.contexts.size(); ++x) {
    if (e.contexts[x].kind == kind && e.strings[e.contexts[x].name] == name) return x;
  }
  return database::kNone;
}

std::uint64_t total_of(const database::SummaryTables& tables, std::uint32_t role, std::uint32_t metric,
                       std::uint32_t scope) {
  return static_cast<std::uint64_t>(tables.get(role, metric, scope, true).sum);
}

}  // namespace

TEST_CASE("a run is merged: roles, metrics, folding, blame") {
  const recorder::Directory directory;
  record_run(directory, 4);
  const merge::Outcome outcome = merge_with(2, options_for(directory));
  CHECK(outcome.problems == std::vector<std::string>{});
  CHECK(outcome.profiles == 6);
  const database::Reader reader(directory / "out.db");
  const database::Contents& e = reader.experiment();
  CHECK(e.run.ranks == 4);
  CHECK(e.run.run_id == "cafe");
  REQUIRE(e.roles.size() == 2);
  CHECK(e.roles[0].name == "main");
  CHECK(e.roles[0].threads == 4);
  CHECK(e.roles[1].name == "worker_start");
  CHECK(e.roles[1].threads == 2);
  CHECK(e.locations[1].rank == 0);
  CHECK(e.locations[1].role == 1);
  CHECK(e.locations[5].rank == 3);

  const auto allreduce = find(e, ContextKind::procedure, "MPI_Allreduce");
  REQUIRE(allreduce != database::kNone);
  CHECK((e.contexts[allreduce].flags & database::kFrontier) != 0);
  for (database::ContextId x = allreduce; x < e.contexts[allreduce].end; ++x) {
    CHECK((e.contexts[x].kind == ContextKind::procedure) == (x == allreduce));
  }
  constexpr std::uint64_t kIdle = std::uint64_t{3} * 50 * 4 * recorder::kPeriod;
  CHECK(total_of(e.context_summaries, 0, 1, allreduce) == kIdle);
  CHECK(total_of(e.context_summaries, 0, 1, 0) == kIdle);
  CHECK(total_of(e.context_summaries, 0, 2, 0) == 4 * 20 * recorder::kPeriod);  // MPI_Init: communication
  CHECK(total_of(e.context_summaries, 1, 0, 0) == 2 * 10 * recorder::kPeriod);
  CHECK(reader.inclusive_values({&allreduce, 1}, 1) ==
        std::vector<std::uint64_t>{kIdle / 3, 0, kIdle / 3, kIdle / 3, 0, 0});

  std::uint64_t blamed = 0;
  const auto blame = e.blame.read();
  for (const database::BlameRow& row : blame[0]) blamed += row.sum;
  CHECK(blamed == kIdle);
  REQUIRE_FALSE(e.suspects().empty());
  // The suspect is in app_work, as deep as the structure goes (its loop).
  database::ContextId frame = e.suspects()[0].suspect;
  while (e.contexts[frame].kind != ContextKind::procedure) frame = e.contexts[frame].parent;
  CHECK(e.strings[e.contexts[frame].name] == "app_work");
  CHECK(e.suspects()[0].locations == std::vector<std::uint32_t>{5});
}

TEST_CASE("threads that lived briefly are summed, but not compared") {
  const recorder::Directory directory;
  std::filesystem::create_directory(directory / "run");
  {
    Process process(directory / "run" / "r0.culprit", {.rank = 0, .world = 1});
    const std::uint32_t app = process.module(sampled::kLibrary, measurement::LiveFile::kModuleExecutable);
    sample(process.thread(), {sampled::in(app, "app_main")}, work(4));
    const At start = sampled::in(app, "worker_start");
    std::vector<measurement::ThreadTree*> workers;
    for (int worker = 0; worker < 5; ++worker) {
      workers.push_back(
          &process.thread({.offset = start.offset, .module = start.module, .kind = cct::FrameKind::call}));
      const auto spend = [&](const char* where, int samples) {
        for (int i = 0; i < samples; ++i)
          sample(*workers.back(), {start, sampled::in(app, where)}, work(1), recorder::Below::thread_root);
      };
      if (worker < 2) spend("app_work", 100);
      spend("app_more_work", worker < 2 ? 100 : 80);
      sample(*workers.back(), {start}, marked(10, measurement::WaitKind::condition),
             recorder::Below::thread_root);
    }
    for (int worker = 2; worker < 5; ++worker)
      workers[static_cast<std::size_t>(worker)]->life().finish(1'400'000'000);
    process.seal();
  }
  for (const int ranks : {1, 3}) {
    merge::Options options = options_for(directory, std::to_string(ranks) + ".db");
    merge_with(ranks, options);
    const database::Reader reader(options.output);
    const database::Contents& e = reader.experiment();
    REQUIRE(e.roles.size() == 2);
    CHECK(e.roles[1].threads == 5);
    const auto only_long = find(e, ContextKind::procedure, "app_work");
    REQUIRE(only_long != database::kNone);
    CHECK(e.balance(1, only_long) == database::Balance::balanced);
    CHECK(total_of(e.context_summaries, 1, 0, 0) == (2 * 210 + 3 * 90) * recorder::kPeriod);
    std::uint64_t blamed = 0;
    const auto blame = e.blame.read();
    for (const database::BlameRow& row : blame[1]) blamed += row.sum;
    CHECK(blamed == 5 * 10 * recorder::kPeriod);
  }
}

namespace {

/// A run of one rank whose wrappers counted something: `count(tree, node_of)`, where node_of(NAME) is the
/// call of that procedure in main.
template <typename Count>
void record_counts(const std::filesystem::path& directory, Count count) {
  std::filesystem::create_directory(directory);
  Process process(directory / "r0.culprit", {.rank = 0, .world = 1});
  const std::uint32_t app = process.module(sampled::kLibrary, measurement::LiveFile::kModuleExecutable);
  measurement::ThreadTree& tree = process.thread();
  const At main = sampled::in(app, "app_main");
  sample(tree, {main, sampled::in(app, "app_work")}, work(10));
  count(tree, [&](const char* name) {
    measurement::NodeIndex node = tree.program_root();
    for (const At& at : {main, sampled::in(app, name)})
      node = tree.child(node, {.offset = at.offset, .module = at.module, .kind = cct::FrameKind::call});
    return node;
  });
  process.seal();
}

std::uint64_t total_of(const database::Contents& e, const char* metric, database::ContextId context) {
  const auto found = std::ranges::find(e.metrics, metric, &database::Metric::name);
  REQUIRE(found != e.metrics.end());
  return total_of(e.context_summaries, 0, static_cast<std::uint32_t>(found - e.metrics.begin()), context);
}

constexpr std::uint64_t kMany = std::uint64_t{1} << 40;

}  // namespace

TEST_CASE("bytes are metrics where some were read or written, in calls of input and output alone") {
  const recorder::Directory directory;
  record_counts(directory / "run", [](measurement::ThreadTree& tree, const auto& node_of) {
    tree.accumulators().count_bytes(node_of("MPI_File_write"), 3, 5, kMany);
    tree.accumulators().count_bytes(node_of("MPI_File_write"), 1, 2, 7);
    tree.accumulators().count_bytes(node_of("MPI_Allreduce"), 1, 1000, 1000);  // its messages
    tree.accumulators().count_bytes(tree.root(), 1, 30, 0);                    // what found no room
  });
  for (const int ranks : {1, 2}) {
    merge::Options options = options_for(directory, std::to_string(ranks) + ".db");
    merge_with(ranks, options);
    const database::Reader reader(options.output);
    CHECK(total_of(reader.experiment(), "bytes-read", 0) == 37);
    CHECK(total_of(reader.experiment(), "bytes-written", 0) == kMany + 7);
  }
}

TEST_CASE("polls in vain are a metric where there were any, at the call") {
  const recorder::Directory directory;
  record_counts(directory / "run", [](measurement::ThreadTree& tree, const auto& node_of) {
    tree.accumulators().count_polls_in_vain(node_of("MPI_Allreduce"), kMany);
    tree.accumulators().count_polls_in_vain(node_of("MPI_Allreduce"), 7);
  });
  for (const int ranks : {1, 2}) {
    merge::Options options = options_for(directory, std::to_string(ranks) + ".db");
    merge_with(ranks, options);
    const database::Reader reader(options.output);
    const database::Contents& e = reader.experiment();
    const auto call = find(e, ContextKind::procedure, "MPI_Allreduce");
    REQUIRE(call != database::kNone);
    CHECK(total_of(e, "polls-in-vain", call) == kMany + 7);
    CHECK(total_of(e, "polls-in-vain", 0) == kMany + 7);
  }
}

TEST_CASE("the same bytes for any number of ranks") {
  const recorder::Directory directory;
  record_run(directory, 5);
  std::string first;
  for (const int ranks : {1, 2, 3, 7}) {
    const auto options = options_for(directory, "out" + std::to_string(ranks) + ".db");
    merge_with(ranks, options);
    const std::string bytes = contents(options.output);
    REQUIRE(bytes.size() > 1000);
    if (first.empty()) first = bytes;
    CHECK((bytes == first));
  }
}

TEST_CASE("random recursive programs: exclusive, inclusive, flat and blame agree") {
  const recorder::Directory directory;
  std::filesystem::create_directory(directory / "run");
  std::mt19937 random(7);
  std::uint64_t total = 0;
  for (int rank = 0; rank < 3; ++rank) {
    Process process(directory / "run" / (std::to_string(rank) + ".culprit"),
                    {.rank = rank, .world = 3, .pid = 10 + static_cast<std::uint64_t>(rank)});
    // A module without a file is one procedure: paths through few of them recurse directly and mutually.
    std::vector<std::uint32_t> modules;
    for (const char* path : {"/no/a", "/no/b", "/no/c", "/no/d"}) modules.push_back(process.module(path));
    measurement::ThreadTree& tree = process.thread();
    for (int i = 0; i < 200; ++i) {
      std::vector<At> path(1 + random() % 6);
      for (At& at : path) at = {modules[random() % modules.size()], 0x10 * (random() % 3)};
      const std::uint64_t weight = 1 + random() % 5;
      sample(tree, path, work(weight), static_cast<recorder::Below>(random() % 3));
      total += weight * recorder::kPeriod;
    }
    process.seal();
  }
  merge_with(2, options_for(directory));
  const database::Reader reader(directory / "out.db");
  const database::Contents& e = reader.experiment();
  CHECK(total_of(e.context_summaries, 0, 0, 0) == total);
  CHECK(total_of(e.flat_summaries, 0, 0, 0) == total);
  std::uint64_t exclusive = 0;
  for (std::uint32_t l = 0; l < e.locations.size(); ++l) {
    for (const database::Value& value : reader.profile_values(l))
      exclusive += value.metric == 0 ? value.value : 0;
  }
  CHECK(exclusive == total);
  std::uint64_t of_procedures = 0;
  for (database::FlatId f = 0; f < e.flat.size(); ++f) {
    if (e.flat[f].kind != ContextKind::procedure) continue;
    const metrics::Accumulator inclusive = e.flat_summaries.get(0, 0, f, true);
    const metrics::Accumulator exclusive_of = e.flat_summaries.get(0, 0, f, false);
    REQUIRE(inclusive.observers > 0);
    of_procedures += static_cast<std::uint64_t>(exclusive_of.sum);
    CHECK(inclusive.sum <= total);
    CHECK(exclusive_of.sum <= inclusive.sum);
  }
  CHECK(of_procedures == total);
  CHECK(e.quality.unresolved == e.quality.samples);
}

TEST_CASE("unreadable and cut-short files are reported and do not stop the merge") {
  const recorder::Directory directory;
  record_run(directory, 3);
  record_rank(directory / "run", 3, 4, "cafe", false);
  std::ofstream(directory / "run" / "zz.culprit") << "this is no measurement at all";
  std::ofstream(directory / "run" / "empty.culprit");
  for (const int ranks : {1, 3}) {
    auto options = options_for(directory);
    options.force = true;
    const merge::Outcome outcome = merge_with(ranks, options);
    CHECK(outcome.degraded());
    CHECK(outcome.unreadable == 2);
    CHECK(outcome.quality.cut_short == 1);
    REQUIRE(outcome.problems.size() == 3);
    CHECK(outcome.problems[0].find("empty.culprit: ") != std::string::npos);
    CHECK(outcome.problems[1].find("zz.culprit: ") != std::string::npos);
    CHECK(outcome.problems[2].find("r3cafe.culprit: rank 3 was cut short: its end was not recorded") !=
          std::string::npos);
  }
}

TEST_CASE("ranks whose traces are missing are named, unless all are") {
  for (const bool some_left : {false, true}) {
    const recorder::Directory directory;
    std::filesystem::create_directories(directory / "run");
    for (const int rank : {0, 1, 2, 3}) {
      const auto path = directory / "run" / ("r" + std::to_string(rank) + ".culprit");
      Process process(
          path, {.rank = rank, .world = 4, .pid = 100 + static_cast<std::uint64_t>(rank), .traced = true});
      const std::uint32_t app = process.module(sampled::kLibrary, measurement::LiveFile::kModuleExecutable);
      sample(process.thread(), {sampled::in(app, "app_main")}, work(4));
      process.seal();
      if (some_left && rank == 1) std::ofstream(measurement::trace::trace_path(path));
    }
    const merge::Outcome outcome = merge_with(2, options_for(directory));
    const auto said = [&](const char* text) {
      return std::ranges::any_of(outcome.problems,
                                 [&](const std::string& problem) { return problem.ends_with(text); });
    };
    CHECK(said(": the traces of ranks 0, 2-3 are missing: their waits, and what they made others wait, are "
               "not in the "
               "time lines") == some_left);
    CHECK(outcome.degraded() == some_left);
  }
}

TEST_CASE("what time lines reported is adopted as a whole or not at all") {
  database::Experiment experiment;
  experiment.contexts.resize(2);
  const auto adopted = [&experiment](std::uint64_t begin_ns, database::ContextId context) {
    merge::TimeLineFindings findings;
    findings.trace.traced = 1;
    findings.trace.critical_begin_ns = begin_ns;
    findings.trace.critical_end_ns = 10;
    findings.trace.causes.push_back({.location = 0, .scope = {.context = context}});
    return std::move(findings).adopt_into(experiment, 1);
  };
  CHECK_FALSE(adopted(11, 1));
  CHECK_FALSE(adopted(1, 2));
  CHECK(experiment.trace.traced == 0);
  CHECK(adopted(1, 1));
  CHECK(experiment.trace.traced == 1);
}

TEST_CASE("waits of threads too short for time lines have a note where they took more than 1 % of the run") {
  for (const std::uint64_t waited_ns : {20, 50}) {
    database::Experiment experiment;
    merge::TimeLineFindings findings;
    findings.trace.traced = 2;
    findings.trace.run_ns = 1000;
    findings.short_thread_waits_ns = waited_ns;
    REQUIRE(std::move(findings).adopt_into(experiment, 2));
    REQUIRE(experiment.run.notes.size() == (waited_ns > 20 ? 1 : 0));
    for (const std::string& note : experiment.run.notes)
      CHECK(note.find("--trace-threads-above) took 3 % of the run") != std::string::npos);
  }
}

TEST_CASE("a note says where hotspots have another threshold than usual") {
  for (const double threshold : {0.01, 0.05, 0.002}) {
    database::Experiment experiment;
    merge::TimeLineFindings findings;
    findings.trace.traced = 1;
    findings.hotspot_threshold = threshold;
    REQUIRE(std::move(findings).adopt_into(experiment, 1));
    const std::string share = threshold == 0.05 ? "5" : "0.2";
    CHECK(experiment.run.notes ==
          (threshold == 0.01 ? std::vector<std::string>{}
                             : std::vector{"hotspots are procedures with " + share +
                                           " % of the time or more (prof-mpi --hotspot-threshold)"}));
  }
}

TEST_CASE("a damaged tree is left out, whichever rank meets it") {
  const recorder::Directory directory;
  record_run(directory, 3);
  const auto victim = directory / "run" / "r1cafe.culprit";
  std::string bytes = contents(victim);
  for (std::size_t i = bytes.size() / 3; i < bytes.size() / 2; ++i) bytes[i] = static_cast<char>(~bytes[i]);
  std::ofstream(victim, std::ios::binary) << bytes;
  const merge::Outcome outcome = merge_with(2, options_for(directory));
  CHECK(outcome.unreadable == 1);
  CHECK(outcome.profiles == 4);
  REQUIRE_FALSE(outcome.problems.empty());
  CHECK(outcome.problems[0].find("r1cafe.culprit") != std::string::npos);
}

TEST_CASE("what is lost between the passes is left out as if it had been bad from the start") {
  const recorder::Directory directory;
  record_run(directory, 4);
  const auto first = directory / "run" / "r0cafe.culprit", second = directory / "run" / "r2cafe.culprit";
  const std::string whole = contents(first), other = contents(second);
  for (const int ranks : {1, 2}) {
    std::ofstream(first, std::ios::binary) << whole;
    std::ofstream(second, std::ios::binary) << other;
    auto options = options_for(directory);
    options.force = true;
    const auto lose = [&](std::string_view phase, std::uint64_t, std::uint64_t) {
      if (phase != "structure") return;
      std::filesystem::resize_file(first, 100);
      std::filesystem::remove(second);
    };
    const merge::Outcome outcome = merge_with(ranks, options, lose);
    CHECK(outcome.unreadable == 2);
    REQUIRE(outcome.problems.size() == 2);
    for (const std::string& problem : outcome.problems)
      CHECK(problem.find(": changed while it was being merged: ") != std::string::npos);
    CHECK(outcome.problems[0].starts_with(first.string()));
    CHECK(outcome.problems[1].starts_with(second.string()));
    const std::string bytes = contents(options.output);
    std::ofstream(second) << "no measurement";
    CHECK(merge_with(ranks, options).unreadable == 2);
    CHECK(contents(options.output) == bytes);
  }
}

TEST_CASE("two runs in one directory: the larger is merged") {
  const recorder::Directory directory;
  record_run(directory, 3);
  record_rank(directory / "run", 0, 1, "beef");
  const merge::Outcome outcome = merge_with(2, options_for(directory));
  CHECK(outcome.profiles == 5);
  REQUIRE(outcome.problems.size() == 1);
  CHECK(outcome.problems[0].find("belongs to run beef") != std::string::npos);
}

TEST_CASE("samples of threads that found no room are a problem") {
  const recorder::Directory directory;
  std::filesystem::create_directory(directory / "run");
  {
    Process process(directory / "run" / "a.culprit", {});
    sample(process.thread(), {{process.module("/no/a"), 1}}, work(90));
    process.lose(12);
    process.seal();
  }
  const merge::Outcome outcome = merge_with(1, options_for(directory));
  CHECK(outcome.quality.dropped == 12);
  REQUIRE(outcome.problems.size() == 1);
  CHECK(outcome.problems[0].find("12 samples were dropped") != std::string::npos);
}

TEST_CASE("partial unwinds beyond one per cent are a problem") {
  const recorder::Directory directory;
  std::filesystem::create_directory(directory / "run");
  {
    Process process(directory / "run" / "a.culprit", {});
    const std::uint32_t module = process.module("/no/a");
    measurement::ThreadTree& tree = process.thread();
    sample(tree, {{module, 1}}, work(90));
    sample(tree, {{module, 2}}, work(10), recorder::Below::partial);
    process.seal();
  }
  const merge::Outcome outcome = merge_with(1, options_for(directory));
  CHECK(outcome.quality.partial == 1);
  REQUIRE(outcome.problems.size() == 1);
  CHECK(outcome.problems[0].find("10.0 % of the time") != std::string::npos);
}

TEST_CASE("a copied measurement counts once, whoever meets which of the two") {
  const recorder::Directory directory;
  record_run(directory, 4);
  const merge::Outcome once = merge_with(1, options_for(directory, "once.db"));
  std::filesystem::copy_file(directory / "run" / "r1cafe.culprit", directory / "run" / "a.culprit");
  std::filesystem::create_directory(directory / "run" / "7f");
  std::filesystem::copy_file(directory / "run" / "r1cafe.culprit", directory / "run" / "7f" / "z.culprit");
  for (const int ranks : {1, 3}) {
    auto options = options_for(directory);
    options.force = true;
    const merge::Outcome outcome = merge_with(ranks, options);
    CHECK(outcome.profiles == once.profiles);
    CHECK(outcome.quality.samples == once.quality.samples);
    REQUIRE(outcome.problems.size() == 2);
    CHECK(outcome.problems[0].find("a.culprit: is a copy of ") != std::string::npos);
    CHECK(outcome.problems[1].find("r1cafe.culprit: is a copy of ") != std::string::npos);
    CHECK(outcome.problems[1].find("7f/z.culprit, and is left out (remove one of them)") !=
          std::string::npos);
  }
}

TEST_CASE("of two processes that are the same rank at the same time one is used") {
  const recorder::Directory directory;
  record_run(directory, 4);
  const merge::Outcome once = merge_with(1, options_for(directory, "once.db"));
  {
    Process process(directory / "run" / "other.culprit", {.rank = 2, .world = 4, .pid = 777, .run = "cafe"});
    process.thread();
    process.seal();
  }
  const merge::Outcome outcome = merge_with(2, options_for(directory));
  CHECK(outcome.profiles == once.profiles);
  REQUIRE(outcome.problems.size() == 1);
  CHECK(outcome.problems[0].find("other.culprit: is of rank 2 of the same run as ") != std::string::npos);
}

TEST_CASE("what cannot be merged says why, on every rank") {
  const recorder::Directory directory;
  for (const int ranks : {1, 3}) {
    CHECK(failure(ranks, options_for(directory)).find("does not exist") != std::string::npos);
  }
  std::filesystem::create_directory(directory / "run");
  CHECK_FALSE(failure(2, options_for(directory)).empty());
  std::ofstream(directory / "run" / "bad.culprit") << "nonsense";
  CHECK(failure(2, options_for(directory)).find("no readable measurement") != std::string::npos);
  std::filesystem::remove(directory / "run" / "bad.culprit");
  {
    Process process(directory / "run" / "idle.culprit", {.rank = -1, .pid = 7});
    process.thread();
    process.seal();
  }
  CHECK(failure(2, options_for(directory)).find("no samples were recorded") != std::string::npos);
  record_rank(directory / "run", 0, 1);
  std::ofstream(directory / "out.db") << "something else";
  CHECK(failure(2, options_for(directory)).find("already exists (use --force or -o)") != std::string::npos);
  CHECK(contents(directory / "out.db") == "something else");
  auto options = options_for(directory, "other.db");
  std::ofstream(directory / "bad.rules") << "dance MPI_Send\n";
  options.idle_rules = directory / "bad.rules";
  CHECK(failure(2, options).find("unknown rule 'dance'") != std::string::npos);
  options.idle_rules.clear();
  options.dry_run = true;
  CHECK(merge_with(2, options).profiles == 3);
  CHECK_FALSE(std::filesystem::exists(options.output));
}

}  // namespace merge_test
