// Brings what the analyses of time lines found to rank 0 as tables of the database (docs/algorithms.md 7, 8):
// call paths become scopes, equal rows are added, the largest comes first. Independent of the number of
// ranks.
#include "merge/timelines/trace_tables.hpp"

#include "exchange/message_exchange.hpp"
#include "merge/timelines/time_line_scopes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace culprit::merge {

namespace {

using database::ContextId;
using database::TimedScope;
using database::WaitPattern;

/// A row of a variation as it travels; its segments follow it.
struct RowHead {
  std::int32_t rank = -1;
  std::uint64_t segments = 0;
};
struct SegmentTimes {
  std::uint64_t begin_ns = 0, sos_ns = 0, duration_ns = 0;
};

struct SegmentValue {
  std::uint64_t value = 0;
  ContextId context = database::kNone;
};

/// One after the other: rows, events, segments.
std::vector<SegmentValue> in_line(const waits::SegmentValues& values) {
  std::vector<SegmentValue> all;
  for (const auto& row : values) {
    for (const waits::RowValues& event : row) {
      for (std::size_t i = 0; i < event.values.size(); ++i)
        all.push_back({.value = event.values[i], .context = event.contexts[i]});
    }
  }
  return all;
}

}  // namespace

std::vector<std::uint32_t> threads_of(exchange::Communicator& comm, const waits::RankMap& rank_map,
                                      std::span<const database::Location> locations, bool of_threads) {
  std::map<std::int32_t, std::uint32_t> first;
  for (std::uint32_t i = 0; i < locations.size(); ++i)
    first.try_emplace(of_threads ? static_cast<std::int32_t>(i) : locations[i].rank, i);
  std::vector<std::uint32_t> threads(rank_map.locations(), 0);
  for (waits::Location location = 0; location < rank_map.locations(); ++location) {
    const std::int32_t rank = rank_map.rank_of(location);
    const auto found = first.find(rank);
    if (found != first.end()) threads[location] = found->second + (location - rank_map.location_of(rank, 0));
  }
  exchange::Bytes bytes = exchange::bytes_of(std::span<const std::uint32_t>(threads));
  comm.broadcast(bytes, 0);
  return exchange::items_of<std::uint32_t>(bytes);
}

std::vector<database::Wait> TraceTables::waits(const std::vector<waits::WaitSum>& own) {
  std::map<std::tuple<WaitPattern, std::uint32_t, ContextId, std::uint32_t, ContextId>, database::Wait> sums;
  for (const waits::WaitSum& sum : exchange::items_at_root(comm_, std::span(own))) {
    const database::Wait part{.pattern = sum.pattern,
                              .location = threads_[sum.location],
                              .context = call_scope(shape_, sum.context),
                              .cause_location = threads_[sum.cause],
                              .cause_context = call_scope(shape_, sum.cause_context),
                              .exact = true,
                              .ns = 0,
                              .count = 0,
                              .direct_ns = {}};
    const std::tuple key{part.pattern, part.location, part.context, part.cause_location, part.cause_context};
    database::Wait& whole = sums.try_emplace(key, part).first->second;
    whole.ns += sum.ns;
    whole.count += sum.count;
    if (metrics::is_whole_wait(sum.pattern))
      whole.direct_ns = whole.direct_ns.value_or(0) + sum.ns - sum.indirect_ns;
  }
  std::vector<database::Wait> list;
  list.reserve(sums.size());
  for (const auto& [key, wait] : sums) list.push_back(wait);
  return list;
}

std::vector<database::Cause> TraceTables::causes(const std::vector<waits::DelayCost>& own) {
  std::map<std::pair<std::uint32_t, TimedScope>, database::Cause> sums;
  std::map<std::pair<std::uint32_t, TimedScope>, std::uint64_t> most;  // of one part
  for (const waits::DelayCost& cost : exchange::items_at_root(comm_, std::span(own))) {
    const std::uint32_t thread = threads_[cost.location];
    const TimedScope scope = scope_of(shape_, cost.path);
    database::Cause& sum = sums[{thread, scope}];
    sum.location = thread;
    sum.scope = scope;
    sum.short_term_ns += cost.short_term_ns;
    sum.long_term_ns += cost.long_term_ns;
    std::uint64_t& largest = most[{thread, scope}];
    if (sum.waits_in != database::kNone && cost.cost_ns() <= largest) continue;
    largest = cost.cost_ns();
    sum.waits_in = call_scope(shape_, cost.waiter_context);
  }
  std::vector<database::Cause> list;
  list.reserve(sums.size());
  for (const auto& [key, cause] : sums) list.push_back(cause);
  std::ranges::stable_sort(list, std::ranges::greater(), &database::Cause::cost_ns);
  return list;
}

