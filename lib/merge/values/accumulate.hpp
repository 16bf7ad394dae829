#pragma once

#include "blame/one_sided.hpp"
#include "blame/varying_gaps.hpp"
#include "database/database.hpp"
#include "measurement/measurement.hpp"
#include "merge/idleness/transfer_costs.hpp"
#include "merge/values/call_traffic.hpp"
#include "merge/values/plan.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/stretches.hpp"
#include "merge/values/thread_blame.hpp"
#include "merge/values/tile_sums.hpp"
#include "merge/values/trace_values.hpp"
#include "waits/communication/traffic.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace culprit::merge {

/// The rows that one thread has among many that there could be: ascending, packed, and column by column, so
/// that they stay in a processor's cache whatever the others are. Putting them into order costs a word for 64
/// that there could be. Keeps its memory from one thread to the next.
class ThreadRows {
 public:
  ThreadRows(std::size_t bound, std::size_t columns)
      : words_((bound + 63) / 64), row_(bound), columns_(columns) {}

  /// Forgets all rows; from now on there are those of `numbers`, in any order and each as often as it likes,
  /// with zeros.
  void reset(std::span<const std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) words_[number / 64] |= std::uint64_t{1} << (number % 64);
    numbers_.clear();
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
        const std::size_t number = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        row_[number] = static_cast<std::uint32_t>(numbers_.size());
        numbers_.push_back(static_cast<std::uint32_t>(number));
      }
      words_[word] = 0;
    }
    values_.assign(columns_ * numbers_.size(), 0);
  }

  [[nodiscard]] std::span<const std::uint32_t> numbers() const { return numbers_; }
  /// Of a number that has a row.
  [[nodiscard]] std::size_t row_of(std::uint32_t number) const { return row_[number]; }
  /// A value for each row.
  [[nodiscard]] std::span<std::uint64_t> column(std::size_t c) {
    return std::span(values_).subspan(c * numbers_.size(), numbers_.size());
  }
  /// All columns, one after the other.
  [[nodiscard]] std::span<const std::uint64_t> values() const { return values_; }

 private:
  std::vector<std::uint64_t> words_;  ///< bits of the numbers, while they are put into order
  std::vector<std::uint32_t> row_;    ///< by number
  std::size_t columns_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint64_t> values_;
};

/// A thread of which the kernel was not asked how it was scheduled.
struct BriefThread {
  std::uint32_t location = 0, zero = 0;
  std::uint64_t cpu_ns = 0;  ///< by its samples
};

/// What the threads of the run that were added show beside their values.
struct RunFacts {
  /// What the approximation of waits needs of the tiles that were added, ranks left out, in the order of add.
  std::vector<blame::EpochRow> epochs;
  std::vector<blame::EpochStamp> stamps;  ///< ranks and hosts left out likewise
  /// How threads were scheduled, where that is known, in the order of add.
  std::vector<database::ScheduledThread> schedules;
  std::vector<BriefThread> brief;  ///< the other threads
  /// Contexts outside every frontier frame where marked waiting was found, and its kind.
  std::map<database::ContextId, measurement::WaitKind> lone_waits;
  /// Gaps between waiting calls, by role and calls.
  std::map<blame::GapSums::Key, blame::GapSums> gaps;
  CallTraffic calls;                        ///< what the wrappers counted of MPI calls
  std::vector<waits::PartnerSum> partners;  ///< whom threads sent to, by the wrappers' counts
  std::uint64_t tracing_ns = 0;             ///< what recording calls for time lines took
};

/// Second pass over the input: one thread at a time exclusive values at contexts, and tile by tile, from
/// them, each thread's inclusive values (TileSums), all into the accumulators of the threads' roles, apart
/// where they lived briefly. Cost per thread: linear in the contexts it touched. Not thread-safe.
class ThreadAccumulation {
 public:
  /// `roles`: number of roles. Where the shape's columns of time lines are call_metrics() and `traced` has no
  /// values, what wrappers counted fills them. `traced`: what time lines show of this rank's threads; null:
  /// nothing. What is referred to must outlive this.
  ThreadAccumulation(const Shape& shape, const Plan& plan, const Transfers& transfers, std::size_t roles,
                     const TraceValues* traced = nullptr);

