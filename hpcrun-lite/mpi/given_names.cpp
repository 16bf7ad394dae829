// What the program calls its communicators and windows, by MPI_Comm_set_name and MPI_Win_set_name: the first
// member notes it, under the number by which partners are known: in a trace that of contexts.hpp, else that
// of call_counts.hpp. Names of MPI_COMM_WORLD, and of communicators that count as it, are left out.
#include "mpi/call_counts.hpp"
#include "mpi/contexts.hpp"
#include "mpi/real_call.hpp"
#include "mpi/traced_call.hpp"
#include "runtime/api.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"

#include <mpi.h>

namespace {

using culprit::mpi::calls_are_followed;
using culprit::mpi::RealCall;
using culprit::runtime::CallMark;

constexpr std::uint64_t kWorld = 1;

/// 0: this process notes no name of it.
std::uint64_t number_of_communicator(MPI_Comm comm) {
  if (calls_are_followed.load(std::memory_order_relaxed)) {
    const culprit::mpi::Communicator known = culprit::mpi::communicator_of(comm);
    return known.rank == 0 ? known.global_id : 0;
  }
  int rank = 0;
  CULPRIT_MPI(PMPI_Comm_rank)(comm, &rank);
  return rank == 0 ? culprit::mpi::recipient_of(comm, 0).communicator : 0;
}

/// Partners of windows are known in traces only.
std::uint64_t number_of_window(MPI_Win window) {
  return calls_are_followed.load(std::memory_order_relaxed) ? culprit::mpi::number_of_first_in(window) : 0;
}

/// `number_of`: by which processes know what the handle names.
template <typename Handle>
int set_name(RealCall<int(Handle, const char*)>& real, Handle handle, const char* name,
             std::uint64_t (*number_of)(Handle)) {
  const CallMark mark(CallMark::work, reinterpret_cast<const void*>(real.get()));
  const int result = real.get()(handle, name);
  if (!mark.outermost() || result != MPI_SUCCESS) return result;
  if (const std::uint64_t number = number_of(handle); number > kWorld) culprit_rt_note_name(number, name);
  return result;
}

}  // namespace

#define CULPRIT_SET_NAME(function, Handle, number_of)                            \
  CULPRIT_EXPORT int function(Handle handle, const char* name) {                 \
    static CULPRIT_REAL_CALL RealCall<int(Handle, const char*)> real{#function}; \
    return set_name(real, handle, name, number_of);                              \
  }

CULPRIT_SET_NAME(MPI_Comm_set_name, MPI_Comm, number_of_communicator)
CULPRIT_SET_NAME(PMPI_Comm_set_name, MPI_Comm, number_of_communicator)
CULPRIT_SET_NAME(MPI_Win_set_name, MPI_Win, number_of_window)
CULPRIT_SET_NAME(PMPI_Win_set_name, MPI_Win, number_of_window)
