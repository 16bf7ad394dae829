#include "mpi/world.hpp"

#include "mpi/members.hpp"
#include "mpi/predefined.hpp"
#include "mpi/published_contexts.hpp"
#include "mpi/real_call.hpp"
#include "mpi/room.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <mpi.h>

namespace culprit::mpi {
namespace {

bool all_measured = false, all_recorded = false, all_traced = false;
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

/// What all ranks were measured with, where they may differ: all of them must come together, or none.
void agree_on_options(int ranks) {
  const char* chosen = getenv("CULPRIT_RANKS");
  const bool some_ranks = chosen != nullptr && *chosen != '\0';
  const std::uint64_t mine[] = {getenv("CULPRIT_TRACE") != nullptr, some_ranks};
  std::uint64_t all[std::size(mine)] = {};
  CULPRIT_MPI(PMPI_Allreduce)(mine, all, std::size(mine), counts(), sum(), world());
  all_traced = all[0] == static_cast<std::uint64_t>(ranks);
  all_recorded = all[1] == 0;
}

}  // namespace

int own_rank() {
  static std::atomic<int> known{-1};
  int rank = known.load(std::memory_order_relaxed);
  if (rank >= 0) return rank;
  CULPRIT_MPI(PMPI_Comm_rank)(world(), &rank);
  known.store(rank, std::memory_order_relaxed);
  return rank;
}

bool everyone_measured() {
  return all_measured;
}

bool everyone_recorded() {
  return all_recorded;
}

bool everyone_traced() {
  return all_traced;
}

void broadcast(MPI_Comm comm, std::uint64_t* numbers, int count) {
  CULPRIT_MPI(PMPI_Bcast)(numbers, count, counts(), 0, comm);
}

bool within_world(MPI_Comm comm) {
  if (comm == world()) return true;
  if (comm == no_communicator()) return false;
  int remote = 0;
  MPI_Group group;
  if (CULPRIT_MPI(PMPI_Comm_test_inter)(comm, &remote) != MPI_SUCCESS || remote != 0 ||
      CULPRIT_MPI(PMPI_Comm_group)(comm, &group) != MPI_SUCCESS)
    return false;
  int size = 0;
  CULPRIT_MPI(PMPI_Group_size)(group, &size);
  constexpr std::size_t kFew = 64;
  Room<int, kFew> ranks(static_cast<std::size_t>(size));
  const bool known = static_cast<int>(ranks.size()) == size;
  if (known) world_ranks(group, size, ranks.data());
  CULPRIT_MPI(PMPI_Group_free)(&group);
  return known && std::all_of(ranks.data(), ranks.data() + size, [](int rank) { return rank >= 0; });
}

void join_world() {
  if (!culprit_rt_active()) return;
  int ranks = 1;
  CULPRIT_MPI(PMPI_Comm_size)(world(), &ranks);
  char name[128];
  library_name(name, sizeof name);
  all_measured = culprit_rt_join_world(rank(), ranks, name);
  joined = true;
  culprit_rt_publish_calls();
  publish_world();
  if (!all_measured) return;
  char id[kCulpritRunId] = "";
  culprit_rt_run_id(id);
  CULPRIT_MPI(PMPI_Bcast)(id, sizeof id, bytes(), 0, world());
  id[sizeof id - 1] = '\0';
  culprit_rt_agree(id);
  agree_on_options(ranks);
}

#if MPI_VERSION >= 4
void join_by_session(MPI_Session session) {
  MPI_Group all;
  if (!culprit_rt_active() || joined ||
      CULPRIT_MPI(PMPI_Group_from_session_pset)(session, "mpi://WORLD", &all) != MPI_SUCCESS)
    return;
  int place = MPI_UNDEFINED;
  int size = 0;
  CULPRIT_MPI(PMPI_Group_rank)(all, &place);
  CULPRIT_MPI(PMPI_Group_size)(all, &size);
  CULPRIT_MPI(PMPI_Group_free)(&all);
  char name[128];
  library_name(name, sizeof name);
  if (place >= 0) culprit_rt_join_session(place, size, name);
  culprit_rt_publish_calls();
}
#endif

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
