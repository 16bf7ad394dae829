#include "waits/causes/code_of_lines.hpp"

#include "causes/sampled_program.hpp"
#include "exchange/threads.hpp"

#include <map>
#include <mutex>
#include <set>

#include <catch2/catch.hpp>

namespace code_of_lines_test {

using namespace culprit;
using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

/// Six ranks: 0 to 2 run f, whose part b takes rank 1 longer, where the others run g; rank 5 runs neither.
ScriptedRun program_run(std::uint32_t& part) {
  SampledProgram program(6, 3);
  for (int iteration = 0; iteration < 50; ++iteration) {
    for (std::int32_t rank = 0; rank < 6; ++rank) {
      program.compute(rank, "common", 20);
      if (rank < 3) program.compute(rank, "f/a", 20);
      if (rank < 3) program.compute(rank, "f/b", rank == 1 ? 30 : 20);
      if (rank == 3 || rank == 4) program.compute(rank, "g", 40);
    }
    program.barrier();
  }
  part = program.path_of("f/b");
  return program.run();
}

}  // namespace

TEST_CASE("lines that run the same code are of one kind, on however many analysts") {
  std::uint32_t part = 0;
  const ScriptedRun run = program_run(part);
  std::map<std::int32_t, std::uint32_t> first;
  for (const int analysts : {1, 2, 5}) {
    std::map<std::int32_t, std::uint32_t> kinds;
    std::mutex mutex;
    exchange::run_on_threads(analysts, [&](exchange::Communicator& analysis) {
      const auto own = traces(run, analysis);
      const RankMap rank_map(analysis, own);
      const Matched matched = match_traces(analysis, rank_map, own);
      const ProcedureChains chains(run.paths);
      const CodeOfLines code(analysis, matched.store, chains);
      const std::lock_guard lock(mutex);
      for (const TimeLine& line : matched.store.lines()) {
        kinds[rank_map.rank_of(line.location)] = code.kind(line.location);
        const double surplus = code.surplus(line.location, chains.of(part));
        CHECK(surplus == Approx(rank_map.rank_of(line.location) == 1 ? 1. / 3 : 0).margin(0.06));
      }
    });
    CHECK(kinds[0] == kinds[1]);
    CHECK(kinds[0] == kinds[2]);
    CHECK(kinds[3] == kinds[4]);
    CHECK(std::set{kinds[0], kinds[3], kinds[5]}.size() == 3);
    if (first.empty()) first = kinds;
    CHECK(kinds == first);
  }
}

TEST_CASE("without a tree, and without samples, all lines are of one kind") {
  const CodeOfLines unknown;
  CHECK(unknown.kind(0) == 0);
  CHECK(unknown.surplus(0, 0) == 0);
}

}  // namespace code_of_lines_test
