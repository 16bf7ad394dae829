#include "mpi/world.hpp"

#include "mpi/prototypes.hpp"
#include "mpi/real_call.hpp"
#include "runtime/api.hpp"

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace culprit::mpi {
namespace {

bool all_measured = false;
bool joined = false;

#ifdef OPEN_MPI
// Handles are addresses of objects in the library, which may not be loaded yet when this one is.
template <typename Handle>
Handle handle(const char* symbol) {
  return static_cast<Handle>(find_object(symbol));
}
MPI_Datatype bytes() {
  return handle<MPI_Datatype>("ompi_mpi_byte");
}
MPI_Datatype counts() {
  return handle<MPI_Datatype>("ompi_mpi_uint64_t");
}
MPI_Op sum() {
  return handle<MPI_Op>("ompi_mpi_op_sum");
}
#else
MPI_Datatype bytes() {
  return MPI_BYTE;
}
MPI_Datatype counts() {
  return MPI_UINT64_T;
}
MPI_Op sum() {
  return MPI_SUM;
}
#endif

#define CULPRIT_REAL(function) reinterpret_cast<decltype(&(function))>(find_symbol(#function))

/// "Open MPI 4.1.4", "MPICH 4.0.2": from what the library says of itself, which goes on for lines.
void library_name(char* name, std::size_t size) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  CULPRIT_REAL(PMPI_Get_library_version)(version, &length);
#ifdef OPEN_MPI
  const char* number = strchr(version, 'v');
  snprintf(name, size, "Open MPI %.*s", number == nullptr ? 0 : static_cast<int>(strcspn(number + 1, ", \n")),
           number == nullptr ? "" : number + 1);
#else
  const char* number = strpbrk(version, "0123456789");
  snprintf(name, size, "MPICH %.*s", number == nullptr ? 0 : static_cast<int>(strcspn(number, " \t\n")),
           number == nullptr ? "" : number);
#endif
}

int rank() {
  int number = 0;
  CULPRIT_REAL(PMPI_Comm_rank)(world(), &number);
  return number;
}

}  // namespace

MPI_Comm world() {
#ifdef OPEN_MPI
  return handle<MPI_Comm>("ompi_mpi_comm_world");
#else
  return MPI_COMM_WORLD;
#endif
}

bool everyone_measured() {
  return all_measured;
}

void broadcast(MPI_Comm comm, std::uint64_t& number) {
  CULPRIT_REAL(PMPI_Bcast)(&number, 1, counts(), 0, comm);
}

void join_world() {
  if (!culprit_rt_active()) return;
  int ranks = 1;
  CULPRIT_REAL(PMPI_Comm_size)(world(), &ranks);
  char name[128];
  library_name(name, sizeof name);
  all_measured = culprit_rt_join_world(rank(), ranks, name);
  joined = true;
  if (!all_measured) return;
  char id[kCulpritRunId] = "";
  culprit_rt_run_id(id);
  CULPRIT_REAL(PMPI_Bcast)(id, sizeof id, bytes(), 0, world());
  id[sizeof id - 1] = '\0';
  culprit_rt_agree(id);
}

void leave_world() {
  if (!joined) return;
  CulpritTotals mine = culprit_rt_totals();
  CulpritTotals all = mine;
  if (all_measured) {
    static_assert(sizeof mine % sizeof(std::uint64_t) == 0);
    CULPRIT_REAL(PMPI_Allreduce)(&mine, &all, sizeof mine / sizeof(std::uint64_t), counts(), sum(), world());
  }
  if (rank() == 0) culprit_rt_close_world(&all);
}

}  // namespace culprit::mpi
