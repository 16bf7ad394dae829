#include "merge/timelines/region_paths.hpp"

#include <cstdint>
#include <initializer_list>

#include <catch2/catch.hpp>

namespace culprit::merge::testing::region_paths_test {
namespace {

using database::ContextId;
using database::ContextKind;

/// Contexts of two threads. Each has the number of its flat scope; the same number is the same code.
struct Threads {
  Shape shape;

  Threads() { shape.contexts.emplace_back(); }
  ContextId add(ContextId parent, ContextKind kind, database::FlatId flat, bool library = false) {
    Shape::Scope scope;
    scope.parent = parent;
    scope.kind = kind;
    scope.flat = flat;
    scope.in_thread_library = library ? 1 : 0;
    shape.contexts.push_back(scope);
    return static_cast<ContextId>(shape.contexts.size() - 1);
  }
  ContextId call(ContextId parent, database::FlatId procedure, bool library = false) {
    return add(add(parent, ContextKind::call, database::kNone, library), ContextKind::procedure, procedure,
               library);
  }
};

enum : database::FlatId { kMain, kParallel, kWait, kStart, kRegion, kOther, kWork, kRare, kLoop, kUncalled };

}  // namespace

TEST_CASE("a worker's code is shown below the call that opened its region") {
  Threads threads;
  const ContextId program = threads.add(0, ContextKind::root, database::kNone);
  const ContextId main = threads.call(program, kMain);
  const ContextId parallel = threads.call(main, kParallel, true);
  const ContextId waiting = threads.call(parallel, kWait, true);
  const ContextId region = threads.call(parallel, kRegion);
  const ContextId barrier = threads.call(region, kWait, true);
  const ContextId loop = threads.add(region, ContextKind::loop, kLoop);
  const ContextId work = threads.call(loop, kWork);
  const ContextId other_parallel = threads.call(main, kParallel, true);
  const ContextId other_waiting = threads.call(other_parallel, kWait, true);
  const ContextId other = threads.call(other_parallel, kOther);

  const ContextId thread = threads.add(0, ContextKind::thread_root, database::kNone);
  const ContextId start = threads.call(thread, kStart, true);
  const ContextId workers_region = threads.call(start, kRegion);
  const ContextId workers_loop = threads.add(workers_region, ContextKind::loop, kLoop);
  const ContextId workers_work = threads.call(workers_loop, kWork);
  const ContextId rare = threads.call(workers_region, kRare);
  const ContextId workers_other = threads.call(start, kOther);
  const ContextId uncalled = threads.call(start, kUncalled);

  RegionPaths paths(threads.shape);
  CHECK(paths.beside(waiting, workers_work)->context == work);
  CHECK(paths.beside(barrier, workers_work)->context == work);  // within the region, too
  CHECK(paths.beside(waiting, workers_region)->context == region);
  CHECK(paths.beside(other_waiting, workers_other)->context == other);
  SECTION("that the waiting thread was never sampled in") {
    REQUIRE(paths.beside(waiting, rare));
    CHECK(paths.beside(waiting, rare)->context == rare);
    CHECK(paths.beside(waiting, rare)->of_region);
  }
  SECTION("of another region") {
    CHECK_FALSE(paths.beside(waiting, workers_other));
    CHECK_FALSE(paths.beside(other_waiting, workers_work));
  }
  SECTION("that no library calls where somebody waits") {
    REQUIRE(paths.beside(waiting, uncalled));
    CHECK(paths.beside(waiting, uncalled)->context == uncalled);
    CHECK_FALSE(paths.beside(waiting, uncalled)->of_region);
  }
}

TEST_CASE("a parallel region is the function that a library runs for its caller") {
  Threads threads;
  const ContextId program = threads.add(0, ContextKind::root, database::kNone);
  const ContextId main = threads.call(program, kMain);
  const ContextId call = threads.add(main, ContextKind::call, database::kNone);
  const ContextId parallel = threads.add(call, ContextKind::procedure, kParallel, true);
  const ContextId waiting = threads.call(parallel, kWait, true);
  const ContextId task = threads.call(waiting, kOther);
  RegionPaths none_yet(threads.shape);
  CHECK(none_yet.run_for(call) == task);  // nothing else was sampled
  const ContextId region = threads.call(parallel, kRegion);
  RegionPaths paths(threads.shape);
  CHECK(paths.run_for(call) == region);     // libgomp: the region ends where it was called
  CHECK(paths.run_for(waiting) == region);  // libomp: within the library
  const ContextId elsewhere = threads.add(main, ContextKind::call, database::kNone);
  CHECK(RegionPaths(threads.shape).run_for(elsewhere) == 0);
  SECTION("or that calls the others, which it left the stack to by jumps") {
    threads.call(region, kWork);
    threads.call(parallel, kWork);
    CHECK(RegionPaths(threads.shape).run_for(call) == region);
  }
  SECTION("unless the library runs several for it") {
    threads.call(parallel, kWork);
    CHECK(RegionPaths(threads.shape).run_for(call) == 0);
  }
}

TEST_CASE("a marked region is the innermost around its end") {
  Threads threads;
  const ContextId program = threads.add(0, ContextKind::root, database::kNone);
  const ContextId outer = threads.add(program, ContextKind::region, database::kNone);
  const ContextId main = threads.call(outer, kMain);
  const ContextId inner = threads.add(threads.add(main, ContextKind::call, database::kNone),
                                      ContextKind::region, database::kNone);
  const ContextId work = threads.add(inner, ContextKind::procedure, kWork);
  const RegionPaths paths(threads.shape);
  CHECK(paths.marked_around(work) == inner);
  CHECK(paths.marked_around(main) == outer);
  CHECK(paths.marked_around(program) == 0);
}

}  // namespace culprit::merge::testing::region_paths_test
