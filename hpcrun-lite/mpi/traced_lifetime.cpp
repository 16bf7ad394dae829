#include "mpi/traced_lifetime.hpp"

#include "mpi/contexts.hpp"
#include "mpi/counted_requests.hpp"
#include "mpi/host_clocks.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/open_requests.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"
#include "mpi/traced_call.hpp"
#include "mpi/world.hpp"
#include "runtime/api.hpp"

#include <cstdio>

namespace culprit::mpi {
namespace {

Context all = kNoContext;  ///< MPI_COMM_WORLD

void report_lost(std::uint64_t lost, const char* what, const char* consequence) {
  if (lost == 0) return;
  int rank = 0;
  CULPRIT_MPI(PMPI_Comm_rank)(world(), &rank);
  fprintf(stderr, "hpcrun-lite: rank %d: %llu %s began while too many requests were open: %s\n", rank,
          static_cast<unsigned long long>(lost), what, consequence);
}

/// By each process for itself: this many open requests at one time are rare.
void report_lost() {
  report_lost(lost_operations(), "operations", "the trace does not say when they were complete");
  report_lost(lost_requests(), "requests", "what they moved is not counted");
}

void record(OperationKind kind, std::uint64_t entered) {
  Operation operation;
  operation.kind = kind;
  operation.context = all;
  CulpritPath path{};
  culprit_rt_trace_call(entered, host_time(), &operation, 1, false, &path);
}

}  // namespace

TracedLifetime::TracedLifetime() : entered_(host_time()) {}

void TracedLifetime::began() const {
  if (everyone_traced()) compare_clocks_at_start();
  if (!culprit_rt_traced()) return;
  define_world();
  all = communicator_of(world()).context;
  find_shared_handle();
  calls_are_followed.store(true, std::memory_order_release);
  record(OperationKind::initialize, host_time(entered_));
}

void TracedLifetime::ends() const {
  report_lost();
  if (everyone_traced()) compare_clocks_at_end();
}

void TracedLifetime::ended() const {
  if (!calls_are_followed.exchange(false, std::memory_order_acq_rel)) return;
  record(OperationKind::finalize, entered_);
}

}  // namespace culprit::mpi
