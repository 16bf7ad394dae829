#include "commands/run.hpp"
#include "request/view_request.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "text/table.hpp"
#include "tree/diff_text.hpp"
#include "views/compared.hpp"
#include "views/derived.hpp"
#include "views/shown.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

/// One of the two runs, as the command line asks for it.
struct Side {
  views::Column column;
  std::unique_ptr<views::Figures> figures;
};

void require_comparable(const views::Column& column, const Invocation& invocation) {
  std::vector<views::Column> measured;
  views::add_measured(column, measured);
  for (const views::Column& each : measured) {
    if (!each.additive())
      throw UsageError("metric: " + each.title + " cannot be compared (use :sum or :mean)");
    if (each.blame && !invocation.ranks.empty())
      throw UsageError("metric: imbalance needs all ranks (leave out --ranks)");
  }
}

/// Throws where no thread of either run has the role that is asked for; where those of one run have it, they
/// are compared with nothing.
void require_role(const views::Source& first, const views::Source& second, const Invocation& invocation) {
  if (invocation.role.empty()) return;
  std::string refused;
  for (const auto& [path, source] :
       {std::pair(invocation.database, &first), std::pair(invocation.other, &second)}) {
    try {
      views::find_role(source->experiment(), invocation.role);
      return;
    } catch (const views::UnknownMetric& unknown) {
      refused += (refused.empty() ? "" : "; ") + path + ": " + unknown.what();
    }
  }
  throw UsageError("--role: " + refused);
}

Side make_side(const views::Source& source, const Invocation& invocation, const std::string& metric) {
  Side side{require_column(source, invocation, metric), {}};
  require_comparable(side.column, invocation);
  std::vector<views::Column> needed = {side.column};
  if (side.column.derived)
    needed.push_back(require_column(source, invocation, primary_metric(source.experiment())));
  side.figures = make_figures(source, invocation, needed);
  return side;
}

/// Errors state that they are about the second database.
Side make_second(const views::Source& source, const Invocation& invocation, const std::string& metric) {
  try {
    return make_side(source, invocation, metric);
  } catch (const UsageError& missing) {
    throw UsageError(invocation.other + ": " + missing.what());
  }
}

bool is_short(const Invocation& invocation) {
  return invocation.format == Format::text && !invocation.all;
}

views::ShowOptions options_of(const Invocation& invocation) {
  const bool short_text = is_short(invocation);
  views::ShowOptions options;
  options.sort = views::Compared::column(views::Change::change);
  options.size = views::Compared::weight();
  options.depth = invocation.depth;
  options.focus = invocation.focus;
  options.min_percent = invocation.min_percent.value_or(short_text ? kLeastInText : 0);
  options.hide_start_up = short_text;
  options.hide_wait_internals = short_text && !invocation.inside_waits;
  return options;
}

void flatten(const std::vector<views::ShownNode>& list, std::vector<views::NodeId>& nodes) {
  for (const views::ShownNode& shown : list) {
    nodes.push_back(shown.node);
    flatten(shown.children, nodes);
  }
}

/// The nodes shown, the largest change first.
std::vector<views::NodeId> rows_of(const views::Compared& view, const views::Shown& shown) {
  std::vector<views::NodeId> rows;
  flatten(shown.roots, rows);
  std::stable_sort(rows.begin(), rows.end(), [&](views::NodeId left, views::NodeId right) {
    return view.compared(left).extent() > view.compared(right).extent();
  });
  return rows;
}

const Table::Columns kDiffColumns = {{"path"},  {"kind", Table::In::csv}, {"a"}, {"b"}, {"change"},
                                     {"ratio"}, {"scaling_loss"}};

Table::Row row_of(const views::Compared& view, views::NodeId node, views::Scaling scaling) {
  const views::ComparedScope& scope = view.compared(node);
  return {view.path(node),
          std::string(views::kind_name(scope.frame().kind)),
          scope.a,
          scope.b,
          scope.change(),
          Table::cell(views::Difference::ratio(scope)),
          Table::cell(view.difference().scaling_loss(scope, scaling))};
}

void write_diff_json(std::ostream& out, const DiffSetting& setting, const views::Compared& view,
                     const std::vector<views::NodeId>& nodes) {
  const views::Column& column = view.difference().column();
  Json notes = Json::array();
  for (const RunNote& note : notes_of(setting))
    notes.push_back({{"run", note.run}, {"text", unwrapped(note.text)}});
  out << R"({"metric":)" << one_line(column.title) << R"(,"unit":)" << one_line(column.unit) << R"(,"notes":)"
      << one_line(notes) << ",\n\"nodes\":[";
  bool first = true;
  for (const views::NodeId node : nodes) {
    out << (first ? "\n" : ",\n")
        << one_line(to_json(setting.first, kDiffColumns, row_of(view, node, setting.scaling)));
    first = false;
  }
  out << "]}\n";
}

void write_diff_csv(std::ostream& out, const DiffSetting& setting, const views::Compared& view,
                    const std::vector<views::NodeId>& nodes) {
  write_csv_header(out, kDiffColumns);
  for (const views::NodeId node : nodes)
    write_csv_row(out, setting.first, kDiffColumns, row_of(view, node, setting.scaling));
}

}  // namespace

void run_diff(std::ostream& out, const Screen& screen, const views::Source& first,
              const views::Source& second, const Invocation& invocation) {
  require_role(first, second, invocation);
  const std::string metric =
      invocation.metric.empty() ? primary_metric(first.experiment()) : invocation.metric;
  const Side before = make_side(first, invocation, metric);
  const Side after = make_second(second, invocation, metric);
  const views::Difference difference(*before.figures, before.column, *after.figures, after.column);
  views::Compared view(difference, !is_short(invocation) || invocation.inside_waits);
  views::Shown shown;
  try {
    shown = views::show(view, options_of(invocation), difference.whole());
    shown.start_up = 0;  // nobody misses them in a comparison
  } catch (const views::BadFocus& bad) {
    throw UsageError("--focus: " + std::string(bad.what()));
  }
  DiffSetting setting{first.experiment(), second.experiment(),
                      views::likely_scaling(views::Figures(first), views::Figures(second))};
  setting.scaling = invocation.scaling.value_or(setting.likely.scaling);
  switch (invocation.format) {
    case Format::text:
      write_diff(out, screen, view, shown, setting, invocation);
      break;
    case Format::json:
      write_diff_json(out, setting, view, rows_of(view, shown));
      break;
    case Format::csv:
      write_diff_csv(out, setting, view, rows_of(view, shown));
      break;
  }
}

}  // namespace culprit::viewer
