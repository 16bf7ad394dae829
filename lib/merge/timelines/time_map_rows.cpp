#include "merge/timelines/time_map_rows.hpp"

#include "exchange/message_exchange.hpp"

#include <algorithm>

namespace culprit::merge {
namespace {

/// A row as it travels: its bins and its waits follow, each kind in a list of its own.
struct RowHead {
  std::int32_t rank = -1;
  std::uint32_t waits = 0;
  std::uint32_t critical = 0, unused = 0;
};
struct Bin {
  std::uint64_t calls_ns = 0;
  std::uint32_t context = 0;
  waits::SegmentsInBin segments;
  std::uint32_t unused = 0;  // no padding: bins are sent as they are
};

template <class Item>
std::vector<Item> gather(exchange::Communicator& comm, const std::vector<Item>& own) {
  std::vector<Item> all;
  for (const exchange::Bytes& bytes : comm.gather(exchange::bytes_of(std::span<const Item>(own)), 0)) {
    const std::vector<Item> part = exchange::items_of<Item>(bytes);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// The waits of one row, which are ordered by pattern and bin.
std::vector<database::TimeMap::Series> series_of(std::span<const waits::WaitInBin> row) {
  std::vector<database::TimeMap::Series> list;
  for (const waits::WaitInBin& each : row) {
    const auto pattern = static_cast<database::WaitPattern>(static_cast<int>(each.pattern) - 1);
    if (list.empty() || list.back().pattern != pattern) list.push_back({pattern, {}});
    list.back().cells.push_back({each.bin, each.ns});
  }
  return list;
}

/// Those that have something.
std::vector<database::TimeMap::Cell> cells_of(const std::vector<std::uint64_t>& by_bin) {
  std::vector<database::TimeMap::Cell> cells;
  for (std::uint32_t bin = 0; bin < by_bin.size(); ++bin) {
    if (by_bin[bin] != 0) cells.push_back({bin, by_bin[bin]});
  }
  return cells;
}

}  // namespace

database::TimeMap gather_time_map(exchange::Communicator& comm, const waits::TimeMap& own) {
  std::vector<RowHead> heads;
  std::vector<Bin> bins;
  std::vector<waits::WaitInBin> waits;
  std::vector<database::TimeMap::Cell> critical_cells;
  for (const waits::TimeMapRow& row : own.rows) {
    const std::vector<database::TimeMap::Cell> critical = cells_of(row.critical_ns);
    critical_cells.insert(critical_cells.end(), critical.begin(), critical.end());
    heads.push_back({.rank = row.rank,
                     .waits = static_cast<std::uint32_t>(row.waits.size()),
                     .critical = static_cast<std::uint32_t>(critical.size())});
    for (std::size_t bin = 0; bin < own.bins; ++bin)
      bins.push_back({row.calls_ns[bin], row.contexts[bin], row.segments[bin]});
    waits.insert(waits.end(), row.waits.begin(), row.waits.end());
  }
  heads = gather(comm, heads);
  bins = gather(comm, bins);
  waits = gather(comm, waits);
  critical_cells = gather(comm, critical_cells);
  if (comm.rank() != 0) return {};
  database::TimeMap map{.begin_ns = own.begin_ns, .bin_ns = own.bin_ns, .bins = own.bins, .rows = {}};
  auto bin = bins.begin();
  std::size_t wait = 0;
  auto critical = critical_cells.begin();
  for (const RowHead& head : heads) {
    database::TimeMap::Row row;
    row.rank = head.rank;
    for (std::uint32_t each = 0; each < own.bins; ++each, ++bin) {
      row.calls_ns.push_back(bin->calls_ns);
      row.contexts.push_back(bin->context);
      row.iterations.push_back({.first = bin->segments.first, .count = bin->segments.count});
    }
    row.waits = series_of(std::span(waits).subspan(wait, head.waits));
    wait += head.waits;
    row.critical.assign(critical, critical + head.critical);
    critical += head.critical;
    map.rows.push_back(std::move(row));
  }
  std::ranges::sort(map.rows, {}, &database::TimeMap::Row::rank);
  return map;
}

}  // namespace culprit::merge
