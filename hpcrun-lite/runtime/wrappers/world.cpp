// What the MPI wrappers call: the process turns out to be a rank of a run.
#include "runtime/api.hpp"
#include "runtime/life/summary_line.hpp"
#include "runtime/modules/modules.hpp"
#include "runtime/process/identity.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/sampling/start_stop.hpp"
#include "runtime/state/control.hpp"
#include "runtime/state/process.hpp"

#include <cstring>

using namespace culprit::runtime;

bool culprit_rt_active() {
  return process.active;
}

void culprit_rt_own_library(const void* address) {
  if (process.active) add_own_library(reinterpret_cast<std::uint64_t>(address));
}

bool culprit_rt_join_world(int rank, int ranks, const char* mpi) {
  if (!process.active || process.ended.load(std::memory_order_acquire)) return false;
  closing_rank(rank, ranks);
  const bool all_registered = all_ranks_registered(ranks);
  const bool delayed = control.delayed.load(std::memory_order_relaxed);  // who knows which ranks will start?
  join_run(rank, ranks, mpi, RankFrom::world, all_registered && every_rank_wanted() && !delayed);
  if (!rank_wanted(rank)) {
    end_sampling();
    discard_file();
  }
  return all_registered;
}

void culprit_rt_join_session(int rank, int ranks, const char* mpi) {
  if (!process.active || process.ended.load(std::memory_order_acquire)) return;
  closing_rank(rank, ranks == 1 ? 1 : 0);  // nobody sums the ranks' totals
  join_run(rank, ranks, mpi, RankFrom::session, false);
  if (rank_wanted(rank)) return;
  end_sampling();
  discard_file();
}

void culprit_rt_run_id(char* id) {
  memcpy(id, run_id(), strlen(run_id()) + 1);
}

void culprit_rt_agree(const char* id) {
  if (process.active && strcmp(id, run_id()) != 0) change_run_id(id);
}

CulpritTotals culprit_rt_totals() {
  return process.active ? count_totals() : CulpritTotals{};
}

void culprit_rt_close_world(const CulpritTotals* totals) {
  if (process.active) close_run(*totals);
}
