#include "mpi/traced_lifetime.hpp"

#include "mpi/contexts.hpp"
#include "mpi/predefined.hpp"
#include "mpi/traced_call.hpp"
#include "runtime/api.hpp"

namespace culprit::mpi {
namespace {

Context all = kNoContext;  ///< MPI_COMM_WORLD

void record(OperationKind kind, std::uint64_t entered) {
  Operation operation;
  operation.kind = kind;
  operation.context = all;
  culprit_rt_trace_call(entered, host_time(), &operation, 1, false);
}

}  // namespace

TracedLifetime::TracedLifetime() : entered_(host_time()) {}

void TracedLifetime::began() const {
  if (!culprit_rt_traced()) return;
  define_world();
  all = communicator_of(world()).context;
  calls_are_followed.store(true, std::memory_order_release);
  record(OperationKind::initialize, entered_);
}

void TracedLifetime::ends() const {}

void TracedLifetime::ended() const {
  if (!calls_are_followed.exchange(false, std::memory_order_acq_rel)) return;
  record(OperationKind::finalize, entered_);
}

}  // namespace culprit::mpi
