#pragma once

#include "exchange/communicator.hpp"
#include "storage/sequence.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/invocations.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace culprit::waits {

/// Inclusive time and invocations of a procedure, on all ranks together.
struct ProcedureSum {
  std::uint32_t procedure = CallPaths::kNone;
  std::uint32_t context = CallPaths::kNone;  ///< its frame with the most time
  std::uint64_t context_ns = 0;
  std::uint64_t ns = 0;
  std::uint64_t invocations = 0;
  std::uint64_t stamped = 0;  ///< of these, how many have their own stamps
  std::uint64_t uneven = 0;   ///< ranks on which one invocation has nearly all of the time
  std::uint64_t inside = 0;   ///< ranks on which a scope inside it begins anew, such as its loop
};

/// Calls visit(invocation) for those of a time line that have stamps, the latest first; not for one inside
/// another of the same procedure (recursion), nor where the procedure is not known.
template <typename Visit>
void for_stamped(const TimeLine& line, const CallPaths& paths, Visit visit) {
  std::unordered_map<std::uint32_t, std::uint64_t> begun_ns;  // by procedure: by the last that was visited
  for (std::size_t i = line.stamped.size(); i-- > 0;) {
    const StampedInvocation one = line.stamped[i];
    if (one.context >= paths.procedure.size() || paths.procedure[one.context] == CallPaths::kNone) continue;
    const auto [begun, first] = begun_ns.try_emplace(paths.procedure[one.context], one.begin_ns);
    if (!first && one.end_ns > begun->second) continue;
    begun->second = one.begin_ns;
    visit(one);
  }
}

/// What all procedures took, from which it is chosen whose invocations are compared, and with which calls
/// those begin: found in one pass over all calls, for all choices. Of each process its first time line
/// counts.
class ProcedureSums {
 public:
  /// Collective. `paths` and `matched` must outlive it.
  ProcedureSums(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                const CallPaths& paths);

  [[nodiscard]] const CallPaths& paths() const { return paths_; }
  /// The dominant procedure and those below it, each finer than the one before: at most this number. The
  /// dominant one is the heaviest that was invoked at least twice per rank, if there is one not so uneven
  /// that on most ranks one invocation has nearly all of its time; where that was invoked fewer than ten
  /// times per rank, the heaviest below it that was, and has at least half of its time. What has a loop of as
  /// many iterations, with nearly all of its time, gives way to that. Nothing where none was.
  [[nodiscard]] std::vector<std::uint32_t> levels(std::size_t most) const;
  /// nullptr: it was never seen.
  [[nodiscard]] const ProcedureSum* of(std::uint32_t procedure) const;

  /// Of this rank's time lines that count, in the order of the store.
  [[nodiscard]] const std::vector<LineInvocations>& lines() const { return lines_; }
  /// Of those lines, one after the other.
  [[nodiscard]] const storage::Sequence<RecurringCall>& calls() const { return calls_; }

 private:
  [[nodiscard]] bool recurs(const ProcedureSum& sum, bool even) const;
  [[nodiscard]] const ProcedureSum* dominant(bool even) const;
  [[nodiscard]] const ProcedureSum* what_recurs(const ProcedureSum* sum, bool even) const;

  const CallPaths& paths_;
  std::uint64_t rows_ = 0;
  std::vector<ProcedureSum> sums_;  // the heaviest first
  std::vector<LineInvocations> lines_;
  storage::Sequence<RecurringCall> calls_;  // in the blocks of the store
};

}  // namespace culprit::waits
