// Operations without a partner, and definitions that contradict each other.
#include "exchange/threads.hpp"
#include "scripted_run.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include <catch2/catch.hpp>

namespace unmatched_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;
using culprit::measurement::trace::DefinitionKind;

namespace {

constexpr auto kSend = OperationKind::send;
constexpr auto kReceive = OperationKind::receive;

}  // namespace

TEST_CASE("what finds no partner is counted, and nothing is guessed") {
  ScriptedRun run(3);
  run.call(0, 10, 20, {message(kSend, 1)});
  run.call(1, 10, 90, {message(kReceive, 2)});
  run.call(1, 95, 96, {begun(message(kReceive, 2), 8)});
  run.call(0, 30, 40, {on(OperationKind::barrier, 0)});
  run.call(1, 100, 110, {message(OperationKind::probe, 2, 3)});
  run.call(2, 10, 20, {message(kSend, 7)});
  for (const int analysts : {1, 2, 3}) {
    const Found found = analyse(run, analysts);
    CHECK(found.waits.empty());
    CHECK(found.unmatched.sends == 1);
    CHECK(found.unmatched.receives == 2);
    CHECK(found.unmatched.probes == 1);
    CHECK(found.unmatched.collectives == 1);
    CHECK(found.unmatched.strangers == 1);
    CHECK(found.unmatched_ranks == std::set<std::int32_t>{0, 1});
  }
}

TEST_CASE("a communicator whose members say different sizes is unknown to all, wherever they are analysed") {
  ScriptedRun run(3);
  run.processes[2].definitions[0].size = 2;
  for (const std::int32_t rank : {0, 1, 2})
    run.call(rank, 10 + 20 * static_cast<std::uint64_t>(rank), 60, {on(OperationKind::barrier)});
  for (const int analysts : {1, 2, 3}) {
    const Found found = analyse(run, analysts);
    CHECK(found.waits.empty());
    CHECK(found.unmatched == Unmatched{.strangers = 3});
  }
}

TEST_CASE("a communicator that a process defines twice has that member once") {
  ScriptedRun run(2);
  run.processes[0].definitions.push_back(run.processes[0].definitions[0]);
  run.call(0, 10, 60, {on(OperationKind::barrier)});
  run.call(1, 50, 60, {on(OperationKind::barrier)});
  run.call(0, 70, 120, {message(kReceive, 1)});
  run.call(1, 100, 110, {message(kSend, 0)});
  for (const int analysts : {1, 2}) {
    CHECK(analyse(run, analysts).waits ==
          std::vector<FoundWait>{{0, 0, WaitPattern::wait_at_barrier, 40, 1, 0},
                                 {0, 1, WaitPattern::late_sender, 30, 1, 1}});
  }
}

TEST_CASE("members of a collective that do different things, or are all its root, are counted") {
  ScriptedRun run(2);
  run.call(0, 10, 60, {on(OperationKind::barrier)});
  run.call(1, 50, 60, {on(OperationKind::one_to_all, 0, 0)});
  run.call(0, 70, 120, {on(OperationKind::one_to_all, 0, 0)});
  run.call(1, 100, 120, {on(OperationKind::one_to_all, 0, 1)});
  run.call(0, 130, 180, {on(OperationKind::barrier)});
  run.call(1, 160, 180, {on(OperationKind::barrier)});
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    CHECK(found.waits == std::vector<FoundWait>{{0, 2, WaitPattern::wait_at_barrier, 30, 1, 2}});
    CHECK(found.unmatched == Unmatched{.collectives = 2});
  }
}

TEST_CASE("a receive whose request's number comes again holds nothing back") {
  ScriptedRun run(2);
  run.call(0, 100, 110, {message(kSend, 1, 7)});
  run.call(1, 10, 11, {begun(message(kReceive, 0, 7), 5)});
  run.call(1, 12, 13, {begun(message(kReceive, 0, 7), 5)});
  const std::uint32_t waited = run.call(1, 20, 120, {completed(message(kReceive, 0, 7), 5)});
  const Found found = analyse(run);
  CHECK(found.waits == std::vector<FoundWait>{{1, waited, WaitPattern::late_sender, 80, 0, 0}});
  CHECK(found.unmatched == Unmatched{.completions = 1});
}

TEST_CASE("where the first member's time line is missing, the others are found by their own places") {
  ScriptedRun run(4);
  const auto backwards = run.define(DefinitionKind::communicator, {0, 3, 2, 1});
  const auto others = run.define(DefinitionKind::communicator, {1, 2, 3});
  run.call(1, 10, 60, {message(kReceive, 2)});
  run.call(2, 40, 50, {message(kSend, 1)});
  run.call(1, 70, 120, {on(kReceive, backwards, 1)});
  run.call(3, 90, 95, {on(kSend, backwards, 3)});
  run.call(1, 130, 140, {message(kReceive, 0)});
  run.call(2, 60, 150, {on(OperationKind::barrier)});
  for (const std::int32_t rank : {1, 2, 3})
    run.call(rank, 160 + 10 * static_cast<std::uint64_t>(rank), 200, {on(OperationKind::barrier, others)});
  for (const int analysts : {1, 2, 3}) {
    std::mutex mutex;
    std::vector<std::pair<WaitPattern, std::uint64_t>> found;
    Unmatched unmatched;
    culprit::exchange::run_on_threads(analysts, [&](culprit::exchange::Communicator& analysis) {
      auto own = traces(run, analysis);
      std::erase_if(own, [](const auto& process) { return process->rank() == 0; });
      const RankMap rank_map(analysis, own);
      Matched matched = match_traces(analysis, rank_map, own);
      const std::lock_guard lock(mutex);
      unmatched.add(matched.unmatched());
      for (TimeLine& line : matched.store.lines())
        for (const Wait& wait : line.waits) found.emplace_back(wait.pattern, wait.ns);
    });
    std::sort(found.begin(), found.end());
    CHECK(found == std::vector<std::pair<WaitPattern, std::uint64_t>>{{WaitPattern::late_sender, 20},
                                                                      {WaitPattern::late_sender, 30},
                                                                      {WaitPattern::wait_at_barrier, 10},
                                                                      {WaitPattern::wait_at_barrier, 20}});
    CHECK(unmatched == Unmatched{.receives = 1, .collectives = 1});
  }
}

TEST_CASE("of two processes that claim a rank the first has it, whatever the other has") {
  ScriptedRun run(2);
  run.call(0, 10, 60, {message(kReceive, 1)});
  run.call(1, 40, 50, {message(kSend, 0)});
  ScriptedRun other(2, 3);
  for (std::size_t thread = 0; thread < 3; ++thread)
    other.call(1, 5, 6, {on(OperationKind::barrier)}, thread);
  culprit::exchange::run_on_threads(1, [&](culprit::exchange::Communicator& analysis) {
    auto own = traces(run, analysis);
    for (auto& trace : traces(other, analysis)) own.push_back(std::move(trace));
    const RankMap rank_map(analysis, own);
    const Matched matched = match_traces(analysis, rank_map, own);
    REQUIRE(matched.store.lines().size() == 2);
    for (const TimeLine& line : matched.store.lines()) CHECK(line.events.size() == 1);
    CHECK(matched.store.line(rank_map.location_of(0, 0)).waits.front().ns == 30);
  });
}

}  // namespace unmatched_test
