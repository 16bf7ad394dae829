#include "views/solver_sample.hpp"

namespace culprit::views::testing {
namespace {

using database::Balance;
using database::ContextId;
using database::ContextKind;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kRanks = 8;
enum Metric : std::uint32_t { kTime, kIdleness, kCpu, kSamples };

const std::vector<std::string> kMetrics = {"REALTIME", "idleness", "CPU", "samples", "imbalance"};
const std::string kApp = "/opt/cg/bin/cg";
const std::string kMpi = "/usr/lib/libmpi.so.40";

void spend(SampleExperiment& sample, ContextId statement, std::uint32_t location, std::uint64_t seconds,
           bool idle) {
  sample.set(statement, kTime, location, seconds * kSecond);
  sample.set(statement, kIdleness, location, idle ? seconds * kSecond : 0);
  sample.set(statement, kCpu, location, seconds * kSecond);
  sample.set(statement, kSamples, location, seconds * 200);
}

ContextId call(SampleExperiment& sample, ContextId parent, const std::string& file, std::uint32_t line,
               const SampleExperiment::Scope& callee) {
  return sample.add(sample.add(parent, {ContextKind::call, "", file, line, kApp}), callee);
}

void describe_run(database::Experiment& experiment) {
  database::Run& run = experiment.run;
  run.run_id = "5f3a9c01";
  run.mpi = "Open MPI 4.1.4";
  run.program = kApp;
  run.directory = "/home/ana/runs";
  run.command = {"/opt/cg/bin/cg", "-n", "512", "--tolerance", "1e-9"};
  run.start_realtime_ns = 1'800'000'000 * static_cast<std::int64_t>(kSecond);
  run.duration_ns = 1000 * kSecond;
  run.ranks = run.world_size = kRanks;
  run.period_ns = 5'000'000;
  run.hosts = {"node1"};
  run.events = {"REALTIME@5000"};
  experiment.quality.samples = 1'600'000;
  experiment.quality.handler_ns = 160'000'000;
  experiment.modules = {{kApp, "0badc0de", 1'200'000, {}}, {kMpi, "feed", 400'000, {"no debug information"}}};
}

}  // namespace

SolverSample::SolverSample() : sample(kMetrics) {
  const std::uint32_t role = sample.add_role("main");
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    sample.add_location(static_cast<std::int32_t>(rank), 0, role);
  const std::string main_c = "/home/ana/cg/main.c";
  const std::string solver_c = "/home/ana/cg/solver.c";
  const std::string spmv_c = "/home/ana/cg/spmv.c";
  const std::uint8_t frontier = database::kFrontier | database::kInWait;

  program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  main = sample.add(program, {ContextKind::procedure, "main", main_c, 20, kApp});
  setup = call(sample, main, main_c, 27, {ContextKind::procedure, "setup", main_c, 5, kApp});
  const ContextId setup_line = sample.add(setup, {ContextKind::statement, "", main_c, 8, kApp});
  iterate = call(sample, main, main_c, 31, {ContextKind::procedure, "cg_iterate", solver_c, 400, kApp});
  loop = sample.add(iterate, {ContextKind::loop, "", solver_c, 412, kApp});
  spmv = call(sample, loop, solver_c, 414, {ContextKind::procedure, "spmv", spmv_c, 88, kApp});
  spmv_loop = sample.add(spmv, {ContextKind::loop, "", spmv_c, 90, kApp});
  const ContextId spmv_line = sample.add(spmv_loop, {ContextKind::statement, "", spmv_c, 92, kApp});
  allreduce =
      call(sample, loop, solver_c, 418, {ContextKind::procedure, "MPI_Allreduce", "", 0, kMpi, frontier});
  const ContextId inner = sample.add(allreduce, {ContextKind::call, "", "", 0, kMpi, database::kInWait});
  progress = sample.add(inner, {ContextKind::procedure, "opal_progress", "", 0, kMpi, database::kInWait});
  const ContextId waiting =
      sample.add(progress, {ContextKind::statement, "", "", 0, kMpi, database::kInWait});
  dot =
      sample.add(loop, {ContextKind::inlined, "dot(double const*, double const*, int)", solver_c, 30, kApp});
  const ContextId dot_line = sample.add(dot, {ContextKind::statement, "", solver_c, 33, kApp});

  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::uint64_t work = rank == 3 || rank == 7 ? 705 : 500;
    spend(sample, setup_line, rank, 20, false);
    spend(sample, spmv_line, rank, work, false);
    spend(sample, dot_line, rank, 215, false);
    spend(sample, waiting, rank, 1000 - 20 - 215 - work, true);
  }
  sample.finish();
  database::Experiment& experiment = sample.build();
  describe_run(experiment);
  experiment.balance[0][0] = experiment.balance[0][loop] = experiment.balance[0][dot] = Balance::balanced;
  experiment.balance[0][spmv] = experiment.balance[0][spmv_loop] = Balance::imbalanced;
  experiment.blame[0] = {{loop, 1710 * kSecond, 60 * kSecond, 265 * kSecond}};
  experiment.suspects = {{0,
                          loop,
                          spmv_loop,
                          {3, 7},
                          307'500'000'000,
                          1230 * kSecond,
                          153'750'000'000,
                          205 * kSecond,
                          spmv,
                          database::Confidence::sure,
                          database::Doubt::none,
                          {spmv_loop},
                          {{loop, 1230 * kSecond}}}};
}

WorkersSample::WorkersSample() : sample(kMetrics) {
  const std::uint32_t main_threads = sample.add_role("main");
  const std::uint32_t workers = sample.add_role("worker_main");
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    sample.add_location(rank, 0, main_threads);
    sample.add_location(rank, 1, workers);
  }
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId main = sample.add(program, {ContextKind::procedure, "main", "main.c", 20, kApp});
  const ContextId main_line = sample.add(main, {ContextKind::statement, "", "main.c", 25, kApp});
  const ContextId threads = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
  const ContextId worker = sample.add(threads, {ContextKind::procedure, "worker_main", "pool.c", 7, kApp});
  const ContextId work = sample.add(worker, {ContextKind::statement, "", "pool.c", 12, kApp});
  condition_wait = call(sample, worker, "pool.c", 15,
                        {ContextKind::procedure, "pthread_cond_wait", "", 0, "/usr/lib/libc.so.6",
                         database::kFrontier | database::kInWait});
  const ContextId waiting = sample.add(
      condition_wait, {ContextKind::statement, "", "", 0, "/usr/lib/libc.so.6", database::kInWait});
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    spend(sample, main_line, rank * 2, 10, false);
    spend(sample, work, rank * 2 + 1, 5, false);
    spend(sample, waiting, rank * 2 + 1, 5, true);
  }
  sample.finish();
  database::Experiment& experiment = sample.build();
  describe_run(experiment);
  experiment.run.ranks = 4;
  experiment.run.duration_ns = 10 * kSecond;
  experiment.quality.samples = 16'000;
  experiment.balance[0][0] = experiment.balance[1][0] = experiment.balance[1][worker] = Balance::balanced;
  experiment.blame[1] = {{worker, 20 * kSecond, 5 * kSecond, 5 * kSecond}};
}

}  // namespace culprit::views::testing
