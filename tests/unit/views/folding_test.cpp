// Several nodes as one row: recursion, the insides of std::, and what no sample met.
#include "views/folding.hpp"

#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/joining.hpp"
#include "views/node_path.hpp"
#include "views/outline.hpp"
#include "views/sample_experiment.hpp"

#include <algorithm>
#include <array>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::views::testing::folding_test {
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

TEST_CASE("By callers, a recursion is one row, whose callers are those of all its levels") {
  OpenedNested opened;
  Callers callers(opened.figures);
  PassedOverCount count;
  const Column time = find_column(opened.nested.sample.experiment(), "REALTIME");
  const Column self = find_column(opened.nested.sample.experiment(), "REALTIME:sum (E)");
  for (const bool folded : {true, false}) {
    const PassedOver passed_over = opened.options(folded).passed_over;
    std::vector<VisibleNode> rows = rows_of(callers, callers.roots(), passed_over, count);
    const auto leaf = std::ranges::find(
        rows, "leaf", [&](const VisibleNode& row) { return std::string(callers.frame(row.node).name); });
    REQUIRE(leaf != rows.end());
    std::vector<VisibleNode> by = rows_below(callers, *leaf, passed_over, count);
    REQUIRE(by.size() == 1);
    VisibleNode& walk = by.front();
    std::vector<VisibleNode> above = rows_below(callers, walk, passed_over, count);
    CHECK(above.size() == (folded ? 1 : 2));
    CHECK((walk.fold != nullptr) == folded);
    if (!folded) continue;
    CHECK(walk.fold->recursion == 3);
    CHECK(visible_value(callers, walk, time, true) == Approx(0.4));
    CHECK(label(callers.frame(above.front().node)) == "main");
    CHECK(visible_value(callers, above.front(), time, true) == Approx(0.4));
    CHECK(visible_value(callers, above.front(), self, true) == Approx(0.4));
  }
}

namespace {

/// The rows of a tree that a test builds, as `label own inclusive`, in ms, indented by depth.
struct Built {
  SampleExperiment sample{{"REALTIME"}};
  ContextId top = 0;

  Built() {
    sample.add_location(0, 0, sample.add_role("main"));
    top = call(sample.add(0, {ContextKind::root, "<program root>"}), "main");
  }
  /// A procedure of a program in C that spends so many ms itself.
  ContextId call(ContextId parent, const char* name, std::uint64_t ms = 0) {
    return spend(sample.add(parent, {ContextKind::procedure, name, "a.c", 10, "app"}), ms);
  }
  ContextId python(ContextId parent, const char* name, const char* file = "a.py", std::uint32_t line = 1) {
    return sample.add(parent, {ContextKind::procedure, name, file, line, "<python>"});
  }
  ContextId native(ContextId parent, const char* name, const char* module, std::uint64_t ms = 0,
                   std::uint8_t flags = 0) {
    return spend(sample.add(parent, {ContextKind::procedure, name, "", 0, module, flags}), ms);
  }
  ContextId spend(ContextId context, std::uint64_t ms) {
    constexpr std::uint64_t kNs = 1'000'000;
    if (ms > 0) sample.set(sample.add(context, {ContextKind::statement, "", "a.c", 11}), 0, 0, ms * kNs);
    return context;
  }
  std::string rows(bool folded) {
    sample.finish();
    const Figures figures(sample);
    CallingContext tree(figures);
    const Column time = find_column(sample.experiment(), "REALTIME");
    const Column self = find_column(sample.experiment(), "REALTIME:sum (E)");
    OutlineOptions options;
    options.sort = options.size = time;
    options.passed_over = {.fold_calls = true,
                           .statements = true,
                           .start_up = true,
                           .wait_internals = true,
                           .recursion = folded,
                           .library = folded};
    Outline outline(tree, options);
    outline.open_below(*outline.rows().front(), 64, 1000);
    const auto ms = [&](const VisibleNode& row, const Column& column) {
      return std::to_string(static_cast<int>(visible_value(tree, row, column, true) * 1000 + 0.5));
    };
    std::string text;
    for (const Outline::Item* const item : outline.rows())
      text += std::string(item->depth, ' ') + label(tree.frame(item->node)) + ' ' + ms(*item, self) + ' ' +
              ms(*item, time) + '\n';
    return text.substr(text.find("main"));
  }
};

}  // namespace

