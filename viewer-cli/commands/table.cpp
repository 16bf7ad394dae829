#include "commands/table.hpp"

#include "text/call_path_text.hpp"
#include "text/csv.hpp"

#include <set>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::Contents;
using database::kNone;

std::set<std::int32_t> ranks_of(const Contents& experiment, const Table::Ranks& ranks) {
  std::set<std::int32_t> result;
  for (const std::uint32_t location : ranks.locations) result.insert(experiment.locations[location].rank);
  result.erase(-1);
  return result;
}

/// What a cell is in json.
struct JsonOf {
  const Contents& experiment;

  Json operator()(std::monostate /*none*/) const { return nullptr; }
  Json operator()(const Table::Thread& thread) const {
    Json object = Json::object();
    add_location(object, experiment, thread.location);
    return object;
  }
  Json operator()(const Table::Threads& threads) const { return locations_json(experiment, threads); }
  Json operator()(const Table::Ranks& ranks) const { return ranks_of(experiment, ranks); }
  Json operator()(const Table::Path& path) const {
    return path.context == kNone ? Json::array() : path_json(experiment, path.context);
  }
  Json operator()(const Table::Scope& scope) const { return viewer::to_json(scope.frame); }
  template <class Plain>
  Json operator()(const Plain& value) const {
    return value;
  }
};

/// What a cell is in csv.
struct TextOf {
  const Contents& experiment;

  std::string operator()(std::monostate /*none*/) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(double value) const { return csv_number(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const Table::Thread& thread) const {
    return location_label(experiment, thread.location);
  }
  std::string operator()(const Table::Threads& threads) const { return (*this)(Table::Ranks{threads}); }
  std::string operator()(const Table::Ranks& ranks) const {
    std::string text;
    for (const std::int32_t rank : ranks_of(experiment, ranks))
      text += (text.empty() ? "" : " ") + std::to_string(rank);
    return text;
  }
  std::string operator()(const Table::Path& path) const {
    return path.context == kNone ? std::string() : whole_path(experiment, path.context);
  }
  std::string operator()(const Table::Scope& scope) const { return std::string(scope.frame.name); }
};

void add_location_of(Json& row, const Contents& experiment, const Table::Cell& cell) {
  if (const auto* const thread = std::get_if<Table::Thread>(&cell)) {
    add_location(row, experiment, thread->location);
    return;
  }
  for (const char* const field : {"rank", "thread", "role", "process"}) row[field] = nullptr;
}

}  // namespace

Json to_json(const Contents& experiment, const Table& table) {
  Json array = Json::array();
  for (const std::vector<Table::Cell>& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Table::Column& column = table.columns[i];
      if (column.in == Table::In::csv) continue;
      if (column.name == "location") {
        add_location_of(row, experiment, cells[i]);
      } else {
        row[column.name] = std::visit(JsonOf{experiment}, cells[i]);
      }
    }
    array.push_back(std::move(row));
  }
  return array;
}

void write_csv(std::ostream& out, const Contents& experiment, const Table& table) {
  const auto write = [&](const auto& field_of) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].in != Table::In::json) fields.push_back(field_of(i));
    }
    write_csv_row(out, fields);
  };
  write([&](std::size_t i) { return table.columns[i].name; });
  for (const std::vector<Table::Cell>& cells : table.rows)
    write([&](std::size_t i) { return std::visit(TextOf{experiment}, cells[i]); });
}

}  // namespace culprit::viewer
