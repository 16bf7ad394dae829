#include "mpi/completions.hpp"

#include "mpi/status_bytes.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace culprit::mpi {
namespace {

/// Operations that are handed over at a time.
constexpr std::size_t kPiece = 32;

/// Records a call with the operations of `items` items. `next(i, operations)` writes those of the i-th, of
/// which there are kMostOfOneRequest at most, and is called whether the call is recorded or not.
template <typename Next>
void record(const CallPlace& call, bool any, int items, Next next) {
  // Filled one by one: made as Operations, they would cost more than the rest of the call's recording.
  alignas(Operation) std::byte memory[kPiece * sizeof(Operation)];
  auto* piece = std::launder(reinterpret_cast<Operation*>(memory));
  std::size_t filled = 0;
  const bool few = static_cast<std::size_t>(items) * kMostOfOneRequest <= kPiece;
  const bool begun = !few && call.recorded && culprit_rt_trace_begin(call.entered, call.left, any, call.path);
  for (int i = 0; i < items; ++i) {
    filled += static_cast<std::size_t>(next(i, piece + filled));
    if (few || filled + kMostOfOneRequest <= kPiece) continue;
    if (begun) culprit_rt_trace_operations(piece, filled);
    filled = 0;
  }
  if (few && call.recorded) culprit_rt_trace_call(call.entered, call.left, piece, filled, any, call.path);
  if (!begun) return;
  culprit_rt_trace_operations(piece, filled);
  culprit_rt_trace_end();
}

}  // namespace

void CompletingCall::enter(Requests& requests) {
  before_ = last_operation();
  count_ = 0;
  const int count = std::max(requests.count, 0);
  const auto size = static_cast<std::size_t>(count);
  MPI_Status* statuses = few_statuses_;
  handles_ = few_handles_;
  if (count > kFew) {
    memory_ = malloc(size * (sizeof(MPI_Status) + sizeof(MPI_Request)));
    if (memory_ == nullptr) return;
    statuses = static_cast<MPI_Status*>(memory_);
    handles_ = reinterpret_cast<MPI_Request*>(statuses + size);
  }
  count_ = count;
  memcpy(handles_, requests.requests, size * sizeof(MPI_Request));
  if (requests.statuses == MPI_STATUSES_IGNORE) requests.statuses = statuses;  // and MPI_STATUS_IGNORE
}

int CompletingCall::completed_requests(const Requests& requests) const {
  if (requests.completed_count != nullptr) return std::clamp(*requests.completed_count, 0, count_);
  if (requests.completed != nullptr) return *requests.completed >= 0 && *requests.completed < count_ ? 1 : 0;
  return count_;
}

int CompletingCall::completed(const Requests& requests, int n, int result, Operation* operations) const {
  const int index = requests.completed != nullptr ? requests.completed[n] : n;
  const MPI_Status& status = requests.statuses[n];
  const int error = result == MPI_ERR_IN_STATUS ? status.MPI_ERROR : result;
  if (error == MPI_ERR_PENDING) return 0;
  // Open MPI frees persistent requests that fail.
  const bool stays = requests.requests[index] == handles_[index];
  const int count = complete_request(handles_[index], before_, status, stays, operations);
  if (is_truncation(error)) forget_bytes(operations, count);
  return count;
}

void CompletingCall::exit(const Requests& requests, int result, const CallPlace& call) {
  const bool complete = result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS || is_truncation(result);
  record(call, requests.completed != nullptr, complete ? completed_requests(requests) : 0,
         [&](int n, Operation* operations) { return completed(requests, n, result, operations); });
}

void StartingCall::exit(const RequestStart& facts, const CallPlace& call) {
  record(call, false, std::max(facts.count, 0), [&](int n, Operation* operations) {
    MPI_Request before = handles_.before(facts, n);
    if (before != facts.requests[n]) rename_persistent(before, facts.requests[n]);
    return start_persistent(facts.requests[n], operations[0]) ? 1 : 0;
  });
}

void record_query(const StatusQuery& facts, std::uint64_t before, const CallPlace& call) {
  record(call, false, 1, [&](int /*n*/, Operation* operations) {
    return complete_request(facts.request, before, *facts.status, true, operations);
  });
}

}  // namespace culprit::mpi
