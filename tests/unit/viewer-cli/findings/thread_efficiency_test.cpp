#include "findings/thread_efficiency.hpp"

#include "viewer-cli/run.hpp"
#include "views/sample_experiment.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing::thread_efficiency_test {
namespace {

using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;

enum : std::uint32_t { kTime, kCpu, kCaused, kIdle, kUnborne, kLockWaited, kOverhead };

/// One process: the main thread is alone for 10 s, 10 s in a region with three workers, and 10 s in MPI. Of
/// the 40 thread-seconds in the region 4 are idle, 3 waiting for locks, 3 the library's. A thread of MPI's
/// sleeps.
struct Hybrid {
  SampleExperiment sample{{"REALTIME", "CPU", "idleness-caused", "idleness-counted", "idleness-unborne",
                           "lock-wait-counted", "thread-overhead"}};

  Hybrid() {
    const std::uint32_t mains = sample.add_role("main"), workers = sample.add_role("OpenMP worker"),
                        others = sample.add_role("progress_engine");
    const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
    const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
    const ContextId alone = sample.add(main, {ContextKind::procedure, "assemble", "a.c", 10});
    const ContextId at_alone = sample.add(alone, {ContextKind::statement, "", "a.c", 12});
    const ContextId team = sample.add(main, {ContextKind::procedure, "sweep [OpenMP region 0]", "a.c", 20});
    const ContextId in_team = sample.add(team, {ContextKind::statement, "", "a.c", 21});
    const ContextId init = sample.add(main, {ContextKind::procedure, "MPI_Init", "", 0});
    const ContextId in_init = sample.add(init, {ContextKind::statement, "", "", 0});
    const ContextId root = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
    const ContextId region = sample.add(root, {ContextKind::procedure, "sweep [OpenMP region 0]", "a.c", 20});
    const ContextId in_region = sample.add(region, {ContextKind::statement, "", "a.c", 21});
    const ContextId poll = sample.add(root, {ContextKind::procedure, "poll", "", 0});
    const ContextId in_poll = sample.add(poll, {ContextKind::statement, "", "", 0});
    sample.add_location(0, 0, mains);
    for (std::uint32_t worker = 1; worker <= 3; ++worker) sample.add_location(0, worker, workers);
    sample.add_location(0, 4, others);
    sample.set(at_alone, kTime, 0, 10 * kSecond);
    sample.set(at_alone, kCaused, 0, 30 * kSecond);
    sample.set(in_team, kTime, 0, 10 * kSecond);
    sample.set(in_team, kCaused, 0, 3 * kSecond);
    sample.set(in_team, kOverhead, 0, 3 * kSecond);
    sample.set(in_init, kTime, 0, 10 * kSecond);
    sample.set(in_init, kCaused, 0, 30 * kSecond);
    for (std::uint32_t worker = 1; worker <= 3; ++worker) {
      sample.set(in_region, kTime, worker, 30 * kSecond);
      sample.set(0, kIdle, worker, 21 * kSecond);
      sample.set(0, kLockWaited, worker, kSecond);
    }
    sample.set(in_region, kCaused, 1, kSecond);
    sample.set(0, kIdle, 0, kSecond);
    sample.set(in_poll, kTime, 4, 30 * kSecond);
    sample.finish();
  }
};

}  // namespace

TEST_CASE("What threads do with their processes' time outside MPI is divided, and the parts multiply") {
  const Hybrid hybrid;
  const views::Figures figures(hybrid.sample);
  const ThreadEfficiency result = thread_efficiency_of(figures, 0.5);
  CHECK(result.threads == 4);
  CHECK(result.all_s == Approx(80));  // 20 of the main thread, 90 of workers, less 30 beside MPI
  CHECK(result.serial == Approx(50.0 / 80));
  CHECK(result.load_balance == Approx(46.0 / 50));
  CHECK(result.contention == Approx(43.0 / 46));
  CHECK(result.overhead == Approx(40.0 / 43));
  CHECK(result.thread == Approx(0.5));
  CHECK(result.hybrid == Approx(0.25));
  CHECK(result.serial * result.load_balance * result.contention * result.overhead == Approx(result.thread));
}

TEST_CASE("Thread efficiencies are shown where processes have several threads, and else null") {
  const Hybrid hybrid;
  const auto json = nlohmann::json::parse(run(hybrid.sample, {"efficiency", "--format", "json"}));
  CHECK(json["threads"]["efficiency"] == Approx(0.5));
  CHECK(json["threads"]["count"] == 4);
  CHECK(run(hybrid.sample, {"efficiency"}).find("thread efficiency") != std::string::npos);
  SampleExperiment alone{{"REALTIME", "idleness-caused"}};
  alone.add_role("main");
  alone.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  alone.add_location(0, 0, 0);
  alone.finish();
  CHECK(nlohmann::json::parse(run(alone, {"efficiency", "--format", "json"}))["threads"].is_null());
}

}  // namespace culprit::viewer::testing::thread_efficiency_test
