#include "waits/matching/active_target.hpp"

#include "exchange/threads.hpp"
#include "scripted_run.hpp"
#include "waits/matching/collectives.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

namespace active_target_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;
using culprit::measurement::trace::DefinitionKind;

namespace {

/// What the matching pass has of fences: two ranks' on one window.
class Fencing {
 public:
  Fencing(culprit::exchange::Communicator& analysis, const ScriptedRun& run,
          culprit::measurement::trace::Context window)
      : window_(window),
        own_(traces(run, analysis)),
        rank_map_(analysis, own_),
        contexts_(analysis, own_),
        exchange_(analysis),
        completions_(store_, own_),
        returns_(exchange_, store_, own_.size()),
        collectives_(contexts_, exchange_, store_, completions_, returns_),
        active_(rank_map_, contexts_, exchange_, store_) {
    for (Location location = 0; location < rank_map_.locations(); ++location) store_.open(location);
  }

  CallSite call(std::int32_t rank, std::uint64_t enter, std::uint64_t exit) {
    const EventId id = store_.add(static_cast<Location>(rank), Event{.enter_ns = enter, .exit_ns = exit});
    return {.process = static_cast<std::size_t>(rank),
            .id = id,
            .rank = rank,
            .enter_ns = enter,
            .exit_ns = exit};
  }
  void fence(std::int32_t rank, std::uint64_t enter, std::uint64_t exit) {
    const CallSite site = call(rank, enter, exit);
    collectives_.observe(site, on(OperationKind::fence, window_));
    active_.fence(site, on(OperationKind::fence, window_));
  }
  void put(std::int32_t rank, std::int32_t target, std::uint64_t enter, std::uint64_t exit) {
    active_.access(call(rank, enter, exit), on(OperationKind::put, window_, target));
  }
  void close_round() {
    exchange_.deliver(collectives_, active_);
    collectives_.close_round([this](std::uint64_t window, std::int32_t rank, EventId call) {
      active_.fenced(window, rank, call);
    });
  }
  /// What may have kept the rank's calls waiting in early fences.
  [[nodiscard]] std::size_t early_fences(std::int32_t rank) {
    std::vector<Candidate> found;
    TimeLine& line = store_.line(static_cast<Location>(rank));
    line.candidates.take(0, found, [](const Candidate& a, const Candidate& b) { return a.cause < b.cause; });
    return static_cast<std::size_t>(std::ranges::count(found, WaitPattern::early_fence, &Candidate::pattern));
  }

 private:
  culprit::measurement::trace::Context window_;
  std::vector<std::unique_ptr<ProcessTrace>> own_;
  RankMap rank_map_;
  Contexts contexts_;
  culprit::exchange::MessageExchange exchange_;
  TraceStore store_;
  Completions completions_;
  CollectiveReturns returns_;
  Collectives collectives_;
  ActiveTarget active_;
};

}  // namespace

TEST_CASE("an operation keeps the fence waiting that its target is in, however many there were before") {
  ScriptedRun run(2);
  const auto window = run.define(DefinitionKind::window, {0, 1});
  culprit::exchange::run_on_threads(1, [&](culprit::exchange::Communicator& analysis) {
    Fencing fencing(analysis, run, window);
    for (std::uint64_t i = 0; i < 100; ++i) {
      fencing.fence(0, 1000 * i + 10, 1000 * i + 90);
      fencing.close_round();
      fencing.put(1, 0, 1000 * i + 20, 1000 * i + 50);
      fencing.fence(1, 1000 * i + 60, 1000 * i + 90);
      fencing.close_round();
    }
    CHECK(fencing.early_fences(0) == 100);
    CHECK(fencing.early_fences(1) == 0);
  });
}

}  // namespace active_target_test
