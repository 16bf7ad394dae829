#pragma once

#include "storage/sequence.hpp"
#include "waits/timeline/by_call.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/regions.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace culprit::waits {

class Dependencies;

/// What was found on one time line so far. In the blocks of the store's Spill.
struct TimeLine {
  TimeLine(Location at, storage::Spill& spill)
      : location(at),
        events(spill),
        candidates(spill),
        receipts(spill),
        awaited(spill),
        collectives(spill),
        samples(spill),
        readings(spill),
        thread_waits(spill),
        stamped(spill),
        waits(spill),
        calls_sorted_together(spill.options().calls_sorted_together) {}

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  void add(const Receipt& receipt) {
    receipts.add(receipt);
    const std::size_t part = receipt.event / calls_sorted_together;
    if (part >= least_sent.size()) least_sent.resize(part + 1, kNever);
    least_sent[part] = std::min(least_sent[part], receipt.sent_ns);
  }

  Location location;
  storage::Sequence<Event> events;
  ByCall<Candidate> candidates;                       ///< until classified
  ByCall<Receipt> receipts;                           ///< until classified
  ByCall<Awaited> awaited;                            ///< until the intervals of all waits are known
  storage::Sequence<CollectiveInstance> collectives;  ///< in the order of calls
  storage::Sequence<Sample> samples;                  ///< outside MPI calls, in the order of time
  storage::Sequence<Reading> readings;                ///< in the order of time
  storage::Sequence<ThreadWait> thread_waits;         ///< in the order of time, each behind the other
  storage::Sequence<StampedInvocation> stamped;       ///< in the order of their ends
  storage::Sequence<Wait> waits;   ///< once classified: in the order of calls, a wait before its parts
  std::uint32_t initialized = 0;   ///< calls up to the last one that initialized MPI; 0: none did
  std::uint32_t last_context = 0;  ///< of the call added last
  std::size_t samples_before = 0;  ///< that call
  std::uint64_t sample_ns = 0;     ///< once read: what a single sample stands for
  unsigned halvings = 0;           ///< of its sampling rate, at most
  std::vector<std::pair<std::uint32_t, std::uint64_t>>
      sampled_ns;  ///< once classified: what was sampled in gaps, in the order of regions
  std::uint32_t calls_sorted_together = 1;
  std::vector<std::uint64_t>
      least_sent;  ///< by this many calls: when their earliest message was sent, or kNever
};

/// Calls visit(sample) for those in the gap before a call.
template <typename Visit>
void for_samples(const TimeLine& line, std::uint32_t gap, Visit visit) {
  auto sample = std::lower_bound(line.samples.begin(), line.samples.end(), gap,
                                 [](const Sample& one, std::uint32_t wanted) { return one.gap < wanted; });
  for (; sample != line.samples.end() && (*sample).gap == gap; ++sample) visit(*sample);
}

/// How long a time line waited up to `ns` for other threads of its process, outside of MPI calls.
inline std::uint64_t thread_waits_until(const TimeLine& line, std::uint64_t ns) {
  const storage::Sequence<ThreadWait>& waits = line.thread_waits;
  const auto behind =
      std::lower_bound(waits.begin(), waits.end(), ns,
                       [](const ThreadWait& one, std::uint64_t wanted) { return one.begin_ns < wanted; });
  if (behind == waits.begin()) return 0;
  const ThreadWait last = waits[static_cast<std::size_t>(behind - waits.begin()) - 1];
  return last.before_ns + std::min(last.end_ns, ns) - last.begin_ns;
}
inline std::uint64_t thread_waits_in(const TimeLine& line, std::uint64_t begin_ns, std::uint64_t end_ns) {
  return begin_ns < end_ns ? thread_waits_until(line, end_ns) - thread_waits_until(line, begin_ns) : 0;
}

