// Keeps the operations of a traced process by their request handles, from beginning to completion
// (open_requests.hpp). Operations are numbered as they begin; a completing call takes only those that had
// begun at its enter. Handles that stand for several complete requests are remembered, the first one from
// MPI_Init on: an operation that gets such a handle, and is complete, is not kept at all.
#include "mpi/open_requests.hpp"

#include "mpi/contexts.hpp"
#include "mpi/handle_table.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"
#include "mpi/status_bytes.hpp"

#include <algorithm>
#include <atomic>

namespace culprit::mpi {
namespace {

using measurement::trace::kAnySource;
using measurement::trace::kAnyTag;
using measurement::trace::kNobody;
using measurement::trace::OperationKind;

struct OpenRequest {
  Operation operation;
  MPI_Comm* made;        ///< where a communicator will be; null for other operations
  std::uint64_t number;  ///< next_made's of that communicator
  bool persistent;
  bool active;           ///< of a persistent one: started, and not known to be complete
  bool cancelling;       ///< MPI_Cancel was called
  bool paired;           ///< the one before it, under the same handle, belongs to the same request
  std::uint64_t posted;  ///< of a paired one: the bytes that it has room for
};

// 128 x 1024 requests at one time: ten times what programs are seen to have open, in 14 MB of which pages are
// used where handles fall.
HandleTable<OpenRequest, 128, 1024> requests;
HandleTable<Operation, 1, 1024> messages;

std::atomic<std::uint64_t> operations_begun{0};
std::atomic<std::uint64_t> lost{0};

void remove(MPI_Request request, std::uint64_t id) {
  requests.visit(
      key_of(request), [id](const OpenRequest& open) { return open.operation.id == id; },
      [](OpenRequest&) { return false; });
}

/// Handles that several operations had at one time, all of them complete. More are not worth remembering.
constexpr std::size_t kMostShared = 8;
std::atomic<std::uint64_t> shared_handles[kMostShared];

bool is_shared(std::uint64_t key) {
  for (const auto& shared : shared_handles) {
    if (shared.load(std::memory_order_relaxed) == key) return true;
  }
  return false;
}
void remember_shared(std::uint64_t key) {
  for (auto& shared : shared_handles) {
    std::uint64_t none = 0;
    if (shared.compare_exchange_strong(none, key, std::memory_order_relaxed) || none == key) return;
  }
}

/// True where the operation is complete already, as those with shared handles are.
bool complete_at_once(MPI_Request request, Operation& operation) {
  MPI_Status status;
  if (!is_complete(request, status)) return false;
  operation.completes = true;
  if (is_receive(operation)) receive_from(operation, status);
  return true;
}

/// Each request of a receive has a status of its own to keep, and so a handle. Another operation's under the
/// same one is that of a request which another thread has just completed, and is about to look up.
bool may_share(const Operation& operation) {
  return !is_receive(operation) || operation.peer == kNobody;
}

void keep(MPI_Request request, const OpenRequest& open, Operation& operation) {
  const std::uint64_t key = key_of(request);
  if (may_share(operation) && is_shared(key) && complete_at_once(request, operation)) return;
  bool others = false;
  if (!requests.add(key, open, others)) {
    lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!others || !may_share(operation) || open.paired || open.made != nullptr) return;
  if (!complete_at_once(request, operation)) return;
  remove(request, open.operation.id);
  remember_shared(key);
}

/// Whether the status is that of a persistent request which is inactive: the call that it was given to before
/// failed. Open MPI gives one that was cancelled the same, but for this.
bool is_inactive(const OpenRequest& open, const MPI_Status& status) {
  return open.persistent && is_receive(open.operation) && status.MPI_SOURCE == MPI_ANY_SOURCE &&
         !(open.cancelling && was_cancelled(status));
}

/// What is complete now of an open request.
Operation completed(const OpenRequest& open, const MPI_Status& status) {
  Operation operation = open.operation;
  operation.begins = false;
  operation.completes = true;
  operation.cancelled = open.cancelling && was_cancelled(status);
  if (is_receive(operation) && !operation.cancelled) receive_from(operation, status);
  if (open.paired && !kExchangeHasStatus && operation.peer != kNobody) operation.bytes = open.posted;
  if (open.made != nullptr) operation.made = define_duplicate(operation.context, open.number, *open.made);
  return operation;
}

}  // namespace

// MPICH and Open MPI give small messages the handle of those to nobody.
void find_shared_handle() {
  MPI_Request request;
  if (CULPRIT_MPI(PMPI_Isend)(nullptr, 0, bytes(), MPI_PROC_NULL, 0, world(), &request) != MPI_SUCCESS)
    return;
  remember_shared(key_of(request));
  CULPRIT_MPI(PMPI_Wait)(&request, MPI_STATUS_IGNORE);
}

std::uint64_t last_operation() {
  return operations_begun.load(std::memory_order_relaxed);
}

std::uint64_t new_operation() {
  return operations_begun.fetch_add(1, std::memory_order_relaxed) + 1;
}

void begin_request(MPI_Request request, Operation& operation) {
  operation.id = operation.id != 0 ? operation.id : new_operation();
  operation.completes = false;
  OpenRequest open{};
  open.operation = operation;
  open.active = true;
  keep(request, open, operation);
}

void begin_request(MPI_Request request, Operation& sent, Operation& received, std::uint64_t posted) {
  begin_request(request, sent);
  received.id = new_operation();
  received.completes = sent.completes;
  if (sent.completes) return;
  OpenRequest open{};
  open.operation = received;
  open.active = true;
  open.paired = true;
  open.posted = posted;
  keep(request, open, received);
}

void begin_request(MPI_Request request, Operation& operation, MPI_Comm* made, std::uint64_t number) {
  operation.id = new_operation();
  operation.completes = false;
  OpenRequest open{};
  open.operation = operation;
  open.made = made;
  open.number = number;
  open.active = true;
  keep(request, open, operation);
}

void add_persistent(MPI_Request request, const Operation& operation) {
  OpenRequest open{};
  open.operation = operation;
  open.operation.id = new_operation();
  open.persistent = true;
  if (!requests.add(key_of(request), open)) lost.fetch_add(1, std::memory_order_relaxed);
}

void rename_persistent(MPI_Request before, MPI_Request now) {
  OpenRequest open;
  const bool known = requests.visit(
      key_of(before), [](const OpenRequest& one) { return one.persistent; },
      [&](const OpenRequest& one) {
        open = one;
        return false;
      });
  if (known && !requests.add(key_of(now), open)) lost.fetch_add(1, std::memory_order_relaxed);
}

bool start_persistent(MPI_Request request, Operation& operation) {
  return requests.visit(
      key_of(request), [](const OpenRequest& open) { return open.persistent; },
      [&](OpenRequest& open) {
        open.operation.id = new_operation();
        open.active = true;
        open.cancelling = false;
        operation = open.operation;
        operation.completes = false;
        return true;
      });
}

bool is_receive(const Operation& operation) {
  return operation.kind == OperationKind::receive || operation.kind == OperationKind::receive_matched;
}

int complete_request(MPI_Request request, std::uint64_t before, const MPI_Status& status, bool stays,
                     Operation* operations) {
  int count = 0;
  OpenRequest open;
  do {
    const bool known = requests.visit(
        key_of(request), [before](const OpenRequest& one) { return one.operation.id <= before; },
        [&](OpenRequest& one) {
          open = one;
          one.active = false;
          return stays;
        });
    if (!known || !open.active || is_inactive(open, status)) break;
    operations[count++] = completed(open, status);
    before = open.operation.id - 1;
  } while (open.paired && count < kMostOfOneRequest);
  return count;
}

void cancel_request(MPI_Request request) {
  requests.visit(
      key_of(request), [](const OpenRequest&) { return true; },
      [](OpenRequest& open) {
        open.cancelling = true;
        return true;
      });
}

// Later receives are matched only when it is known which message this one takes, or that it takes none.
// Whoever cancels a receive without waiting for the end of that means it: it counts as cancelled although MPI
// has not said so.
int release_request(MPI_Request request, Operation* operations) {
  int count = 0;
  OpenRequest open;
  do {
    if (!requests.take(key_of(request), open)) break;
    if (!open.active || !is_receive(open.operation)) continue;
    MPI_Status status;
    Operation& ended = operations[count++] = open.operation;
    ended.begins = false;
    ended.completes = ended.cancelled = open.cancelling;
    if (is_complete(request, status)) ended = completed(open, status);
  } while (open.paired && count < kMostOfOneRequest);
  return count;
}

// What was asked for is what came, whatever the status says: MPICH 4.0 leaves those of MPI_Isendrecv as they
// were, and so do tools between the program and MPI with statuses that the program does not want.
void receive_from(Operation& operation, const MPI_Status& status) {
  if (operation.peer == kAnySource)
    operation.peer = status.MPI_SOURCE == MPI_PROC_NULL ? kNobody : status.MPI_SOURCE;
  if (operation.peer == kNobody) return;
  MPI_Count received = 0;
  CULPRIT_MPI(PMPI_Get_elements_x)(&status, bytes(), &received);
  if (operation.tag == kAnyTag) operation.tag = status.MPI_TAG;
  operation.bytes = static_cast<std::uint64_t>(std::max<MPI_Count>(received, 0));
}

void forget_bytes(Operation* operations, int count) {
  for (int i = 0; i < count; ++i) {
    if (is_receive(operations[i])) operations[i].bytes = 0;
  }
}

void add_message(MPI_Message message, const Operation& operation) {
  if (!messages.add(key_of(message), operation)) lost.fetch_add(1, std::memory_order_relaxed);
}

bool take_message(MPI_Message message, Operation& operation) {
  return messages.take(key_of(message), operation);
}

std::uint64_t lost_operations() {
  return lost.load(std::memory_order_relaxed);
}

}  // namespace culprit::mpi
