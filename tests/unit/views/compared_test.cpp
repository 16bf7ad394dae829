// A comparison as people open and search it.
#include "views/compared.hpp"

#include "views/outline.hpp"
#include "views/sample_experiment.hpp"
#include "views/search.hpp"

#include <stdexcept>

#include <catch2/catch.hpp>

namespace culprit::views::testing::compared_test {
namespace {

using database::ContextId;
using database::ContextKind;
using database::kNone;

/// main calls solve, which works and waits, and write; solve's loop is what changes.
struct Program {
  SampleExperiment sample{{"REALTIME", "idleness"}};

  Program(std::uint64_t work, std::uint64_t wait, std::uint64_t write, const std::string& also) {
    const std::uint32_t role = sample.add_role("main");
    sample.add_location(0, 0, role);
    const ContextId root = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
    const ContextId start = procedure(root, "_start", 1, database::kStartUp);
    const ContextId main = procedure(start, "main", 10);
    const ContextId solve = procedure(main, "solve", 20);
    const ContextId loop = sample.add(solve, {ContextKind::loop, "", "app.c", 22, "app"});
    spend(loop, work);
    const ContextId wait_call = procedure(solve, "MPI_Wait", 30, database::kFrontier | database::kInWait);
    spend(procedure(wait_call, "poll_network", 31, database::kInWait), wait);
    spend(procedure(main, "write_result", 40), write);
    if (!also.empty()) spend(procedure(main, also, 50), 3);
    sample.finish();
  }
  ContextId procedure(ContextId parent, const std::string& name, std::uint32_t line, std::uint8_t flags = 0) {
    const ContextId call = sample.add(parent, {ContextKind::call, "", "app.c", line + 100, "app"});
    return sample.add(call, {ContextKind::procedure, name, "app.c", line, "app", flags});
  }
  void spend(ContextId parent, std::uint64_t seconds) {
    const ContextId line = sample.add(parent, {ContextKind::statement, "", "app.c", 99, "app"});
    sample.set(line, 0, 0, seconds * 1'000'000'000);
  }
};

OutlineOptions options(Change sorted, bool hide = true) {
  OutlineOptions options;
  options.passed_over.start_up = options.passed_over.wait_internals = hide;
  options.sort = Compared::column(sorted);
  options.hot = Compared::column(Change::change);
  return options;
}

struct Opened {
  Program before{40, 20, 5, "only_before"}, after{10, 21, 6, "quite_another"};
  Figures a{before.sample}, b{after.sample};
  Difference difference{a, find_column(before.sample.experiment(), "REALTIME"), b,
                        find_column(after.sample.experiment(), "REALTIME")};
  Compared view{difference};
  Outline outline{view, options(Change::change)};

  [[nodiscard]] std::vector<std::string> rows() const {
    std::vector<std::string> names;
    for (const Outline::Item* row : outline.rows()) names.push_back(label(view.frame(row->node)));
    return names;
  }
  [[nodiscard]] NodeId named(const std::string& name) const {
    for (NodeId node = 0; node < view.numbered(); ++node) {
      if (label(view.frame(node)) == name) return node;
    }
    throw std::logic_error("no scope is called " + name);
  }
  Outline::Item& item(const std::string& name) { return *outline.reveal(named(name)); }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("Scopes of a comparison are nodes in pre-order, whose subtrees are intervals") {
  const Opened opened;
  const Compared& view = opened.view;
  for (NodeId node = 0; node < view.numbered(); ++node) {
    CHECK(view.node(view.scope(node)) == node);
    CHECK(view.compared(node).frame().name == view.frame(node).name);
    for (NodeId below = 0; below < view.numbered(); ++below) {
      NodeId above = below;
      while (above != kNone && above != node) above = view.parent(above);
      CHECK((above == node) == (below >= node && below < view.subtree_end(node)));
    }
  }
}

TEST_CASE(
    "An outline of changes opens where most changed, start-up frames and the inside of waits left out") {
  Opened opened;
  CHECK(opened.rows() == Names{"<run>"});
  const Outline::Item& end = opened.outline.open_hot_path(*opened.outline.rows().front());
  CHECK(label(opened.view.frame(end.node)) == "loop at app.c:22");
  CHECK(opened.rows() == Names{"<run>", "<program root>", "main", "solve", "loop at app.c:22", "MPI_Wait",
                               "only_before", "quite_another", "write_result"});
  CHECK_FALSE(opened.outline.has_children(opened.item("MPI_Wait")));

  Outline all(opened.view, options(Change::after, false));
  all.open_below(*all.rows().front(), 64, 1000);
  CHECK(all.rows().size() == opened.difference.scopes().size());
}

TEST_CASE("What is open stays open when an outline of changes is sorted anew, and closes level by level") {
  Opened opened;
  Outline& outline = opened.outline;
  outline.open_hot_path(*outline.rows().front());
  outline.sort_by(Compared::column(Change::after), true);
  CHECK(opened.rows() == Names{"<run>", "<program root>", "main", "only_before", "quite_another",
                               "write_result", "solve", "loop at app.c:22", "MPI_Wait"});
  outline.close(opened.item("solve"));
  CHECK(opened.rows() ==
        Names{"<run>", "<program root>", "main", "only_before", "quite_another", "write_result", "solve"});
  outline.close_all();
  CHECK(opened.rows() == Names{"<run>"});
  outline.open(*outline.rows().front());  // only children open with it
  CHECK(opened.rows().size() == 7);
}

TEST_CASE("A search among changes finds what is closed, in the order of rows, in both directions") {
  Opened opened;
  const OutlineOptions shown = options(Change::change);
  Search search(opened.view, "main|wait|write", shown.passed_over);
  while (search.step(1)) continue;
  Outline& outline = opened.outline;
  const auto all = [&](bool backwards) {
    Names found;
    for (Outline::Item* at = outline.find(search, nullptr, backwards); at != nullptr;
         at = outline.find(search, at, backwards))
      found.push_back(label(opened.view.frame(at->node)));
    return found;
  };
  CHECK(all(false) == Names{"main", "MPI_Wait", "write_result"});
  CHECK(all(true) == Names{"write_result", "MPI_Wait", "main"});
  CHECK(opened.rows()[outline.row_of(&opened.item("MPI_Wait"))] == "MPI_Wait");
  CHECK_THROWS_AS(Search(opened.view, "main(", shown.passed_over), BadPattern);
  Search capital(opened.view, "mpi_wait|Main", shown.passed_over);
  while (capital.step(100)) continue;
  CHECK(outline.find(capital, nullptr, false) == nullptr);
}

TEST_CASE("A scope of a comparison is named by the first run's context, unless only the second has it") {
  Opened opened;
  const auto solve = opened.difference.context_in_first(opened.view.scope(opened.named("solve")));
  REQUIRE(solve);
  const database::Contents& experiment = opened.before.sample.experiment();
  CHECK(experiment.strings[experiment.contexts[*solve].name] == "solve");
  CHECK(experiment.contexts[*solve].kind == ContextKind::procedure);
}

}  // namespace culprit::views::testing::compared_test
