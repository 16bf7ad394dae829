// Which share of all waiting is charged to the code that causes it, on programs whose causes are known: 4 to
// 6 ranks, samples every 5 ms, 2 % noise (docs/waits.md has the table).
#include "causes/sampled_program.hpp"

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace cause_scenarios_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

using Causes = std::vector<std::pair<std::int32_t, std::string>>;

struct Scenario {
  const char* name;
  std::int32_t ranks;
  int iterations;
  void (*iteration)(SampledProgram&, int);
  Causes causes;
  double least;  ///< share of the cost on the causes
};

void everybody(SampledProgram& program, const char* chain, double ms) {
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) program.compute(rank, chain, ms);
}

/// All have 300 ms of work in common; rank 0 does more before it sends, rank 1 before it sends on.
void asymmetric_calls(SampledProgram& program, int /*iteration*/) {
  everybody(program, "common", 60);
  program.compute(0, "second", 20);
  program.send(0, 1);
  program.receive(1, 0);
  program.compute(1, "third", 10);
  program.send(1, 2);
  program.receive(2, 1);
}

/// Rank 0 works in another procedure than the others, equally long, and a little more in a third.
void special_rank(SampledProgram& program, int /*iteration*/) {
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank)
    program.compute(rank, rank == 0 ? "f" : "g", 50);
  program.compute(0, "h", 5);
  program.allreduce();
}

/// Even ranks send first, odd ranks receive first, and both work between the calls.
void parity(SampledProgram& program, int /*iteration*/) {
  everybody(program, "work", 20);
  program.compute(2, "extra", 4);
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
    const std::int32_t partner = rank ^ 1;
    if (rank % 2 == 0) {
      program.send(rank, partner);
      program.compute(rank, "work", 10);
      program.receive(rank, partner);
    } else {
      program.receive(rank, partner);
      program.compute(rank, "work", 10);
      program.send(rank, partner);
    }
  }
}

/// Rank 0 works as the others do, but collects their results one by one, and merges them.
void master(SampledProgram& program, int /*iteration*/) {
  everybody(program, "work", 40);
  for (std::int32_t worker = 1; worker < program.ranks(); ++worker) {
    program.send(worker, 0);
    program.receive(0, worker);
    program.compute(0, "merge", 3);
  }
  for (std::int32_t worker = 1; worker < program.ranks(); ++worker) {
    program.send(0, worker);
    program.receive(worker, 0);
  }
}

/// Ranks 0 and 1 are late by turns.
void alternating(SampledProgram& program, int iteration) {
  everybody(program, "work", 20);
  program.compute(iteration % 2, "extra", 5);
  program.barrier();
}

/// Every twentieth iteration takes rank 1 longer.
void rare(SampledProgram& program, int iteration) {
  everybody(program, "work", 20);
  if (iteration % 20 == 7) program.compute(1, "refine", 30);
  program.barrier();
}

void gaps_of_1_ms(SampledProgram& program, int /*iteration*/) {
  everybody(program, "work", 0.8);
  program.compute(1, "extra", 0.2);
  program.barrier();
}

/// Two ranks cause waits by two procedures before two calls.
void two_causes(SampledProgram& program, int /*iteration*/) {
  everybody(program, "work", 20);
  program.compute(0, "first", 6);
  program.barrier();
  everybody(program, "work", 20);
  program.compute(1, "second", 3);
  program.allreduce();
}

/// A ring of neighbours; one is slow.
void halo(SampledProgram& program, int /*iteration*/) {
  const std::int32_t n = program.ranks();
  everybody(program, "work", 20);
  program.compute(2, "extra", 4);
  for (std::int32_t rank = 0; rank < n; ++rank) {
    program.send(rank, (rank + 1) % n);
    program.send(rank, (rank + n - 1) % n);
  }
  for (std::int32_t rank = 0; rank < n; ++rank) {
    program.receive(rank, (rank + n - 1) % n);
    program.receive(rank, (rank + 1) % n);
  }
}

/// Eight procedures take the same on all ranks; a ninth takes rank 1 3 % more.
void among_eight(SampledProgram& program, int /*iteration*/) {
  for (const char* chain : {"a", "b", "c", "d", "e", "f", "g", "h"}) everybody(program, chain, 6.25);
  program.compute(1, "cause", 1.5);
  program.barrier();
}

/// On rank 0 f stands for the others' g, beside which it has e.
void alternative(SampledProgram& program, int /*iteration*/) {
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank)
    program.compute(rank, rank == 0 ? "f" : "g", 50);
  program.compute(0, "e", 10);
  program.barrier();
}

/// Rank 0 runs a slow f where the others run a fast g.
void slow_alternative(SampledProgram& program, int /*iteration*/) {
  everybody(program, "work", 20);
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank)
    program.compute(rank, rank == 0 ? "f" : "g", rank == 0 ? 30 : 20);
  program.barrier();
}