TEST_CASE("A recursion through two procedures is a row for each, which do not count each other") {
  Built built;
  ContextId at = built.top;
  for (int level = 0; level < 5; ++level) at = built.call(built.call(at, "even", 2), "odd", 1);
  built.call(built.call(at, "even", 2), "leaf", 7);
  CHECK(built.rows(true) == "main 0 24\neven 12 24\n leaf 7 7\n odd 5 5\n");
}

TEST_CASE("By callers, a cycle of two procedures is one row, whose callers are those of all its levels") {
  Built built;
  ContextId at = built.top;
  for (int level = 0; level < 5; ++level) at = built.call(built.call(at, "even"), "odd");
  built.call(built.call(at, "even"), "leaf", 7);
  built.sample.finish();
  const Figures figures(built.sample);
  Callers callers(figures);
  const Column time = find_column(built.sample.experiment(), "REALTIME");
  const Column self = find_column(built.sample.experiment(), "REALTIME:sum (E)");
  const PassedOver passed_over = {.fold_calls = true, .recursion = true};
  PassedOverCount count;
  std::vector<VisibleNode> rows = rows_of(callers, callers.roots(), passed_over, count);
  const auto name = [&](const VisibleNode& row) { return std::string(callers.frame(row.node).name); };
  const auto leaf = std::ranges::find(rows, "leaf", name);
  REQUIRE(leaf != rows.end());
  std::vector<VisibleNode> by = rows_below(callers, *leaf, passed_over, count);
  REQUIRE(by.size() == 1);
  CHECK(name(by.front()) == "even");
  REQUIRE(by.front().fold);
  CHECK(by.front().fold->recursion == 5);
  std::vector<VisibleNode> above = rows_below(callers, by.front(), passed_over, count);
  REQUIRE(above.size() == 2);
  for (VisibleNode& row : above) {
    // Whoever called odd is in the row of even: all came from main.
    const double expected = name(row) == "main" ? 0.007 : 0;
    CHECK(visible_value(callers, row, time, true) == Approx(expected).margin(1e-12));
    CHECK(visible_value(callers, row, self, true) == Approx(expected).margin(1e-12));
    CHECK(rows_below(callers, row, passed_over, count).empty());
  }
}

TEST_CASE("An evaluator's recursion is folded by the way it comes back") {
  Built built;
  const ContextId inner = built.call(built.call(built.call(built.top, "eval", 1), "add", 2), "eval", 4);
  const ContextId third = built.call(built.call(inner, "mul", 8), "eval", 16);
  built.call(built.call(third, "add", 32), "eval", 64);
  // The second eval calls no add: it is a row below the first, without what comes back to that.
  CHECK(built.rows(true) == "main 0 127\neval 81 127\nadd 34 46\neval 4 12\nmul 8 8\n");
}

TEST_CASE("A procedure that calls whatever it is given does not make one list of what is called") {
  Built built;
  const ContextId layer = built.call(built.call(built.call(built.top, "apply"), "model"), "apply");
  built.call(built.call(built.call(layer, "layer"), "apply"), "kernel", 3);
  CHECK(built.rows(true) == built.rows(false));
}

TEST_CASE("Decorators of one name are no recursion, a Python function that comes back through C is one") {
  Built built;
  ContextId at = built.python(built.top, "wrapper", "timed.py");
  at = built.python(at, "wrapper", "logged.py");
  at = built.python(built.python(at, "<module>", "<string>"), "<module>", "<string>");  // exec()
  for (int level = 0; level < 3; ++level)
    at = built.native(built.python(at, "rec", "a.py", 7), "PyObject_Call", "/usr/bin/python3.11", 5);
  CHECK(built.rows(true) ==
        "main 0 15\nwrapper 0 15\nwrapper 0 15\n<module> 0 15\n<module> 0 15\nrec 15 15\n");
}

