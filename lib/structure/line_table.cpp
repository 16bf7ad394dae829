// Rows of DWARF line tables (DWARF 5, section 6.2; docs/algorithms.md 15), of the ranges that are asked for
// alone. A row covers the addresses up to the next one. One of line 0, which compilers write where they
// cannot say, inherits the line before it. Cost: one pass over the tables of the units that are read, a sort,
// and a binary search per address.
#include "structure/line_table.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace culprit::structure {
namespace {

bool touches(std::span<const Range> wanted, Range row) {
  const auto after = std::ranges::upper_bound(wanted, row.low, {}, &Range::high);
  return after != wanted.end() && after->low < row.high;
}

}  // namespace

std::uint32_t SourceFiles::add(const char* raw) {
  if (raw == nullptr || *raw == '\0' || std::string_view(raw) == "???") return kNone;
  const auto known = by_pointer_.find(raw);
  if (known != by_pointer_.end()) return known->second;
  std::string text = std::filesystem::path(raw).lexically_normal().string();
  const auto [entry, added] = by_path_.try_emplace(text, static_cast<std::uint32_t>(paths_.size()));
  if (added) paths_.push_back(std::move(text));
  by_pointer_.emplace(raw, entry->second);
  return entry->second;
}

void LineTable::read(Dwarf_Die& unit, std::uint64_t bias, std::span<const Range> wanted, SourceFiles& files) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
  Dwarf_Line* named = nullptr;  // the last row of this sequence that has a line
  for (std::size_t i = 0; i + 1 < count; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(lines, i);
    Dwarf_Addr low = 0, high = 0;
    bool ends = false;
    int number = 0;
    if (dwarf_lineaddr(line, &low) != 0 || dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &high) != 0)
      continue;
    if (dwarf_lineendsequence(line, &ends) != 0 || dwarf_lineno(line, &number) != 0) continue;
    if (ends) named = nullptr;
    if (ends || low == bias) continue;  // address 0: code that the linker left out
    if (number > 0) named = line;
    const Range range{low - bias, high - bias};
    if (range.high <= range.low || !touches(wanted, range)) continue;
    Place place;
    if (named != nullptr && dwarf_lineno(named, &number) == 0)
      place = {files.add(dwarf_linesrc(named, nullptr, nullptr)), static_cast<std::uint32_t>(number)};
    rows_.push_back({range, place});
  }
}

void LineTable::sort() {
  std::ranges::stable_sort(rows_, {}, [](const Row& row) { return row.range.low; });
}

Place LineTable::find(std::uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(rows_, address, {}, [](const Row& row) { return row.range.low; });
  if (after == rows_.begin() || !(after - 1)->range.contains(address)) return {};
  return (after - 1)->place;
}

void LineTable::append_bounds(Range range, std::vector<std::uint64_t>& bounds) const {
  auto row = std::ranges::upper_bound(rows_, range.low, {}, [](const Row& r) { return r.range.low; });
  if (row != rows_.begin()) --row;
  for (; row != rows_.end() && row->range.low < range.high; ++row)
    for (const std::uint64_t bound : {row->range.low, row->range.high})
      if (range.contains(bound)) bounds.push_back(bound);
}

}  // namespace culprit::structure
