#include "views/derived.hpp"

#include "damaged_file.hpp"
#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/flat.hpp"
#include "views/shown.hpp"
#include "views/solver_sample.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace culprit::views::testing {
namespace {

double value_of(const std::string& formula, std::optional<std::uint32_t> role = std::nullopt) {
  const SolverSample solver;
  const Figures figures(solver.sample);
  return total(figures, define_column(solver.sample.experiment(), "it = " + formula, role, {}));
}

std::string refusal(const std::string& definition) {
  const SolverSample solver;
  try {
    define_column(solver.sample.experiment(), definition, std::nullopt, {});
  } catch (const BadDefinition& bad) {
    return bad.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A formula has muParser's precedence and functions, and metrics in their shown units") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  const double time = total(figures, find_column(solver.sample.experiment(), "REALTIME"));
  const double idle = total(figures, find_column(solver.sample.experiment(), "idleness"));
  CHECK(value_of("1 + 2 * 3 ^ 2") == Approx(19));
  CHECK(value_of("$idleness / $REALTIME") == Approx(idle / time));
  CHECK(value_of("max($idleness, $REALTIME) - min($idleness,$REALTIME)") == Approx(time - idle));
  CHECK(value_of("$idleness > 0 ? 1 : 2") == Approx(1));
  CHECK(value_of("2*$realtime") == Approx(2 * time));
}

TEST_CASE("Metrics are named bare, with a statistic, or in full") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  const auto figure = [&](const char* name) {
    return total(figures, find_column(solver.sample.experiment(), name));
  };
  CHECK(value_of("$REALTIME:mean") == Approx(figure("REALTIME:mean")));
  CHECK(value_of("$REALTIME:max-$REALTIME:min") == Approx(figure("REALTIME:max") - figure("REALTIME:min")));
  CHECK(value_of("${REALTIME:max (I)}/${ idleness }") == Approx(figure("REALTIME:max") / figure("idleness")));
  CHECK(value_of("$imbalance") == Approx(figure("imbalance")));
}

TEST_CASE("A name that holds operators is taken whole where the database has it") {
  SampleExperiment sample({"REALTIME", "perf::PAGE-FAULTS", "perf::PAGE"});
  sample.add_role("main");
  sample.add_location(0, 0, 0);
  const auto root = sample.add(0, {.kind = database::ContextKind::procedure, .name = "main"});
  const auto line = sample.add(root, {.kind = database::ContextKind::statement, .name = "1"});
  sample.set(line, 1, 0, 12);
  sample.set(line, 2, 0, 5);
  sample.finish();
  const Figures figures(sample);
  // SampleExperiment's metrics are times: 12 and 5 ns.
  const auto value = [&](const char* formula) {
    return total(figures, define_column(sample.experiment(), formula, std::nullopt, {}));
  };
  CHECK(value("it=$perf::PAGE-FAULTS*1e9") == Approx(12));
  CHECK(value("it=$perf::PAGE*1e9") == Approx(5));
  CHECK(value("it=($perf::PAGE-FAULTS:max-$perf::PAGE)*1e9") == Approx(7));
  CHECK(value("it=($perf::PAGE - $perf::PAGE-FAULTS)*1e9") == Approx(-7));
}

TEST_CASE("A formula is evaluated at each node of every view on that node's own values") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  const Column share =
      define_column(solver.sample.experiment(), "share=$idleness/$REALTIME", std::nullopt, {});
  const Column idle = find_column(solver.sample.experiment(), "idleness");
  const Column time = find_column(solver.sample.experiment(), "REALTIME");
  CallingContext calling_context(figures);
  Callers callers(figures);
  Flat flat(figures);
  std::size_t compared = 0;
  for (View* view :
       {static_cast<View*>(&calling_context), static_cast<View*>(&callers), static_cast<View*>(&flat)}) {
    std::vector<NodeId> open = view->roots();
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      const double below = view->value(node, time);
      if (below > 0) {
        CHECK(view->value(node, share) == Approx(view->value(node, idle) / below));
        ++compared;
      } else {
        CHECK(std::isnan(view->value(node, share)));
      }
      for (const NodeId child : view->children(node)) open.push_back(child);
    }
  }
  CHECK(compared > 10);
  CHECK_FALSE(share.additive());
}

TEST_CASE("Siblings are sorted by a formula; nodes without a value come last and small branches stay small") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  CallingContext view(figures);
  ShowOptions options;
  options.sort = define_column(solver.sample.experiment(), "negative=0-$REALTIME", std::nullopt, {});
  options.size = find_column(solver.sample.experiment(), "REALTIME");
  options.min_percent = 0.001;
  const Shown shown = show(view, options, total(figures, *options.size));
  REQUIRE_FALSE(shown.roots.empty());
  std::vector<const std::vector<ShownNode>*> levels = {&shown.roots};
  std::size_t pairs = 0;
  while (!levels.empty()) {
    const std::vector<ShownNode>& level = *levels.back();
    levels.pop_back();
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (i != 0) {
        CHECK(view.value(level[i - 1].node, options.sort) >= view.value(level[i].node, options.sort));
        ++pairs;
      }
      levels.push_back(&level[i].children);
    }
  }
  CHECK(pairs > 0);
}

