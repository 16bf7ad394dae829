// Views opened, closed and searched by hand.
#include "views/outline.hpp"

#include "views/calling_context.hpp"
#include "views/flat.hpp"
#include "views/solver_sample.hpp"

#include <catch2/catch.hpp>

namespace culprit::views::testing::outline_test {
namespace {

struct Opened {
  SolverSample solver;
  Figures figures{solver.sample};
  CallingContext tree{figures};

  OutlineOptions options(const char* sort = "REALTIME") {
    OutlineOptions result;
    result.sort = find_column(solver.sample.experiment(), sort);
    result.size = result.sort;
    result.passed_over = {.fold_calls = true, .statements = true, .start_up = true, .wait_internals = true};
    return result;
  }

  /// Labels of the rows, indented.
  std::string rows(const Outline& outline) {
    std::string text;
    for (const Outline::Item* const item : outline.rows())
      text += std::string(item->depth, ' ') + label(tree.frame(item->node)) + '\n';
    return text;
  }
};

}  // namespace

TEST_CASE("An outline opens chains at once and stops where there is a choice") {
  Opened opened;
  Outline outline(opened.tree, opened.options());
  CHECK(opened.rows(outline) == "<run>\n");
  outline.open(*outline.rows().front());
  CHECK(opened.rows(outline) == "<run>\n<program root>\nmain\n cg_iterate\n setup\n");
  outline.close(*outline.rows().front());
  CHECK(outline.rows().size() == 1);
}

TEST_CASE("The hot path is opened as far as one child keeps half") {
  Opened opened;
  Outline outline(opened.tree, opened.options());
  const Outline::Item& end = outline.open_hot_path(*outline.rows().front());
  CHECK(label(opened.tree.frame(end.node)) == "loop at spmv.c:90");
  CHECK(outline.row_of(&end) < outline.rows().size());
}

TEST_CASE("A hidden node is revealed with its way opened; what is passed over by the nearest node above") {
  Opened opened;
  Outline outline(opened.tree, opened.options());
  const Outline::Item* const found = outline.reveal(opened.solver.allreduce);
  REQUIRE(found != nullptr);
  CHECK(found->node == opened.solver.allreduce);
  CHECK(outline.row_of(found) < outline.rows().size());
  const Outline::Item* const inside = outline.reveal(opened.solver.progress);
  REQUIRE(inside != nullptr);
  CHECK(inside->node == opened.solver.allreduce);
}

TEST_CASE("Sorting keeps what is open and orders siblings") {
  Opened opened;
  Outline outline(opened.tree, opened.options());
  outline.reveal(opened.solver.allreduce);
  const std::size_t rows = outline.rows().size();
  outline.sort_by(find_column(opened.solver.sample.experiment(), "idleness"), false);
  CHECK(outline.rows().size() == rows);
  const auto row = [&](database::ContextId context) { return outline.row_of(outline.reveal(context)); };
  CHECK(row(opened.solver.allreduce) < row(opened.solver.spmv));
  outline.sort_by(find_column(opened.solver.sample.experiment(), "idleness"), true);
  CHECK(row(opened.solver.allreduce) > row(opened.solver.spmv));
}

TEST_CASE("A search finds in the order of the rows, forwards and backwards, without opening anything else") {
  Opened opened;
  Outline outline(opened.tree, opened.options());
  Search search(opened.tree, "spmv", opened.options().passed_over);
  while (search.step(1)) continue;
  CHECK(search.found() == 2);
  Outline::Item* const first = outline.find(search, nullptr, false);
  REQUIRE(first != nullptr);
  CHECK(first->node == opened.solver.spmv);
  Outline::Item* const second = outline.find(search, first, false);
  REQUIRE(second != nullptr);
  CHECK(second->node == opened.solver.spmv_loop);
  CHECK(outline.find(search, second, false) == nullptr);
  CHECK(outline.find(search, second, true) == first);
  CHECK(outline.find(search, first, true) == nullptr);
  CHECK(outline.find(search, nullptr, true) == second);
}

TEST_CASE("Case matters where the pattern has a capital letter; a bad pattern is refused") {
  Opened opened;
  Search any(opened.tree, "mpi_allreduce", {});
  while (any.step(1000)) continue;
  CHECK(any.found() == 1);
  Search exact(opened.tree, "Mpi_allreduce", {});
  while (exact.step(1000)) continue;
  CHECK(exact.found() == 0);
  CHECK_THROWS_AS(Search(opened.tree, "(", {}), BadPattern);
}

TEST_CASE("A filter and a threshold leave out branches") {
  Opened opened;
  Search filter(opened.tree, "allreduce", opened.options().passed_over);
  while (filter.step(1000)) continue;
  OutlineOptions options = opened.options();
  options.filter = &filter;
  Outline filtered(opened.tree, options);
  filtered.open_below(*filtered.rows().front(), 64, 1000);
  CHECK(opened.rows(filtered) ==
        "<run>\n<program root>\nmain\ncg_iterate\nloop at solver.c:412\nMPI_Allreduce\n");
  options.filter = nullptr;
  options.least = 1000;  // seconds, of 8000
  Outline large(opened.tree, options);
  large.open_below(*large.rows().front(), 64, 1000);
  CHECK(opened.rows(large).find("setup") == std::string::npos);
  CHECK(opened.rows(large).find("spmv") != std::string::npos);
}

TEST_CASE("Opening everything stops at a number of rows") {
  Opened opened;
  Outline outline(opened.tree, opened.options());
  outline.open_below(*outline.rows().front(), 64, 4);
  CHECK(outline.rows().size() <= 4);
}

TEST_CASE("Numbered nodes of a view are its tree in pre-order") {
  Opened opened;
  Flat flat(opened.figures);
  for (View* const view : {static_cast<View*>(&opened.tree), static_cast<View*>(&flat)}) {
    for (NodeId node = 1; node < view->numbered(); ++node) {
      for (const NodeId child : view->children(node)) {
        CHECK(view->parent(child) == node);
        CHECK(child < view->subtree_end(node));
        CHECK(view->subtree_end(child) <= view->subtree_end(node));
      }
    }
  }
}

}  // namespace culprit::views::testing::outline_test
