#pragma once

#include "exchange/communicator.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace culprit::waits {

/// Where the critical path is on a time line: before `call`, at this time; and all that came before.
struct PathPosition {
  EventId call;
  std::uint64_t ns = 0;
  bool at_exit = false;  ///< the call itself lies before, too
  bool ended = false;
};

/// Where the critical path, which goes backwards, changes from one thread of a process to another, of those
/// that call MPI.
class ThreadChanges {
 public:
  /// Collective. Of this rank's own time lines; they must outlive it.
  ThreadChanges(exchange::Communicator& analysis, const RankMap& rank_map, const TraceStore& store);

  /// Whether in any process more than one thread calls MPI. The same on all ranks of the analysis.
  [[nodiscard]] bool possible() const { return possible_; }

  /// Where it goes on, if `at` is in the gap before its call and the thread waited there for another one:
  ///
  /// - the thread that initialized MPI, for another: at the end of the latest such wait up to `at.ns`; where
  ///   it is known for whom that was, on that thread, when it gave the lock back or ended, if it calls MPI;
  ///   else on the thread that left a call of MPI last before that end, and within the wait;
  /// - another thread, for that one: where most samples of its gap found it waiting, and that one was in no
  ///   call; and before its first call, where that one entered the call that it was in.
  [[nodiscard]] std::optional<PathPosition> before(const PathPosition& at) const;

 private:
  [[nodiscard]] std::optional<PathPosition> awaited_by_main(const TimeLine& main,
                                                            const PathPosition& at) const;
  [[nodiscard]] std::optional<PathPosition> at_release(const ThreadWait& wait, std::uint64_t ns) const;
  [[nodiscard]] std::optional<PathPosition> left_last(const TimeLine& main, const ThreadWait& wait,
                                                      std::uint64_t end_ns) const;
  [[nodiscard]] static std::optional<PathPosition> main_before(const TimeLine& main, std::uint64_t ns);

  const RankMap& rank_map_;
  const TraceStore& store_;
  std::vector<std::vector<Location>> lines_;  // by rank in MPI_COMM_WORLD: those with calls, main first
  bool possible_ = false;
};

}  // namespace culprit::waits
