// Each wait state on a time line of its own, by hand.
#include "scripted_run.hpp"

#include <catch2/catch.hpp>

namespace wait_states_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;
using culprit::measurement::trace::DefinitionKind;
using culprit::measurement::trace::kNobody;

namespace {

constexpr auto kSend = OperationKind::send;
constexpr auto kReceive = OperationKind::receive;

}  // namespace

TEST_CASE("a receive waits for a late sender") {
  ScriptedRun run(2);
  run.call(1, 100, 530, {message(kReceive, 0)});
  run.call(0, 500, 510, {message(kSend, 1)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{1, 0, WaitPattern::late_sender, 400, 0, 0}});
}

TEST_CASE("a synchronous send waits for a late receiver") {
  ScriptedRun run(2);
  run.call(0, 100, 620, {message(OperationKind::send_synchronous, 1)});
  run.call(1, 600, 630, {message(kReceive, 0)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{0, 0, WaitPattern::late_receiver, 500, 1, 0}});
}

TEST_CASE("an eager send that returned before the receive was posted did not wait") {
  ScriptedRun run(2);
  run.call(0, 100, 110, {message(kSend, 1)});
  run.call(1, 600, 630, {message(kReceive, 0)});
  const Found found = analyse(run);
  CHECK(found.waits.empty());
  CHECK(found.unmatched == Unmatched{});
}

TEST_CASE("a send that is complete when the call returns that starts it did not wait") {
  ScriptedRun run(2);
  Operation sent = message(kSend, 1);
  sent.id = 4;
  run.call(0, 100, 120, {sent});
  run.call(1, 110, 130, {message(kReceive, 0)});
  const Found found = analyse(run);
  CHECK(found.waits.empty());
  CHECK(found.unmatched == Unmatched{});
}

