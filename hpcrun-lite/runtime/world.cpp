// What the MPI wrappers call: the process turns out to be a rank of a run.
#include "runtime/api.hpp"
#include "runtime/closing.hpp"
#include "runtime/identity.hpp"
#include "runtime/modules.hpp"
#include "runtime/process.hpp"
#include "runtime/recording.hpp"

using namespace culprit::runtime;

bool culprit_rt_active() {
  return process.active;
}

void culprit_rt_own_library(const void* address) {
  if (process.active) add_own_library(reinterpret_cast<std::uint64_t>(address));
}

void culprit_rt_begin_world(CulpritWorld* world) {
  if (process.active) settle_world(*world);
}

void culprit_rt_join_world(int rank, const CulpritWorld* world, const char* mpi) {
  if (!process.active || process.ended.load(std::memory_order_acquire)) return;
  closing_rank(rank);
  join_run(rank, *world, mpi);
  if (!rank_wanted(rank)) discard_file();
}

CulpritTotals culprit_rt_totals() {
  return process.active ? count_totals() : CulpritTotals{};
}

void culprit_rt_close_world(const CulpritTotals* totals) {
  if (process.active) close_run(*totals);
}
