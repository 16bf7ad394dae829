#pragma once

#include "waits/matching/request_table.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/process_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace culprit::waits {

class TraceStore;

/// Brings together, for each nonblocking operation, the call that completes it and what that call may have
/// waited for; either may be known first. An entry lives until both are.
class Completions {
 public:
  /// `own` are the processes that this rank of the analysis has.
  Completions(TraceStore& store, std::span<const std::unique_ptr<ProcessTrace>> own);

  /// The number of the process with this rank in MPI_COMM_WORLD, one of this rank's.
  [[nodiscard]] std::uint32_t process_of(std::int32_t rank) const {
    return process_of_[static_cast<std::size_t>(rank)];
  }
  /// Operation `id` of the process that made this call is complete in it.
  void completed(const CallSite& call, std::uint64_t id);
  /// What operation `id` of the process with this rank in MPI_COMM_WORLD, one of this rank's, depended on;
  /// the candidate's event is filled in.
  void depends(std::int32_t rank, std::uint64_t id, const Candidate& candidate);
  /// No call can have waited for it.
  void independent(std::int32_t rank, std::uint64_t id);

 private:
  /// What came first. Small: there are millions.
  struct Half {
    enum class Kind : std::uint8_t { nobody, candidate, call };
    std::uint64_t ns = 0;  // of the candidate; of the completing call: its enter
    std::uint32_t cause_context = 0;
    WaitPattern pattern = WaitPattern::none;
    bool first : 1 = false;
    bool any : 1 = false;  // of the completing call
    Kind kind : 2 = Kind::nobody;
    std::uint16_t size = 0;  // of the candidate
    EventId event;           // the candidate's cause, or the completing call
  };
  /// What was there before the call can only matter to one that returns at the first of several.
  static bool may_matter(std::uint64_t ns, std::uint64_t enter_ns, bool any) { return any || ns > enter_ns; }

  TraceStore& store_;
  std::vector<std::uint32_t> process_of_;  // by rank in MPI_COMM_WORLD
  RequestTable<Half> halves_;
};

}  // namespace culprit::waits
