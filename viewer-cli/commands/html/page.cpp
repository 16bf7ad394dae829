#include "commands/html/page.hpp"

#include "commands/communication.hpp"
#include "commands/html/findings_data.hpp"
#include "commands/html/packed_values.hpp"
#include "commands/html/page_tree.hpp"
#include "commands/html/rank_series.hpp"
#include "commands/html/source_costs.hpp"
#include "commands/html/time_maps.hpp"
#include "commands/html/who_for_whom.hpp"
#include "commands/report.hpp"
#include "findings/mpi_calls.hpp"
#include "request/errors.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/flat.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace culprit::viewer {
namespace {

// What the parts may take, in bytes; together with the script less than 5 MB.
constexpr std::size_t kTreesBytes = 1'800'000, kSeriesBytes = 800'000, kSourceBytes = 350'000;
constexpr std::size_t kRowBytes = 60, kCellBytes = 8;  // of a tree, about
constexpr std::size_t kMostColumns = 16;
constexpr std::size_t kMapLines = 160, kMapColumns = 320;
constexpr std::size_t kMatrixSide = 96;

/// Half of the rows are of calling contexts.
struct TreeSizes {
  std::size_t calls = 0, others = 0;
};
TreeSizes sizes_of_trees(std::size_t columns) {
  const std::size_t rows = kTreesBytes / (kRowBytes + columns * kCellBytes);
  return {rows / 2, rows / 4};
}

Json columns_json(const std::vector<PageColumn>& columns) {
  Json json = Json::array();
  for (const PageColumn& each : columns) {
    json.push_back({{"title", each.column.title},
                    {"heading", each.heading},
                    {"meaning", each.meaning},
                    {"unit", each.column.unit},
                    {"inclusive", each.column.name.inclusive},
                    {"additive", each.column.additive()},
                    {"whole", short_number(each.whole)}});
  }
  return json;
}

Json communication_data(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const MpiTraffic traffic = mpi_traffic(figures);
  if (traffic.calls.empty()) return nullptr;
  Json json = to_json(experiment, functions_table(experiment, traffic));
  for (Json& each : json) each["ranks"] = each["ranks"].size();
  return {{"summary", unwrapped(communication_summary(traffic, true))},
          {"note", unwrapped(communication_note(experiment))},
          {"calls", std::move(json)}};
}

Json run_json(const database::Contents& experiment, const std::string& database) {
  const database::Run& run = experiment.run;
  return {{"program", views::base_name(run.program)},
          {"database", views::base_name(database)},
          {"version", CULPRIT_VERSION},
          {"ranks", run.ranks},
          {"threads", experiment.locations.size()},
          {"hosts", run.hosts.size()},
          {"mpi", run.mpi},
          {"start", info_json(experiment)["start"]},
          {"duration_s", short_number(seconds_of(run.duration_ns))},
          {"contexts", experiment.contexts.size()},
          {"flat_scopes", experiment.flat.size()},
          {"traced", experiment.trace().traced}};
}

Json page_data(const views::Figures& figures, const std::string& database, bool sources) {
  const database::Contents& experiment = figures.experiment();
  std::size_t shown = 0;
  const std::vector<PageColumn> columns = page_columns(figures, kMostColumns, shown);
  const TreeSizes sizes = sizes_of_trees(columns.size());
  views::CallingContext calling(figures);
  views::Callers callers(figures);
  views::Flat flat(figures);
  const std::unordered_set<views::NodeId> nothing;
  const std::unordered_set<views::NodeId> named = contexts_named(experiment);
  const PageTree calls_tree(calling, columns, shown, sizes.calls, named);
  const PageTree callers_tree(callers, columns, shown, sizes.others, nothing);
  const PageTree flat_tree(flat, columns, shown, sizes.others, nothing);
  PageTexts texts;
  Json json = {{"run", run_json(experiment, database)},
               {"facts", facts_data(experiment)},
               {"report", report_data(figures, database, calls_tree, flat_tree)},
               {"efficiency", efficiency_data(figures)},
               {"columns", columns_json(columns)},
               {"columns_shown", shown},
               {"trees", Json::array()}};
  for (const PageTree* const tree : {&calls_tree, &callers_tree, &flat_tree})
    json["trees"].push_back(tree->to_json(texts));
  json["series"] = rank_series(figures, {&calls_tree, &callers_tree, &flat_tree}, kSeriesBytes);
  json["maps"] = time_maps(experiment, calls_tree, texts, kMapLines, kMapColumns);
  json["matrices"] = rank_matrices(experiment, calls_tree, kMatrixSide);
  json["lists"] = lists_data(figures, calls_tree);
  json["communication"] = communication_data(figures);
  json["sources"] = source_costs(figures, columns, texts, sources ? kSourceBytes : 0);
  json["texts"] = texts.all();
  return json;
}

/// JSON in which nothing can end the script element around it, whatever names it holds: `<` is spelled.
void write_data(std::ostream& out, const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::size_t from = 0;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', from)) {
    out << std::string_view(text).substr(from, at - from) << "\\u003c";
    from = at + 1;
  }
  out << std::string_view(text).substr(from);
}

}  // namespace

void write_html(std::ostream& out, const views::Source& source, bool sources) {
  const std::string_view page = page_template();
  if (page.empty())
    throw CommandError(
        "export: html: this viewer-cli was built without the page's script (install Debian's "
        "node-d3 and esbuild, then build it again; ./dev install does)");
  constexpr std::string_view kPlace = "@DATA@";
  const std::size_t place = page.find(kPlace);
  const views::Figures figures(source);
  const Json data = page_data(figures, source.file().string(), sources);
  out << page.substr(0, place);
  write_data(out, data);
  out << page.substr(place + kPlace.size());
}

}  // namespace culprit::viewer