/// Two parts of one procedure take rank 1 longer, a third does not.
void below_one_caller(SampledProgram& program, int /*iteration*/) {
  everybody(program, "solve/a", 10);
  everybody(program, "solve/b", 10);
  everybody(program, "solve/c", 20);
  program.compute(1, "solve/a", 5);
  program.compute(1, "solve/b", 4);
  program.barrier("solve");
}

/// All procedures work in one helper; on rank 1 smooth calls it for longer.
void shared_helper(SampledProgram& program, int /*iteration*/) {
  everybody(program, "assemble/helper", 15);
  everybody(program, "smooth/helper", 15);
  program.compute(1, "smooth/helper", 5);
  everybody(program, "output/helper", 15);
  program.barrier();
}

/// Sweeps along the ranks; rank 1 is slow. What fill and drain cost has no delay.
void pipeline(SampledProgram& program, int iteration) {
  const std::int32_t n = program.ranks();
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t rank = iteration % 2 == 0 ? i : n - 1 - i;
    if (i > 0) program.receive(rank, iteration % 2 == 0 ? rank - 1 : rank + 1);
    for (int stage = 0; stage < 4; ++stage) program.compute(rank, "sweep", 5);
    if (rank == 1) program.compute(rank, "fixup", 8);
    if (i + 1 < n) program.send(rank, iteration % 2 == 0 ? rank + 1 : rank - 1);
  }
}

/// One procedure on rank 0 takes longer, another one less: samples of sums cannot tell which of them matters.
void compensation(SampledProgram& program, int /*iteration*/) {
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
    program.compute(rank, "f", rank == 0 ? 30 : 20);
    program.compute(rank, "g", rank == 0 ? 15 : 20);
  }
  program.compute(0, "h", 3);
  program.barrier();
}

/// A procedure in many small parts takes rank 1 a fifth longer.
void many_parts(SampledProgram& program, int /*iteration*/) {
  everybody(program, "other", 30);
  for (const char* chain : {"f/a", "f/b", "f/c", "f/d", "f/e", "f/f"}) {
    everybody(program, chain, 3);
    program.compute(1, chain, 0.6);
  }
  program.barrier();
}

/// A serial section on rank 0; rank 2 is the root of a broadcast, which rank 0 holds up. The root then comes
/// last to the next collective: as if it delayed all, if it had not been held up.
void held_up_root(SampledProgram& program, int /*iteration*/) {
  everybody(program, "work", 30);
  program.compute(0, "serial", 10);
  program.broadcast(2, true);
  program.allreduce();
}

/// The same where rank 1 gets its data through rank 0.
void held_up_in_a_tree(SampledProgram& program, int /*iteration*/) {
  everybody(program, "work", 30);
  program.compute(0, "serial", 10);
  program.broadcast_through(2, 0, 1);
  program.allreduce();
}

/// Ranks 0 to 2 run f where the others run g; rank 0 takes longer in a third procedure. Of those who wait for
/// it some run what it runs, some do not.
void waiters_of_two_kinds(SampledProgram& program, int /*iteration*/) {
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) program.compute(rank, rank < 3 ? "f" : "g", 40);
  everybody(program, "h", 10);
  program.compute(0, "h", 8);
  program.allreduce();
}

/// The first ranks run f, in three parts, the others g for as long.
void f_or_g(SampledProgram& program) {
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
    if (rank >= 3) {
      program.compute(rank, "g", 60);
      continue;
    }
    for (const char* part : {"f/a", "f/b", "f/c"}) program.compute(rank, part, 20);
  }
}

/// Ranks 0 to 2 run f, in three parts, where the others run g; one of the parts takes rank 0 longer.
void part_of_an_alternative(SampledProgram& program, int /*iteration*/) {
  f_or_g(program);
  program.compute(0, "f/b", 8);
  program.allreduce();
}

/// The same, but the part is late by a procedure of its own, as inlined code is, that nobody else runs.
void lone_part_of_an_alternative(SampledProgram& program, int /*iteration*/) {
  f_or_g(program);
  program.compute(0, "f/b/inlined", 8);
  program.allreduce();
}

/// A part of an alternative, of which f takes longer than g by itself.
void part_of_a_slow_alternative(SampledProgram& program, int iteration) {
  for (const std::int32_t rank : {0, 1, 2}) program.compute(rank, "f/c", 6);
  part_of_an_alternative(program, iteration);
}

