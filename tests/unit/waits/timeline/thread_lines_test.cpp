// Threads of one process without MPI, as ranks: who ended which of their waits is concluded.
#include "waits/timeline/thread_lines.hpp"

#include "exchange/threads.hpp"
#include "measurement/kinds.hpp"
#include "waits/path/critical_path.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/rank_map.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace thread_lines_test {

using namespace culprit;
using namespace culprit::waits;

namespace {

using measurement::WaitKind;
using measurement::trace::Definition;
using measurement::trace::Record;
using measurement::trace::RecordKind;

/// Their records, by thread, each in the order of ends.
using Threads = std::vector<std::vector<Record>>;

Record record_of(RecordKind kind, std::uint64_t begin, std::uint64_t end, std::uint32_t context = 0,
                 WaitKind wait = WaitKind::none) {
  Record one;
  one.kind = kind;
  one.enter_ns = begin;
  one.exit_ns = end;
  one.node = context;
  one.wait = static_cast<std::uint8_t>(wait);
  return one;
}
Record worked(std::uint64_t begin, std::uint64_t end, std::uint32_t context) {
  return record_of(RecordKind::sample, begin, end, context);
}
Record waited(std::uint64_t begin, std::uint64_t end, WaitKind kind) {
  return record_of(RecordKind::thread_wait, begin, end, 0, kind);
}

class ScriptedProcess final : public ProcessTrace {
 public:
  explicit ScriptedProcess(Threads threads) : threads_(std::move(threads)), at_(threads_.size(), 0) {}

  [[nodiscard]] std::int32_t rank() const override { return -1; }
  [[nodiscard]] const std::vector<Definition>& definitions() const override { return definitions_; }
  [[nodiscard]] std::size_t threads() const override { return threads_.size(); }
  bool next(std::size_t thread, Record& next) override {
    if (at_[thread] == threads_[thread].size()) return false;
    next = threads_[thread][at_[thread]++];
    return true;
  }
  bool rewind(std::span<const ClockViolation> /*violations*/) override {
    at_.assign(threads_.size(), 0);
    return true;
  }