TEST_CASE("A Python function stands for the interpreter's insides, and what libraries do stays visible") {
  Built built;
  const char* const python = "/usr/bin/python3.11";
  const char* const mpi = "/lib/MPI.cpython-311-x86_64-linux-gnu.so";
  const char* const numpy = "/lib/_umath.cpython-311-x86_64-linux-gnu.so";
  const ContextId step = built.python(built.top, "step");
  built.native(step, "PyNumber_Add", python, 1);
  const ContextId free = built.native(step, "pymalloc_free", python, 2);
  built.spend(built.sample.add(free, {ContextKind::inlined, "address_in_range", "o.c", 3, python}), 4);
  const ContextId glue =
      built.native(built.native(step, "PyObject_Vectorcall", python), "MPI.so@0x1", mpi, 8);
  built.native(built.native(glue, "MPI.so@0x2", mpi, 16), "MPI_Recv", "/lib/libmpi.so", 32,
               database::kFrontier | database::kInWait);
  built.native(step, "_umath.so@0x3", numpy, 64);
  built.native(built.native(step, "_umath.so@0x4", numpy, 128), "cblas_dgemm", "/lib/libblas.so", 256);
  const ContextId load = built.python(step, "_find_and_load", "<frozen importlib._bootstrap>", 9);
  const ContextId exec = built.python(load, "exec_module", "<frozen importlib._bootstrap>", 8);
  built.native(built.python(built.native(exec, "PyEval_EvalCode", python), "<module>", "b.py"), "PyDict_New",
               python, 512);
  CHECK(built.rows(true) ==
        "main 0 1023\nstep 159 1023\n <module> 512 512\n cblas_dgemm 256 256\n _umath.so@0x3 64 64\n"
        " MPI_Recv 32 32\n");
}

