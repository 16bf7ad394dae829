#include "text/table.hpp"

#include "text/call_path_text.hpp"

#include <cmath>
#include <set>

#include <fmt/core.h>
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
  Json operator()(const Table::Scopes& path) const { return path_json(path); }
  template <class Plain>
  Json operator()(const Plain& value) const {
    return value;
  }
};

/// Texts with something between them.
template <class Items, class TextOfItem>
std::string joined(const Items& items, const char* between, TextOfItem text_of) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += between;
    text += text_of(item);
  }
  return text;
}

std::string numbers(const auto& all) {
  return joined(all, " ", [](std::int32_t number) { return std::to_string(number); });
}

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
  std::string operator()(const Table::Ranks& ranks) const { return numbers(ranks_of(experiment, ranks)); }
  std::string operator()(const Table::Numbers& all) const { return numbers(all); }
  std::string operator()(const Table::Path& path) const {
    return path.context == kNone ? std::string() : whole_path(experiment, path.context);
  }
  std::string operator()(const Table::Scope& scope) const { return std::string(scope.frame.name); }
  std::string operator()(const Table::Scopes& path) const { return joined(path, "/", views::label); }
  std::string operator()(const Table::Texts& texts) const {
    return joined(texts, " ", [](const std::string& text) { return text; });
  }
};

void add_location_of(Json& row, const Contents& experiment, const Table::Cell& cell) {
  if (const auto* const thread = std::get_if<Table::Thread>(&cell)) {
    add_location(row, experiment, thread->location);
    return;
  }
  for (const char* const field : {"rank", "thread", "role", "process"}) row[field] = nullptr;
}

/// Of the columns that csv has, those of a frame being several.
template <class Add, class AddFrame>
void each_in_csv(const Table::Columns& columns, const Add& add, const AddFrame& add_frame) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].in == Table::In::json) continue;
    if (columns[i].is_frame) {
      add_frame(i);
    } else {
      add(i);
    }
  }
}

}  // namespace

Json to_json(const Contents& experiment, const Table::Columns& columns, const Table::Row& row) {
  Json object = Json::object();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Table::Column& column = columns[i];
    if (column.in == Table::In::csv) continue;
    if (column.name == "location") {
      add_location_of(object, experiment, row[i]);
      continue;
    }
    Json& place = column.object.empty() ? object : object[column.object];
    place[column.name] = std::visit(JsonOf{experiment}, row[i]);
  }
  return object;
}

Json to_json(const Contents& experiment, const Table& table) {
  Json array = Json::array();
  for (const Table::Row& row : table.rows) array.push_back(to_json(experiment, table.columns, row));
  return array;
}

void write_csv_header(std::ostream& out, const Table::Columns& columns) {
  std::vector<std::string> fields;
  each_in_csv(
      columns, [&](std::size_t i) { fields.push_back(columns[i].name); },
      [&](std::size_t /*column*/) {
        fields.insert(fields.end(), {"kind", "name", "file", "line", "module"});
      });
  write_csv_row(out, fields);
}

void write_csv_row(std::ostream& out, const Contents& experiment, const Table::Columns& columns,
                   const Table::Row& row) {
  std::vector<std::string> fields;
  each_in_csv(
      columns, [&](std::size_t i) { fields.push_back(std::visit(TextOf{experiment}, row[i])); },
      [&](std::size_t i) {
        const views::Frame& frame = std::get<Table::Scope>(row[i]).frame;
        fields.insert(fields.end(),
                      {std::string(views::kind_name(frame.kind)), std::string(frame.name),
                       std::string(frame.file), std::to_string(frame.line), std::string(frame.module)});
      });
  write_csv_row(out, fields);
}

void write_csv(std::ostream& out, const Contents& experiment, const Table& table) {
  write_csv_header(out, table.columns);
  for (const Table::Row& row : table.rows) write_csv_row(out, experiment, table.columns, row);
}

void write_csv_row(std::ostream& out, const std::vector<std::string>& fields) {
  for (std::size_t index = 0; index < fields.size(); ++index) {
    if (index != 0) out << ',';
    const std::string& field = fields[index];
    if (field.find_first_of(",\"\n\r") == std::string::npos) {
      out << field;
      continue;
    }
    out << '"';
    for (const char letter : field) {
      if (letter == '"') out << '"';
      out << letter;
    }
    out << '"';
  }
  out << '\n';
}

std::string csv_number(double value) {
  return std::isnan(value) ? std::string{} : fmt::format("{}", value);
}

}  // namespace culprit::viewer