std::vector<database::CriticalScope> TraceTables::critical_path(const waits::CriticalPath& own,
                                                                const std::vector<waits::OwnTime>& own_times,
                                                                std::uint64_t ranks) {
  std::map<TimedScope, std::uint64_t> of_all;
  for (const waits::OwnTime& time : exchange::items_at_root(comm_, std::span(own_times)))
    of_all[scope_of(shape_, time.path)] += time.ns;
  std::map<TimedScope, std::map<std::uint32_t, std::uint64_t>> shares;
  for (const waits::CriticalTime& time : exchange::items_at_root(comm_, std::span(own.times)))
    shares[scope_of(shape_, time.path)][threads_[time.location]] += time.ns;
  std::vector<database::CriticalScope> list;
  for (const auto& [scope, by_thread] : shares) {
    database::CriticalScope one{.scope = scope, .ns = 0, .imbalance_ns = 0, .shares = {}};
    for (const auto& [thread, ns] : by_thread) {
      one.ns += ns;
      one.shares.push_back({thread, ns});
    }
    const std::uint64_t mean = ranks == 0 ? 0 : of_all[scope] / ranks;
    one.imbalance_ns = one.ns - std::min(one.ns, mean);
    list.push_back(std::move(one));
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &database::CriticalScope::ns);
  return list;
}

std::vector<database::Hotspot> TraceTables::hotspots(const std::vector<waits::Hotspot>& own) {
  std::map<std::tuple<std::uint32_t, ContextId, std::uint32_t, ContextId>, std::uint64_t> sums;
  for (const waits::Hotspot& hotspot : exchange::items_at_root(comm_, std::span(own))) {
    sums[{threads_[hotspot.location], hotspot.context, threads_[hotspot.waiter],
          call_scope(shape_, hotspot.waiter_context)}] += hotspot.ns;
  }
  std::vector<database::Hotspot> list;
  list.reserve(sums.size());
  for (const auto& [key, ns] : sums) {
    list.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), ns});
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &database::Hotspot::ns);
  return list;
}

ContextId TraceTables::gather_around(ContextId own) {
  ContextId around = database::kNone;
  for (const ContextId part : exchange::items_at_root(comm_, std::span<const ContextId>(&own, 1))) {
    if (part == database::kNone) continue;
    around = around == database::kNone ? part : around_both(shape_, around, part);
  }
  return around;
}

database::Variation TraceTables::variation(const waits::Variation& own, ContextId around_marks,
                                           const waits::SegmentValues& values, std::size_t events) {
  std::vector<RowHead> heads;
  std::vector<SegmentTimes> segments;
  for (std::size_t i = 0; i < own.rows.size(); ++i) {
    heads.push_back({own.ranks[i], own.rows[i].size()});
    for (const waits::Segment& segment : own.rows[i])
      segments.push_back({segment.begin_ns, segment.sos_ns, segment.end_ns - segment.begin_ns});
  }
  const ContextId around = gather_around(around_marks);
  const std::vector<RowHead> all_heads = exchange::items_at_root(comm_, std::span<const RowHead>(heads));
  const std::vector<SegmentTimes> all_segments =
      exchange::items_at_root(comm_, std::span<const SegmentTimes>(segments));
  const std::vector<SegmentValue> all_values =
      exchange::items_at_root(comm_, std::span<const SegmentValue>(in_line(values)));
  std::vector<waits::Outlier> outliers = exchange::items_at_root(comm_, std::span(own.outliers));

  database::Variation found{.marked = own.marked,
                            .context = own.marked ? around : own.context,
                            .median_ns = own.median_ns,
                            .rows = {},
                            .outliers = {},
                            .longest_ns = {},
                            .stamped = own.stamped};
  auto next = all_segments.begin();
  auto next_value = all_values.begin();
  for (const RowHead& head : all_heads) {
    database::Variation::Row& row = found.rows.emplace_back();
    row.rank = head.rank;
    if (own.marked && found.longest_ns.size() < head.segments) found.longest_ns.resize(head.segments);
    for (std::size_t i = 0; i < head.segments; ++i, ++next) {
      row.sos_ns.push_back(next->sos_ns);
      row.begin_ns.push_back(next->begin_ns);
      if (own.marked) found.longest_ns[i] = std::max(found.longest_ns[i], next->duration_ns);
    }
    for (std::size_t event = 0; head.segments > 0 && event < events; ++event) {
      std::vector<std::uint64_t>& of_event = row.values.emplace_back();
      std::vector<ContextId>& contexts = row.contexts.emplace_back();
      for (std::size_t i = 0; i < head.segments; ++i, ++next_value) {
        of_event.push_back(next_value->value);
        contexts.push_back(next_value->context);
      }
    }
  }
  std::ranges::sort(found.rows, {}, &database::Variation::Row::rank);
  std::ranges::sort(outliers, [](const waits::Outlier& a, const waits::Outlier& b) {
    return std::tuple(b.sos_ns, a.rank, a.segment) < std::tuple(a.sos_ns, b.rank, b.segment);
  });
  for (const waits::Outlier& one : outliers)
    found.outliers.push_back({one.rank, one.segment, one.sos_ns, one.context, threads_[one.location]});
  return found;
}

namespace {

/// A row as it travels: its bins and its waits follow, each kind in a list of its own.
struct MapRowHead {
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
    const auto pattern = each.pattern;
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
  std::vector<MapRowHead> heads;
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
  for (const MapRowHead& head : heads) {
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