const std::vector<Scenario> kScenarios = {
    {"calls that differ from rank to rank", 3, 60, asymmetric_calls, {{0, "second"}, {1, "third"}}, 0.95},
    {"a special rank 0", 4, 100, special_rank, {{0, "h"}}, 0.95},
    {"even and odd ranks", 4, 150, parity, {{2, "extra"}}, 0.78},
    {"a master that also works", 4, 100, master, {{0, "merge"}}, 0.85},
    {"late by turns", 4, 250, alternating, {{0, "extra"}, {1, "extra"}}, 0.95},
    {"rare iterations", 4, 250, rare, {{1, "refine"}}, 0.72},
    {"gaps of 1 ms", 4, 5000, gaps_of_1_ms, {{1, "extra"}}, 0.95},
    {"two causes", 4, 120, two_causes, {{0, "first"}, {1, "second"}}, 0.95},
    {"halo", 6, 250, halo, {{2, "extra"}}, 0.88},
    {"3 % between eight equal procedures", 4, 20, among_eight, {{1, "cause"}}, 0.9},
    {"the same on 32 ranks", 32, 20, among_eight, {{1, "cause"}}, 0.9},
    {"an alternative and more", 4, 100, alternative, {{0, "e"}}, 0.95},
    {"a slow alternative", 4, 120, slow_alternative, {{0, "f"}}, 0.95},
    {"two causes below one caller", 4, 120, below_one_caller, {{1, "solve/a"}, {1, "solve/b"}}, 0.95},
    {"a helper that all share", 4, 120, shared_helper, {{1, "smooth"}}, 0.95},
    {"a procedure in many small parts", 4, 100, many_parts, {{1, "f"}}, 0.95},
    {"a pipeline", 4, 60, pipeline, {{1, "fixup"}}, 0},
    {"a root that is held up", 4, 120, held_up_root, {{0, "serial"}}, 0.95},
    {"a late rank in a broadcast's tree", 4, 120, held_up_in_a_tree, {{0, "serial"}}, 0.95},
    {"waiters of two kinds", 6, 120, waiters_of_two_kinds, {{0, "h"}}, 0.95},
    {"a part of an alternative", 6, 120, part_of_an_alternative, {{0, "f/b"}}, 0.95},
    {"a lone part of an alternative", 6, 120, lone_part_of_an_alternative, {{0, "f/b/inlined"}}, 0.95},
    {"a part of a slow alternative", 6, 120, part_of_a_slow_alternative, {{0, "f/b"}}, 0.5},
    {"compensation", 4, 100, compensation, {{0, "f"}}, 0},
};

/// The mean over several seeds.
double share_of(const Scenario& scenario, int seeds = 5) {
  double sum = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    SampledProgram program(scenario.ranks, static_cast<std::uint64_t>(seed));
    for (int i = 0; i < scenario.iterations; ++i) scenario.iteration(program, i);
    const ScriptedRun run = program.run();
    sum += share_of(analyse(run), program, run.paths, scenario.causes);
  }
  return sum / seeds;
}

}  // namespace

TEST_CASE("causes of sampled programs are the same for any number of analysts, and all of the waiting") {
  for (const Scenario& scenario : kScenarios) {
    if (scenario.iterations > 300) continue;
    SampledProgram program(scenario.ranks, 7);
    for (int i = 0; i < scenario.iterations / 4; ++i) scenario.iteration(program, i);
    const ScriptedRun run = program.run();
    const Found first = analyse(run, 1);
    std::uint64_t waiting = 0, costs = first.delays.unattributed_ns;
    for (const FoundWait& wait : first.waits) waiting += is_whole_wait(wait.pattern) ? wait.ns : 0;
    for (const DelayCost& cost : first.delays.costs) costs += cost.short_term_ns + cost.long_term_ns;
    INFO(scenario.name);
    CHECK(costs == waiting);
    for (const Found& other : {analyse(run, 2), analyse(run, 3, 1), analyse(run, 5, 10, {}, 1)}) {
      CHECK(other.delays.costs == first.delays.costs);
      CHECK(other.hotspots == first.hotspots);
    }
  }
}

TEST_CASE("most of the waiting is charged to the code that causes it, however the ranks differ") {
  for (const Scenario& scenario : kScenarios) {
    const double share = share_of(scenario);
    std::printf("%-40s %3.0f %%\n", scenario.name, 100 * share);
    INFO(scenario.name << ": " << share);
    CHECK(share >= scenario.least);
  }
}

// A sample of a sleep is many in one. Of a line of sleeps alone, one would look like chance.
TEST_CASE("one sample of a whole sleep is enough to charge it") {
  SampledProgram program(2, 7);
  for (const double work_ms : {20, 10}) {
    program.compute(1, "work", work_ms);
    program.sleep(0, "nap", 20);
    program.barrier();
  }
  const ScriptedRun run = program.run();
  CHECK(share_of(analyse(run), program, run.paths, {{0, "nap"}}) > 0.95);
}

}  // namespace cause_scenarios_test
