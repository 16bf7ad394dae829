#pragma once

#include "mpi/call_facts.hpp"
#include "mpi/open_requests.hpp"
#include "mpi/room.hpp"
#include "runtime/api.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Calls that complete requests, and those that start several at once.
namespace culprit::mpi {

/// When and where a traced call was entered and left; nothing is recorded of it where tracing was off at its
/// enter.
struct CallPlace {
  bool recorded;
  std::uint64_t entered, left;
  CulpritPath* path;
};

/// The handles of completed requests are gone after the call, and only statuses say whom a message came
/// from: both are kept here, the statuses only where the program does not ask for them itself.
class CompletingCall {
 public:
  /// Before the call, which is then to be given `requests.statuses`.
  void enter(Requests& requests);
  /// After it, with its result: records the call and the operations that it completed.
  void exit(const Requests& requests, int result, const CallPlace& call);

  CompletingCall() {}  // NOLINT: the rest is of calls that were entered
  ~CompletingCall() {
    if (memory_ != nullptr) [[unlikely]]
      free(memory_);
  }
  CompletingCall(const CompletingCall&) = delete;
  CompletingCall& operator=(const CompletingCall&) = delete;

 private:
  static constexpr int kFew = 32;  ///< on the stack; more in memory of their own

  [[nodiscard]] int completed_requests(const Requests& requests) const;
  /// The operations that the n-th completed request held.
  [[nodiscard]] int completed(const Requests& requests, int n, int result, Operation* operations) const;

  void* memory_ = nullptr;
  int count_;  ///< of the handles that are kept
  std::uint64_t before_;
  MPI_Request* handles_;
  MPI_Request few_handles_[kFew];
  MPI_Status few_statuses_[kFew];
};

/// MPI_Start or MPI_Startall.
class StartingCall {
 public:
  void enter(const RequestStart& facts) { handles_.keep(facts); }
  /// After it: records the call and the operations that it began.
  void exit(const RequestStart& facts, const CallPlace& call);

 private:
  StartedHandles handles_;
};

/// After MPI_Request_get_status found the request complete, which stays.
void record_query(const StatusQuery& facts, std::uint64_t before, const CallPlace& call);

}  // namespace culprit::mpi
