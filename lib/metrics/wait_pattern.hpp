#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace culprit::metrics {

/// The wait states (docs/algorithms.md 6 and 7), by their numbers in databases. Time stamps show exactly
/// those before flush_wait, and wait_at_root; the others come from profiles alone.
enum class WaitPattern : std::uint8_t {
  late_sender,
  late_sender_wrong_order,
  late_receiver,
  wait_at_barrier,
  barrier_completion,
  wait_at_nxn,
  nxn_completion,
  wait_at_init,
  wait_at_finalize,
  late_broadcast,
  early_reduce,
  early_scan,
  late_post,
  early_transfer,
  early_wait,
  late_complete,
  wait_at_fence,
  early_fence,
  wait_at_create,
  wait_at_free,
  lock_wait,
  flush_wait,
  omp_barrier,
  omp_idle,
  lock_held,
  condition_wait,
  join_wait,
  wait_at_root,
  none = 255,  ///< no wait state; never in databases
};
inline constexpr std::size_t kWaitPatterns = 28;

/// What is said of a wait state, once for all tools.
struct WaitPatternText {
  std::string_view name;     ///< as the command line names it
  WaitPattern whole;         ///< the state that it is a part of; itself where it is none
  std::string_view meaning;  ///< for the user
};

/// By WaitPattern.
inline constexpr std::array<WaitPatternText, kWaitPatterns> kWaitPatternTexts = {{
    {"late-sender", WaitPattern::late_sender,
     "A receiver waits because the message is sent only later. Look at what the sender does before."},
    {"late-sender-wrong-order", WaitPattern::late_sender,
     "Part of late-sender: while it waited, another message of the same kind was sent earlier; received in "
     "the order of sending, the wait would be shorter."},
    {"late-receiver", WaitPattern::late_receiver,
     "A sender waits because the receive is posted only later (a large or synchronous message)."},
    {"wait-at-barrier", WaitPattern::wait_at_barrier, "Waits in a barrier for the last rank to enter it."},
    {"barrier-completion", WaitPattern::barrier_completion,
     "Time in a barrier after the last rank has entered it: the barrier's own cost."},
    {"wait-at-nxn", WaitPattern::wait_at_nxn,
     "Waits in a collective in which everybody gives to everybody (MPI_Allreduce, MPI_Alltoall, "
     "MPI_Allgather) for the last rank to enter it."},
    {"nxn-completion", WaitPattern::nxn_completion,
     "Time in such a collective after the last rank has entered it: the data's own way."},
    {"wait-at-init", WaitPattern::wait_at_init, "Waits in MPI_Init for ranks that start later."},
    {"wait-at-finalize", WaitPattern::wait_at_finalize, "Waits in MPI_Finalize for ranks that end later."},
    {"late-broadcast", WaitPattern::late_broadcast,
     "Waits in MPI_Bcast or MPI_Scatter for the root, which enters later."},
    {"early-reduce", WaitPattern::early_reduce,
     "The root of MPI_Reduce or MPI_Gather enters before the ranks that send to it."},
    {"early-scan", WaitPattern::early_scan, "Waits in MPI_Scan or MPI_Exscan for a lower rank."},
    {"late-post", WaitPattern::late_post,
     "An origin waits in MPI_Win_start or later for the target's MPI_Win_post."},
    {"early-transfer", WaitPattern::early_transfer,
     "A put, get or accumulate waits until the target exposes its window."},
    {"early-wait", WaitPattern::early_wait,
     "A target waits in MPI_Win_wait for origins that complete their epoch later."},
    {"late-complete", WaitPattern::early_wait,
     "Part of early-wait: the origins' last transfers were over, but MPI_Win_complete was called only "
     "later."},
    {"wait-at-fence", WaitPattern::wait_at_fence, "Waits in MPI_Win_fence for the last rank to enter it."},
    {"early-fence", WaitPattern::wait_at_fence,
     "Part of wait-at-fence: the fence is entered while transfers to this window are still to come."},
    {"wait-at-create", WaitPattern::wait_at_create,
     "Waits where a window is created, which is collective, for the last rank."},
    {"wait-at-free", WaitPattern::wait_at_free,
     "Waits where a window is freed, which is collective, for the last rank."},
    {"lock-wait", WaitPattern::lock_wait, "Waits for a window's lock that another rank holds."},
    {"flush-wait", WaitPattern::flush_wait, "Waits in MPI_Win_flush for the target's side of the transfers."},
    {"omp-barrier", WaitPattern::omp_barrier,
     "An OpenMP thread waits at the end of a loop or at a barrier for the others of its team."},
    {"omp-idle", WaitPattern::omp_idle,
     "An OpenMP thread has nothing to do: its team works outside of parallel regions."},
    {"lock-held", WaitPattern::lock_held, "A thread waits for a lock that another one holds."},
    {"condition-wait", WaitPattern::condition_wait,
     "A thread waits for a condition that another one is to signal."},
    {"join-wait", WaitPattern::join_wait, "A thread waits for another one to end."},
    {"wait-at-root", WaitPattern::wait_at_root,
     "Is kept in a broadcast, scatter, reduction or scan by a rank that comes late, though the definition "
     "does "
     "not need it: the root by a late receiver, others by a late rank between them and the root."},
}};

constexpr const WaitPatternText& text_of(WaitPattern pattern) {
  return kWaitPatternTexts.at(static_cast<std::size_t>(pattern));
}
constexpr std::string_view name_of(WaitPattern pattern) {
  return pattern == WaitPattern::none ? "none" : text_of(pattern).name;
}
/// The state that contains it; none where it stands for itself.
constexpr WaitPattern container_of(WaitPattern pattern) {
  if (pattern == WaitPattern::none || text_of(pattern).whole == pattern) return WaitPattern::none;
  return text_of(pattern).whole;
}

/// Whether threads of one process wait for each other; else ranks do.
constexpr bool is_of_threads(WaitPattern pattern) {
  return pattern >= WaitPattern::omp_barrier && pattern <= WaitPattern::join_wait;
}
/// Whether it is the slow end of a collective that all had entered: time, but no wait for anybody.
constexpr bool is_completion(WaitPattern pattern) {
  return pattern == WaitPattern::barrier_completion || pattern == WaitPattern::nxn_completion;
}
/// Whether it is a wait for somebody, and no part of another: these add up to all waiting.
constexpr bool is_whole_wait(WaitPattern pattern) {
  return container_of(pattern) == WaitPattern::none && !is_completion(pattern);
}

}  // namespace culprit::metrics