TEST_CASE("a receive that was posted after the call's end says nothing of its larger sends") {
  // With one record a round, the first receive is known before the call that completes its send.
  const auto waits = [](std::uint64_t first_bytes, std::uint64_t second_bytes,
                        std::uint64_t records_per_round = 1 << 18) {
    Operation first = message(kSend, 1), second = message(kSend, 2);
    first.bytes = first_bytes;
    second.bytes = second_bytes;
    ScriptedRun run(3);
    run.call(0, 10, 11, {begun(first, 1)});
    run.call(0, 12, 13, {begun(second, 2)});
    run.call(0, 20'000'000, 610'000'000, {completed(first, 1), completed(second, 2)});
    run.call(1, 100'000'000, 101'000'000, {message(kReceive, 0)});
    run.call(2, 700'000'000, 701'000'000, {message(kReceive, 0)});
    return analyse(run, 1, records_per_round).waits;
  };
  const std::vector<FoundWait> for_the_first = {{0, 2, WaitPattern::late_receiver, 80'000'000, 1, 0}};
  CHECK(waits(500'000, 8) == for_the_first);
  CHECK(waits(500'000, 8, 1) == for_the_first);
  CHECK(waits(8, 500'000).empty());
  CHECK(waits(8, 8).empty());
}

TEST_CASE("a call that completes several operations waits for the latest of them") {
  ScriptedRun run(3);
  run.call(0, 10, 11, {begun(message(kReceive, 1), 1)});
  run.call(0, 12, 13, {begun(message(kReceive, 2), 2)});
  run.call(0, 20, 900, {completed(message(kReceive, 1), 1), completed(message(kReceive, 2), 2)});
  run.call(1, 300, 301, {message(kSend, 0)});
  run.call(2, 800, 801, {message(kSend, 0)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{0, 2, WaitPattern::late_sender, 780, 2, 0}});
}

TEST_CASE("a call that returns at the first of several operations waits for the earliest") {
  ScriptedRun run(3);
  run.call(0, 10, 11, {begun(message(kReceive, 1), 1)});
  run.call(0, 12, 13, {begun(message(kReceive, 2), 2)});
  run.call(0, 20, 900, {completed(message(kReceive, 1), 1), completed(message(kReceive, 2), 2)}, 0, true);
  run.call(1, 300, 301, {message(kSend, 0)});
  run.call(2, 800, 801, {message(kSend, 0)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{0, 2, WaitPattern::late_sender, 280, 1, 0}});

  ScriptedRun there(3);
  there.call(0, 10, 11, {begun(message(kReceive, 1), 1)});
  there.call(0, 12, 13, {begun(message(kReceive, 2), 2)});
  there.call(0, 20, 900, {completed(message(kReceive, 1), 1), completed(message(kReceive, 2), 2)}, 0, true);
  there.call(1, 5, 6, {message(kSend, 0)});
  there.call(2, 800, 801, {message(kSend, 0)});
  CHECK(analyse(there).waits.empty());
}

TEST_CASE("a wildcard receive takes its place in the order of posting") {
  ScriptedRun run(2);
  run.call(0, 10, 11, {begun(message(kReceive, culprit::measurement::trace::kAnySource), 1)});
  run.call(0, 20, 420, {message(kReceive, 1)});
  run.call(0, 430, 440, {completed(message(kReceive, 1), 1)});
  run.call(1, 5, 6, {message(kSend, 0)});
  run.call(1, 400, 401, {message(kSend, 0)});
  CHECK(analyse(run).waits ==
        std::vector<FoundWait>{{0, 1, WaitPattern::late_sender, 380, 1, 1},
                               {0, 1, WaitPattern::late_sender_wrong_order, 380, 1, 1}});
}

TEST_CASE("a wait for one message while an earlier one was there is in the wrong order") {
  ScriptedRun run(2);
  run.call(0, 10, 15, {message(kSend, 1, 5)});
  run.call(0, 500, 510, {message(kSend, 1, 6)});
  run.call(1, 100, 520, {message(kReceive, 0, 6)});
  run.call(1, 530, 540, {message(kReceive, 0, 5)});
  CHECK(analyse(run).waits ==
        std::vector<FoundWait>{{1, 0, WaitPattern::late_sender, 400, 0, 1},
                               {1, 0, WaitPattern::late_sender_wrong_order, 400, 0, 1}});
}

TEST_CASE("a probe waits for the message that it sees, and leaves it") {
  ScriptedRun run(2);
  run.call(1, 100, 530, {message(OperationKind::probe, 0)});
  run.call(1, 540, 550, {message(kReceive, 0)});
  run.call(0, 500, 510, {message(kSend, 1)});
  const Found found = analyse(run);
  CHECK(found.waits == std::vector<FoundWait>{{1, 0, WaitPattern::late_sender, 400, 0, 0}});
  CHECK(found.unmatched == Unmatched{});
}

TEST_CASE("a matched probe takes the message") {
  ScriptedRun run(2);
  Operation taking = message(OperationKind::probe, 0);
  taking.id = 9;
  Operation taken = message(OperationKind::receive_matched, 0);
  taken.id = 9;
  run.call(1, 100, 530, {taking});
  run.call(1, 540, 550, {message(kReceive, 0)});
  run.call(1, 560, 570, {taken});
  run.call(0, 500, 510, {message(kSend, 1)});
  run.call(0, 545, 548, {message(kSend, 1)});
  const Found found = analyse(run);
  CHECK(found.waits == std::vector<FoundWait>{{1, 0, WaitPattern::late_sender, 400, 0, 0},
                                              {1, 1, WaitPattern::late_sender, 5, 0, 1}});
  CHECK(found.unmatched == Unmatched{});
}

TEST_CASE("all wait for the last at a barrier, and for each other when they leave") {
  ScriptedRun run(3);
  run.call(0, 100, 820, {on(OperationKind::barrier, 0)});
  run.call(1, 300, 850, {on(OperationKind::barrier, 0)});
  run.call(2, 800, 810, {on(OperationKind::barrier, 0)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{0, 0, WaitPattern::wait_at_barrier, 700, 2, 0},
                                                     {0, 0, WaitPattern::barrier_completion, 10, 2, 0},
                                                     {1, 0, WaitPattern::wait_at_barrier, 500, 2, 0},
                                                     {1, 0, WaitPattern::barrier_completion, 40, 2, 0}});
}

TEST_CASE("only those below it keep a member of a prefix reduction waiting") {
  ScriptedRun run(3);
  run.call(0, 500, 510, {on(OperationKind::prefix, 0)});
  run.call(1, 100, 520, {on(OperationKind::prefix, 0)});
  run.call(2, 600, 610, {on(OperationKind::prefix, 0)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{1, 0, WaitPattern::early_scan, 400, 0, 0}});
}

TEST_CASE(
    "the root waits for the others where all send to it, the others for the root where it sends to all") {
  ScriptedRun run(3);
  run.call(0, 100, 510, {on(OperationKind::all_to_one, 0, 0)});
  run.call(1, 500, 505, {on(OperationKind::all_to_one, 0, 0)});
  run.call(2, 200, 205, {on(OperationKind::all_to_one, 0, 0)});
  run.call(0, 900, 905, {on(OperationKind::one_to_all, 0, 0)});
  run.call(1, 600, 910, {on(OperationKind::one_to_all, 0, 0)});
  run.call(2, 950, 960, {on(OperationKind::one_to_all, 0, 0)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{0, 0, WaitPattern::early_reduce, 400, 1, 0},
                                                     {1, 1, WaitPattern::late_broadcast, 300, 0, 1}});
}

TEST_CASE("a nonblocking collective is waited for where it is completed") {
  ScriptedRun run(2);
  run.call(0, 100, 101, {begun(on(OperationKind::barrier, 0), 4)});
  run.call(0, 200, 710, {completed(on(OperationKind::barrier, 0), 4)});
  run.call(1, 700, 701, {begun(on(OperationKind::barrier, 0), 4)});
  run.call(1, 702, 711, {completed(on(OperationKind::barrier, 0), 4)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{0, 1, WaitPattern::wait_at_barrier, 500, 1, 0}});
}

namespace {

/// Rank 0 sends rank 1 a message; both begin at once, and complete it in these calls.
struct Completing {
  std::uint64_t enter, exit;
};
ScriptedRun posted_early(std::uint64_t bytes, Completing sender, Completing receiver, bool any = false) {
  ScriptedRun run(2);
  Operation send = message(OperationKind::send, 1), receive = message(OperationKind::receive, 0);
  send.bytes = receive.bytes = bytes;
  run.call(1, 1, 2, {begun(receive, 5)});
  run.call(0, 10, 11, {begun(send, 4)});
  run.call(0, sender.enter, sender.exit, {completed(send, 4)});
  run.call(1, receiver.enter, receiver.exit, {completed(receive, 5)}, 0, any);
  return run;
}
constexpr std::uint64_t kLarge = 1 << 20;

}  // namespace

TEST_CASE("a large message is waited for until its other end is back in MPI") {
  for (const int analysts : {1, 2}) {
    for (const std::uint64_t per_round : {std::uint64_t{1}, std::uint64_t{1} << 18}) {
      const auto waits = [&](const ScriptedRun& run) { return analyse(run, analysts, per_round).waits; };
      CHECK(waits(posted_early(kLarge, {500, 531}, {100, 530})) ==
            std::vector<FoundWait>{{1, 1, WaitPattern::late_sender, 400, 0, 1}});
      CHECK(waits(posted_early(kLarge, {100, 530}, {500, 531})) ==
            std::vector<FoundWait>{{0, 1, WaitPattern::late_receiver, 400, 1, 1}});
    }
  }
  SECTION("also where the later one waits for long for somebody else then") {
    CHECK(analyse(posted_early(kLarge, {500, 5000}, {100, 530})).waits ==
          std::vector<FoundWait>{{1, 1, WaitPattern::late_sender, 400, 0, 1}});
  }
  SECTION("by a blocking call, too") {
    ScriptedRun run(2);
    Operation send = message(OperationKind::send, 1), receive = message(OperationKind::receive, 0);
    send.bytes = receive.bytes = kLarge;
    run.call(1, 1, 2, {begun(receive, 5)});
    run.call(0, 10, 530, {send});
    run.call(1, 500, 531, {completed(receive, 5)});
    CHECK(analyse(run).waits == std::vector<FoundWait>{{0, 0, WaitPattern::late_receiver, 490, 1, 1}});
  }
  SECTION("not where the transfer itself takes most of the time") {
    CHECK(analyse(posted_early(kLarge, {200, 531}, {100, 530})).waits.empty());
  }
  SECTION("nor where the other end was inside MPI meanwhile") {
    ScriptedRun run(2);
    Operation send = message(OperationKind::send, 1), receive = message(OperationKind::receive, 0);
    send.bytes = receive.bytes = kLarge;
    run.call(1, 1, 2, {begun(receive, 5)});
    run.call(0, 10, 11, {begun(send, 4)});
    run.call(0, 90, 400, {});
    run.call(0, 500, 531, {completed(send, 4)});
    run.call(1, 100, 530, {completed(receive, 5)});
    CHECK(analyse(run).waits.empty());
  }
  SECTION("nor where it ends without the other end") {
    CHECK(analyse(posted_early(kLarge, {500, 531}, {100, 130})).waits.empty());
  }
  SECTION("nor by a call that returns at the first of several operations") {
    CHECK(analyse(posted_early(kLarge, {500, 531}, {100, 530}, true)).waits.empty());
  }
  SECTION("nor is a small one") {
    CHECK(analyse(posted_early(1000, {500, 531}, {100, 530})).waits.empty());
  }
}

namespace {

/// All begin a nonblocking collective at 100 and compute. Ranks 0 and 1 are back at 200 and 300, rank 2 at
/// 750.
ScriptedRun late_return(OperationKind kind, bool any = false) {
  ScriptedRun run(3);
  const Operation operation = on(kind, 0, kind == OperationKind::one_to_all ? 0 : kNobody);
  for (const std::int32_t rank : {0, 1, 2}) run.call(rank, 100, 101, {begun(operation, 4)});
  run.call(0, 200, 765, {completed(operation, 4)}, 0, any);
  run.call(1, 300, 762, {completed(operation, 4)});
  run.call(2, 750, 760, {completed(operation, 4)});
  return run;
}

}  // namespace

TEST_CASE("a nonblocking collective is waited for until its last member is back in MPI") {
  // Two steps of 10, which the shortest stay takes, are what it costs.
  for (const int analysts : {1, 2, 3}) {
    CHECK(analyse(late_return(OperationKind::all_to_all), analysts).waits ==
          std::vector<FoundWait>{{0, 1, WaitPattern::wait_at_nxn, 530, 2, 1},
                                 {1, 1, WaitPattern::wait_at_nxn, 430, 2, 1}});
    CHECK(analyse(late_return(OperationKind::one_to_all), analysts).waits ==
          std::vector<FoundWait>{{0, 1, WaitPattern::wait_at_root, 530, 2, 1},
                                 {1, 1, WaitPattern::wait_at_root, 430, 2, 1}});
  }
  SECTION("not by a call that returns at the first of several operations") {
    CHECK(analyse(late_return(OperationKind::barrier, true)).waits ==
          std::vector<FoundWait>{{1, 1, WaitPattern::wait_at_barrier, 430, 2, 1}});
  }
  SECTION("not where the library goes on without it") {
    ScriptedRun run(2);
    for (const std::int32_t rank : {0, 1})
      run.call(rank, 100, 101, {begun(on(OperationKind::barrier, 0), 4)});
    run.call(0, 200, 260, {completed(on(OperationKind::barrier, 0), 4)});
    run.call(1, 700, 701, {completed(on(OperationKind::barrier, 0), 4)});
    CHECK(analyse(run).waits.empty());
  }
  SECTION("not where most of the time passes when all are back") {
    ScriptedRun run(2);
    for (const std::int32_t rank : {0, 1})
      run.call(rank, 100, 101, {begun(on(OperationKind::barrier, 0), 4)});
    run.call(0, 200, 700, {completed(on(OperationKind::barrier, 0), 4)});
    run.call(1, 300, 700, {completed(on(OperationKind::barrier, 0), 4)});
    CHECK(analyse(run).waits.empty());
  }
  SECTION("nor where members never complete it") {
    ScriptedRun run(2);
    for (const std::int32_t rank : {0, 1})
      run.call(rank, 100, 101, {begun(on(OperationKind::barrier, 0), 4)});
    run.call(0, 200, 700, {completed(on(OperationKind::barrier, 0), 4)});
    CHECK(analyse(run).waits.empty());
  }
}

TEST_CASE("the code that keeps a rank out of a nonblocking collective bears the waits for it") {
  ScriptedRun run = late_return(OperationKind::all_to_all);
  const DelayCosts delays = analyse(run).delays;
  std::uint64_t sum = 0;
  for (const DelayCost& one : delays.costs) {
    CHECK(one.location == 2);
    sum += one.short_term_ns;
  }
  CHECK(sum + delays.unattributed_ns == 530 + 430);
}

TEST_CASE(
    "who waits for nobody in a nonblocking collective does not, whatever request had its place before") {
  for (const std::uint64_t per_round : {std::uint64_t{1}, std::uint64_t{1} << 18}) {
    ScriptedRun run(2);
    run.call(0, 1'000'000, 1'001'000, {begun(on(OperationKind::barrier, 0), 4)});
    run.call(0, 2'000'000, 7'010'000, {completed(on(OperationKind::barrier, 0), 4)});
    run.call(1, 7'000'000, 7'001'000, {begun(on(OperationKind::barrier, 0), 4)});
    run.call(1, 7'002'000, 7'011'000, {completed(on(OperationKind::barrier, 0), 4)});
    // The root of a broadcast, as a later request whose number has the same lowest bits.
    for (const std::int32_t rank : {0, 1})
      run.call(rank, 10'000'000, 10'001'000, {begun(on(OperationKind::one_to_all, 0, 0), 20)});
    for (const std::int32_t rank : {0, 1})
      run.call(rank, 20'000'000, 20'001'000, {completed(on(OperationKind::one_to_all, 0, 0), 20)});
    const Found found = analyse(run, 1, per_round);
    CHECK(found.waits == std::vector<FoundWait>{{0, 1, WaitPattern::wait_at_barrier, 5'000'000, 1, 0}});
    CHECK(found.unmatched == Unmatched{});
  }
}

TEST_CASE("a request for which nobody waits keeps no other one from being waited for") {
  ScriptedRun run(2);
  const auto self = run.define(DefinitionKind::communicator, {0});
  run.call(0, 1'000'000, 1'000'001, {begun(on(OperationKind::barrier, 0), 4)});
  run.call(1, 2'000'000, 2'000'001, {begun(on(OperationKind::barrier, 0), 4)});
  for (const std::int32_t rank : {0, 1})
    run.call(rank, 8'000'000, 8'010'000, {completed(on(OperationKind::barrier, 0), 4)});
  run.call(0, 10'000'000, 10'001'000, {begun(on(OperationKind::barrier, self), 20)});
  run.call(0, 10'002'000, 10'003'000, {begun(message(OperationKind::receive, 1), 21)});
  run.call(1, 15'000'000, 15'001'000, {message(OperationKind::send, 0)});
  // The first of several: MPI_Waitsome.
  run.call(
      0, 11'000'000, 15'005'000,
      {completed(on(OperationKind::barrier, self), 20), completed(message(OperationKind::receive, 1), 21)}, 0,
      true);
  const Found found = analyse(run, 1, 1);
  CHECK(found.waits == std::vector<FoundWait>{{0, 4, WaitPattern::late_sender, 4'000'000, 1, 2}});
  CHECK(found.unmatched == Unmatched{});
}

TEST_CASE("the origin of a one-sided epoch waits for a late post, or its transfer does") {
  ScriptedRun run(2);
  const auto window = run.define(DefinitionKind::window, {0, 1});
  const auto origin = run.define(DefinitionKind::group, {0});
  const auto target = run.define(DefinitionKind::group, {1});
  // Blocking at start.
  run.call(0, 100, 510, {on(OperationKind::start, window, kNobody, target)});
  run.call(0, 520, 530, {on(OperationKind::put, window, 1)});
  run.call(0, 800, 810, {on(OperationKind::complete, window)});
  run.call(1, 500, 501, {on(OperationKind::post, window, kNobody, origin)});
  run.call(1, 600, 820, {on(OperationKind::wait, window)});
  // Blocking at the operation, then not at all.
  run.call(0, 1000, 1010, {on(OperationKind::start, window, kNobody, target)});
  run.call(0, 1020, 1430, {on(OperationKind::put, window, 1)});
  run.call(0, 1440, 1450, {on(OperationKind::complete, window)});
  run.call(1, 1400, 1401, {on(OperationKind::post, window, kNobody, origin)});
  run.call(1, 1500, 1510, {on(OperationKind::wait, window)});
  const Found found = analyse(run);
  CHECK(found.waits == std::vector<FoundWait>{{0, 0, WaitPattern::late_post, 400, 1, 0},
                                              {0, 4, WaitPattern::early_transfer, 380, 1, 2},
                                              {1, 1, WaitPattern::early_wait, 200, 0, 2},
                                              {1, 1, WaitPattern::late_complete, 200, 0, 2}});
  CHECK(found.unmatched == Unmatched{});
}

TEST_CASE("a fence waits for the last, and a part of that for operations that reach the target late") {
  ScriptedRun run(2);
  const auto window = run.define(DefinitionKind::window, {0, 1});
  run.call(0, 10, 20, {on(OperationKind::fence, window)});
  run.call(1, 10, 20, {on(OperationKind::fence, window)});
  run.call(0, 300, 400, {on(OperationKind::put, window, 1)});
  run.call(0, 500, 510, {on(OperationKind::fence, window)});
  run.call(1, 100, 515, {on(OperationKind::fence, window)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{1, 1, WaitPattern::wait_at_fence, 400, 0, 2},
                                                     {1, 1, WaitPattern::early_fence, 300, 0, 1}});
}

TEST_CASE("whoever gets a lock late waited for who held it, wherever the library got it") {
  ScriptedRun run(3);
  const auto window = run.define(DefinitionKind::window, {0, 1, 2});
  Operation exclusive = on(OperationKind::lock, window, 0);
  exclusive.exclusive = true;
  // Rank 1 holds the lock; rank 2 gets it where it asks for it, and the next time where it completes
  // something.
  run.call(1, 100, 110, {exclusive});
  run.call(1, 500, 510, {on(OperationKind::unlock, window, 0)});
  run.call(2, 200, 520, {exclusive});
  run.call(2, 600, 610, {on(OperationKind::unlock, window, 0)});
  run.call(1, 700, 710, {exclusive});
  run.call(1, 900, 910, {on(OperationKind::unlock, window, 0)});
  run.call(2, 720, 730, {exclusive});
  run.call(2, 735, 740, {on(OperationKind::put, window, 0)});
  run.call(2, 750, 930, {on(OperationKind::unlock, window, 0)});
  // Shared locks do not exclude each other.
  run.call(1, 1000, 1010, {on(OperationKind::lock, window, 0)});
  run.call(2, 1000, 1200, {on(OperationKind::lock, window, 0)});
  run.call(1, 1100, 1110, {on(OperationKind::unlock, window, 0)});
  run.call(2, 1210, 1220, {on(OperationKind::unlock, window, 0)});
  for (const auto& found : {analyse(run), analyse(run, 3, 1)}) {
    CHECK(found.waits == std::vector<FoundWait>{{2, 0, WaitPattern::lock_wait, 300, 1, 1},
                                                {2, 4, WaitPattern::lock_wait, 150, 1, 3}});
    CHECK(found.unmatched == Unmatched{});
  }
}

TEST_CASE("who has completed something under a lock waits for no lock any more") {
  ScriptedRun run(2);
  const auto window = run.define(DefinitionKind::window, {0, 1});
  Operation exclusive = on(OperationKind::lock, window, 0);
  exclusive.exclusive = true;
  const auto flush = GENERATE(std::int32_t{0}, culprit::measurement::trace::kAllTargets);
  run.call(1, 100, 110, {exclusive});
  run.call(1, 120, 130, {on(OperationKind::flush, window, flush)});
  run.call(1, 500, 700, {on(OperationKind::unlock, window, 0)});  // until the target has answered
  run.call(0, 200, 510, {exclusive});
  run.call(0, 520, 530, {on(OperationKind::flush_local, window, flush)});
  run.call(0, 600, 610, {on(OperationKind::unlock, window, 0)});
  CHECK(analyse(run).waits == std::vector<FoundWait>{{0, 0, WaitPattern::lock_wait, 300, 1, 2}});
}

TEST_CASE("in a neighbourhood collective only those that it receives from keep a process waiting") {
  // A line: 0 sends to 1, 1 to 2.
  ScriptedRun run(3);
  run.processes[0].definitions[0].destinations = {1};
  run.processes[1].definitions[0].sources = {0};
  run.processes[1].definitions[0].destinations = {2};
  run.processes[2].definitions[0].sources = {1};
  run.call(0, 900, 910, {on(OperationKind::neighbors, 0)});
  run.call(1, 500, 920, {on(OperationKind::neighbors, 0)});
  run.call(2, 100, 510, {begun(on(OperationKind::neighbors, 0), 3)});
  run.call(2, 520, 530, {completed(on(OperationKind::neighbors, 0), 3)});
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    CHECK(found.waits == std::vector<FoundWait>{{1, 0, WaitPattern::wait_at_nxn, 400, 0, 0}});
    CHECK(found.unmatched == Unmatched{});
  }
}

TEST_CASE("between two groups the root is in one, and those beside it have no part") {
  // An intercommunicator of {0, 1} and {2, 3}, whose local ranks are alike; rank 1 is the root.
  ScriptedRun run(4);
  const auto context = static_cast<std::uint32_t>(run.processes[0].definitions.size());
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    Definition definition;
    definition.kind = DefinitionKind::intercommunicator;
    definition.global_id = 77;
    definition.size = 2;
    definition.rank = rank % 2;
    if (rank % 2 == 0) {
      definition.members = rank == 0 ? std::vector{0, 1} : std::vector{2, 3};
      definition.remote = rank == 0 ? std::vector{2, 3} : std::vector{0, 1};
    }
    run.processes[static_cast<std::size_t>(rank)].definitions.push_back(definition);
  }
  run.call(0, 990, 991, {on(OperationKind::one_to_all, context, culprit::measurement::trace::kNobody)});
  run.call(1, 500, 510, {on(OperationKind::one_to_all, context, culprit::measurement::trace::kRootHere)});
  run.call(2, 100, 520, {on(OperationKind::one_to_all, context, 1)});
  run.call(3, 600, 610, {on(OperationKind::one_to_all, context, 1)});
  // A message from rank 3 to the other group's rank 0.
  run.call(0, 1000, 1300, {on(OperationKind::receive, context, 1)});
  run.call(3, 1200, 1210, {on(OperationKind::send, context, 0)});
  for (const int analysts : {1, 3}) {
    const Found found = analyse(run, analysts);
    CHECK(found.waits == std::vector<FoundWait>{{0, 1, WaitPattern::late_sender, 200, 3, 1},
                                                {2, 0, WaitPattern::late_broadcast, 400, 1, 0}});
    CHECK(found.unmatched == Unmatched{});
  }
}

}  // namespace wait_states_test
