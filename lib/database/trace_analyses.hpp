#pragma once

#include "metrics/wait_pattern.hpp"

#include <compare>
#include <cstdint>
#include <vector>

// What the ranks' time lines show beside waits (docs/formats.md, sections 29 to 35). Contexts and locations
// are those of the experiment.
namespace culprit::database {

using metrics::WaitPattern;

/// Where time was spent: at a context, or between two MPI calls so close to each other that nothing was
/// sampled; then the context is the innermost one around both.
struct TimedScope {
  std::uint32_t context = 0;
  bool between = false;

  friend auto operator<=>(const TimedScope&, const TimedScope&) = default;  // NOLINT(modernize-use-nullptr)
};

/// What code on one thread cost others, in ns of their waiting (docs/algorithms.md 8).
struct Cause {
  std::uint32_t location = 0;
  TimedScope scope;
  std::uint64_t short_term_ns = 0;  ///< of waits that it caused directly
  std::uint64_t long_term_ns = 0;   ///< of waits that those caused in turn
  std::uint32_t waits_in =
      ~std::uint32_t{0};  ///< the context where others waited, most of that; kNone: not known

  [[nodiscard]] std::uint64_t cost_ns() const { return short_term_ns + long_term_ns; }
  friend bool operator==(const Cause&, const Cause&) = default;
};

/// Time of one scope on the critical path.
struct CriticalScope {
  struct Share {
    std::uint32_t location = 0;
    std::uint64_t ns = 0;
    friend bool operator==(const Share&, const Share&) = default;
  };
  TimedScope scope;
  std::uint64_t ns = 0;            ///< the sum of the shares
  std::uint64_t imbalance_ns = 0;  ///< by how much that is more than the mean over all ranks
  std::vector<Share> shares;       ///< by location

  friend bool operator==(const CriticalScope&, const CriticalScope&) = default;
};

/// What a hot procedure of one thread cost a waiter (Wu 2020), in ns of its waiting.
struct Hotspot {
  std::uint32_t location = 0, context = 0;
  std::uint32_t waiter = 0, waiter_context = 0;
  std::uint64_t ns = 0;

  friend bool operator==(const Hotspot&, const Hotspot&) = default;
};

/// How long the same thing took, over ranks and time (Weber 2016).
struct Variation {
  struct Row {
    std::int32_t rank = -1;
    std::vector<std::uint64_t> sos_ns;  ///< by segment: its duration without the MPI calls in it
    /// By metric of TraceAnalyses::metrics and segment: what was counted in it, MPI calls left out. Empty
    /// where there are no segments.
    std::vector<std::vector<std::uint64_t>> values = {};
    /// The same: the context where most of that was counted, kNone where it is not known. Empty in databases
    /// of older writers.
    std::vector<std::vector<std::uint32_t>> contexts = {};
    /// By segment, ascending: when it began, on the clock of the time map. Empty in databases of older
    /// writers.
    std::vector<std::uint64_t> begin_ns = {};
    friend bool operator==(const Row&, const Row&) = default;
  };
  struct Outlier {
    std::int32_t rank = -1;
    std::uint32_t segment = 0;  ///< on that rank, from 0
    std::uint64_t sos_ns = 0;
    std::uint32_t context = 0xffffffff;  ///< where it spent most time; kNone: nothing was sampled in it
    /// Of the thread that took so long; kNone: not known, as older writers have it.
    std::uint32_t location = 0xffffffff;
    friend bool operator==(const Outlier&, const Outlier&) = default;
  };
  bool marked = false;                 ///< the program marked its iterations
  bool chosen = false;                 ///< of a procedure that the user named; else a level
  std::uint32_t context = 0xffffffff;  ///< of the procedure, or around the marks; kNone: nothing recurs
  std::uint64_t median_ns = 0;         ///< of all segments' SOS-times
  std::vector<Row> rows;               ///< by rank
  std::vector<Outlier> outliers;       ///< the longest first
  /// Of marked iterations, by segment: how long it took, MPI calls included, on the rank where it took
  /// longest.
  std::vector<std::uint64_t> longest_ns;
  bool stamped = false;  ///< invocations have stamps of their own; else, if not marked, they are inferred

  friend bool operator==(const Variation&, const Variation&) = default;
};

/// What found no partner in the traces, by kind.
struct UnmatchedOperations {
  std::uint64_t sends = 0, receives = 0, probes = 0, collectives = 0, fences = 0, epochs = 0, locks = 0,
                completions = 0, strangers = 0;

  [[nodiscard]] std::uint64_t sum() const {
    return sends + receives + probes + collectives + fences + epochs + locks + completions + strangers;
  }
  friend bool operator==(const UnmatchedOperations&, const UnmatchedOperations&) = default;
};

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
    std::vector<Cell> critical = {};      ///< on the critical path; as the cells of a series
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::uint64_t begin_ns = 0, bin_ns = 0;  ///< on the clock of the traces
  std::uint32_t bins = 0;                  ///< 0: there is no map
  std::vector<Row> rows;                   ///< by rank

  friend bool operator==(const TimeMap&, const TimeMap&) = default;
};

struct TraceAnalyses {
  std::uint64_t traced =
      0;  ///< ranks whose time lines were analysed; 0: there was no trace, nothing else is set
  std::uint64_t stopped = 0;  ///< of them, those whose trace ends early: a limit, a full disk, damage
  UnmatchedOperations unmatched;
  /// Whose sends, receives and probes are among them, ascending. Empty in files of older writers.
  std::vector<std::int32_t> unmatched_ranks;

  double parallel = 0, load_balance = 0, communication = 0, serialization = 0, transfer = 0;
  std::uint64_t run_ns = 0;  ///< earliest exit of MPI_Init to latest exit of MPI_Finalize

  std::vector<Cause> causes;  ///< the most expensive first
  std::uint64_t unattributed_ns = 0;
  std::uint64_t direct_ns = 0,
                indirect_ns = 0;  ///< waiting that the delayer's own waits did not, and did, pass on

  std::uint64_t critical_begin_ns = 0, critical_end_ns = 0;
  std::uint64_t critical_calls_ns = 0;  ///< of it in MPI calls
  std::vector<CriticalScope> critical;  ///< the longest first

  std::vector<Hotspot> hotspots;      ///< the most expensive first
  std::vector<Variation> variations;  ///< the levels, the coarsest segment first; then chosen ones
  /// Those that segments have values of, ascending; of the experiment's. Empty in files of older writers.
  std::vector<std::uint32_t> metrics;
  TimeMap time_map;  ///< empty in files of older writers

  friend bool operator==(const TraceAnalyses&, const TraceAnalyses&) = default;
};

}  // namespace culprit::database
