#pragma once

#include "database/contents.hpp"
#include "text/frame_json.hpp"
#include "text/quantity.hpp"
#include "text/screen.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace culprit::viewer {

/// What a command found, described once: columns and typed cells, of which three writers make csv, json and
/// text.
struct Table {
  enum class In : std::uint8_t { both, csv, json, text };
  struct Column {
    std::string name;
    In in = In::both;
    std::string object = {};  ///< in json, a field of the object of this name
    bool is_frame = false;    ///< its cells are Scopes, each of which has several fields in csv
  };
  static Column frame() { return {"frame", In::both, {}, true}; }
  /// A thread: in json an object; of the column `location`, the fields of that beside the others.
  struct Thread {
    std::uint32_t location = 0;
  };
  /// A call path; of kNone an empty one. In csv the labels of its frames, with `/` between them.
  struct Path {
    database::ContextId context = database::kNone;
  };
  /// The ranks of threads, each once.
  struct Ranks {
    std::vector<std::uint32_t> locations;
  };
  using Threads = std::vector<std::uint32_t>;
  /// A scope of a view: in json an object, in csv its kind, name, file, line and module. Its texts must
  /// outlive the table.
  struct Scope {
    views::Frame frame;
  };
  /// The path of a scope of a view or of two runs that are compared, written as a Path. The same holds of
  /// its texts.
  using Scopes = std::vector<views::Frame>;
  /// Of a whole, the code that holds some; in json only.
  struct Part {
    std::string name, id;
    double seconds = 0;
  };
  using Parts = std::vector<Part>;
  using Texts = std::vector<std::string>;
  using Numbers = std::vector<std::int32_t>;
  /// monostate: there is none.
  using Cell = std::variant<std::monostate, bool, double, std::uint64_t, std::int64_t, std::string, Thread,
                            Threads, Ranks, Path, Scope, Scopes, Parts, Texts, Numbers>;
  /// How a text shows an amount, at the right of its column, or a name, at its left.
  enum class As : std::uint8_t { number, scaled, seconds, share, bytes, rate, right, left, name };
  struct TextColumn {
    std::string column;  ///< its name
    std::string heading = {};
    As as = As::left;
    Scale scale = {};       ///< of `scaled`
    std::string none = {};  ///< in place of a value that there is not
  };
  static Cell cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

  using Columns = std::vector<Column>;
  using Row = std::vector<Cell>;  ///< a cell for each column

  Columns columns;
  std::vector<Row> rows;
  std::vector<TextColumn> text = {};  ///< what a text shows, in this order
};

/// An array with an object per row.
Json to_json(const database::Contents& experiment, const Table& table);
void write_csv(std::ostream& out, const database::Contents& experiment, const Table& table);
/// A line of headings, where a column has one, and a line for each of the first `most` rows. Columns without
/// any value are left out.
std::vector<std::string> to_lines(const Screen& screen, const database::Contents& experiment,
                                  const Table& table, std::size_t most);

// The same row by row, of tables that are too large to be kept.
Json to_json(const database::Contents& experiment, const Table::Columns& columns, const Table::Row& row);
void write_csv_header(std::ostream& out, const Table::Columns& columns);
void write_csv_row(std::ostream& out, const database::Contents& experiment, const Table::Columns& columns,
                   const Table::Row& row);

/// One row as RFC 4180 has it (line feed only): fields quoted where they hold a comma, a quote or a line
/// break.
void write_csv_row(std::ostream& out, const std::vector<std::string>& fields);
/// A number with all its digits; empty where there is none (NaN).
std::string csv_number(double value);

}  // namespace culprit::viewer