/// How many operations found no partner, and why calls could not be understood: by kind, never guessed at.
struct Unmatched {
  std::uint64_t sends = 0, receives = 0, probes = 0;
  std::uint64_t collectives = 0, fences = 0, epochs = 0, locks = 0;
  std::uint64_t completions = 0;       ///< of requests that were begun before the trace, or twice
  std::uint64_t strangers = 0;         ///< operations with processes or communicators that are not recorded
  std::uint64_t clock_violations = 0;  ///< receives that were complete before their send began

  friend bool operator==(const Unmatched&, const Unmatched&) = default;
  void add(const Unmatched& other) {
    sends += other.sends;
    receives += other.receives;
    probes += other.probes;
    collectives += other.collectives;
    fences += other.fences;
    epochs += other.epochs;
    locks += other.locks;
    completions += other.completions;
    strangers += other.strangers;
    clock_violations += other.clock_violations;
  }
};

/// The time lines of the processes that this rank of the analysis has.
class TraceStore {
 public:
  explicit TraceStore(const storage::SpillOptions& options = {})
      : spill_(std::make_unique<storage::Spill>(options)) {}

  /// Adds a time line; to be called for all before anything else.
  void open(Location location) {
    if (location >= index_.size()) index_.resize(location + 1, 0);
    index_[location] = static_cast<std::uint32_t>(lines_.size());
    lines_.emplace_back(location, *spill_);
  }
  /// One that was opened.
  [[nodiscard]] TimeLine& line(Location location) { return lines_[index_[location]]; }
  [[nodiscard]] const TimeLine& line(Location location) const { return lines_[index_[location]]; }
  /// Where it is among lines().
  [[nodiscard]] std::uint32_t index_of(Location location) const { return index_[location]; }
  [[nodiscard]] std::vector<TimeLine>& lines() { return lines_; }
  [[nodiscard]] const std::vector<TimeLine>& lines() const { return lines_; }

  /// What the call is: all but the gap before it, and whether it initializes or finalizes MPI.
  EventId add(TimeLine& line, const Event& event) {
    const auto index = static_cast<std::uint32_t>(line.events.size());
    const std::uint32_t gap =
        regions.number({index == 0 ? Region::kStart : line.last_context, event.context});
    const bool sampled = line.samples.size() != line.samples_before;
    line.samples_before = line.samples.size();
    line.last_context = event.context;
    Event& added = line.events.extend();
    // As a whole first: to change some bits only, the processor would have to wait for what is there.
    added = {};
    added.enter_ns = event.enter_ns;
    added.exit_ns = event.exit_ns;
    added.context = event.context;
    added.gap = 0xfffffffU & gap;
    added.sampled = sampled;
    added.any = event.any;
    return {line.location, index};
  }
  EventId add(Location location, const Event& event) { return add(line(location), event); }
  /// A call that was added turns out to initialize MPI, or to finalize it.
  void initializes(EventId call) {
    line(call.location).events.change(call.index).initialize = true;
    line(call.location).initialized = call.index + 1;
  }
  void finalizes(EventId call) { line(call.location).events.change(call.index).finalize = true; }
  void add(Location location, const Candidate& candidate) { line(location).candidates.add(candidate); }
  void add(Location location, const Receipt& receipt) { line(location).add(receipt); }

  [[nodiscard]] storage::Spill& spill() const { return *spill_; }

  /// A receive was complete before its send began. All are counted, and the first many kept.
  void add(const ClockViolation& violation) {
    ++unmatched.clock_violations;
    if (violations.size() < kMostViolations) violations.push_back(violation);
  }
  /// What one reading mends, in tens of megabytes; the rest is left to the next.
  static constexpr std::size_t kMostViolations = 1 << 20;

  Unmatched unmatched;
  std::set<std::int32_t> unmatched_ranks;   ///< whose sends, receives and probes are among them
  std::uint64_t short_thread_waits_ns = 0;  ///< those that were too short for a record
  std::vector<ClockViolation> violations;
  RegionNumbers regions;
  Dependencies* dependencies = nullptr;  ///< where all are recorded, for a replay

 private:
  std::unique_ptr<storage::Spill> spill_;
  std::vector<std::uint32_t> index_;  // by location
  std::vector<TimeLine> lines_;
};

}  // namespace culprit::waits
