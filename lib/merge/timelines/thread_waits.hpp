#pragma once

#include "measurement/trace.hpp"
#include "merge/timelines/held_waits.hpp"
#include "merge/timelines/region_paths.hpp"
#include "merge/values/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace culprit::merge {

/// A thread's tree as its trace names nodes.
struct NamedNodes {
  std::uint32_t ordinal = 0;
  unsigned halvings = 0;                      ///< of the thread's sampling rate, at most
  std::vector<std::uint32_t> units;           ///< per node: its number in the trace
  std::vector<database::ContextId> contexts;  ///< per node

  [[nodiscard]] database::ContextId context_of(std::uint32_t node) const {
    return node < contexts.size() ? contexts[node] : 0;
  }
  /// What the thread recorded, from this time on; nullptr where it has no time line.
  [[nodiscard]] std::unique_ptr<measurement::trace::ThreadRecords> records_in(
      const measurement::trace::ProcessTrace& trace, std::uint64_t from_ns = 0) const;
};

/// For whom threads of one process wait when they wait for each other: by their records for the thread that
/// held a lock or was joined, else by the samples of all of them for those that work. Not thread-safe. What
/// it is made of must outlive it.
class ThreadWaits {
 public:
  ThreadWaits(const measurement::trace::ProcessTrace& trace, const std::vector<NamedNodes>& threads,
              const Shape& shape, RegionPaths& regions)
      : trace_(trace), threads_(threads), shape_(shape), regions_(regions), waiters_(threads.size()) {}

  /// A part of the time that a sample stands for.
  struct Part {
    std::uint64_t until_ns = 0;
    database::ContextId charged = 0;
  };
  /// What a thread did in the time that a sample stands for, `sample.node` being a context, times those of
  /// the trace: its own context, or where it waited for other threads that of the one which it waited for;
  /// where that is unknown, that of one which worked at that time, each in its turn; of a region's team as
  /// RegionPaths names it. Its own where none did. In the order of time, at least one part, the last until
  /// the sample's end; one alone up to `whole_ns`. The samples of a thread come in their order.
  [[nodiscard]] std::span<const Part> charged(std::size_t thread, const measurement::trace::Record& sample,
                                              std::uint64_t whole_ns);
  /// Which kind of wait for other threads of the process the sample is in, if any.
  [[nodiscard]] measurement::WaitKind waits_for_threads(const measurement::trace::Record& sample) const;

 private:
  struct Work {
    std::uint64_t earliest_ns = 0, since_ns = 0, ns = 0;  // maybe since, since, until
    database::ContextId context = 0;
  };
  /// Another thread's samples.
  struct Other {
    std::size_t thread = 0;
    std::unique_ptr<measurement::trace::ThreadRecords> records;
    std::uint64_t seen_ns = 0;                      // by the latest sample that was read
    std::uint64_t shortest_ns = ~std::uint64_t{0};  // of its samples
    std::deque<Work> recent;                        // as far as the waiter has come
    Work aside;                        // the latest that is neither: in files, in MPI, for others outside
    std::uint64_t waited_ns = 0;       // the latest sample that found it waiting for threads
    std::unique_ptr<HeldWaits> waits;  // its own, once they are asked for
    /// What it was last seen at while it was waited for, by the waiter's context.
    std::unordered_map<database::ContextId, database::ContextId> held;
  };
  /// A thread that held what was waited for, at a moment of that; and from when to when.
  struct Holder {
    Other* thread = nullptr;
    std::uint64_t ns = 0, since_ns = 0, released_ns = 0;
  };
  struct Waiter {
    std::size_t thread = 0;
    bool begun = false;
    std::uint64_t seen_ns = 0;                      // by the sample before
    std::uint64_t shortest_ns = ~std::uint64_t{0};  // of its samples
    std::uint32_t turn = 0;
    std::vector<Other> others;
    std::unique_ptr<HeldWaits> waits;  // once they are asked for
  };
  /// A sample of a wait.
  struct Waiting {
    database::ContextId context = 0;
    measurement::WaitKind kind{};
    bool of_team = false;
  };

  struct When {
    std::uint64_t ns = 0;
    bool maybe_earlier = false;
    std::uint64_t since_of_team_ns = 0, since_ns = 0;  // what ended before is no more looked at
  };

  void begin(std::size_t thread, std::uint64_t ns);
  void advance(Other& other, std::uint64_t ns) const;
  void add(Other& other, const measurement::trace::Record& sample) const;
  [[nodiscard]] database::ContextId charged(Waiter& waiter, const Waiting& waiting, std::uint64_t ns,
                                            std::uint64_t until_ns);
  [[nodiscard]] database::ContextId charged_to_working(Waiter& waiter, const Waiting& waiting,
                                                       std::uint64_t ns);
  [[nodiscard]] std::optional<Holder> holder_at(Waiter& waiter, const Waiting& waiting, std::uint64_t ns,
                                                std::uint64_t until_ns) const;
  [[nodiscard]] std::optional<Holder> held(Waiter& waiter, const HeldWait& wait, std::uint64_t ns) const;
  [[nodiscard]] std::optional<database::ContextId> charged_to(const Holder& holder,
                                                              database::ContextId waiting) const;
  [[nodiscard]] database::ContextId beside(database::ContextId waiting, database::ContextId work) const;
  void take_candidate(const Other& other, database::ContextId waiting, bool of_team, const When& when);
  [[nodiscard]] bool is_idle(const measurement::trace::Record& sample, database::ContextId context) const;
  [[nodiscard]] const HeldWait* wait_of(std::size_t thread, std::unique_ptr<HeldWaits>& waits,
                                        std::uint64_t ns) const;
  [[nodiscard]] bool works(const measurement::trace::Record& sample, database::ContextId context) const;

  const measurement::trace::ProcessTrace& trace_;
  const std::vector<NamedNodes>& threads_;
  const Shape& shape_;
  RegionPaths& regions_;
  std::vector<Waiter> waiters_;  // by thread
  std::vector<database::ContextId> candidates_;
  std::vector<Part> parts_;
};

}  // namespace culprit::merge
