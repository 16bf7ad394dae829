// Efficiencies as tables: of the run, of threads, of marked regions and iterations, of which json and csv are
// made.
#include "commands/efficiency.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

/// What of the figures a table has: all, or those that a profile knows too.
enum class Which : std::uint8_t { all, of_profiles };

void add_columns(Table::Columns& columns, Which which) {
  for (const EfficiencyFigure& figure : kEfficiencyFigures)
    if (which == Which::all || !figure.exact) columns.push_back({figure.key});
}

void add_cells(Table::Row& row, const Efficiency& result, Which which) {
  for (const EfficiencyFigure& figure : kEfficiencyFigures) {
    if (which != Which::all && figure.exact) continue;
    const bool known = figure.exact ? result.exact : result.ranks != 0;
    row.push_back(known ? Table::Cell(result.*figure.value) : Table::Cell());
  }
}

/// A row, whose figures are null where there are no ranks.
Table run_table(const Efficiency& ranks) {
  Table table;
  add_columns(table.columns, Which::all);
  Table::Row row;
  add_cells(row, ranks, Which::all);
  if (ranks.awaits_threads) {
    table.columns.push_back({kThreadWaitsFigure.key});
    row.emplace_back(ranks.threads);
  }
  table.rows.push_back(std::move(row));
  return table;
}

/// A row, or none.
Table threads_table(const ThreadEfficiency& threads) {
  Table table;
  Table::Row row;
  for (const FigureOf<ThreadEfficiency>& figure : kThreadEfficiencyFigures) {
    table.columns.push_back({figure.key});
    row.emplace_back(threads.*figure.value);
  }
  table.columns.push_back({"count"});
  row.emplace_back(threads.threads);
  if (threads.threads > 0) table.rows.push_back(std::move(row));
  return table;
}

Table::Row row_of_iteration(const Efficiency& one, std::uint64_t number) {
  Table::Row row;
  add_cells(row, one, Which::of_profiles);
  row.emplace_back(one.run_s);
  row.emplace_back(number);
  return row;
}

/// All together: a row, or none.
Table iterations_table(const IterationEfficiency& iterations) {
  Table table;
  add_columns(table.columns, Which::of_profiles);
  table.columns.insert(table.columns.end(), {{"time_s"}, {"count"}});
  if (iterations.all.ranks > 0)
    table.rows.push_back(row_of_iteration(iterations.all, iterations.each.size()));
  return table;
}

Table each_iteration_table(const IterationEfficiency& iterations) {
  Table table;
  add_columns(table.columns, Which::of_profiles);
  table.columns.insert(table.columns.end(), {{"time_s"}, {"iteration"}});
  if (iterations.all.ranks == 0) return table;
  for (const Efficiency& one : iterations.each)
    table.rows.push_back(row_of_iteration(one, table.rows.size()));
  return table;
}

}  // namespace

Table regions_table(const std::vector<RegionEfficiency>& regions) {
  const Scale share{.factor = 100, .decimals = 1, .unit = "%"};
  Table table{{{"name"}, {"path"}, {"time_s"}},
              {},
              {{"parallel", "parallel", Table::As::scaled, share},
               {"load_balance", "load balance", Table::As::scaled, share},
               {"communication", "communication", Table::As::scaled, share},
               {"time_s", "time", Table::As::seconds},
               {"name", "region", Table::As::name}}};
  add_columns(table.columns, Which::all);
  for (const RegionEfficiency& region : regions) {
    Table::Row row = {region.name, Table::Path{region.context}, region.efficiency.run_s};
    add_cells(row, region.efficiency, Which::all);
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

/// All that is known, by level.
struct EfficiencyTables {
  Table run, threads, regions, iterations, each_iteration;
};

EfficiencyTables tables_of(const views::Figures& figures) {
  const Efficiencies run = efficiencies_of(figures);
  const IterationEfficiency iterations = efficiency_of_iterations(figures.experiment());
  return {.run = run_table(run.ranks),
          .threads = threads_table(run.threads),
          .regions = regions_table(efficiency_of_regions(figures)),
          .iterations = iterations_table(iterations),
          .each_iteration = each_iteration_table(iterations)};
}

Json only_row_json(const database::Contents& experiment, const Table& table) {
  return table.rows.empty() ? Json() : to_json(experiment, table.columns, table.rows.front());
}

/// Adds a row for each figure of each row of `part`, whose column `named` has the names.
void add_figures(Table& all, const char* level, const Table& part, const std::string& named = {}) {
  const std::string path = "path";
  for (const Table::Row& row : part.rows) {
    const auto cell_of = [&](const std::string& column) {
      const auto place = std::ranges::find(part.columns, column, &Table::Column::name);
      return place == part.columns.end() ? Table::Cell()
                                         : row[static_cast<std::size_t>(place - part.columns.begin())];
    };
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string& figure = part.columns[i].name;
      if (figure == named || figure == path) continue;
      all.rows.push_back({std::string(level), cell_of(named), cell_of(path), figure, row[i]});
    }
  }
}

}  // namespace

Json efficiency_json(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const EfficiencyTables tables = tables_of(figures);
  Json result = only_row_json(experiment, tables.run);
  result["threads"] = only_row_json(experiment, tables.threads);
  result["regions"] = to_json(experiment, tables.regions);
  Json& iterations = result["iterations"] = only_row_json(experiment, tables.iterations);
  if (!iterations.is_null()) iterations["each"] = to_json(experiment, tables.each_iteration);
  return result;
}

Table efficiency_table(const views::Figures& figures) {
  const EfficiencyTables tables = tables_of(figures);
  Table all{{{"level"}, {"name"}, {"path"}, {"figure"}, {"value"}}, {}};
  add_figures(all, "run", tables.run);
  add_figures(all, "threads", tables.threads);
  add_figures(all, "region", tables.regions, "name");
  add_figures(all, "iterations", tables.iterations);
  add_figures(all, "iteration", tables.each_iteration, "iteration");
  return all;
}

}  // namespace culprit::viewer