  [[nodiscard]] const Shape& shape() const { return shape_; }

  /// Which events of this process feed which columns, and which kinds of wait its layers mark; before its
  /// threads.
  void begin_process(const measurement::Measurement& file);

  /// Adds one thread. `united[n]`: the node of the united tree of the thread's node n; what the united tree
  /// does not hold (a file that grew between the passes) is charged to its nearest ancestor. `sums_number`:
  /// Roles::sums.
  void add(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
           std::uint32_t location, std::uint32_t sums_number);

  /// The threads that were added since are a tile; `rows`: what list_exclusive added for each of
  /// them, arranged.
  void add_tile(const database::TileRows& rows);

  /// Adds a location to `rows`: the exclusive values of the thread that was added last.
  void list_exclusive(database::TileRows& rows);

  /// Of the tiles that were added; numbered as Roles::sums.
  [[nodiscard]] std::vector<RoleSums>& roles() { return roles_; }
  [[nodiscard]] const RunFacts& run() const { return run_; }

 private:
  void find_rows(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                 std::uint32_t location);
  void record(const measurement::ThreadProfile& thread, RoleSums& role);
  void record_unsampled(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united);
  void record_covered(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                      RoleSums& role);
  void record_events(const measurement::ThreadProfile& thread);
  void record_io();
  void record_blame(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united);
  [[nodiscard]] std::uint32_t slot_of(const measurement::ThreadProfile& thread,
                                      std::span<const cct::NodeId> united, std::size_t node) const;
  void record_traced(std::uint32_t location);
  void record_counted(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                      std::uint32_t location);
  void record_polls(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united);
  void record_bytes(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united);
  std::uint64_t idle_time(const measurement::Cell& cell, database::ContextId context);
  void list_epochs(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                   std::uint32_t location);
  void sum_gaps(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                std::uint32_t role);
  void list_schedule(const measurement::ThreadProfile& thread, std::uint32_t location);
  RoleSums& role_sums(std::uint32_t number);
  void find_watched();
  void list_waits(std::size_t tile_locations);

  const Shape& shape_;
  const Plan& plan_;
  const Transfers& transfers_;
  const TraceValues* traced_;
  bool counts_calls_;
  std::vector<database::ContextId> thread_waits_;  ///< frontiers where threads wait for each other
  /// What recording needs of a process.
  struct ProcessFacts {
    std::vector<std::size_t> event_columns;  ///< event beside REALTIME → column
    std::uint64_t period_ns = 0;
    bool has_realtime = true;        ///< else its events' samples are the samples
    bool open = false;               ///< killed, or runs on: threads have no stamps of their last stretch
    std::uint32_t marked_kinds = 0;  ///< bit per WaitKind
    measurement::HostLoad host_load;
    std::int32_t rank = -1;
  };
  /// What recording needs of a slot.
  struct Slot {
    std::uint32_t group = 0;
    bool waits = false;       ///< in a frame that waits
    bool in_library = false;  ///< in code of OpenMP's run-time library
    bool io = false;          ///< in a call of input and output
  };
  std::vector<Slot> slots_;
  // Of the thread that was added last.
  std::vector<cct::NodeId> nodes_;             ///< with values
  std::vector<std::uint32_t> node_slots_;      ///< theirs
  ThreadRows own_;                             ///< by slot
  std::vector<database::ContextId> contexts_;  ///< of the rows
  Calibration calibration_;
  ThreadBlame blame_;
  std::span<const ThreadBlame::Value> blamed_;
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> covered_;  ///< gap, group, ns
  std::vector<std::uint64_t> in_gap_;                                             ///< per group, ns
  std::vector<std::uint32_t> touched_;                                            ///< groups of a gap
  // Of the tile.
  std::uint32_t first_location_ = 0;
  std::vector<std::uint32_t> sums_of_;        ///< per location: Roles::sums
  std::vector<blame::EpochRow> tile_epochs_;  ///< whose idleness is not known yet
  TileSums::Watched watched_;
  TileSums sums_;
  ProcessFacts process_;                     ///< whose threads are added
  std::optional<std::size_t> instructions_;  ///< the column that counts them
  std::vector<RoleSums> roles_;
  RunFacts run_;
};

}  // namespace culprit::merge
