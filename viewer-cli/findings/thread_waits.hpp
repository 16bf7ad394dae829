#pragma once

#include "database/database.hpp"

#include <cstdint>
#include <vector>

// What main threads waited, outside of MPI, for other threads of their processes (docs/algorithms.md 12.1).
namespace culprit::viewer {

/// By bin; empty where the rank's did not.
inline std::vector<std::uint64_t> thread_waits_ns(const database::TimeMap::Row& row, std::uint32_t bins) {
  std::vector<std::uint64_t> by_bin;
  for (const database::TimeMap::Series& series : row.waits) {
    if (!metrics::is_of_threads(series.pattern)) continue;
    by_bin.resize(bins);
    for (const database::TimeMap::Cell& cell : series.cells) by_bin[cell.bin] += cell.ns;
  }
  return by_bin;
}

/// Of all ranks.
inline std::uint64_t thread_waits_ns(const database::TimeMap& map) {
  std::uint64_t sum = 0;
  for (const database::TimeMap::Row& row : map.rows) {
    for (const std::uint64_t ns : thread_waits_ns(row, map.bins)) sum += ns;
  }
  return sum;
}

}  // namespace culprit::viewer
