#include "database/sections.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

constexpr std::uint32_t kMostBins = 1000;  // as docs/formats.md promises

void put_cells(const std::vector<TimeMap::Cell>& cells, Encoder& into) {
  into.put(static_cast<std::uint32_t>(cells.size()));
  std::uint64_t next = 0;
  for (const TimeMap::Cell& cell : cells) {
    into.put_varint(cell.bin - next);
    into.put_varint(cell.ns);
    next = cell.bin + 1U;
  }
}

void put_series(const TimeMap::Series& series, Encoder& into) {
  into.put(static_cast<std::uint32_t>(series.pattern));
  put_cells(series.cells, into);
}

std::vector<TimeMap::Cell> get_cells(std::uint32_t bins, Decoder& from) {
  std::vector<TimeMap::Cell> cells(from.get_count(2));
  std::uint64_t next = 0;
  for (TimeMap::Cell& cell : cells) {
    const std::uint64_t gap = from.get_varint();
    if (next >= bins || gap >= bins - next) from.fail("has cells beyond its bins");
    cell.bin = static_cast<std::uint32_t>(next + gap);
    cell.ns = from.get_varint();
    next = cell.bin + 1U;
  }
  return cells;
}

TimeMap::Series get_series(std::uint32_t bins, Decoder& from) {
  TimeMap::Series series;
  const auto pattern = from.get<std::uint32_t>();
  if (pattern >= kWaitPatterns) from.fail("has an unknown pattern");
  series.pattern = static_cast<WaitPattern>(pattern);
  series.cells = get_cells(bins, from);
  return series;
}

/// Iterations ascend with time, and are numbered without gaps.
void put_iterations(const TimeMap::Row& row, std::uint32_t bins, Encoder& into) {
  std::uint32_t before = 0;
  for (std::uint32_t bin = 0; bin < bins; ++bin) {
    const TimeMap::Iterations here =
        bin < row.iterations.size() ? row.iterations[bin] : TimeMap::Iterations{};
    into.put_varint(here.count);
    if (here.count == 0) continue;
    into.put_varint(here.first - before);
    before = here.first;
  }
}

std::vector<TimeMap::Iterations> get_iterations(std::uint32_t bins, Decoder& from) {
  std::vector<TimeMap::Iterations> iterations(bins);
  std::uint64_t before = 0;
  for (TimeMap::Iterations& here : iterations) {
    const std::uint64_t count = from.get_varint();
    if (count > UINT32_MAX) from.fail("has more iterations than can be numbered");
    here.count = static_cast<std::uint32_t>(count);
    if (count == 0) continue;
    const std::uint64_t gap = from.get_varint();
    if (gap > UINT32_MAX - before) from.fail("has iterations that cannot be numbered");
    before += gap;
    here.first = static_cast<std::uint32_t>(before);
  }
  return iterations;
}

}  // namespace

Bytes encode_time_map(const TimeMap& map) {
  Encoder into;
  into.put(map.begin_ns);
  into.put(map.bin_ns);
  into.put(map.bins);
  into.put(static_cast<std::uint32_t>(map.rows.size()));
  for (const TimeMap::Row& row : map.rows) {
    into.put(row.rank);
    into.put(static_cast<std::uint32_t>(row.waits.size()));
    for (const std::uint64_t ns : row.calls_ns) into.put_varint(ns);
    put_runs(row.contexts, into);
    for (const TimeMap::Series& series : row.waits) put_series(series, into);
  }
  for (const TimeMap::Row& row : map.rows) put_iterations(row, map.bins, into);
  for (const TimeMap::Row& row : map.rows) put_cells(row.critical, into);
  return into.take();
}

TimeMap decode_time_map(ByteSpan bytes) {
  TimeMap map;
  if (bytes.empty()) return map;
  Decoder from(bytes, "the section on time");
  map.begin_ns = from.get<std::uint64_t>();
  map.bin_ns = from.get<std::uint64_t>();
  map.bins = from.get<std::uint32_t>();
  if (map.bins > kMostBins) from.fail("has too many bins");
  if (map.bins > 0 && map.bin_ns == 0) from.fail("has bins of no length");
  map.rows.resize(from.get_count(8 + map.bins));
  for (TimeMap::Row& row : map.rows) {
    row.rank = from.get<std::int32_t>();
    const std::uint32_t series = from.get_count(8);
    row.calls_ns.resize(map.bins);
    for (std::uint64_t& ns : row.calls_ns) ns = from.get_varint();
    row.contexts = get_runs(map.bins, from);
    row.waits.reserve(series);
    for (std::uint32_t each = 0; each < series; ++each) row.waits.push_back(get_series(map.bins, from));
  }
  if (from.remaining() == 0) return map;
  for (TimeMap::Row& row : map.rows) row.iterations = get_iterations(map.bins, from);
  if (from.remaining() == 0) return map;
  for (TimeMap::Row& row : map.rows) row.critical = get_cells(map.bins, from);
  return map;
}

}  // namespace culprit::database
