// What culprit.h finds in a measured process.
#include "interface/culprit.h"
#include "runtime/api.hpp"
#include "runtime/life/process_life.hpp"
#include "runtime/life/summary_line.hpp"
#include "runtime/modules/modules.hpp"
#include "runtime/process/identity.hpp"
#include "runtime/recording/call_counts.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/published_calls.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/sampling/start_stop.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/backoff.hpp"
#include "runtime/system/export.hpp"
#include "runtime/wrappers/traced_calls.hpp"

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstring>

extern "C" {
/// Found by name, by whatever version of the header: members are only ever added, at the end.
// NOLINTNEXTLINE(misc-use-internal-linkage)
extern __attribute__((visibility("default"))) const culprit_interface culprit_rt_interface;
}

constinit const culprit_interface culprit_rt_interface = {
    .size = sizeof(culprit_interface),
    .start = culprit::runtime::start_sampling,
    .stop = culprit::runtime::stop_sampling,
    .region_begin = culprit::runtime::mark_region_begin,
    .region_end = culprit::runtime::mark_region_end,
    .iteration = culprit::runtime::mark_iteration,
    .region_begin_outside = culprit::runtime::mark_region_begin_outside,
    .region_end_outside = culprit::runtime::mark_region_end_outside,
};

// What the MPI wrappers call: the process turns out to be a rank of a run.

using namespace culprit::runtime;

bool culprit_rt_active() {
  return process.active;
}

void culprit_rt_own_library(const void* address) {
  if (process.active) add_own_library(reinterpret_cast<std::uint64_t>(address));
}

bool culprit_rt_join_world(int rank, int ranks, const char* mpi) {
  if (!process.active || process.ended.load(std::memory_order_acquire)) return false;
  process.in_mpi.store(ranks > 1, std::memory_order_relaxed);
  if (ranks > 1) await_exit_status();
  const bool all_registered = all_ranks_registered(ranks);
  closing_rank(rank, all_registered || ranks == 1 ? ranks : 0);  // where not, nobody sums the ranks' totals
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

void culprit_rt_note_partitioned_messages() {
  if (process.active && !sampling_stopped()) note_partitioned_messages();
}

void culprit_rt_note_name(std::uint64_t number, const char* name) {
  if (process.active && name != nullptr) note_name(number, name);
}

CulpritTotals culprit_rt_totals() {
  return process.active ? count_totals() : CulpritTotals{};
}

void culprit_rt_close_world(const CulpritTotals* totals) {
  if (process.active) close_run(*totals);
}

void culprit_rt_leave_world() {
  process.in_mpi.store(false, std::memory_order_relaxed);
}

// What the MPI wrappers count where there is no trace.

__attribute__((noinline)) void culprit_rt_hand_over(CulpritCallCount* slot, CulpritPath* path) {
  with_tree(__builtin_dwarf_cfa(), [&](Thread* thread) {
    thread->calls_are_counted = true;
    if (slot->tree != thread->tree_number) {
      const bool others = slot == &thread->calls.counted.slots[CulpritCallTable::kSlots];
      slot->node =
          others ? thread->tree->root() : call_path(thread, culprit::unwind::registers_here(), *path);
      slot->tree = thread->tree_number;
    }
    hand_over_calls(thread, *slot, slot->node);
  });
}

__attribute__((noinline)) void culprit_rt_hand_over_partner(CulpritPartnerCount* partner) {
  with_tree(__builtin_dwarf_cfa(), [&](Thread* thread) {
    thread->calls_are_counted = true;
    hand_over_partner(thread, *partner);
  });
}

// What the MPI wrappers ask for to publish the calls that threads are in.

namespace calls = culprit::measurement::calls;

void culprit_rt_publish_calls() {
  using namespace culprit::runtime;
  if (!process.active || control.off.load(std::memory_order_relaxed)) return;
  // Another thread may be creating the file, or the flusher thread has to.
  constexpr int kPauses = 5000;
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  Backoff backoff;
  for (int i = 0; i < kPauses && !recording_refused() && !ensure_file(); ++i) backoff.pause();
  if (!recording_refused()) make_place_of_published_calls();
  change_mask(SIG_SETMASK, before);
}

calls::Call* culprit_rt_place_of_published_calls() {
  using namespace culprit::runtime;
  calls::Calls* const block = culprit_rt_published_calls.load(std::memory_order_acquire);
  const Thread* const thread = this_thread();
  if (block == nullptr || thread == nullptr || !own_memory()) return nullptr;
  for (calls::Call& call : block->call) {
    std::uint64_t free = 0;
    if (!std::atomic_ref(call.tid).compare_exchange_strong(free, static_cast<std::uint64_t>(thread->tid),
                                                           std::memory_order_acq_rel))
      continue;
    for (calls::HeldLock& lock : call.lock) calls::store(lock.window, std::uint64_t{0});
    calls::store(call.messages_noted, std::uint64_t{0});
    calls::store(call.node, culprit::measurement::kNoNodeIndex);
    culprit_rt_thread.published = &call;
    return &call;
  }
  std::atomic_ref(block->threads_lost).fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}
