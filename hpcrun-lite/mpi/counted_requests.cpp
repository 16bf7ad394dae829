#include "mpi/counted_requests.hpp"

#include "runtime/api.hpp"

namespace culprit::mpi {

using measurement::trace::kAnySource;
using measurement::trace::kNobody;

void count_requests() {
  requests_are_counted.store(culprit_rt_active() && !culprit_rt_traced(), std::memory_order_relaxed);
}

namespace counted {
namespace {

std::int32_t peer_of(int source) {
  return source == MPI_ANY_SOURCE ? kAnySource : source == MPI_PROC_NULL ? kNobody : source;
}

}  // namespace

void begin_receive(MPI_Request request, int source, std::uint64_t most) {
  mpi::begin_receive(request, peer_of(source), most);
}

void add_persistent_receive(MPI_Request request, int source) {
  Operation operation;
  operation.kind = OperationKind::receive;
  operation.peer = peer_of(source);
  operation.bytes_received = std::numeric_limits<std::uint64_t>::max();
  add_persistent(request, operation);
}

void add_persistent_send(MPI_Request request, const Message& message) {
  if (message.peer == MPI_PROC_NULL) return;
  Operation operation;
  operation.kind = OperationKind::send;
  operation.peer = message.peer;
  operation.bytes = bytes_of(message);
  add_persistent(request, operation, recipient_of(message.comm, message.peer));
}

void add_persistent_collective(MPI_Request request, const Amounts& moved) {
  Operation operation;
  operation.kind = OperationKind::all_to_all;
  operation.bytes = moved.sent;
  operation.bytes_received = moved.received;
  add_persistent(request, operation);
}

}  // namespace counted
}  // namespace culprit::mpi
