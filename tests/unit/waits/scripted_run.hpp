#pragma once

#include "measurement/kinds.hpp"
#include "waits/causes/delay_costs.hpp"
#include "waits/causes/hotspots.hpp"
#include "waits/causes/indirect_waits.hpp"
#include "waits/clocks/causal_order.hpp"
#include "waits/path/critical_path.hpp"
#include "waits/path/efficiency.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/own_times.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/variation/segment_values.hpp"
#include "waits/variation/time_map.hpp"
#include "waits/variation/variation.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace culprit::waits::testing {

using measurement::trace::Definition;
using measurement::trace::Operation;
using measurement::trace::OperationKind;
using measurement::trace::Record;

/// An operation that one call begins and completes.
Operation on(OperationKind kind, measurement::trace::Context context = 0,
             std::int32_t peer = measurement::trace::kNobody,
             measurement::trace::Context group = measurement::trace::kNoContext);

/// The same, with or from a peer in context 0.
Operation message(OperationKind kind, std::int32_t peer, std::int32_t tag = 0);
/// The half of an operation with the request `id` that begins it, and the one that completes it.
Operation begun(Operation operation, std::uint64_t id);
Operation completed(Operation operation, std::uint64_t id);

/// The time lines of a run, as a test writes them down: context 0 is a communicator of all ranks.
struct ScriptedRun {
  explicit ScriptedRun(std::int32_t ranks, std::size_t threads = 1);

  /// Adds a call to a rank's time line and returns its index among the calls there.
  std::uint32_t call(std::int32_t rank, std::uint64_t enter, std::uint64_t exit,
                     std::vector<Operation> operations, std::size_t thread = 0, bool any = false);
  /// A communicator, window or group of these ranks in MPI_COMM_WORLD, defined by each of them, or, of
  /// groups, by `by` alone. Returns its index, the same in all of them.
  measurement::trace::Context define(measurement::trace::DefinitionKind kind,
                                     std::vector<std::int32_t> members);

  /// The call path of the call added last.
  void path(std::uint32_t context);
  /// A sample at `at`, which stands for the time since `since`.
  void sample(std::int32_t rank, std::uint64_t at, std::uint64_t since, std::uint32_t context,
              std::size_t thread = 0, measurement::WaitKind kind = measurement::WaitKind::none);

  /// A reading of an event on its first time line.
  void reading(std::int32_t rank, std::uint64_t at, std::uint8_t event, std::uint64_t value);

  /// A region on its first time line.
  void region(std::int32_t rank, std::uint64_t begin, std::uint64_t end, std::uint32_t context);
  /// A thread waited for others of the process.
  void thread_wait(std::int32_t rank, std::uint64_t begin, std::uint64_t end,
                   measurement::WaitKind kind = measurement::WaitKind::omp_barrier,
                   measurement::WaitHolder holder = {}, std::size_t thread = 0);

  struct Process {
    std::vector<Definition> definitions;
    std::vector<std::vector<Record>> threads;
  };
  std::vector<Process> processes;
  CallPaths paths;  ///< the tree of call paths; empty: each is a procedure of its own
  std::uint64_t made = 0;
  std::pair<std::size_t, std::size_t> last_call;  // process and thread
};

/// The time lines of those ranks that this rank of the analysis has. The run must outlive them.
std::vector<std::unique_ptr<ProcessTrace>> traces(const ScriptedRun& run,
                                                  const exchange::Communicator& analysis);

/// A wait as tests compare it.
struct FoundWait {
  std::int32_t rank = -1;
  std::uint32_t call = 0;
  WaitPattern pattern = WaitPattern::none;
  std::uint64_t ns = 0;
  std::int32_t cause_rank = -1;
  std::uint32_t cause_call = 0;

  friend auto operator<=>(const FoundWait&, const FoundWait&) = default;
};

struct Found {
  std::vector<FoundWait> waits;  // sorted
  Unmatched unmatched;
  std::set<std::int32_t> unmatched_ranks;
  std::vector<WaitSum> sums;  // sorted
  DelayCosts delays;
  CriticalPath path;
  std::vector<Hotspot> hotspots;
  Efficiency efficiency;
};

/// Analyses the run on `analysts` ranks, `records_per_round` at a time, as many intervals asked for together
/// and accounts kept; backwards `waits_per_round` at a time (0: as many as it takes by itself).
/// Hotspots have a share of `hotspot_threshold` of all time.
Found analyse(const ScriptedRun& run, int analysts = 1, std::uint64_t records_per_round = 1 << 18,
              const storage::SpillOptions& spill = {}, std::uint64_t waits_per_round = 0,
              double hotspot_threshold = 0.01);

/// Its variation over time; `marks` by rank. `before`: the procedure of one that is found before, if any.
Variation vary(const ScriptedRun& run, const CallPaths& paths,
               const std::vector<std::vector<IterationMark>>& marks, int analysts,
               const VariationOptions& options = {}, std::uint32_t before = CallPaths::kNone);

/// What was counted of the events in the segments of that, by rank, event and segment.
SegmentValues segment_values_of(const ScriptedRun& run, const CallPaths& paths,
                                const std::vector<std::vector<IterationMark>>& marks, int analysts,
                                std::size_t events);

/// What its ranks did over time; calls are shown at their own contexts.
TimeMap time_map_of(const ScriptedRun& run, int analysts);

/// A run whose clocks disagree, once its receives do not precede their sends any more.
struct Ordered {
  std::uint64_t violations = 0, left = 0;
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> calls;  ///< enter and exit, by rank
};
Ordered read_ordered(const ScriptedRun& run, int analysts);

/// What its call paths took themselves.
std::vector<OwnTime> own_times_of(const ScriptedRun& run);

std::ostream& operator<<(std::ostream& out, const FoundWait& wait);

}  // namespace culprit::waits::testing
