#pragma once

#include "structure/module.hpp"
#include "structure/structure.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

namespace culprit::structure {

/// The paths of source files, each once. libdw hands out the same pointer for the same entry of a file table,
/// which spares normalising a path more than once.
class SourceFiles {
 public:
  /// `raw` comes from libdw, which has joined it with its directory; it lives as long as the debug
  /// information.
  std::uint32_t add(const char* raw);
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::unordered_map<const char*, std::uint32_t> by_pointer_;
  std::unordered_map<std::string, std::uint32_t> by_path_;
  std::vector<std::string> paths_;
};

/// A place in a source file. Line 0: unknown.
struct Place {
  std::uint32_t file = kNone;
  std::uint32_t line = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// The rows of line tables that cover given ranges of addresses. Every row counts, statement boundary or not:
/// for an arbitrary instruction the last row at or before it is the most precise. A row without a line (line
/// 0: the compiler could not say) inherits the row before it of the same sequence.
class LineTable {
 public:
  /// Takes from one compilation unit's table the rows that touch `wanted` (ascending, disjoint).
  void read(Dwarf_Die& unit, std::uint64_t bias, std::span<const Range> wanted, SourceFiles& files);
  /// To be called once after the last read.
  void sort();
  [[nodiscard]] Place find(std::uint64_t address) const;
  /// Appends where rows begin and end within `range`: between these, one place covers all.
  void append_bounds(Range range, std::vector<std::uint64_t>& bounds) const;

 private:
  struct Row {
    Range range;
    Place place;
  };
  std::vector<Row> rows_;
};

}  // namespace culprit::structure
