// Several nodes as one row: recursion, the insides of std::, and what no sample met.
#include "views/folding.hpp"

#include "views/calling_context.hpp"
#include "views/outline.hpp"
#include "views/sample_experiment.hpp"

#include <catch2/catch.hpp>

namespace culprit::views::testing {
namespace {

using database::ContextId;
using database::ContextKind;

/// main calls walk, which calls itself from a loop, and std::sort, which calls a comparison of main's file;
/// and MPI_Isend at three places where no sample met it.
struct Nested {
  SampleExperiment sample{{"REALTIME"}};
  ContextId main = 0, inner_walk = 0, inner_leaf = 0, inner_compare = 0, introsort = 0, inner_loop = 0;

  Nested() {
    const std::uint32_t location = sample.add_location(0, 0, sample.add_role("main"));
    std::uint64_t ms = 1'000'000;
    const auto statement = [&](ContextId parent, std::uint64_t value) {
      sample.set(sample.add(parent, {ContextKind::statement, "", "a.cpp", 1}), 0, location, value * ms);
    };
    const auto procedure = [&](ContextId parent, const char* name, const char* file = "a.cpp") {
      return sample.add(parent, {ContextKind::procedure, name, file, 10});
    };
    const auto loop = [&](ContextId parent, const char* file = "a.cpp") {
      return sample.add(parent, {ContextKind::loop, "", file, 11});
    };
    main = procedure(sample.add(0, {ContextKind::root, "<program root>"}), "main");
    ContextId walk = main, leaf = 0;
    for (int level = 0; level < 4; ++level) {
      walk = procedure(level == 0 ? main : loop(walk), "walk");
      statement(walk, 10);
      leaf = procedure(walk, "leaf");
      statement(leaf, 100);
    }
    inner_walk = walk;
    inner_leaf = leaf;
    const ContextId sort = procedure(main, "void std::sort<int*>(int*, int*)", "/usr/include/c++/12/algo.h");
    introsort = procedure(sort, "void std::__introsort<int*>(int*, int*)", "/usr/include/c++/12/algo.h");
    const ContextId inner = loop(introsort, "/usr/include/c++/12/algo.h");
    statement(inner, 7);
    statement(procedure(inner, "less(int, int)"), 3);
    inner_compare = procedure(sort, "less(int, int)");
    statement(inner_compare, 2);
    const ContextId stripped = procedure(main, "stripped", "");
    const ContextId outer = loop(stripped, "");
    statement(outer, 1);
    const ContextId middle = loop(outer, "");
    inner_loop = loop(middle, "");
    statement(inner_loop, 4);
    loop(loop(stripped, ""), "known.cpp");
    for (std::uint32_t line = 1; line <= 3; ++line)
      procedure(sample.add(main, {ContextKind::call, "", "a.cpp", line}), "MPI_Isend");
    sample.finish();
  }
};

struct OpenedNested {
  Nested nested;
  Figures figures{nested.sample};
  CallingContext tree{figures};

  OutlineOptions options(bool folded) {
    OutlineOptions result;
    result.sort = result.size = find_column(nested.sample.experiment(), "REALTIME");
    result.passed_over = {.fold_calls = true,
                          .statements = true,
                          .start_up = true,
                          .wait_internals = true,
                          .recursion = folded,
                          .library = folded};
    if (folded) result.sampled = {result.sort};
    return result;
  }

