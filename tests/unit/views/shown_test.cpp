#include "views/shown.hpp"

#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/solver_sample.hpp"

#include <functional>

#include <catch2/catch.hpp>

namespace culprit::views::testing {
namespace {

struct Shower {
  SolverSample solver;
  Figures figures{solver.sample};
  CallingContext tree{figures};

  ShowOptions options() {
    ShowOptions result;
    result.sort = find_column(solver.sample.experiment(), "REALTIME");
    return result;
  }

  Shown operator()(const ShowOptions& options) { return show(tree, options, total(figures, options.sort)); }

  /// Labels in the order shown, indented.
  std::string lines(const Shown& shown) {
    std::string text;
    const std::function<void(const ShownNode&, std::size_t)> visit = [&](const ShownNode& node,
                                                                         std::size_t depth) {
      text += std::string(depth, ' ') + label(tree.frame(node.node)) + '\n';
      for (const ShownNode& child : node.children) visit(child, depth + 1);
    };
    for (const ShownNode& root : shown.roots) visit(root, 0);
    return text;
  }
};

std::size_t count(const std::vector<ShownNode>& nodes) {
  std::size_t sum = nodes.size();
  for (const ShownNode& node : nodes) sum += count(node.children);
  return sum;
}

}  // namespace

TEST_CASE("Without limits every node is shown, siblings by their figure") {
  Shower shower;
  const Shown shown = shower(shower.options());
  CHECK(count(shown.roots) == shower.solver.sample.experiment().contexts.size());
  const std::string text = shower.lines(shown);
  CHECK(text.find("spmv") < text.find("MPI_Allreduce"));
  CHECK(shown.below_minimum + shown.below_depth + shown.statements + shown.wait_internals == 0);
}

TEST_CASE("Folding leaves the frames that matter") {
  Shower shower;
  ShowOptions options = shower.options();
  options.fold_calls = options.hide_statements = options.hide_wait_internals = true;
  options.min_percent = 5;
  const Shown shown = shower(options);
  CHECK(shower.lines(shown) ==
        "<run>\n <program root>\n  main\n   cg_iterate\n    loop at solver.c:412\n     spmv\n"
        "      loop at spmv.c:90\n     dot(double const*, double const*, int)\n     MPI_Allreduce\n");
  CHECK(shown.below_minimum == 1);  // setup
  CHECK(shown.statements == 2);
  CHECK(shown.wait_internals == 1);
}

TEST_CASE("Depth counts frames, not call sites") {
  Shower shower;
  ShowOptions options = shower.options();
  options.depth = 3;
  const std::string with_calls = shower.lines(shower(options));
  CHECK(with_calls.find("cg_iterate") != std::string::npos);
  CHECK(with_calls.find("loop") == std::string::npos);
  options.fold_calls = true;
  const Shown folded = shower(options);
  CHECK(shower.lines(folded) == "<run>\n <program root>\n  main\n   cg_iterate\n   setup\n");
  CHECK(folded.below_depth == 2);
}

TEST_CASE("Focus keeps what leads to a match and what is below it") {
  Shower shower;
  ShowOptions options = shower.options();
  options.fold_calls = true;
  options.focus = "^sp.v$";
  const Shown shown = shower(options);
  CHECK(shower.lines(shown) ==
        "<run>\n <program root>\n  main\n   cg_iterate\n    loop at solver.c:412\n     spmv\n"
        "      loop at spmv.c:90\n       spmv.c:92\n");
  CHECK(shown.out_of_focus > 0);
  options.focus = "(";
  CHECK_THROWS_AS(shower(options), BadFocus);
}

TEST_CASE("The folded call site stays with its callee") {
  Shower shower;
  ShowOptions options = shower.options();
  options.fold_calls = true;
  const Shown shown = shower(options);
  const ShownNode& main = shown.roots.at(0).children.at(0).children.at(0);
  REQUIRE(main.children.at(0).call);
  CHECK(label(shower.tree.frame(*main.children.at(0).call)) == "call at main.c:31");
  CHECK_FALSE(main.call);
}

TEST_CASE("Callers are expanded no further than the depth asked for") {
  Shower shower;
  Callers callers(shower.figures);
  ShowOptions options = shower.options();
  options.depth = 1;
  options.focus = "spmv";
  const Shown shown = show(callers, options, 8000);
  REQUIRE(shown.roots.size() == 1);
  REQUIRE(shown.roots[0].children.size() == 1);
  CHECK(label(callers.frame(shown.roots[0].children[0].node)) == "cg_iterate");
  CHECK(shown.roots[0].children[0].children.empty());
}

}  // namespace culprit::views::testing