TEST_CASE("A definition may rest on those before it, and on threads one by one") {
  const SolverSample solver;
  const std::vector<std::string> definitions = {"busy=$REALTIME-$idleness", "share=$busy/$REALTIME"};
  const std::vector<Column> columns = define_columns(solver.sample.experiment(), definitions, std::nullopt);
  const Figures figures(solver.sample);
  const double idle = total(figures, find_column(solver.sample.experiment(), "idleness"));
  const double time = total(figures, find_column(solver.sample.experiment(), "REALTIME"));
  CHECK(total(figures, columns[1]) == Approx(1 - idle / time));
  CHECK(find_column(solver.sample.experiment(), "SHARE", std::nullopt, columns).title == "share");
  std::vector<Column> measured;
  add_measured(columns[1], measured);
  CHECK(measured.size() == 3);

  const CallingContext view(figures);
  const std::vector<double> busy = per_thread(view, 0, columns[0]);
  REQUIRE(busy.size() == solver.sample.experiment().locations.size());
  double sum = 0;
  for (const double each : busy) sum += each;
  CHECK(sum == Approx(time - idle));
}

TEST_CASE("What divides by nothing has no value") {
  CHECK(std::isnan(value_of("1/0")));
  CHECK(std::isnan(value_of("0/0")));
  CHECK(std::isnan(value_of("sqrt(0-1)")));
  CHECK(std::isnan(value_of("1 + $imbalance:cv")));
}

TEST_CASE("Definitions are bounded in number and length: they may come with a database from anybody") {
  const SolverSample solver;
  std::vector<Column> defined;
  const auto define = [&](std::size_t i) {
    const std::string before = i == 0 ? "$REALTIME" : "$m" + std::to_string(i - 1);
    defined.push_back(
        define_column(solver.sample.experiment(), "m" + std::to_string(i) + " = " + before, {}, defined));
  };
  for (std::size_t i = 0; i < 128; ++i) define(i);
  CHECK_THROWS_WITH(define(128), "128 metrics are defined already (define fewer)");
  CHECK(refusal("x = " + std::string(100'000, '(')).starts_with("longer than 2048 characters"));
}

TEST_CASE("Mistakes in a definition are reported in one line with a remedy") {
  CHECK_THAT(refusal("cpi"), Catch::Contains("NAME=FORMULA"));
  CHECK_THAT(refusal("=1"), Catch::Contains("is no name"));
  CHECK_THAT(refusal("a b=1"), Catch::Contains("is no name"));
  CHECK_THAT(refusal("x="), Catch::Contains("no formula"));
  CHECK_THAT(refusal("x=$"), Catch::Contains("without a metric"));
  CHECK_THAT(refusal("x=${REALTIME"), Catch::Contains("without its '}'"));
  CHECK_THAT(refusal("x=$NOPE+1"), Catch::Contains("NOPE") && Catch::Contains("REALTIME"));
  CHECK_THAT(refusal("x=$x"), Catch::Contains("'x'"));
  CHECK_THAT(refusal("x=1+"), Catch::Contains("$METRIC"));
  CHECK_THAT(refusal("x=REALTIME"), Catch::Contains("REALTIME"));
  CHECK_THAT(refusal("x=1,2"), Catch::Contains("one formula"));
  CHECK_THAT(refusal("realtime=1"), Catch::Contains("already"));
  CHECK_THAT(refusal("imbalance=1"), Catch::Contains("already"));
  CHECK_THAT(refusal("x=$REALTIME $idleness"), Catch::Contains("(write"));
  for (const char* each : {"cpi", "x=$NOPE", "x=1+", "x=)("})
    CHECK(refusal(each).find('\n') == std::string::npos);
}

TEST_CASE("A definition that is cut or flipped anywhere is another one, or is refused") {
  const SolverSample solver;
  const std::string good = "share=max(${REALTIME:max (I)}, 1e3) ? $idleness / 2 : 1";
  int refused = 0;
  const auto define = [&](const std::string& definition) {
    try {
      const Column column = define_column(solver.sample.experiment(), definition, std::nullopt, {});
      (void)column.derived->evaluate(std::vector<double>(column.derived->operands().size(), 0));
    } catch (const BadDefinition& bad) {
      ++refused;
      CHECK(std::string_view(bad.what()).find('\n') == std::string_view::npos);
    }
  };
  damage::cut_and_flip_each(good, define);
  CHECK(refused > 0);
}

}  // namespace culprit::views::testing
