// The words of results of time lines: each command for a run whose ranks 3 and 7 take too long in spmv.
#include "commands/variation.hpp"
#include "measurement/kinds.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using database::WaitPattern;
using views::testing::SolverSample;

/// Four iterations of 250 s; rank 5 takes much longer in the second.
database::Variation iterations(database::ContextId loop, database::ContextId spmv) {
  database::Variation found;
  found.marked = true;
  found.context = loop;
  found.median_ns = 180 * kSecond;
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    const std::uint64_t ns = (rank == 3 || rank == 7 ? 230 : 180) * kSecond;
    found.rows.push_back({rank, {ns, rank == 5 ? 400 * kSecond : ns, ns, ns}});
  }
  found.outliers = {{5, 1, 400 * kSecond, spmv}};
  found.longest_ns = {240 * kSecond, 410 * kSecond, 240 * kSecond, 240 * kSecond};
  return found;
}

/// Six ranks wait for rank 3, one of them also late for rank 7; a ninth of the critical path is in MPI.
struct TracedSample : SolverSample {
  TracedSample() {
    database::Experiment& e = sample.build();
    e.waits = {{WaitPattern::wait_at_nxn, 0, allreduce, 3, spmv, true, 1500 * kSecond, 4},
               {WaitPattern::late_sender, 1, allreduce, 7, spmv, true, 210 * kSecond, 12}};
    database::TraceAnalyses& trace = e.trace;
    trace.traced = 8;
    trace.parallel = 0.76;
    trace.load_balance = 0.8;
    trace.communication = 0.95;
    trace.serialization = 0.96;
    trace.transfer = 0.99;
    trace.run_ns = 1000 * kSecond;
    trace.causes = {{3, {spmv_loop, false}, 1200 * kSecond, 300 * kSecond},
                    {7, {dot, true}, 180 * kSecond, 0}};
    trace.unattributed_ns = 30 * kSecond;
    trace.critical_end_ns = 990 * kSecond;
    trace.critical_calls_ns = 110 * kSecond;
    trace.critical = {
        {{spmv_loop, false}, 700 * kSecond, 150 * kSecond, {{3, 500 * kSecond}, {7, 200 * kSecond}}},
        {{dot, false}, 180 * kSecond, 0, {{3, 180 * kSecond}}},
        {{allreduce, false}, 110 * kSecond, 0, {{3, 110 * kSecond}}}};
    trace.hotspots = {{3, spmv, 0, allreduce, 1400 * kSecond}};
    database::Variation level, chosen;
    level.context = iterate;
    level.median_ns = 900 * kMs;
    level.rows = {{0, {900 * kMs, 800 * kMs}}, {1, {900 * kMs, 700 * kMs}}};
    chosen.chosen = true;
    chosen.context = spmv;
    chosen.median_ns = 20 * kMs;
    chosen.rows = {{0, {20 * kMs, 21 * kMs, 19 * kMs}}};
    trace.variations = {iterations(loop, spmv), level, chosen};
  }
};

/// The same with page faults in each segment, of which rank 5 has many in the iteration that takes long, and
/// rank 2 in an ordinary one.
struct CountedSample : TracedSample {
  CountedSample() {
    database::Experiment& e = sample.build();
    e.trace.metrics = {static_cast<std::uint32_t>(e.metrics.size())};
    e.metrics.push_back({.name = "perf::PAGE-FAULTS", .unit = "count", .description = ""});
    for (database::Variation& variation : e.trace.variations) {
      for (database::Variation::Row& row : variation.rows) row.values.emplace_back(row.sos_ns.size(), 12);
    }
    std::vector<database::Variation::Row>& rows = e.trace.variations.front().rows;
    rows[5].values[0][1] = 4100;
    rows[2].values[0][2] = 40;
    rows[2].values[0][3] = 9000;  // the last one, which is cut off somewhere
    for (database::Variation& variation : e.trace.variations) {
      for (database::Variation::Row& row : variation.rows)
        row.contexts.emplace_back(row.sos_ns.size(), database::kNone);
    }
    rows[5].contexts[0][1] = spmv;
  }
};

