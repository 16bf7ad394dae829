#include "commands/run.hpp"
#include "request/view_request.hpp"
#include "text/frame_json.hpp"
#include "text/table.hpp"
#include "tree/tree_text.hpp"
#include "tree/view_json.hpp"
#include "views/calling_context.hpp"
#include "views/node_path.hpp"

#include <nlohmann/json.hpp>

namespace culprit::viewer {

void run_view(std::ostream& out, const Screen& screen, const views::Source& source,
              const Invocation& invocation) {
  const ViewRequest request = make_view_request(source, invocation);
  views::Shown shown;
  try {
    shown = views::show(*request.view, request.options, whole_of(request));
  } catch (const views::BadFocus& bad) {
    throw UsageError("--focus: " + std::string(bad.what()));
  }
  switch (invocation.format) {
    case Format::text:
      write_tree(out, screen, request, shown, invocation.ids);
      break;
    case Format::json:
      write_view_json(out, request, shown);
      break;
    case Format::csv:
      write_view_csv(out, request, shown);
      break;
  }
}

namespace {

Table table_of(const views::View& view, const std::vector<views::HotStep>& path, const std::string& metric) {
  using enum Table::In;
  Table table{{{"id"}, Table::frame(), {metric, csv}, {"value", json}, {"share"}}, {}};
  for (const views::HotStep& step : path)
    table.rows.push_back(
        {view.id(step.node), Table::Scope{view.frame(step.node)}, step.value, step.value, step.share});
  return table;
}

}  // namespace

void run_hot_path(std::ostream& out, const Screen& screen, const views::Source& source,
                  const Invocation& invocation) {
  Invocation as_view = invocation;
  as_view.view = ViewKind::calling_context;
  as_view.sort = invocation.metric;
  ViewRequest request = make_view_request(source, as_view);
  // What a frame costs itself says nothing about where the path goes on: the costs below it do.
  const bool own = !request.options.sort.derived && request.options.size;
  const views::Column& column = own ? *request.options.size : request.options.sort;
  if (invocation.format == Format::text) {
    const std::vector<views::VisibleNode> rows =
        views::hot_rows(*request.view, column, views::passed_over(request.options));
    if (rows.empty()) {
      out << "The run has no " << column.title << ".\n";
    } else {
      write_path(out, screen, request, rows, invocation.ids);
    }
    return;
  }
  const std::vector<views::HotStep> path =
      views::hot_path(*request.view, column, views::total(*request.figures, column));
  const Table table = table_of(*request.view, path, column.title);
  if (invocation.format == Format::csv) {
    write_csv(out, source.experiment(), table);
  } else {
    out << write(
        {{"metric", column.title}, {"unit", column.unit}, {"path", to_json(source.experiment(), table)}});
  }
}

}  // namespace culprit::viewer
