#pragma once

#include "metrics/wait_pattern.hpp"

#include <compare>
#include <cstdint>
#include <vector>

namespace culprit::database {

using metrics::WaitPattern;

/// What the ranks did over time, in bins of equal length (docs/formats.md, section 34).
struct TimeMap {
  struct Cell {
    std::uint32_t bin = 0;
    std::uint64_t ns = 0;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  /// Where a rank waited by one pattern; parts and completions have series of their own.
  struct Series {
    WaitPattern pattern{};
    std::vector<Cell> cells;  ///< ascending by bin, none of 0 ns
    friend bool operator==(const Series&, const Series&) = default;
  };
  /// Iterations (or invocations) of the coarsest level of variations that a bin overlaps.
  struct Iterations {
    std::uint32_t first = 0, count = 0;
    friend bool operator==(const Iterations&, const Iterations&) = default;
  };
  struct Row {
    std::int32_t rank = -1;
    std::vector<std::uint64_t> calls_ns;  ///< by bin: in MPI calls
    std::vector<std::uint32_t> contexts;  ///< by bin: where most of its known time went; kNone: not known
    std::vector<Series> waits;            ///< by pattern
    std::vector<Iterations> iterations;   ///< by bin; empty in files of older writers
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::uint64_t begin_ns = 0, bin_ns = 0;  ///< on the clock of the traces
  std::uint32_t bins = 0;                  ///< 0: there is no map
  std::vector<Row> rows;                   ///< by rank

  friend bool operator==(const TimeMap&, const TimeMap&) = default;
};

}  // namespace culprit::database
