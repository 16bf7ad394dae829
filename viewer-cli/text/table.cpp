#include "text/table.hpp"

#include "text/shorten.hpp"
#include "views/frame.hpp"

#include <algorithm>
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
  Json operator()(const Table::Parts& parts) const {
    Json array = Json::array();
    for (const Table::Part& part : parts)
      array.push_back({{"name", part.name}, {"id", part.id}, {"excess_s", part.seconds}});
    return array;
  }
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
    Table::Scopes frames;
    if (path.context != kNone) {
      for (const database::ContextId each : views::path_to(experiment, path.context))
        frames.push_back(views::frame_of(experiment, experiment.contexts[each]));
    }
    return (*this)(frames);
  }
  std::string operator()(const Table::Scope& scope) const { return std::string(scope.frame.name); }
  std::string operator()(const Table::Scopes& path) const { return joined(path, "/", views::label); }
  std::string operator()(const Table::Parts& parts) const {
    return joined(parts, " ", [](const Table::Part& part) { return part.name; });
  }
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
    if (columns[i].in == Table::In::json || columns[i].in == Table::In::text) continue;
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
    if (column.in == Table::In::csv || column.in == Table::In::text) continue;
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

namespace {

std::optional<double> number_of(const Table::Cell& cell) {
  if (const auto* const value = std::get_if<double>(&cell)) return *value;
  if (const auto* const whole = std::get_if<std::uint64_t>(&cell)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string amount_text(const Table::TextColumn& column, double value, bool unicode) {
  switch (column.as) {
    case Table::As::scaled:
      return column.scale.write(value) + (column.scale.unit.empty() ? "" : ' ' + column.scale.unit);
    case Table::As::seconds:
      return duration(value, unicode);
    case Table::As::share:
      return round_percent(value);
    case Table::As::bytes:
      return bytes(value);
    case Table::As::rate:
      return bytes(value) + "/s";
    default:
      return grouped(value);
  }
}

/// The texts of one column, and how they stand in it.
struct ColumnText {
  const Table::TextColumn& column;
  std::vector<std::string> cells = {};
  std::size_t width = 0;  ///< 0: no cell has a text

  ColumnText(const Screen& screen, const Contents& experiment, const Table& table,
             const Table::TextColumn& described, std::size_t rows)
      : column(described) {
    const auto place = std::ranges::find(table.columns, described.column, &Table::Column::name);
    const auto index = static_cast<std::size_t>(place - table.columns.begin());
    for (std::size_t i = 0; i < rows; ++i) {
      const Table::Cell& cell = table.rows[i][index];
      const std::optional<double> number = number_of(cell);
      cells.push_back(number ? amount_text(column, *number, screen.unicode)
                             : std::visit(TextOf{experiment}, cell));
      if (std::holds_alternative<std::monostate>(cell)) cells.back() = column.none;
      width = std::max(width, columns(cells.back()));
    }
    if (width > 0) width = std::max(width, columns(column.heading));
  }

  [[nodiscard]] bool is_left() const { return column.as == Table::As::left || column.as == Table::As::name; }
};

/// Side by side, two blanks between them and none at the end; `text_of` gives each column's.
template <class TextOfColumn>
std::string line_of(const std::vector<ColumnText>& all, const TextOfColumn& text_of) {
  std::string line;
  std::size_t taken = 0, end = 0;
  for (const ColumnText& each : all) {
    const auto& [text, width] = text_of(each);
    const std::size_t begin = end + (each.is_left() ? 0 : each.width - width);
    if (width > 0) {
      line += std::string(begin - taken, ' ') + text;
      taken = begin + width;
    }
    end += each.width + 2;
  }
  return line;
}

}  // namespace

std::vector<std::string> to_lines(const Screen& screen, const Contents& experiment, const Table& table,
                                  std::size_t most) {
  const std::size_t rows = std::min(most, table.rows.size());
  std::vector<ColumnText> all;
  for (const Table::TextColumn& column : table.text) {
    ColumnText text(screen, experiment, table, column, rows);
    if (text.width > 0) all.push_back(std::move(text));
  }
  using Shown = std::pair<std::string, std::size_t>;  // what is written, and the columns that it takes
  std::vector<std::string> lines;
  if (std::ranges::any_of(table.text, [](const auto& column) { return !column.heading.empty(); })) {
    lines.push_back(screen.dim(line_of(all, [](const ColumnText& each) {
      return Shown{each.column.heading, columns(each.column.heading)};
    })));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    lines.push_back(line_of(all, [&](const ColumnText& each) {
      const std::string& text = each.cells[i];
      return Shown{each.column.as == Table::As::name ? screen.bold(text) : text, columns(text)};
    }));
  }
  return lines;
}

}  // namespace culprit::viewer