 private:
  Threads threads_;
  std::vector<Definition> definitions_;
  std::vector<std::size_t> at_;
};

struct ThreadAwaits {
  std::uint32_t thread = 0;
  std::uint64_t ns = 0;
  std::uint32_t cause = 0;
  friend auto operator<=>(const ThreadAwaits&, const ThreadAwaits&) = default;
};

struct Analysed {
  std::vector<ThreadAwaits> waits;  // longer than the 1 ns with which a thread begins
  std::vector<std::pair<Location, std::uint64_t>> path;
};

Analysed analysed(const Threads& threads) {
  Analysed found;
  exchange::run_on_threads(1, [&](exchange::Communicator& analysis) {
    const auto lines = thread_lines(std::make_unique<ScriptedProcess>(threads),
                                    [](std::uint32_t, std::uint32_t worker) { return worker; });
    const RankMap rank_map(analysis, lines);
    const Matched matched = match_traces(analysis, rank_map, lines);
    CHECK(matched.unmatched() == Unmatched{});
    for (const TimeLine& line : matched.store.lines()) {
      line.waits.for_each([&](const Wait& one) {
        if (metrics::is_whole_wait(one.pattern) && one.ns > 1)
          found.waits.push_back({line.location, one.ns, one.cause.location});
      });
    }
    const CriticalPath path = critical_path(analysis, rank_map, matched);
    for (const CriticalVisit& visit : path.visits)
      found.path.emplace_back(visit.location, visit.end_ns - visit.begin_ns);
  });
  std::ranges::sort(found.waits);
  return found;
}

constexpr std::uint64_t kMillisecond = 1'000'000;

TEST_CASE("the last to come to a barrier is whom the others wait for, and the critical path goes there") {
  const Analysed found = analysed({
      {worked(0, 20 * kMillisecond, 1),
       waited(20 * kMillisecond, 30 * kMillisecond + 10, WaitKind::omp_barrier),
       worked(30 * kMillisecond + 10, 40 * kMillisecond, 1)},
      {worked(10 * kMillisecond, 15 * kMillisecond, 1),
       waited(15 * kMillisecond, 30 * kMillisecond + 5, WaitKind::omp_barrier),
       worked(30 * kMillisecond + 5, 35 * kMillisecond, 1)},
      {worked(10 * kMillisecond, 30 * kMillisecond, 2), worked(30 * kMillisecond, 35 * kMillisecond, 1),
       waited(36 * kMillisecond, 37 * kMillisecond, WaitKind::omp_barrier)},
  });
  CHECK(found.waits == std::vector<ThreadAwaits>{{0, 10 * kMillisecond + 4, 2},
                                                 {1, 15 * kMillisecond + 4, 2},
                                                 {2, kMillisecond - 1, 0}});
  CHECK(found.path == std::vector<std::pair<Location, std::uint64_t>>{{0, 10 * kMillisecond - 4},
                                                                      {2, 20 * kMillisecond + 5},
                                                                      {0, 10 * kMillisecond - 1}});
}

TEST_CASE("idle workers wait for the main thread until its next region") {
  Record region = record_of(RecordKind::parallel_region, 30 * kMillisecond, 40 * kMillisecond, 3);
  region.charged = 3;
  const Analysed found = analysed({
      {worked(0, 30 * kMillisecond, 1), worked(30 * kMillisecond, 38 * kMillisecond, 2),
       waited(38 * kMillisecond, 40 * kMillisecond, WaitKind::omp_barrier), region},
      {worked(5 * kMillisecond, 10 * kMillisecond, 2),
       waited(10 * kMillisecond, 30 * kMillisecond + 9, WaitKind::omp_idle),
       worked(30 * kMillisecond + 9, 40 * kMillisecond - 1, 2)},
  });
  CHECK(found.waits == std::vector<ThreadAwaits>{{0, 2 * kMillisecond - 1, 1}, {1, 20 * kMillisecond, 0}});
}

TEST_CASE("a join waits for the thread that ends, a condition for a thread that works") {
  const Analysed found = analysed({
      {worked(0, 10 * kMillisecond, 1), waited(10 * kMillisecond, 50 * kMillisecond, WaitKind::join),
       worked(50 * kMillisecond, 51 * kMillisecond, 1)},
      {worked(5 * kMillisecond, 20 * kMillisecond, 2),
       waited(20 * kMillisecond, 30 * kMillisecond, WaitKind::condition),
       worked(30 * kMillisecond, 50 * kMillisecond - 1, 2)},
      {worked(5 * kMillisecond, 45 * kMillisecond, 3)},
  });
  CHECK(found.waits ==
        std::vector<ThreadAwaits>{{0, 40 * kMillisecond - 1, 1}, {1, 10 * kMillisecond - 1, 2}});
}

TEST_CASE("nobody is said to have ended a wait while no thread worked, nor one for a lock") {
  const Analysed found = analysed({
      {worked(0, 10 * kMillisecond, 1), waited(10 * kMillisecond, 50 * kMillisecond, WaitKind::condition),
       worked(50 * kMillisecond, 51 * kMillisecond, 1)},
      {worked(5 * kMillisecond, 20 * kMillisecond, 2),
       waited(20 * kMillisecond, 60 * kMillisecond, WaitKind::condition),
       worked(60 * kMillisecond, 70 * kMillisecond, 2)},
      {worked(5 * kMillisecond, 80 * kMillisecond, 3),
       waited(80 * kMillisecond, 85 * kMillisecond, WaitKind::lock),
       worked(85 * kMillisecond, 90 * kMillisecond, 3)},
  });
  CHECK(std::ranges::none_of(found.waits, [](const ThreadAwaits& one) { return one.thread == 2; }));
  CHECK(analysed({{worked(0, 10 * kMillisecond, 1),
                   waited(10 * kMillisecond, 50 * kMillisecond, WaitKind::condition),
                   worked(50 * kMillisecond, 51 * kMillisecond, 1)},
                  {worked(5 * kMillisecond, 20 * kMillisecond, 2),
                   waited(20 * kMillisecond, 60 * kMillisecond, WaitKind::condition),
                   worked(60 * kMillisecond, 70 * kMillisecond, 2)}})
            .waits.empty());
}

}  // namespace
}  // namespace thread_lines_test
