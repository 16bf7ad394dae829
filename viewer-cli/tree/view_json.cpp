#include "tree/view_json.hpp"

#include "text/csv.hpp"
#include "text/frame_json.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Writer {
 public:
  Writer(std::ostream& out, const ViewRequest& request) : out_(out), request_(request) {}

  void nodes(const std::vector<views::ShownNode>& list, std::size_t depth) {
    out_ << '[';
    for (std::size_t index = 0; index < list.size(); ++index) {
      out_ << (index == 0 ? "\n" : ",\n") << std::string(depth, ' ');
      node(list[index], depth);
    }
    out_ << ']';
  }

 private:
  void node(const views::ShownNode& shown, std::size_t depth) {
    const views::View& view = *request_.view;
    const views::Presence presence = view.presence(shown.node, request_.options.sort.role);
    out_ << R"({"id":)" << compact(view.id(shown.node)) << R"(,"frame":)"
         << compact(to_json(view.frame(shown.node))) << R"(,"values":)" << compact(values(shown.node))
         << R"(,"observers":)" << (presence.exact ? std::to_string(presence.observers) : "null")
         << R"(,"threads":)" << presence.threads << R"(,"children":)";
    nodes(shown.children, depth + 1);
    out_ << '}';
  }

  [[nodiscard]] Json values(views::NodeId node) const {
    Json values = Json::object();
    for (const views::Column& column : request_.columns)
      values[column.title] = request_.view->value(node, column);
    return values;
  }

  std::ostream& out_;
  const ViewRequest& request_;
};

void write_rows(std::ostream& out, const ViewRequest& request, const std::vector<views::ShownNode>& nodes,
                const std::string& parent, std::size_t depth) {
  const views::View& view = *request.view;
  for (const views::ShownNode& shown : nodes) {
    const views::Frame frame = view.frame(shown.node);
    const views::Presence presence = view.presence(shown.node, request.options.sort.role);
    const std::string id = view.id(shown.node);
    std::vector<std::string> row = {id,
                                    parent,
                                    std::to_string(depth),
                                    std::string(views::kind_name(frame.kind)),
                                    std::string(frame.name),
                                    std::string(frame.file),
                                    std::to_string(frame.line),
                                    std::string(frame.module)};
    for (const views::Column& column : request.columns)
      row.push_back(csv_number(view.value(shown.node, column)));
    row.push_back(presence.exact ? std::to_string(presence.observers) : "");
    row.push_back(std::to_string(presence.threads));
    write_csv_row(out, row);
    write_rows(out, request, shown.children, id, depth + 1);
  }
}

}  // namespace

void write_view_json(std::ostream& out, const ViewRequest& request, const views::Shown& shown) {
  Json metrics = Json::array();
  Json units = Json::object();
  for (const views::Column& column : request.columns) {
    metrics.push_back(column.title);
    units[column.title] = column.unit;
  }
  out << R"({"view":)" << compact(request.view->name()) << ",\n"
      << R"("metrics":)" << compact(metrics) << ",\n"
      << R"("units":)" << compact(units) << ",\n"
      << R"("role":)" << (request.role.empty() ? "null" : compact(request.role)) << ",\n"
      << R"("roots":)";
  Writer(out, request).nodes(shown.roots, 1);
  out << "}\n";
}

void write_view_csv(std::ostream& out, const ViewRequest& request, const views::Shown& shown) {
  std::vector<std::string> header = {"id", "parent", "depth", "kind", "name", "file", "line", "module"};
  for (const views::Column& column : request.columns) header.push_back(column.title);
  header.emplace_back("observers");
  header.emplace_back("threads");
  write_csv_row(out, header);
  write_rows(out, request, shown.roots, "", 0);
}

}  // namespace culprit::viewer