/// The finer level with two invocations on one rank and four on the other, as an older writer has it, or with
/// their times.
struct UnequalSample : TracedSample {
  explicit UnequalSample(bool timed) {
    database::Variation& level = sample.build().trace.variations[1];
    level.rows = {{0, {900 * kMs, 800 * kMs, 700 * kMs, 900 * kMs}}, {1, {900 * kMs, 900 * kMs}}};
    level.outliers = {{1, 1, 900 * kMs, database::kNone}};
    if (!timed) return;
    for (database::Variation& variation : sample.build().trace.variations) {
      for (database::Variation::Row& row : variation.rows) row.begin_ns.assign(row.sos_ns.size(), kSecond);
    }
    level.rows[0].begin_ns = {5 * kSecond, 6 * kSecond, 7 * kSecond, 9 * kSecond};
    level.rows[1].begin_ns = {5 * kSecond, 7 * kSecond + 500 * kMs};
  }
};

}  // namespace

TEST_CASE("waits: who waited how long, where, for whom") {
  const TracedSample traced;
  CHECK(run(traced.sample, {"waits"}) ==
        R"(Who waited where, and for whom: 1 710 s in all. That is all the waiting that the report counts.

1 500.0 s  87.7 %  wait-at-nxn  rank 0, for rank 3; 4 waits, mean 375 s
    main › cg_iterate › loop at solver.c:412 › MPI_Allreduce
  210.0 s  12.3 %  late-sender  rank 1, for rank 7; 12 waits, mean 17.5 s
    main › cg_iterate › loop at solver.c:412 › MPI_Allreduce
)");
}

TEST_CASE("causes: what code cost whom, through others too, and what has no cause") {
  const TracedSample traced;
  CHECK(run(traced.sample, {"causes"}) ==
        R"(What made ranks wait, of 1 710 s in all (1.8 % unexplained). Indirectly: through ranks that it kept
waiting, which then kept others waiting. That is all the waiting that the report counts.

1 500.0 s  87.7 %  rank 3; 300 s of it indirectly
    main › cg_iterate › loop at solver.c:412 › spmv › loop at spmv.c:90
  180.0 s  10.5 %  rank 7; code undetermined
    main › cg_iterate › loop at solver.c:412 › dot (between two MPI calls, where no sample was
    taken)
)");
}

TEST_CASE("causes: where none costs half, the code that has most of them in common is named") {
  TracedSample traced;
  std::vector<database::Cause>& causes = traced.sample.build().trace.causes;
  causes = {{3, {traced.spmv_loop, false}, 800 * kSecond, 0},
            {3, {traced.spmv, false}, 700 * kSecond, 0},
            {7, {traced.dot, false}, 180 * kSecond, 0},
            {1, {traced.spmv, false}, 20 * kSecond, 0}};
  SECTION("with its ranks") {
    const std::string common = "spmv at spmv.c:88 and what it calls, on ranks 1, 3, most on 3 (1 500 s)";
    const auto says = [&](const char* command, const std::string& text) {
      return flowing(run(traced.sample, {command})).find(text) != std::string::npos;
    };
    CHECK(says("report", common + ", caused 87.9 % of 1 730 s of waiting."));
    CHECK(says("causes",
               "report counts 1 710 s of waiting, all of it for late ranks (listed here: 1 730 s). 87.9 % "
               "come from " +
                   common + '.'));
  }
  SECTION("not where ranks wait in it themselves: that holds of every time loop") {
    causes = {{3, {traced.spmv, false}, 700 * kSecond, 0}, {3, {traced.dot, false}, 680 * kSecond, 0}};
    CHECK(run(traced.sample, {"report"}).find("what it calls") == std::string::npos);
  }
  SECTION("the report does not explain waiting that is next to nothing") {
    traced.sample.build().trace.run_ns = 100'000 * kSecond;
    CHECK(flowing(run(traced.sample, {"report"})).find(" of waiting.") == std::string::npos);
  }
  SECTION("not where one scope of one rank says as much") {
    causes.front().short_term_ns = 8000 * kSecond;
    CHECK(run(traced.sample, {"report"}).find("what it calls") == std::string::npos);
  }
}

