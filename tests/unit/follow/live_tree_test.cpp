#include "follow/live_tree.hpp"

#include <catch2/catch.hpp>

namespace live_tree_test {

using namespace culprit::follow;

namespace {

Step step(Code& code, const char* name, bool python, bool interpreter = false) {
  Procedure made;
  made.name = name;
  made.python = python;
  made.of_program = python;
  made.interpreter = interpreter;
  return {.procedure = code.add(made), .line = 7};
}

}  // namespace

TEST_CASE("sentences name Python functions, not what they call of C, nor the interpreter") {
  Code code;
  LiveTree tree(code);
  const Step start = step(code, "Py_RunMain", false);
  const Step solve = step(code, "Solver.solve", true);
  const Step interpreter = step(code, "_PyEval_EvalFrameDefault", false, true);
  const Step norm = step(code, "norm", true);
  const Step product = step(code, "cblas_ddot", false);
  const Step path[] = {start, solve, interpreter, norm, interpreter, product};
  const Place place = tree.enter(tree.root(), path);
  CHECK(tree.spots()[place.spot].procedure == norm.procedure);
  CHECK(tree.nodes()[place.node].procedure == product.procedure);
  CHECK(tree.nodes()[place.node].depth == 4);
  const Step outside[] = {start, product};
  CHECK(tree.spots()[tree.enter(tree.root(), outside).spot].procedure == product.procedure);
}

}  // namespace live_tree_test
