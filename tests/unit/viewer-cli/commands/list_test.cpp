// Lists that have a row for each call path, whatever the number of ranks: what falls together, and how it is
// said whose it is.
#include "commands/list.hpp"

#include "findings/causes.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/shorten.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <tuple>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace culprit::viewer::testing {
namespace {

using database::ContextId;
using database::ContextKind;
using database::WaitPattern;
using views::testing::SampleExperiment;
using views::testing::SolverSample;
using views::testing::WorkersSample;

std::string flat(std::string text) {
  text = wrap(text, 1'000);
  return text;
}

std::string said(const database::Contents& experiment,
                 const std::vector<std::pair<std::uint32_t, std::uint64_t>>& parts) {
  ThreadTimes times;
  for (const auto& [location, ns] : parts) times.add(location, ns);
  times.add_up();
  return flat(thread_times_phrase(experiment, times, "on", true));
}

/// Ranks 0 to 6 wait for rank 7 in MPI_Allreduce, 1 s, 2 s, ... 7 s, half of it indirect; rank 5 waits for a
/// lock of rank 2, and has a completion.
struct WaitingSample : SolverSample {
  WaitingSample() {
    database::Experiment& e = sample.build();
    e.waits = {
        {WaitPattern::nxn_completion, 5, allreduce, database::kNone, database::kNone, true, 9 * kSecond, 1},
        {WaitPattern::lock_wait, 5, dot, 2, spmv_loop, true, 8 * kSecond, 3, 8 * kSecond}};
    for (std::uint32_t rank = 7; rank-- > 0;)
      e.waits.push_back({WaitPattern::wait_at_nxn, rank, allreduce, 7, spmv, true, (rank + 1) * kSecond, 4,
                         (rank + 1) * kSecond / 2});
    e.trace.traced = 8;
  }
};

}  // namespace

TEST_CASE("waits: one row for each pattern and call path, with its ranks, whom they waited for, and shares") {
  const WaitingSample waiting;
  CHECK(run(waiting.sample, {"waits"}) ==
        R"(Who waited where, and for whom: 36.0 s in all, 38.9 % of it indirect: those who were waited for had
been kept waiting themselves (`causes` follows them). The report counts 1 710 s of waiting: 1 674 s
in the MPI library and 36 s for late ranks (listed here).

28.00 s  77.8 %  wait-at-nxn  ranks 0-6, most on 6 (7.00 s), for rank 7; 50 % indirect;
    28 waits, mean 1.00 s
    main › cg_iterate › loop at solver.c:412 › MPI_Allreduce
 9.00 s          nxn-completion  rank 5; not in the total: it waits for no rank
    main › cg_iterate › loop at solver.c:412 › MPI_Allreduce
 8.00 s  22.2 %  lock-wait  rank 5, for a lock of rank 2; 3 waits, mean 2.67 s
    main › cg_iterate › loop at solver.c:412 › dot
    held until main › cg_iterate › loop at solver.c:412 › spmv › loop at spmv.c:90
--by-rank lists single ranks
)");
  WaitingSample threads;
  threads.sample.build().run.ranks = 0;
  CHECK_THAT(run(threads.sample, {"waits"}), Catch::Contains("--by-rank lists single threads\n"));
}

TEST_CASE("waits, blame: what threads wait that only serve others is in no sum, and listed last") {
  SampleExperiment sample({"REALTIME", "idleness", "idleness-counted", "idleness-caused"});
  const std::uint32_t mains = sample.add_role("main"), loggers = sample.add_role("logger");
  sample.add_location(0, 0, mains);
  sample.add_location(0, 1, loggers);
  const auto wait_in = [&](const char* procedure) {
    const ContextId own = sample.add(0, {ContextKind::procedure, procedure, "a.c", 3});
    return sample.add(own, {ContextKind::procedure, "pthread_cond_wait", "", 0, "libc.so",
                            database::kFrontier | database::kInWait});
  };
  const ContextId in_main = wait_in("main");
  const ContextId at_main = sample.add(in_main, {ContextKind::statement, "", "", 0, "libc.so"});
  const ContextId in_log = wait_in("log_lines");
  const ContextId at_log = sample.add(in_log, {ContextKind::statement, "", "", 0, "libc.so"});
  const ContextId work = sample.add(0, {ContextKind::statement, "", "a.c", 9});
  sample.set(work, 0, 0, 6 * kSecond);
  sample.set(work, 3, 0, 14 * kSecond);
  for (const std::uint32_t metric : {0U, 1U, 2U}) {
    sample.set(at_main, metric, 0, 4 * kSecond);
    sample.set(at_log, metric, 1, 10 * kSecond);
  }
  sample.finish();
  database::Experiment& e = sample.build();
  e.blame[mains] = {{in_main, 4 * kSecond, 0, 0}};
  e.blame[loggers] = {{in_log, 10 * kSecond, 0, 0}};
  e.waits = {
      {WaitPattern::condition_wait, 1, in_log, database::kNone, database::kNone, false, 10 * kSecond, 1},
      {WaitPattern::condition_wait, 0, in_main, database::kNone, database::kNone, false, 4 * kSecond, 1}};
  const std::string waits = flowing(run(sample, {"waits"}));
  INFO(waits);
  CHECK(waits.find(
            "4.00 s in all. That is all the waiting that the report counts. Threads that only wait to be "
            "needed wait another 10.0 s, listed last.") != std::string::npos);
  CHECK(waits.find("4.00 s   100 %  condition-wait") < waits.find("10.00 s"));
  CHECK(waits.find("waiting to be needed, not in the total") != std::string::npos);
  const List shortened = waits_list(sample.experiment(), {.most = 1, .serving = {false, true}});
  REQUIRE(shortened.rows.size() == 1);
  CHECK(wrap(shortened.introduction, 1000).ends_with("needed wait another 10.0 s."));
  const std::string blame = flowing(run(sample, {"blame"}));
  INFO(blame);
  CHECK(blame.find("4.00 s   100 %") < blame.find("waited to be needed (in no share): rank 0 thread 1"));
  CHECK(blame.find("waited to be needed") != std::string::npos);
  CHECK(blame.find("(idleness-caused), 14.0 s (10.0 s of it only waiting to be needed):") !=
        std::string::npos);
  const auto rows = nlohmann::json::parse(run(sample, {"blame", "--format", "json"}));
  CHECK(rows[0]["idleness_s"] == 10);
  CHECK(rows[0]["share"] == 0);
  CHECK(rows[1]["share"] == 1);
  const auto roles = nlohmann::json::parse(run(sample, {"report", "--format", "json"}))["roles"];
  CHECK(roles[0]["serves"] == false);
  CHECK(roles[1]["serves"] == true);
}

TEST_CASE("waits: how much is indirect is said of what time lines tell, not of approximations") {
  WaitingSample waiting;
  std::vector<database::Wait>& waits = waiting.sample.build().waits;
  waits.push_back({WaitPattern::flush_wait, 5, waiting.dot, 2, waiting.dot, false, kSecond, 1});
  const std::string text = run(waiting.sample, {"waits"});
  CHECK_THAT(text, Catch::StartsWith(
                       "Who waited where, and for whom: 37.0 s in all, 38.9 % of the 36.0 s from time"));
  CHECK_THAT(text, Catch::Contains("2.7 %  flush-wait (approximated)  rank 5, for rank 2\n"));
}

TEST_CASE("waits --by-rank: a row for each rank") {
  const WaitingSample waiting;
  const std::string text = run(waiting.sample, {"waits", "--by-rank"});
  CHECK_THAT(text,
             Catch::Contains(
                 "7.000 s  19.4 %  wait-at-nxn  rank 6, for rank 7; 50 % indirect; 4 waits, mean 1.75 s\n"));
  CHECK_THAT(text,
             Catch::Contains(
                 "1.000 s   2.8 %  wait-at-nxn  rank 0, for rank 7; 50 % indirect; 4 waits, mean 250 ms\n"));
  CHECK_THAT(text, !Catch::Contains("--by-rank"));
}

TEST_CASE("the report's longest wait is the first row of waits --by-rank, be it of several call sites") {
  SolverSample traced;
  database::Experiment& e = traced.sample.build();
  e.waits = {{WaitPattern::late_sender, 1, traced.allreduce, 3, traced.spmv, true, 300 * kSecond, 3},
             {WaitPattern::late_sender, 2, traced.allreduce, 3, traced.spmv, true, 250 * kSecond, 1},
             {WaitPattern::late_sender, 2, traced.allreduce, 7, traced.spmv, true, 150 * kSecond, 4}};
  const std::optional<ThreadWait> longest = longest_wait(traced.sample.experiment(), false, false);
  REQUIRE(longest);
  CHECK(longest->ns == 400 * kSecond);
  CHECK(longest->count == 5);
  CHECK(longest->location == 2);
  CHECK(longest->whom.starts_with("ranks 3, 7"));
}

TEST_CASE("without a trace, waits say that waiting of other kinds is not listed") {
  SolverSample solver;
  database::Experiment& e = solver.sample.build();
  e.waits = {{WaitPattern::flush_wait, 0, solver.allreduce, database::kNone, database::kNone, false,
              20 * kSecond, 4}};
  CHECK(run(solver.sample, {"waits"}).find("hpcrun-lite --trace") != std::string::npos);
}

TEST_CASE("waits: json and csv keep a row for each rank, with what is direct and indirect") {
  const WaitingSample waiting;
  const auto json = nlohmann::json::parse(run(waiting.sample, {"waits", "--format", "json"}));
  CHECK(json == nlohmann::json::parse(run(waiting.sample, {"waits", "--by-rank", "--format", "json"})));
  REQUIRE(json.size() == 9);
  CHECK(json[0]["direct_s"].is_null());
  CHECK(json[1]["direct_s"] == 8);
  CHECK(json[1]["indirect_s"] == 0);
  CHECK(json[2]["direct_s"] == 3.5);
  CHECK(json[2]["indirect_s"] == 3.5);
  CHECK_THAT(
      run(waiting.sample, {"waits", "--format", "csv"}),
      Catch::StartsWith("pattern,location,seconds,count,path,cause,cause_path,exact,direct_s,indirect_s\n"));
}

TEST_CASE("causes and hotspots: one row for each call path, with its ranks") {
  SolverSample solver;
  database::TraceAnalyses& trace = solver.sample.build().trace;
  trace.traced = 8;
  for (const std::uint32_t rank : {3U, 7U}) {
    trace.causes.push_back({rank, {solver.spmv_loop, false}, 40 * kSecond, 10 * kSecond});
    trace.hotspots.push_back({rank, solver.spmv, 0, solver.allreduce, 20 * kSecond});
    trace.hotspots.push_back({rank, solver.spmv, 1, solver.allreduce, 20 * kSecond});
  }
  CHECK_THAT(run(solver.sample, {"causes"}),
             Catch::Contains("100.0 s   100 %  ranks 3, 7, at most 50.0 s each; 20.0 s of it indirectly\n"));
  CHECK_THAT(run(solver.sample, {"causes", "--by-rank"}),
             Catch::Contains(" 50.00 s  50.0 %  rank 7; 10.0 s of it indirectly\n") ||
                 Catch::Contains("50.00 s  50.0 %  rank 7; 10.0 s of it indirectly\n"));
  CHECK_THAT(run(solver.sample, {"hotspots"}),
             Catch::Contains("ranks 3, 7, at most 40.0 s each, made ranks 0, 1 wait\n"));
}

TEST_CASE("causes say whom they made wait, at the call where most of their cost was waited for") {
  WaitingSample waiting;
  database::TraceAnalyses& trace = waiting.sample.build().trace;
  trace.causes.push_back({7, {waiting.spmv_loop, false}, 40 * kSecond, 0, waiting.allreduce});
  trace.causes.push_back({2, {waiting.spmv, false}, 20 * kSecond, 0, waiting.dot});
  trace.causes.push_back({1, {waiting.spmv, true}, 10 * kSecond, 0});
  const std::string text = run(waiting.sample, {"causes"});
  CHECK_THAT(text, Catch::Contains(
                       "rank 7; made ranks 0-6 wait in MPI_Allreduce (part of 28 waits, mean 1.00 s)\n"));
  CHECK_THAT(text, Catch::Contains("rank 1; code undetermined\n"));
  const auto json = nlohmann::json::parse(run(waiting.sample, {"causes", "--format", "json"}));
  CHECK(json[0]["waiters"].size() == 7);
  CHECK(json[0]["waiter_path"].back()["name"] == "MPI_Allreduce");
  CHECK(json[1]["waiters"].size() == 1);
  CHECK(json[1]["waiters"][0]["rank"] == 5);
  CHECK(json[2]["waiters"].empty());
  CHECK(json[2]["waiter_path"].is_null());
}

TEST_CASE("causes of waits that no sample met do not say where these were") {
  WaitingSample waiting;
  constexpr ContextId kRun = 0;
  database::Experiment& e = waiting.sample.build();
  e.waits = {{WaitPattern::omp_barrier, 5, kRun, 2, waiting.spmv, true, 8 * kSecond, 4}};
  e.trace.causes = {{2, {waiting.spmv, false}, 8 * kSecond, 0, kRun}};
  CHECK_THAT(flat(run(waiting.sample, {"causes"})),
             Catch::Contains("rank 2; made rank 5 wait (part of 4 waits, mean 2.00 s)"));
}

TEST_CASE("hotspots say how often others waited for them") {
  WaitingSample waiting;
  database::TraceAnalyses& trace = waiting.sample.build().trace;
  for (const std::uint32_t waiter : {0U, 1U})
    trace.hotspots.push_back({7, waiting.spmv, waiter, waiting.allreduce, (waiter + 1) * kSecond});
  CHECK_THAT(flat(run(waiting.sample, {"hotspots"})),
             Catch::Contains("rank 7 made ranks 0, 1 wait (part of 8 waits, mean 375 ms)"));
}

TEST_CASE("causes name whom each rank made wait, on whatever path each calls the function") {
  SampleExperiment sample({"REALTIME", "idleness"});
  const std::uint32_t mains = sample.add_role("main");
  for (std::int32_t rank = 0; rank < 2; ++rank) sample.add_location(rank, 0, mains);
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId work = sample.add(main, {ContextKind::procedure, "work", "a.c", 5});
  std::vector<ContextId> probes;
  for (const char* caller : {"manager", "worker"}) {
    const ContextId own = sample.add(main, {ContextKind::procedure, caller, "a.c", 10});
    probes.push_back(sample.add(own, {ContextKind::procedure, "MPI_Mprobe", "", 0, "libmpi.so",
                                      database::kFrontier | database::kInWait}));
  }
  sample.finish();
  database::Experiment& e = sample.build();
  e.trace.traced = 2;
  e.waits = {{WaitPattern::late_sender, 0, probes[0], 1, work, true, 6 * kSecond, 3},
             {WaitPattern::late_sender, 1, probes[1], 0, work, true, 5 * kSecond, 2}};
  e.trace.causes = {{1, {work, false}, 6 * kSecond, 0, probes[0]},
                    {0, {work, false}, 5 * kSecond, 0, probes[1]}};
  const std::string text = flowing(run(sample, {"causes"}));
  INFO(text);
  CHECK(
      text.find("ranks 0, 1, at most 6.00 s each; made ranks 0, 1 wait in MPI_Mprobe (part of 5 waits, mean "
                "2.20 s)") != std::string::npos);
}

TEST_CASE("causes are as sure as their call path is dear, the machine quiet and the code known") {
  SolverSample solver;
  database::TraceAnalyses& trace = solver.sample.build().trace;
  trace.traced = 8;
  trace.run_ns = 100 * kSecond;
  trace.causes.push_back({3, {solver.spmv, false}, 30 * kSecond, 0});
  trace.causes.push_back({7, {solver.spmv, false}, 15 * kSecond, 0});  // a twentieth with the other
  trace.causes.push_back({7, {solver.spmv, true}, 50 * kSecond, 0});
  trace.causes.push_back({3, {solver.allreduce, false}, 39 * kSecond, 0});
  const auto judged = [&] {
    std::vector<std::string> all;
    for (const auto& row : nlohmann::json::parse(run(solver.sample, {"causes", "--format", "json"})))
      if (!row["path"].empty())
        all.push_back(row["confidence"].get<std::string>() + ' ' + row["surer_with"].get<std::string>());
    return all;
  };
  CHECK(judged() ==
        std::vector<std::string>{"sure ", "sure ", "hint faster sampling", "likely a longer run"});
  const std::string text = run(solver.sample, {"causes"});
  CHECK_THAT(text, Catch::Contains("less than 5 % of the run"));
  CHECK_THAT(text, Catch::Contains("rank 3; likely\n"));
  solver.sample.build().machine.suspects = {{.processors = 2, .locations = {0, 1}}};
  CHECK(judged() == std::vector<std::string>{"likely a quiet machine", "likely a quiet machine",
                                             "hint faster sampling", "likely a quiet machine"});
}

TEST_CASE("what cut time lines lack is said with the lists that are made of them") {
  SolverSample solver;
  CHECK(cut_time_lines_phrase(solver.sample.experiment()).empty());
  SolverSample cut;
  cut.sample.build().trace.traced = 8;
  cut.sample.build().trace.stopped = 2;
  const database::Contents& e = cut.sample.experiment();
  const std::string phrase = cut_time_lines_phrase(e);
  CHECK(unwrapped(phrase).starts_with("2 time lines end before the run (--trace-limit"));
  CHECK(hotspots_list(e, {}).notes == std::vector{phrase});
}

TEST_CASE("that operations found no partner is said with the lists of time lines, unless these are cut") {
  SolverSample solver;
  database::TraceAnalyses& trace = solver.sample.build().trace;
  trace.traced = solver.sample.build().run.world_size;
  trace.unmatched = {.sends = 2, .receives = 1};
  trace.unmatched_ranks = {0, 1, 2, 5};
  const std::string phrase = no_partner_phrase(solver.sample.experiment());
  CHECK(unwrapped(phrase).starts_with(
      "3 operations (messages of ranks 0-2, 5) found no partner in the traces: "));
  CHECK(hotspots_list(solver.sample.experiment(), {}).notes == std::vector{phrase});
  solver.sample.build().trace.stopped = 1;
  CHECK(no_partner_phrase(solver.sample.experiment()).empty());
}

TEST_CASE("code is as costly as it is on all ranks together") {
  const SolverSample solver;
  const database::Contents& e = solver.sample.experiment();
  const database::TimedScope even{.context = solver.spmv}, single{.context = solver.dot},
      call{.context = solver.allreduce};
  std::vector<database::Cause> causes{
      {.location = 2, .scope = single, .short_term_ns = 400},
      {.location = 1, .scope = even, .short_term_ns = 200, .long_term_ns = 100},
      {.location = 0, .scope = even, .short_term_ns = 300},
      {.location = 3, .scope = even, .short_term_ns = 3}};
  const std::optional<CostliestCode> of_program = costliest_code(e, causes);
  REQUIRE(of_program);
  CHECK_FALSE(of_program->in_call);
  CHECK_FALSE(of_program->of_program);
  CHECK(of_program->code.scope == even);
  CHECK(of_program->code.cost_ns == 603);
  CHECK(of_program->code.long_term_ns == 100);
  CHECK(of_program->code.who.locations() == std::vector<std::uint32_t>{0, 1});

  // Ranks that are long in calls: the machine's doing, or the library's.
  causes.push_back({.location = 3, .scope = call, .short_term_ns = 900});
  const std::optional<CostliestCode> in_call = costliest_code(e, causes);
  REQUIRE(in_call);
  CHECK(in_call->in_call);
  CHECK(in_call->code.cost_ns == 900);
  REQUIRE(in_call->of_program);
  CHECK(in_call->of_program->scope == even);
  CHECK_FALSE(costliest_code(e, {}));
}

TEST_CASE("how much more some ranks work has no figure where the others have a sample or two") {
  const auto said = [](double more, bool only_here, bool moves_data) {
    SuspectFacts facts;
    facts.more_work = more;
    facts.only_here = only_here;
    facts.moves_data = moves_data;
    return more_work_phrase(facts);
  };
  CHECK(said(0.41, false, false) == "41 % more work on");
  CHECK(said(3.9, false, false) == "4.9 times the others' work on");
  CHECK(said(1527, false, false) == "works almost only on");
  CHECK(said(1527, true, false) == "works only on");
  CHECK(said(0, false, true) == "moves data for longer on");
  CHECK(said(0.001, false, false) == "takes longer on");
  SuspectFacts polls;
  polls.in_mpi = polls.only_here = true;
  CHECK(more_work_phrase(polls) == "spends more time in MPI calls on");
  SuspectFacts sleeps;
  sleeps.more_work = 2;
  sleeps.excess_cpu_share = 0.02;
  CHECK(more_work_phrase(sleeps) == "takes longer on");
  sleeps.only_here = true;
  CHECK(more_work_phrase(sleeps) == "takes time only on");
}

TEST_CASE("whose time it is, is said in few words") {
  const SolverSample solver;
  const database::Contents& e = solver.sample.experiment();
  CHECK(said(e, {{3, 5}}) == "rank 3");
  CHECK(said(e, {{0, kSecond}, {1, kSecond}, {2, kSecond}}) == "ranks 0-2, at most 1.00 s each");
  CHECK(said(e, {{0, kSecond}, {2, kSecond}, {4, kSecond}, {6, 3 * kSecond}}) ==
        "ranks 0-6:2, most on 6 (3.00 s)");
  CHECK(said(e, {{1, kSecond}, {0, kSecond / 2}, {1, kSecond}}) == "ranks 0, 1, most on 1 (2.00 s)");
  const WorkersSample workers;  // main threads and workers take turns
  std::vector<std::uint32_t> all(workers.sample.experiment().locations.size());
  std::iota(all.begin(), all.end(), 0U);
  CHECK(threads_phrase(workers.sample.experiment(), all) == "8 threads of ranks 0-3");
  CHECK(threads_phrase(workers.sample.experiment(), std::vector<std::uint32_t>{0, 1}) ==
        "threads 0, 1 of rank 0");
}

TEST_CASE("grouped rows are all rows: nothing is lost, or counted twice") {
  REQUIRE(rc::check("sums over groups are sums over rows", [] {
    SolverSample solver;
    database::Experiment& e = solver.sample.build();
    e.waits.clear();
    const auto contexts = static_cast<std::uint32_t>(e.contexts.size());
    const int number = *rc::gen::inRange(1, 60);
    for (int i = 0; i < number; ++i) {
      const std::uint64_t ns = *rc::gen::inRange<std::uint64_t>(1, 1'000);
      e.waits.push_back({static_cast<WaitPattern>(*rc::gen::inRange(0, 27)), *rc::gen::inRange(0U, 8U),
                         *rc::gen::inRange(0U, contexts), *rc::gen::inRange(0U, 8U), 0,
                         *rc::gen::arbitrary<bool>(), ns, 1, *rc::gen::inRange<std::uint64_t>(0, ns + 1)});
    }
    std::ranges::sort(e.waits, std::ranges::greater(), &database::Wait::ns);
    const database::Contents& experiment = solver.sample.experiment();
    std::uint64_t sum = 0;
    for (const database::Wait& wait : experiment.waits()) sum += wait.ns;
    for (const bool by_rank : {false, true}) {
      const List list = waits_list(experiment, {.by_rank = by_rank, .most = 1'000, .least_share = 0});
      std::uint64_t listed = 0, before = ~std::uint64_t{0};
      for (const ListRow& row : list.rows) {
        listed += row.ns;
        RC_ASSERT(row.ns <= before);
        before = row.ns;
      }
      RC_ASSERT(listed == sum);
      RC_ASSERT(list.left_out == 0u);
      // Of which as many are left out as are not listed, and none of them is larger than is said.
      const List some = waits_list(experiment, {.by_rank = by_rank, .most = 3, .least_share = 0});
      RC_ASSERT(some.rows.size() + some.left_out == list.rows.size());
      if (some.left_out > 0) RC_ASSERT(some.largest_left_ns == list.rows[some.rows.size()].ns);
    }
  }));
}

TEST_CASE("lines of a list with very many ranks are no longer than the screen") {
  WaitingSample waiting;
  database::Experiment& e = waiting.sample.build();
  for (database::Wait& wait : e.waits) wait.cause_location = wait.location / 2;
  for (const std::size_t width : {60U, 100U}) {
    std::istringstream lines(run(waiting.sample, {"waits"}, width));
    for (std::string line; std::getline(lines, line);) CHECK(columns(line) <= width);
  }
}

}  // namespace culprit::viewer::testing