TEST_CASE("critical-path: its length, what of it is more than on an average rank, and whose") {
  const TracedSample traced;
  CHECK(run(traced.sample, {"critical-path"}) ==
        R"(The critical path is 990 s long, from the end of MPI_Init to the last call of MPI_Finalize; 11.1 %
of it in MPI calls. 150 s (15.2 %) are above the mean of all ranks; balancing all code would save
120 s at most.

700.0 s  70.7 %  on rank 3 71 %, rank 7 29 %; 150 s above the mean
    main › cg_iterate › loop at solver.c:412 › spmv › loop at spmv.c:90
180.0 s  18.2 %  on rank 3
    main › cg_iterate › loop at solver.c:412 › dot
110.0 s  11.1 %  on rank 3
    main › cg_iterate › loop at solver.c:412 › MPI_Allreduce
)");
}

TEST_CASE("critical-path: calls that lie on it for longer than on other ranks may be saved, too") {
  TracedSample traced;
  traced.sample.build().trace.critical.back().imbalance_ns = 90 * kSecond;
  CHECK(run(traced.sample, {"critical-path"}).find("balancing all code would save\n210 s at most.") !=
        std::string::npos);
}

TEST_CASE("hotspots: which procedure made whom wait") {
  const TracedSample traced;
  CHECK(run(traced.sample, {"hotspots"}) ==
        R"(Procedures with a notable share of the time that made other ranks wait.

1 400.0 s  81.9 %  rank 3 made rank 0 wait (part of 4 waits, mean 375 s)
    in main › cg_iterate › loop at solver.c:412 › spmv
    waiter in main › cg_iterate › loop at solver.c:412 › MPI_Allreduce
)");
}

TEST_CASE("variation: iterations that are marked, ranks by time, and outliers") {
  const TracedSample traced;
  CHECK(run(traced.sample, {"variation"}) ==
        R"(Iterations that the program marked; the median takes 180 s outside MPI.

rank 0        ▄▄▄▄
rank 1        ▄▄▄▄
rank 2        ▄▄▄▄
rank 3        ▅▅▅▅
rank 4        ▄▄▄▄
rank 5        ▄█▄▄
rank 6        ▄▄▄▄
rank 7        ▅▅▅▅
Left to right: 4 iterations; a full block is 400 s without MPI.

Far longer than the median (1 iteration):
400.0 s  rank 5, iteration 1
    mostly in main › cg_iterate › loop at solver.c:412 › spmv
)");
}

