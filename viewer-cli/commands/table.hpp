#pragma once

#include "database/contents.hpp"
#include "text/frame_json.hpp"

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace culprit::viewer {

/// What a command found, described once: columns and typed cells, which two writers make csv and json of.
struct Table {
  enum class In : std::uint8_t { both, csv, json };
  struct Column {
    std::string name;
    In in = In::both;
  };
  /// A thread: in json an object; of the column `location`, the fields of that beside the others.
  struct Thread {
    std::uint32_t location = 0;
  };
  /// A call path; of kNone an empty one.
  struct Path {
    database::ContextId context = database::kNone;
  };
  /// The ranks of threads, each once.
  struct Ranks {
    std::vector<std::uint32_t> locations;
  };
  using Threads = std::vector<std::uint32_t>;
  /// A scope of a view: in json an object, in csv its name. Its texts must outlive the table.
  struct Scope {
    views::Frame frame;
  };
  /// monostate: there is none.
  using Cell = std::variant<std::monostate, bool, double, std::uint64_t, std::int64_t, std::string, Thread,
                            Threads, Ranks, Path, Scope>;
  static Cell cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< a cell for each column
};

/// An array with an object per row.
Json to_json(const database::Contents& experiment, const Table& table);
void write_csv(std::ostream& out, const database::Contents& experiment, const Table& table);

}  // namespace culprit::viewer