  /// `label own inclusive` of all rows, in ms.
  std::string rows(Outline& outline) {
    outline.open_below(*outline.rows().front(), 64, 1000);
    const Column time = find_column(nested.sample.experiment(), "REALTIME");
    const Column self = find_column(nested.sample.experiment(), "REALTIME:sum (E)");
    const auto ms = [&](const VisibleNode& row, const Column& column) {
      return std::to_string(static_cast<int>(visible_value(tree, row, column, true) * 1000 + 0.5));
    };
    std::string text;
    for (const Outline::Item* const item : outline.rows())
      text += std::string(item->depth, ' ') + label(tree.frame(item->node)) + ' ' + ms(*item, self) + ' ' +
              ms(*item, time) + '\n';
    return text;
  }
};

}  // namespace

TEST_CASE("A recursion is one row with the sums of all levels, and so is a call of std::") {
  OpenedNested opened;
  Outline outline(opened.tree, opened.options(true));
  const std::string rows = opened.rows(outline);
  INFO(rows);
  CHECK(rows.find("walk 40 440\n") != std::string::npos);
  CHECK(rows.find("leaf 400 400\n") != std::string::npos);
  CHECK(rows.find("void std::sort<int*>(int*, int*) 7 12\n") != std::string::npos);
  CHECK(rows.find("less(int, int) 5 5\n") != std::string::npos);
  CHECK(rows.find("loop 5 5\n") != std::string::npos);
  CHECK(rows.find("introsort") == std::string::npos);
  CHECK(rows.find("walk", rows.find("walk") + 1) == std::string::npos);
}

TEST_CASE("Unfolded, each frame has its row") {
  OpenedNested opened;
  Outline outline(opened.tree, opened.options(false));
  const std::string rows = opened.rows(outline);
  INFO(rows);
  CHECK(rows.find("introsort") != std::string::npos);
  CHECK(rows.find("walk 10 440\n") != std::string::npos);
  CHECK(rows.find("walk 10 110\n") != std::string::npos);
  CHECK(outline.rows().size() > 15);
}

TEST_CASE("Rows that no sample met are one row, the last, which opens") {
  OpenedNested opened;
  Outline outline(opened.tree, opened.options(true));
  outline.open(*outline.rows().front());
  Outline::Item& last = *outline.rows().back();
  REQUIRE(last.fold);
  CHECK(last.fold->unsampled.size() == 3);
  outline.open(last);
  CHECK(label(opened.tree.frame(outline.rows().back()->node)) == "MPI_Isend");
  CHECK_FALSE(outline.rows().back()->fold);
}

TEST_CASE("What a row hides is revealed and found at that row, which shows the most of it") {
  OpenedNested opened;
  Outline outline(opened.tree, opened.options(true));
  const auto revealed = [&](NodeId node) { return label(opened.tree.frame(outline.reveal(node)->node)); };
  CHECK(revealed(opened.nested.inner_walk) == "walk");
  CHECK(revealed(opened.nested.inner_leaf) == "leaf");
  CHECK(revealed(opened.nested.inner_compare) == "less(int, int)");
  CHECK(outline.reveal(opened.nested.inner_loop)->fold->loops == 3);
  CHECK(revealed(opened.nested.introsort) == "void std::sort<int*>(int*, int*)");
  Search search(opened.tree, "introsort", opened.options(true).passed_over);
  while (search.step(100)) continue;
  const Outline::Item* const found = outline.find(search, nullptr, false);
  REQUIRE(found != nullptr);
  CHECK(label(opened.tree.frame(found->node)) == "void std::sort<int*>(int*, int*)");
}

TEST_CASE("The library is known by names with or without a return type, and not by an inlined call's file") {
  CHECK(is_library({"std::sort", "", 0, "", ContextKind::inlined}));
  CHECK(is_library({"void std::sort<int*>(int*)", "", 0, "", ContextKind::procedure}));
  CHECK(is_library({"__gnu_cxx::it<int> std::f<int>(int)", "", 0, "", ContextKind::procedure}));
  CHECK(is_library({"operator new(unsigned long)", "", 0, "/lib/libstdc++.so.6", ContextKind::procedure}));
  CHECK_FALSE(is_library({"less", "/usr/include/c++/12/algo.h", 1, "", ContextKind::inlined}));
  CHECK_FALSE(is_library({"take(std::vector<int>&)", "a.cpp", 1, "", ContextKind::procedure}));
  CHECK_FALSE(is_library({"std_like(int)", "a.cpp", 1, "", ContextKind::procedure}));
}

}  // namespace culprit::views::testing
