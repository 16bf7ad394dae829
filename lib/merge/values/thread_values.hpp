#pragma once

#include "cct/tree.hpp"
#include "measurement/measurement.hpp"
#include "merge/idleness/transfer_costs.hpp"
#include "merge/values/plan.hpp"
#include "merge/values/run_facts.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/stretches.hpp"
#include "merge/values/thread_blame.hpp"
#include "merge/values/tile_sums.hpp"
#include "merge/values/trace_values.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
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

/// The exclusive values of one thread at a time, by context: from its nodes' cells, its accumulators and what
/// time lines show. Keeps its memory from one thread to the next.
class ThreadValues {
 public:
  /// As ThreadAccumulation. Lists in `run` what else it finds.
  ThreadValues(const Shape& shape, const Plan& plan, const Transfers& transfers, const TraceValues* traced,
               RunFacts& run);

  void begin_process(const measurement::Measurement& file);
  /// The process's; negative: it has none.
  [[nodiscard]] std::int32_t rank() const { return process_.rank; }
  /// Forms the values of the thread; `role`: adds what is not added up the tree.
  void record(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
              std::uint32_t location, RoleSums& role);

  // Of the thread that was recorded last: contexts, and column by column a value for each.
  [[nodiscard]] const std::vector<database::ContextId>& contexts() const { return contexts_; }
  [[nodiscard]] std::span<const std::uint64_t> values() const { return own_.values(); }

 private:
  void find_rows(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                 std::uint32_t location);
  void record_cells(const measurement::ThreadProfile& thread, RoleSums& role);
  void record_unsampled(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united);
  void record_covered(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                      RoleSums& role);
  void record_events(const measurement::ThreadProfile& thread);
  void record_transfers(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united);
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
  void list_schedule(const measurement::ThreadProfile& thread, std::uint32_t location);

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
  /// Samples in gaps whose length is known.
  struct CoveredTime {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> samples;  ///< gap, group, ns
    std::vector<std::uint64_t> in_gap;                                             ///< per group, ns
    std::vector<std::uint32_t> touched;                                            ///< groups of a gap
  };

  const Shape& shape_;
  const Plan& plan_;
  const Transfers& transfers_;
  const TraceValues* traced_;
  bool counts_calls_;
  RunFacts& run_;
  std::optional<std::size_t> instructions_;  ///< the column that counts them
  std::vector<Slot> slots_;
  ProcessFacts process_;  ///< whose threads are recorded
  // Of the thread that was recorded last.
  std::vector<cct::NodeId> nodes_;             ///< with values
  std::vector<std::uint32_t> node_slots_;      ///< theirs
  ThreadRows own_;                             ///< by slot
  std::vector<database::ContextId> contexts_;  ///< of the rows
  Calibration calibration_;
  ThreadBlame blame_;
  std::span<const ThreadBlame::Value> blamed_;
  CoveredTime covered_;
};

}  // namespace culprit::merge
