#include "mpi/world.hpp"

#include "mpi/predefined.hpp"
#include "mpi/prototypes.hpp"
#include "mpi/real_call.hpp"
#include "runtime/api.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace culprit::mpi {
namespace {

bool all_measured = false;
bool joined = false;

/// "Open MPI 4.1.4", "MPICH 4.0.2": from what the library says of itself, which goes on for lines.
void library_name(char* name, std::size_t size) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  CULPRIT_MPI(PMPI_Get_library_version)(version, &length);
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
  CULPRIT_MPI(PMPI_Comm_rank)(world(), &number);
  return number;
}

}  // namespace

bool everyone_measured() {
  return all_measured;
}

bool everyone_recorded() {
  const char* ranks = getenv("CULPRIT_RANKS");
  return all_measured && (ranks == nullptr || *ranks == '\0');
}

void broadcast(MPI_Comm comm, std::uint64_t& number) {
  CULPRIT_MPI(PMPI_Bcast)(&number, 1, counts(), 0, comm);
}

void join_world() {
  if (!culprit_rt_active()) return;
  int ranks = 1;
  CULPRIT_MPI(PMPI_Comm_size)(world(), &ranks);
  char name[128];
  library_name(name, sizeof name);
  all_measured = culprit_rt_join_world(rank(), ranks, name);
  joined = true;
  if (!all_measured) return;
  char id[kCulpritRunId] = "";
  culprit_rt_run_id(id);
  CULPRIT_MPI(PMPI_Bcast)(id, sizeof id, bytes(), 0, world());
  id[sizeof id - 1] = '\0';
  culprit_rt_agree(id);
}

void leave_world() {
  if (!joined) return;
  CulpritTotals mine = culprit_rt_totals();
  CulpritTotals all = mine;
  if (all_measured) {
    static_assert(sizeof mine % sizeof(std::uint64_t) == 0);
    CULPRIT_MPI(PMPI_Allreduce)(&mine, &all, sizeof mine / sizeof(std::uint64_t), counts(), sum(), world());
  }
  if (rank() == 0) culprit_rt_close_world(&all);
}

}  // namespace culprit::mpi