TEST_CASE("variation: what else was counted in iterations, and how it goes with their time") {
  const CountedSample counted;
  CHECK_THAT(run(counted.sample, {"variation"}), Catch::Contains(R"(
What else was counted in them, outside MPI (--metric NAME shows where):
                         median       of those far longer  correlation with time
  perf::PAGE-FAULTS          12         4 100 (342 times)    0.89
)"));
  CHECK(
      run(counted.sample, {"variation", "--metric", "perf::PAGE-FAULTS"}) ==
      R"(Iterations that the program marked: perf::PAGE-FAULTS outside MPI; the median is 12, the correlation
with their time 0.89.

rank 0            
rank 1            
rank 2           █
rank 3            
rank 4            
rank 5         ▄  
rank 6            
rank 7            
Left to right: 4 iterations; a full block is 9 000.

Far above the median (2 iterations):
4 100  rank 5, iteration 1, which took far longer than the median
    mostly in main › cg_iterate › loop at solver.c:412 › spmv
   40  rank 2, iteration 2
)");
  CHECK_THROWS_WITH(
      run(counted.sample, {"variation", "--metric", "perf::PAGE-FALTS"}),
      "--metric: no such metric: 'perf::PAGE-FALTS' (did you mean perf::PAGE-FAULTS? choose one of: "
      "perf::PAGE-FAULTS)");
  const TracedSample traced;
  CHECK_THROWS_WITH(run(traced.sample, {"variation", "--metric", "idleness"}),
                    Catch::Contains("no event that the time lines hold"));
  CHECK_THROWS_WITH(run(traced.sample, {"variation", "--metric", "CPUTIME"}),
                    "--metric: CPUTIME: the time lines of this run hold no events but REALTIME (measure with "
                    "hpcrun-lite -e REALTIME,CPUTIME --trace)");
}

TEST_CASE("variation: where ranks have not equally many invocations, times are columns, not numbers") {
  const UnequalSample older(false);
  CHECK(run(older.sample, {"variation", "--finer", "1"}) ==
        R"(Invocations of cg_iterate, recognised by their sequence of MPI calls; the median takes 900 ms
outside MPI.

rank 0        █▇▆█
rank 1        ██  
Left to right: 4 invocations, numbered on each rank by itself: their number differs between ranks (2
to 4); a full block is 900 ms without MPI.

Longer than the median (1 invocation):
900.0 ms  rank 1, invocation 1
)");
  const UnequalSample timed(true);
  CHECK(run(timed.sample, {"variation", "--finer", "1"}) ==
        R"(Invocations of cg_iterate, recognised by their sequence of MPI calls; the median takes 900 ms
outside MPI.

rank 0        █▇▆█
rank 1        ███ 
Left to right: from 5.00 s to 9.00 s of the run, not invocation by invocation, as their number
differs between ranks (2 to 4); a full block is 900 ms without MPI.

Longer than the median (1 invocation):
900.0 ms  rank 1, invocation 1 (at 7.500 s)
)");
  const auto json =
      nlohmann::json::parse(run(timed.sample, {"variation", "--finer", "1", "--format", "json"}));
  CHECK(json["lined_up"] == false);
  CHECK(json["begin_s"] == nlohmann::json::parse("[[5.0, 6.0, 7.0, 9.0], [5.0, 7.5]]"));
}

TEST_CASE("variation: the picture of thousands of ranks is straight") {
  struct ManyRanks : TracedSample {
    ManyRanks() {
      database::Variation many;
      many.marked = true;
      many.median_ns = kSecond;
      for (std::int32_t rank = 0; rank < 2000; ++rank) many.rows.push_back({rank, {kSecond, kSecond}});
      sample.build().trace.variations = {many};
    }
  };
  const ManyRanks traced;
  const std::string text = run(traced.sample, {"variation"});
  CHECK_THAT(text, Catch::Contains("\nranks 0-62       ██\n"));
  CHECK_THAT(text, Catch::Contains("\nranks 1938-1999  ██\n"));
}

TEST_CASE("variation: where single ones are far longer than all others, these fill the scale") {
  TracedSample traced;
  database::Variation alternating = iterations(traced.loop, traced.spmv);
  for (database::Variation::Row& row : alternating.rows) {
    row.sos_ns.clear();
    for (std::int32_t i = 0; i < 20; ++i) row.sos_ns.push_back((i % 8 == row.rank ? 45 : 15) * kMs);
  }
  alternating.median_ns = 15 * kMs;
  alternating.rows[3].sos_ns[10] = 474 * kMs;
  alternating.outliers = {{3, 10, 474 * kMs, traced.spmv}};
  traced.sample.build().trace.variations = {alternating};
  const std::string text = run(traced.sample, {"variation"});
  INFO(text);
  CHECK_THAT(text, Catch::Contains("\nrank 3        ▃▃▃█▃▃▃▃▃▃↑█▃▃▃▃▃▃▃█\n"));
  CHECK_THAT(text,
             Catch::Contains("; a full block is 45 ms without MPI, ↑ is more, up to\n474 ms without MPI.\n"));
  CHECK_THAT(run(traced.sample, {"variation"}, 100, false),
             Catch::Contains("\nrank 3        ---@------^@-------@\n"));
}

TEST_CASE("variation: an iteration that takes long on several ranks is one row") {
  TracedSample traced;
  database::Variation& variation = traced.sample.build().trace.variations.front();
  variation.outliers = {{5, 1, 400 * kSecond, traced.spmv},
                        {1, 1, 390 * kSecond, traced.spmv},
                        {3, 1, 380 * kSecond, traced.spmv},
                        {4, 2, 370 * kSecond, traced.spmv},
                        {7, 1, 360 * kSecond, traced.dot}};
  const std::string text = run(traced.sample, {"variation"});
  INFO(text);
  CHECK_THAT(text, Catch::Contains("400.0 s  ranks 1, 3, 5, iteration 1, the longest on rank 5\n"));
  CHECK_THAT(text, Catch::Contains("370.0 s  rank 4, iteration 2\n"));
  CHECK_THAT(text, Catch::Contains("360.0 s  rank 7, iteration 1\n"));
}

TEST_CASE("variation: of a region, the thread that worked longest in it is named") {
  TracedSample traced;
  database::Experiment& experiment = traced.sample.build();
  experiment.run.duration_ns = 1000 * kSecond;
  database::Variation& variation = experiment.trace.variations.front();
  for (database::Variation& level : experiment.trace.variations) {
    for (database::Variation::Row& row : level.rows) row.begin_ns.resize(row.sos_ns.size());
  }
  const std::uint32_t worker = traced.sample.add_location(5, 2, experiment.locations.back().role);
  variation.outliers = {{5, 1, 400 * kSecond, traced.spmv, worker},
                        {3, 1, 390 * kSecond, traced.spmv, 3},
                        {4, 2, 370 * kSecond, traced.spmv, worker},
                        {6, 3, 360 * kSecond, traced.dot, 6}};
  const std::string text = run(traced.sample, {"variation"});
  INFO(text);
  CHECK_THAT(text, Catch::Contains("400.0 s  ranks 3, 5, iteration 1, the longest on rank 5 thread 2\n"));
  CHECK_THAT(text, Catch::Contains("370.0 s  rank 4 thread 2, iteration 2\n"));
  CHECK_THAT(text, Catch::Contains("360.0 s  rank 6, iteration 3\n"));
  CHECK_THAT(flowing(run(traced.sample, {"report"})),
             Catch::Contains("the longest on rank 5 thread 2, iteration 1: 400 s."));
  const auto json = nlohmann::json::parse(run(traced.sample, {"variation", "--format", "json"}));
  CHECK(json["outliers"][0]["thread"] == 2);
  CHECK(json["outliers"][1]["thread"] == 0);
  const std::string csv = run(traced.sample, {"variation", "--format", "csv"});
  CHECK_THAT(csv, Catch::Contains("\n5,1,0,400,true,2,<run>/"));
  CHECK_THAT(csv, Catch::Contains(",true,0,<run>/"));
  traced.sample.build().trace.variations.front().outliers = {{3, 2, 420 * kSecond, traced.spmv, worker},
                                                             {3, 0, 410 * kSecond, traced.spmv, 3},
                                                             {3, 1, 390 * kSecond, traced.spmv}};
  CHECK_THAT(run(traced.sample, {"variation"}),
             Catch::Contains("rank 3, 3 of 4 iterations, the longest iteration 2 on rank 3 thread 2\n"));
}

TEST_CASE("variation: the table in CSV has what JSON has: begins, and the paths of what is unusual") {
  const std::string path =
      ",<run>/<program root>/main/call at main.c:31/cg_iterate/loop at solver.c:412/call at "
      "solver.c:414/spmv";
  const CountedSample counted;
  const std::string table = run(counted.sample, {"variation", "--format", "csv"});
  CHECK_THAT(
      table,
      Catch::StartsWith(
          "rank,iteration,begin_s,sos_s,outlier,thread,path,perf::PAGE-FAULTS,perf::PAGE-FAULTS path\n"));
  CHECK_THAT(table, Catch::Contains("5,1,,400,true," + path + ",4100" + path + "\n"));
  CHECK_THAT(table, Catch::Contains("2,2,,180,false,,,40,\n"));
  const UnequalSample timed(true);
  CHECK_THAT(run(timed.sample, {"variation", "--finer", "1", "--format", "csv"}),
             Catch::Contains("1,1,7.5,0.9,true,,\n"));
}

TEST_CASE("variation: of procedures below, and of one that was named") {
  const TracedSample traced;
  CHECK(run(traced.sample, {"variation", "--finer", "1"}) ==
        R"(Invocations of cg_iterate, recognised by their sequence of MPI calls; the median takes 900 ms
outside MPI.

rank 0        █▇
rank 1        █▆
Left to right: 2 invocations; a full block is 900 ms without MPI.

None took far longer than the median.
)");
  CHECK(run(traced.sample, {"variation", "--procedure", "spmv"}) ==
        R"(Invocations of spmv, recognised by their sequence of MPI calls; the median takes 20 ms outside MPI.

rank 0        ██▇
Left to right: 3 invocations; a full block is 21 ms without MPI.

None took far longer than the median.
)");
  TracedSample named;
  std::vector<database::Variation>& variations = named.sample.build().trace.variations;
  std::erase_if(variations, [](const database::Variation& one) { return !one.chosen; });
  CHECK(run(named.sample, {"variation"}) == run(named.sample, {"variation", "--procedure", "spmv"}));
  // What was named is no level; what was not named is not there.
  CHECK_THROWS_WITH(run(traced.sample, {"variation", "--finer", "2"}),
                    "--finer: there is 1 finer level (give a smaller number)");
  CHECK_THROWS_WITH(
      run(traced.sample, {"variation", "--procedure", "setup"}),
      "--procedure: setup: this database does not have its invocations (prof-mpi --segment setup adds "
      "them; it has those of cg_iterate, spmv)");
}

TEST_CASE("variation, efficiency: what main threads wait for other threads is left out, and said") {
  TracedSample traced;
  database::TraceAnalyses& trace = traced.sample.build().trace;
  trace.parallel = 0.57;
  trace.time_map = {.begin_ns = 0, .bin_ns = 500 * kSecond, .bins = 2, .rows = {}};
  trace.time_map.rows.push_back({.rank = 2,
                                 .calls_ns = {0, 0},
                                 .contexts = {database::kNone, database::kNone},
                                 .waits = {{WaitPattern::omp_barrier, {{1, 200 * kSecond}}},
                                           {WaitPattern::lock_held, {{1, 50 * kSecond}}}},
                                 .iterations = {}});
  CHECK_THAT(
      flowing(run(traced.sample, {"variation"})),
      Catch::Contains("the median takes 180 s outside MPI. Main threads wait for other threads of their "
                      "processes 250 s in all, which is left out as MPI is."));
  const auto variation = nlohmann::json::parse(run(traced.sample, {"variation", "--format", "json"}));
  CHECK(variation["thread_waits_s"] == nlohmann::json({0, 0, 250, 0, 0, 0, 0, 0}));
  CHECK_THAT(run(traced.sample, {"efficiency"}),
             Catch::Contains("  waits for threads          75.0 %  useful time / time outside MPI\n"));
  CHECK_THAT(run(traced.sample, {"efficiency"}),
             Catch::Contains("  load balance               80.0 %  mean / largest time outside MPI\n"));
  const auto efficiency = nlohmann::json::parse(run(traced.sample, {"efficiency", "--format", "json"}));
  CHECK(efficiency["thread_waits"].get<double>() == Approx(0.75));
}

TEST_CASE(
    "efficiency: main threads that wait for others do no useful work, if others call MPI in their place") {
  views::testing::SolverSample solver;
  database::Experiment& experiment = solver.sample.build();
  experiment.contexts[solver.allreduce].wait_kind =
      static_cast<std::uint8_t>(measurement::WaitKind::condition);
  const auto parallel = [&] {
    return nlohmann::json::parse(run(solver.sample, {"efficiency", "--format", "json"}))["parallel"]
        .get<double>();
  };
  CHECK(parallel() == Approx(1));
  solver.sample.build().trace.traced = 8;
  CHECK(parallel() == Approx(1 - 1710.0 / 8000));
}

TEST_CASE("report: iterations that are no part of the run's time are worth no sentence") {
  TracedSample traced;
  traced.sample.build().run.duration_ns = 1000 * kSecond;
  CHECK_THAT(flowing(run(traced.sample, {"report"})),
             Catch::Contains("1 iteration took far longer than its median"));
  traced.sample.build().trace.variations.front().outliers.front().sos_ns = 185 * kSecond;
  CHECK_THAT(flowing(run(traced.sample, {"report"})), !Catch::Contains("far longer than"));
}

TEST_CASE(
    "variation: a rank that takes longer in most of its iterations is one row, single ones are listed") {
  TracedSample traced;
  database::Experiment& experiment = traced.sample.build();
  experiment.run.duration_ns = 1000 * kSecond;
  database::Variation& variation = experiment.trace.variations.front();
  variation.outliers = {{3, 2, 420 * kSecond, traced.spmv},
                        {3, 0, 410 * kSecond, traced.spmv},
                        {5, 1, 400 * kSecond, database::kNone},
                        {3, 1, 390 * kSecond, traced.spmv}};
  const std::string text = run(traced.sample, {"variation"});
  CHECK_THAT(text, Catch::EndsWith(R"(Far longer than the median (4 iterations):
420.0 s  rank 3, 3 of 4 iterations, the longest iteration 2
    mostly in main › cg_iterate › loop at solver.c:412 › spmv
400.0 s  rank 5, iteration 1
)"));
  CHECK_THAT(
      flowing(run(traced.sample, {"report"})),
      Catch::Contains("4 iterations took far longer than their median of 180 s outside MPI (3 of them on "
                      "rank 3, in most of its own), the longest on rank 3, iteration 2: 420 s."));
  traced.sample.build().trace.variations.front().rows[3].sos_ns.resize(6, 180 * kSecond);  // half is not most
  CHECK_THAT(run(traced.sample, {"variation"}), Catch::Contains("390.0 s  rank 3, iteration 1\n"));
}

TEST_CASE("variation: procedures are named without their parameters") {
  views::testing::SampleExperiment sample({"REALTIME"});
  const std::uint32_t role = sample.add_role("main");
  const database::ContextId main =
      sample.add(0, {database::ContextKind::procedure, "main", "main.cpp", 3, "app"});
  database::Variation variation;
  variation.context =
      sample.add(main, {database::ContextKind::procedure, "spmv(Field const&, int)", "spmv.cpp", 7, "app"});
  variation.stamped = true;
  sample.add_location(0, 0, role);
  sample.finish();
  CHECK(name_segments(sample.experiment(), variation) ==
        "Invocations of spmv, each with time stamps of its own");
}

TEST_CASE("variation: a loop without a line has its article") {
  views::testing::SolverSample solver;
  database::Context& loop = solver.sample.build().contexts[solver.loop];
  loop.line = loop.file = 0;
  database::Variation variation;
  variation.context = solver.loop;
  CHECK(name_segments(solver.sample.experiment(), variation)
            .starts_with("Iterations of a loop in cg_iterate, "));
}

TEST_CASE("efficiency: of the run, and of iterations each by itself") {
  const TracedSample traced;
  CHECK(run(traced.sample, {"efficiency"}) ==
        R"(parallel efficiency          76.0 %  mean useful time / run time
  load balance               80.0 %  mean / largest useful time
  communication efficiency   95.0 %  largest useful time / run time
    serialization            96.0 %  communication / transfer efficiency
    transfer                 99.0 %  with an instant network / measured

From time lines: run time 1 000 s (first end of MPI_Init to last end of MPI_Finalize), useful time
outside MPI 760 s on average, 950 s at most, over 8 ranks.

The 4 iterations that the program marked, each by itself, 1 130 s in all: parallel efficiency
70.6 %, load balance 73.2 %, communication efficiency 96.5 %; the least efficient is iteration 1,
53.7 % of 410 s.
)");
}

TEST_CASE("efficiency: csv has a row for each figure that json has") {
  const TracedSample traced;
  const auto figures = nlohmann::json::parse(run(traced.sample, {"efficiency", "--format", "json"}));
  const std::string csv = run(traced.sample, {"efficiency", "--format", "csv"});
  INFO(csv);
  CHECK(csv.starts_with("level,name,path,figure,value\nrun,,,parallel,0.76\nrun,,,load_balance,0.8\n"));
  CHECK_THAT(csv, Catch::Contains("\nrun,,,transfer,0.99\niterations,,,parallel,0.7"));
  CHECK_THAT(csv, Catch::Contains("\niterations,,,count,4\niteration,0,,parallel,"));
  CHECK_THAT(csv, Catch::Contains("\niteration,1,,time_s,410\n"));
  const std::size_t each = figures["iterations"]["each"].size();
  // Five of the run; five of all iterations; of each, all but its number.
  CHECK(static_cast<std::size_t>(std::ranges::count(csv, '\n')) == 1 + 5 + 5 + 4 * each);
}

}  // namespace culprit::viewer::testing
