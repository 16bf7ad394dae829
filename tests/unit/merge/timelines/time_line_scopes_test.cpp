#include "merge/timelines/time_line_scopes.hpp"

#include <catch2/catch.hpp>

namespace time_line_scopes_test {

using namespace culprit;
using culprit::merge::Shape;
using database::ContextId;
using database::ContextKind;
using waits::PathOfRegion;
using waits::Region;

namespace {

constexpr auto kMpi = measurement::WaitKind::mpi;

// 0 root → 1 main → { 2 call → 3 MPI_Recv → 4 statement;
//                     5 loop → { 6 call → 7 step → { 8 statement, 9 call → 10 MPI_Send → 11 a callback },
//                                12 call → 13 MPI_Send → 14 statement } }
Shape shape() {
  Shape made;
  made.contexts = {{},
                   {.parent = 0, .flat = 1, .kind = ContextKind::procedure},
                   {.parent = 1, .kind = ContextKind::call},
                   {.parent = 2, .flat = 2, .kind = ContextKind::procedure, .wait = kMpi},
                   {.parent = 3, .flat = 3, .kind = ContextKind::statement, .wait = kMpi},
                   {.parent = 1, .flat = 4, .kind = ContextKind::loop},
                   {.parent = 5, .kind = ContextKind::call},
                   {.parent = 6, .flat = 5, .kind = ContextKind::procedure},
                   {.parent = 7, .flat = 6, .kind = ContextKind::statement},
                   {.parent = 7, .kind = ContextKind::call},
                   {.parent = 9, .flat = 7, .kind = ContextKind::procedure, .wait = kMpi},
                   {.parent = 10, .flat = 8, .kind = ContextKind::procedure, .wait = kMpi},
                   {.parent = 5, .kind = ContextKind::call},
                   {.parent = 12, .flat = 7, .kind = ContextKind::procedure, .wait = kMpi},
                   {.parent = 13, .flat = 9, .kind = ContextKind::statement, .wait = kMpi}};
  made.flat.resize(10);
  return made;
}

PathOfRegion between(std::uint32_t previous, std::uint32_t next) {
  return {.context = PathOfRegion::kBetween, .region = {previous, next}};
}

}  // namespace

TEST_CASE("calls are shown at the outermost frame of communication, whatever is below it") {
  CHECK(merge::call_scope(shape(), 4) == 3);
  CHECK(merge::call_scope(shape(), 11) == 10);
  CHECK(merge::call_scope(shape(), 8) == 8);
  CHECK(merge::scope_of(shape(), {.context = 14, .region = {}}) == database::TimedScope{13, false});
}

TEST_CASE("what was not sampled between two calls is shown at the innermost scope around both") {
  CHECK(merge::around_both(shape(), 8, 10) == 7);
  CHECK(merge::around_both(shape(), 8, 13) == 5);
  CHECK(merge::around_both(shape(), 4, 14) == 1);
  CHECK(merge::around_both(shape(), 9, 9) == 7);  // no call site
  CHECK(merge::scope_of(shape(), between(11, 14)) == database::TimedScope{5, true});
  CHECK(merge::scope_of(shape(), between(4, 11)) == database::TimedScope{1, true});
  CHECK(merge::scope_of(shape(), between(Region::kStart, 11)) == database::TimedScope{7, true});
}

TEST_CASE("variation looks at the program's procedures and loops, none of them in communication") {
  const waits::CallPaths paths = merge::call_paths(shape());
  CHECK(paths.parent[7] == 6);
  CHECK(paths.procedure[1] == 1);
  CHECK(paths.procedure[7] == 5);
  CHECK(paths.procedure[5] == 10 + 5);  // behind all procedures
  for (const ContextId none : {0, 3, 8, 11}) CHECK(paths.procedure[none] == waits::CallPaths::kNone);
}

TEST_CASE("hot procedures are the frames that enclose a context, up to communication's own") {
  const std::vector<std::uint32_t> procedures = merge::enclosing_procedures(shape());
  CHECK(procedures == std::vector<std::uint32_t>{0, 1, 1, 3, 3, 1, 1, 7, 7, 7, 10, 10, 1, 13, 13});
}

}  // namespace time_line_scopes_test
