#include "views/frame.hpp"

#include "views/solver_sample.hpp"

#include <catch2/catch.hpp>

namespace culprit::views::testing {

using database::ContextKind;

TEST_CASE("Every kind of frame has a label, with and without what is known") {
  CHECK(label({"", "/a/b.c", 12, "", ContextKind::loop}) == "loop at b.c:12");
  CHECK(label({"", "", 0, "", ContextKind::loop}) == "loop");
  CHECK(label({"libb.so@0x1a40", "", 0, "/lib/libb.so", ContextKind::loop}) == "loop at libb.so@0x1a40");
  CHECK(label({"", "/a/b.c", 12, "", ContextKind::call}) == "call at b.c:12");
  CHECK(label({"", "", 0, "/lib/libm.so.6", ContextKind::statement}) == "<libm.so.6>");
  CHECK(label({"", "b.c", 3, "", ContextKind::statement}) == "b.c:3");
  CHECK(label({"", "/lib/mpi4py/__init__.py", 3, "", ContextKind::statement}) == "mpi4py/__init__.py:3");
  CHECK(label({"", "__init__.py", 3, "", ContextKind::statement}) == "__init__.py:3");
  CHECK(label({"", "/__init__.py", 3, "", ContextKind::statement}) == "/__init__.py:3");
  CHECK(label({"", "/lib/my__init__.py", 3, "", ContextKind::statement}) == "my__init__.py:3");
  CHECK(label({"", "", 0, "/lib/libm.so.6", ContextKind::module}) == "libm.so.6");
  CHECK(label({"", "/a/b.c", 0, "", ContextKind::file}) == "b.c");
  CHECK(label({"", "", 0, "", ContextKind::file}) == "<unknown file>");
  CHECK(label({"", "", 0, "", ContextKind::root}) == "<run>");
  CHECK(label({"f", "", 0, "", ContextKind::procedure}) == "f");
  CHECK(label({"", "", 0, "", ContextKind::procedure}) == "<unknown procedure>");
  CHECK(kind_name(ContextKind::thread_root) == "thread-root");
  CHECK(kind_name(ContextKind::statement) == "statement");
}

TEST_CASE("A path runs from the super-root to the context") {
  const SolverSample solver;
  const std::vector<database::ContextId> path = path_to(solver.sample.experiment(), solver.main);
  CHECK(path == std::vector<database::ContextId>{0, solver.program, solver.main});
}

}  // namespace culprit::views::testing
