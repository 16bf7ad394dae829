#include "tree/view_json.hpp"

#include "text/frame_json.hpp"
#include "text/table.hpp"

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

/// The nodes of a view as a table: in json those below a node are its `children`, in csv its `id` is their
/// `parent`.
class NodeTable {
 public:
  explicit NodeTable(const ViewRequest& request) : request_(request) {
    for (const views::Column& column : request.columns)
      columns_.push_back({column.title, Table::In::both, "values"});
    columns_.push_back({"observers"});
    columns_.push_back({"threads"});
  }

  void write_json(std::ostream& out, const std::vector<views::ShownNode>& nodes,
                  std::size_t depth = 1) const {
    out << '[';
    bool first = true;
    for (const views::ShownNode& shown : nodes) {
      std::string node = one_line(to_json(experiment(), columns_, row_of(shown, {}, 0)));
      node.back() = ',';  // it goes on
      out << (first ? "\n" : ",\n") << std::string(depth, ' ') << node << R"("children":)";
      write_json(out, shown.children, depth + 1);
      out << '}';
      first = false;
    }
    out << ']';
  }

  void write_csv(std::ostream& out, const std::vector<views::ShownNode>& nodes) const {
    write_csv_header(out, columns_);
    write_rows(out, nodes, {}, 0);
  }

 private:
  [[nodiscard]] const database::Contents& experiment() const { return request_.figures->experiment(); }

  [[nodiscard]] Table::Row row_of(const views::ShownNode& shown, const std::string& parent,
                                  std::uint64_t depth) const {
    const views::View& view = *request_.view;
    const views::Presence presence = view.presence(shown.node, request_.options.sort.role);
    Table::Row row = {view.id(shown.node), parent, depth, Table::Scope{view.frame(shown.node)}};
    for (const views::Column& column : request_.columns) row.emplace_back(view.value(shown.node, column));
    row.push_back(presence.exact ? Table::Cell(std::uint64_t{presence.observers}) : Table::Cell());
    row.emplace_back(std::uint64_t{presence.threads});
    return row;
  }

  void write_rows(std::ostream& out, const std::vector<views::ShownNode>& nodes, const std::string& parent,
                  std::uint64_t depth) const {
    for (const views::ShownNode& shown : nodes) {
      write_csv_row(out, experiment(), columns_, row_of(shown, parent, depth));
      write_rows(out, shown.children, request_.view->id(shown.node), depth + 1);
    }
  }

  const ViewRequest& request_;
  Table::Columns columns_ = {{"id"}, {"parent", Table::In::csv}, {"depth", Table::In::csv}, Table::frame()};
};

}  // namespace

void write_view_json(std::ostream& out, const ViewRequest& request, const views::Shown& shown) {
  Json metrics = Json::array();
  Json units = Json::object();
  for (const views::Column& column : request.columns) {
    metrics.push_back(column.title);
    units[column.title] = column.unit;
  }
  out << R"({"view":)" << one_line(request.view->name()) << ",\n"
      << R"("metrics":)" << one_line(metrics) << ",\n"
      << R"("units":)" << one_line(units) << ",\n"
      << R"("role":)" << (request.role.empty() ? "null" : one_line(request.role)) << ",\n"
      << R"("roots":)";
  NodeTable(request).write_json(out, shown.roots);
  out << "}\n";
}

void write_view_csv(std::ostream& out, const ViewRequest& request, const views::Shown& shown) {
  NodeTable(request).write_csv(out, shown.roots);
}

}  // namespace culprit::viewer
