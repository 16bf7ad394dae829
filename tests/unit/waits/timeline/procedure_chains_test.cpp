#include "waits/timeline/procedure_chains.hpp"

#include <catch2/catch.hpp>

namespace procedure_chains_test {

using namespace culprit::waits;

TEST_CASE("a chain of procedures is a call path without call sites and loops") {
  constexpr std::uint32_t kNone = CallPaths::kNone;
  // 0 root; 1 main; 2, 3 two loops in it; 4, 5 f called in each; 6 g called in the second; 7 f called by g.
  CallPaths paths;
  paths.parent = {kNone, 0, 1, 1, 2, 3, 3, 6};
  paths.procedure = {kNone, 10, kNone, kNone, 11, 11, 12, 11};
  const ProcedureChains chains(paths);
  CHECK(chains.of(0) == ProcedureChains::kRoot);
  CHECK(chains.of(2) == chains.of(1));
  CHECK(chains.of(4) == chains.of(5));
  CHECK(chains.of(7) != chains.of(5));
  CHECK(chains.parent(chains.of(7)) == chains.of(6));
  CHECK(chains.common(chains.of(7), chains.of(5)) == chains.of(1));
  CHECK(chains.common(chains.of(7), chains.of(6)) == chains.of(6));
}

TEST_CASE("without a tree each call path is a chain of its own") {
  const ProcedureChains chains;
  CHECK(chains.of(3) != chains.of(4));
  CHECK(chains.parent(chains.of(3)) == ProcedureChains::kRoot);
  CHECK(chains.common(chains.of(3), chains.of(4)) == ProcedureChains::kRoot);
}

}  // namespace procedure_chains_test