TEST_CASE("What an extension module calls for a Python function stands at that function's line") {
  Built built;
  const ContextId step = built.python(built.top, "step");
  for (const std::uint32_t line : {5U, 6U}) {
    const ContextId site = built.sample.add(step, {ContextKind::call, "", "a.py", line, "<python>"});
    const ContextId glue = built.native(site, "MPI.so@0x1", "/lib/MPI.cpython-311.so");
    built.native(built.sample.add(glue, {ContextKind::call}), "MPI_Recv", "/lib/libmpi.so", line,
                 database::kFrontier | database::kInWait);
  }
  built.sample.finish();
  const Figures figures(built.sample);
  CallingContext tree(figures);
  const PassedOver passed_over = {.fold_calls = true, .recursion = true, .library = true};
  PassedOverCount count;
  std::vector<VisibleNode> rows = rows_of(tree, {step}, passed_over, count);
  rows = rows_below(tree, rows.front(), passed_over, count);
  REQUIRE(rows.size() == 2);
  CHECK(label(tree.frame(*rows[0].call)) == "call at a.py:5");
  CHECK(label(tree.frame(*rows[1].call)) == "call at a.py:6");
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

TEST_CASE("The hot path goes by rows") {
  OpenedNested opened;
  const Column time = find_column(opened.nested.sample.experiment(), "REALTIME");
  const auto path = [&](bool folded) {
    std::string text;
    for (const VisibleNode& row : hot_rows(opened.tree, time, opened.options(folded).passed_over))
      text += label(opened.tree.frame(row.node)) + ' ';
    return text;
  };
  CHECK(path(true) == "<run> <program root> main walk leaf ");
  CHECK(
      path(false).starts_with("<run> <program root> main walk loop at a.cpp:11 walk loop at a.cpp:11 walk "));
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
  CHECK(is_library({"PyObject_Call", "", 0, "/usr/bin/python3.11", ContextKind::procedure}));
  CHECK(is_library({"PyObject_Call", "", 0, "/lib/libpython3.13.so.1.0", ContextKind::procedure}));
  CHECK_FALSE(is_library({"Grid.step", "grid.py", 1, "<python>", ContextKind::procedure}));
  CHECK(is_library({"address_in_range", "obmalloc.c", 1, "/usr/bin/python3.11", ContextKind::inlined}));
  CHECK(
      is_library({"_find_and_load", "<frozen importlib._bootstrap>", 1, "<python>", ContextKind::procedure}));
  CHECK_FALSE(is_library({"add", "", 0, "/lib/python3/umath.cpython-311.so", ContextKind::procedure}));
  CHECK_FALSE(is_library({"less", "/usr/include/c++/12/algo.h", 1, "", ContextKind::inlined}));
  CHECK_FALSE(is_library({"take(std::vector<int>&)", "a.cpp", 1, "", ContextKind::procedure}));
  CHECK_FALSE(is_library({"std_like(int)", "a.cpp", 1, "", ContextKind::procedure}));
}

namespace {

int below(int bound) {
  return *rc::gen::inRange(0, bound);
}

/// Procedures of few names, of which two are the library's, loops with and without a place, inlined code,
/// start-up frames and waits, inside each other at random.
void grow(SampleExperiment& sample, ContextId parent, int depth, std::uint8_t inherited) {
  constexpr std::array<const char*, 4> kNames = {"walk", "leaf", "std::a", "void std::b<int>(int)"};
  for (int child = below(4); child > 0; --child) {
    const auto line = static_cast<std::uint32_t>(1 + below(3));
    const int choice = depth > 8 ? 0 : below(7);
    const char* const name = kNames.at(static_cast<std::size_t>(below(4)));
    if (choice <= 1) {
      const ContextId statement =
          sample.add(parent, {ContextKind::statement, "", "a.c", line, "app", inherited});
      sample.set(statement, 0, 0, static_cast<std::uint64_t>(1 + below(5)));
    } else if (choice <= 3) {
      const char* const file = below(2) == 0 ? "" : "a.c";
      grow(sample, sample.add(parent, {ContextKind::loop, "", file, *file == 0 ? 0 : line, "app", inherited}),
           depth + 1, inherited);
    } else if (choice == 4) {
      grow(sample, sample.add(parent, {ContextKind::inlined, name, "a.c", line, "app", inherited}), depth + 1,
           inherited);
    } else {
      const ContextId call = sample.add(parent, {ContextKind::call, "", "a.c", line, "app", inherited});
      std::uint8_t flags = inherited;
      if (inherited == 0 && below(9) == 0) flags = database::kStartUp;
      if (inherited == 0 && below(9) == 0) flags = database::kFrontier | database::kInWait;
      const ContextId callee = sample.add(call, {ContextKind::procedure, name, "a.c", 9, "app", flags});
      grow(sample, callee, depth + 1, inherited | (flags & database::kInWait));
    }
  }
}

bool has_row(const CallingContext& tree, ContextId context) {
  const ContextKind kind = tree.kind(context);
  const std::uint8_t flags = tree.flags(context);
  const bool internal = (flags & database::kInWait) != 0 && (flags & database::kFrontier) == 0;
  const bool scope =
      kind == ContextKind::procedure || kind == ContextKind::inlined || kind == ContextKind::loop;
  return scope && !internal && (flags & database::kStartUp) == 0;
}

}  // namespace

TEST_CASE("Whatever is folded, each frame is part of one row, and no row has less than what is below it") {
  REQUIRE(rc::check("parts of rows", [] {
    SampleExperiment sample({"REALTIME"});
    sample.add_location(0, 0, sample.add_role("main"));
    grow(sample,
         sample.add(sample.add(0, {ContextKind::root, "<program root>"}),
                    {ContextKind::procedure, "main", "a.c", 1}),
         0, 0);
    sample.finish();
    const Figures figures(sample);
    CallingContext tree(figures);
    OutlineOptions options;
    options.sort = options.size = find_column(sample.experiment(), "REALTIME");
    options.passed_over = {.fold_calls = true,
                           .statements = true,
                           .start_up = true,
                           .wait_internals = true,
                           .recursion = true,
                           .library = true};
    Outline outline(tree, options);
    outline.open_below(*outline.rows().front(), 64, 100'000);
    std::vector<int> times(sample.experiment().contexts.size(), 0);
    for (const Outline::Item* const item : outline.rows()) {
      const std::vector<NodeId> itself = {item->node};
      for (const NodeId part : item->fold ? item->fold->parts : itself) ++times[part];
      double sum = 0;
      for (const auto& child : item->children) sum += visible_value(tree, *child, options.sort, true);
      RC_ASSERT(sum <= visible_value(tree, *item, options.sort, true) + 1e-12);
    }
    for (ContextId context = 0; context < times.size(); ++context) {
      if (!has_row(tree, context)) continue;
      RC_ASSERT(times[context] == 1);
      const Outline::Item* const row = outline.reveal(context);
      const bool found =
          row->node == context ||
          (row->fold && std::binary_search(row->fold->parts.begin(), row->fold->parts.end(), context));
      RC_ASSERT(found);
    }
  }));
}

}  // namespace culprit::views::testing::folding_test
