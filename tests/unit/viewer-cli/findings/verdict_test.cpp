// The verdict's rule, kind by kind, and who is late when.
#include "findings/verdict.hpp"

#include <utility>

#include <catch2/catch.hpp>

namespace culprit::viewer::testing::verdict_test {
namespace {

/// 4 threads, 400 s, 4 000 samples, and nothing lost.
Losses nothing_lost() {
  return {.samples = 4000, .threads = 4, .total_s = 400};
}

/// `late[part]`: the rank that is late in that eighth of the run; the others are in calls for a second of
/// each bin.
database::TimeMap map_of(const std::vector<std::uint32_t>& late) {
  constexpr std::uint32_t kBinsOfPart = 4;
  database::TimeMap map;
  map.bin_ns = 2'000'000'000;
  map.bins = static_cast<std::uint32_t>(late.size()) * kBinsOfPart;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    database::TimeMap::Row row;
    row.rank = rank;
    for (const std::uint32_t who : late)
      row.calls_ns.insert(row.calls_ns.end(), kBinsOfPart,
                          static_cast<std::int32_t>(who) == rank ? 0 : 1'000'000'000);
    map.rows.push_back(std::move(row));
  }
  return map;
}

}  // namespace

TEST_CASE("The verdict is the largest loss, from a tenth of the run on") {
  CHECK(decide(nothing_lost()) == VerdictKind::healthy);
  const std::pair<double Losses::*, VerdictKind> kinds[] = {
      {&Losses::io_s, VerdictKind::io},
      {&Losses::serial_s, VerdictKind::serial},
      {&Losses::lasting_s, VerdictKind::uneven_lasting},
      {&Losses::drifting_s, VerdictKind::uneven_drifting},
      {&Losses::intermittent_s, VerdictKind::uneven_intermittent},
      {&Losses::messages_s, VerdictKind::messages},
      {&Losses::threads_lost_s, VerdictKind::threads_idle},
  };
  for (const auto& [loss, kind] : kinds) {
    Losses losses = nothing_lost();
    losses.*loss = 39;
    CHECK(decide(losses) == VerdictKind::healthy);
    losses.*loss = 41;
    CHECK(decide(losses) == kind);
    losses.startup_s = 60;  // of the 340 s that are left it is more than a tenth, too
    CHECK(decide(losses) == kind);
    losses.startup_s = 80;
    CHECK(decide(losses) == VerdictKind::startup);
    losses.few_processors = true;
    losses.processors_s = 42;
    CHECK(decide(losses) == VerdictKind::starved);
    losses.samples = 79;
    CHECK(decide(losses) == VerdictKind::too_short);
  }
}

TEST_CASE("A run that loses little is healthy, though the machine explains that") {
  Losses losses = nothing_lost();
  losses.few_processors = true;
  losses.processors_s = 12;
  losses.messages_s = 30;
  CHECK(decide(losses) == VerdictKind::healthy);
  losses.processors_s = 50;
  CHECK(decide(losses) == VerdictKind::starved);
}

TEST_CASE("Who lacks a processor does not read and write for longer") {
  Losses losses = nothing_lost();
  losses.few_processors = true;
  losses.processors_s = 60;
  losses.io_s = 61;
  losses.messages_s = 60;
  CHECK(decide(losses) == VerdictKind::io);
  losses.messages_s = 62;
  CHECK(decide(losses) == VerdictKind::starved);
  losses.messages_s = 0;
  losses.processors_s = 62;
  CHECK(decide(losses) == VerdictKind::starved);
}

TEST_CASE("A run that lacks processors for most of its time is starved, though it lacks them in waits") {
  Losses losses = nothing_lost();
  losses.messages_s = 390;
  losses.no_processor_s = 199;
  CHECK(decide(losses) == VerdictKind::messages);
  losses.processors_s = 1;
  CHECK(decide(losses) == VerdictKind::starved);
}

TEST_CASE("Without time lines, what ranks perhaps lacked in waits for late ones counts as well") {
  Losses losses = nothing_lost();
  losses.messages_s = 390;
  losses.perhaps_no_processor_s = 199;
  CHECK(decide(losses) == VerdictKind::messages);
  losses.processors_s = 1;
  CHECK(decide(losses) == VerdictKind::starved);
}

TEST_CASE("Threads that wait for threads which lack processors with them are starved") {
  Losses losses = nothing_lost();
  losses.threads_s = losses.threads_lost_s = 150;
  losses.crowded_s = 99;
  CHECK(decide(losses) == VerdictKind::threads_idle);
  losses.crowded_s = 101;
  CHECK(decide(losses) == VerdictKind::starved);
  losses.threads_lost_s = 0;  // as no processor is free
  CHECK(decide(losses) == VerdictKind::starved);
  losses.lasting_s = 151;
  CHECK(decide(losses) == VerdictKind::uneven_lasting);
}

TEST_CASE("Where all lack processors for half of the run, ranks that are late in turns are no other cause") {
  Losses losses = nothing_lost();
  losses.intermittent_s = 150;
  losses.runnable_s = 199;
  CHECK(decide(losses) == VerdictKind::uneven_intermittent);
  losses.runnable_s = 201;
  CHECK(decide(losses) == VerdictKind::starved);
  losses.lasting_s = 151;
  CHECK(decide(losses) == VerdictKind::uneven_lasting);
}

TEST_CASE("Where time lines show that code makes ranks late in turns, processors are no other cause") {
  Losses losses = nothing_lost();
  losses.intermittent_s = 150;
  losses.runnable_s = 201;
  losses.late_code_s = 74;
  CHECK(decide(losses) == VerdictKind::starved);
  losses.late_code_s = 76;
  CHECK(decide(losses) == VerdictKind::uneven_intermittent);
}

TEST_CASE("Suspects that explain plainly more than the machine go before it") {
  Losses losses = nothing_lost();
  losses.few_processors = true;
  losses.processors_s = losses.machine_explains_s = 45;
  losses.lasting_s = losses.suspects_s = 134;
  CHECK(decide(losses) == VerdictKind::starved);
  losses.lasting_s = losses.suspects_s = 136;
  CHECK(decide(losses) == VerdictKind::uneven_lasting);
  losses.machine_explains_s = 10;
  losses.processors_s = 137;  // they would be late with even work, too
  CHECK(decide(losses) == VerdictKind::starved);
}

TEST_CASE("A moment without a processor does not starve a run that waits for other things") {
  Losses losses = nothing_lost();
  losses.few_processors = true;
  losses.messages_s = 200;
  losses.processors_s = losses.machine_explains_s = 19;
  CHECK(decide(losses) == VerdictKind::messages);
  losses.machine_explains_s = 21;
  CHECK(decide(losses) == VerdictKind::starved);
}

TEST_CASE("Without time lines, a known loss goes before waiting that nothing explains") {
  Losses losses = nothing_lost();
  losses.messages_s = losses.undivided_s = 100;
  losses.lasting_s = 51;
  CHECK(decide(losses) == VerdictKind::uneven_lasting);
  losses.lasting_s = 49;
  CHECK(decide(losses) == VerdictKind::messages);
  losses.lasting_s = 51;
  losses.moving_s = 52;  // of communication that much is known
  CHECK(decide(losses) == VerdictKind::messages);
}

TEST_CASE("All that is waited for late ranks stands against other losses, and its largest kind for it") {
  Losses losses = nothing_lost();
  losses.messages_s = 60;
  losses.lasting_s = 50;
  CHECK(decide(losses) == VerdictKind::messages);
  losses.drifting_s = losses.intermittent_s = 6;
  CHECK(decide(losses) == VerdictKind::uneven_lasting);
  losses.io_s = 63;
  CHECK(decide(losses) == VerdictKind::io);
}

TEST_CASE("What OpenMP's run-time library takes is lost by threads, as what they idle") {
  Losses losses = nothing_lost();
  losses.overhead_s = 30;
  CHECK(decide(losses) == VerdictKind::healthy);
  losses.threads_s = losses.threads_lost_s = 11;
  CHECK(decide(losses) == VerdictKind::threads_idle);
}

TEST_CASE("Small losses together are healthy up to a fifth of the run") {
  Losses losses = nothing_lost();
  losses.io_s = losses.messages_s = 20;
  losses.lasting_s = 39;
  CHECK(decide(losses) == VerdictKind::healthy);
  losses.lasting_s = 41;
  CHECK(decide(losses) == VerdictKind::uneven_lasting);
  losses.threads_lost_s = losses.intermittent_s = 18;
  losses.lasting_s = 21;
  CHECK(decide(losses) == VerdictKind::uneven_lasting);
}

TEST_CASE("One rank that is always late is lasting; ranks that are late in turns are drifting") {
  const Late always = who_is_late(map_of({1, 1, 1, 1, 1, 1, 1, 1}));
  CHECK(always.lasting_s == Approx(64));  // two others wait for 32 s each
  CHECK(always.drifting_s == Approx(0).margin(1e-9));
  const Late in_turns = who_is_late(map_of({0, 0, 0, 1, 1, 1, 2, 2}));
  CHECK(in_turns.lasting_s == Approx(4));  // rank 2 is late for 8 s, and the least: 64 - 3 * 20
  CHECK(in_turns.lasting_s + in_turns.drifting_s == Approx(64));
  CHECK(who_is_late({}).drifting_s == 0);
}

}  // namespace culprit::viewer::testing::verdict_test
