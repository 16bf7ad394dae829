#include "waits/communication/traffic.hpp"

#include "exchange/threads.hpp"
#include "scripted_run.hpp"

#include <mutex>

#include <catch2/catch.hpp>

namespace traffic_test {

using namespace culprit;
using namespace culprit::waits;
using namespace culprit::waits::testing;
using measurement::trace::DefinitionKind;
using measurement::trace::kNobody;

namespace {

Operation moving(Operation operation, std::uint64_t bytes, std::uint64_t received = 0) {
  operation.bytes = bytes;
  operation.bytes_received = received;
  return operation;
}
Operation posted(Operation operation) {
  operation.completes = false;
  operation.id = 1;
  return operation;
}
Operation completed(Operation operation) {
  operation.begins = false;
  operation.id = 1;
  return operation;
}

struct Told {
  std::vector<CallSum> calls;
  std::vector<PartnerSum> partners;
};

/// By `analysts` ranks of the analysis together.
Told traffic_of(const ScriptedRun& run, int analysts = 1) {
  Told reported;
  std::mutex mutex;
  exchange::run_on_threads(analysts, [&](exchange::Communicator& analysis) {
    const auto own = traces(run, analysis);
    const RankMap rank_map(analysis, own);
    Traffic traffic(rank_map, own);
    const Matched matched =
        match_traces(analysis, rank_map, own,
                     [&](Location location, const Record& record) { traffic.observe(location, record); });
    const std::scoped_lock lock(mutex);
    for (const CallSum& sum : traffic.calls()) reported.calls.push_back(sum);
    for (const PartnerSum& sum : traffic.partners(*matched.contexts)) reported.partners.push_back(sum);
  });
  const auto place = [](const CallSum& sum) { return std::pair(sum.location, sum.context); };
  std::ranges::sort(reported.calls, {}, place);
  std::ranges::sort(reported.partners, {},
                    [](const PartnerSum& sum) { return std::tuple(sum.communicator, sum.from, sum.to); });
  return reported;
}

}  // namespace

TEST_CASE("calls, their times and what they moved are added up by call path") {
  ScriptedRun run(2);
  for (const std::uint64_t bytes : {8U, 24U}) {
    run.call(0, bytes * 10, bytes * 10 + bytes, {moving(message(OperationKind::send, 1), bytes)});
    run.path(7);
    run.call(1, bytes * 10, bytes * 10 + 9, {moving(message(OperationKind::receive, 0), bytes)});
    run.path(8);
  }
  const Told reported = traffic_of(run);
  REQUIRE(reported.calls.size() == 2);
  const CallSum& sends = reported.calls[0];
  CHECK(sends.context == 7);
  CHECK(sends.calls == 2);
  CHECK(sends.ns == 32);
  CHECK(sends.longest_ns == 24);
  CHECK(sends.messages == 2);
  CHECK(sends.sent == 32);
  CHECK(sends.received == 0);
  CHECK(sends.smallest == 8);
  CHECK(sends.largest == 24);
  CHECK(reported.calls[1].received == 32);
  REQUIRE(reported.partners.size() == 1);  // who receives does not count it again
  CHECK(reported.partners[0].communicator == 1);
  CHECK(reported.partners[0].members == 2);
  CHECK(reported.partners[0].from == 0);
  CHECK(reported.partners[0].to == 1);
  CHECK(reported.partners[0].messages == 2);
  CHECK(reported.partners[0].bytes == 32);
}

TEST_CASE("a message that is posted and completed by two calls counts once on each side") {
  ScriptedRun run(2);
  const Operation sent = moving(message(OperationKind::send, 1), 100);
  run.call(0, 10, 11, {posted(sent)});
  run.path(1);
  run.call(0, 20, 30, {completed(sent)});
  run.path(2);
  const Operation received = moving(message(OperationKind::receive, 0), 100);
  run.call(1, 10, 11, {posted(received)});
  run.path(3);
  run.call(1, 20, 30, {completed(received)});
  run.path(4);
  const Told reported = traffic_of(run, GENERATE(1, 2));
  REQUIRE(reported.calls.size() == 4);
  CHECK(reported.calls[0].sent == 100);
  CHECK(reported.calls[1].messages == 0);
  CHECK(reported.calls[2].messages == 0);
  CHECK(reported.calls[3].received == 100);
  REQUIRE(reported.partners.size() == 1);
  CHECK(reported.partners[0].messages == 1);
}

TEST_CASE("collectives move what a process gives and gets, and have no partner") {
  ScriptedRun run(2);
  for (const std::int32_t rank : {0, 1}) {
    run.call(rank, 10, 20, {moving(on(OperationKind::all_to_all), 8, 16)});
    run.path(5);
    run.call(rank, 30, 40, {on(OperationKind::barrier)});
    run.path(6);
  }
  const Told reported = traffic_of(run);
  REQUIRE(reported.calls.size() == 4);
  CHECK(reported.calls[0].messages == 1);
  CHECK(reported.calls[0].sent == 8);
  CHECK(reported.calls[0].received == 16);
  CHECK(reported.calls[0].message_bytes == 16);
  CHECK(reported.calls[1].calls == 1);
  CHECK(reported.calls[1].messages == 0);
  CHECK(reported.partners.empty());
}

TEST_CASE("partners are ranks of the world, whatever the communicator; a get comes from its target") {
  ScriptedRun run(4);
  const auto odd = run.define(DefinitionKind::communicator, {3, 1});
  const auto window = run.define(DefinitionKind::window, {0, 1, 2, 3});
  run.call(3, 10, 20, {moving(on(OperationKind::send, odd, 1), 5)});
  run.call(1, 10, 20, {moving(on(OperationKind::receive, odd, 0), 5)});
  run.call(0, 30, 40, {moving(on(OperationKind::get, window, 2), 64)});
  run.call(0, 50, 60, {moving(on(OperationKind::put, window, 2), 32)});
  run.call(2, 50, 60, {on(OperationKind::send, 0, kNobody)});
  const Told reported = traffic_of(run, GENERATE(1, 3));
  REQUIRE(reported.partners.size() == 3);
  CHECK(reported.partners[0].members == 2);
  CHECK(std::pair(reported.partners[0].from, reported.partners[0].to) == std::pair(3, 1));
  CHECK(std::pair(reported.partners[1].from, reported.partners[1].to) == std::pair(0, 2));
  CHECK(reported.partners[1].bytes == 32);
  CHECK(std::pair(reported.partners[2].from, reported.partners[2].to) == std::pair(2, 0));
  CHECK(reported.partners[2].bytes == 64);
}

}  // namespace traffic_test
