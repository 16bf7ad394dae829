// Parking: a thread that waits is not woken by ticks (docs/algorithms.md 13; parking.hpp says who ends it). A
// sample parks its thread in an interposed wait at once, else after two or more samples at one path within a
// system call with hardly any CPU time between. The flusher thread looks at parked threads ever more rarely,
// from a table side by side; what a thread uses to fall asleep again is learned as a quantile. The wait is
// charged as one sample of its weight, less the periods in which the thread ran. Cost: nothing while the
// thread waits (docs/figures.md, Many threads).
#include "runtime/sampling/parking.hpp"

#include "runtime/recording/flusher.hpp"
#include "runtime/recording/readings.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/charge.hpp"
#include "runtime/sampling/run_cost.hpp"
#include "runtime/sampling/timers.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <algorithm>
#include <bit>
#include <csignal>

namespace culprit::runtime {
namespace {

using measurement::WaitKind;

/// What a thread that waits uses at most between two samples: for our handler, and to go back to sleep.
constexpr std::uint64_t kHardlyAny = 100'000;
constexpr std::uint32_t kMostPatience = 64;
/// Waits shorter than this were not worth it where nobody sees their end.
constexpr std::uint64_t kWorthwhile = kSecond / 10;
/// The flusher thread looks again when the wait has lasted an eighth longer, or after a second, or as rarely
/// as is needed for 1 000 looks per second in all: as much is in doubt. A look takes some 2 us.
constexpr std::uint64_t kInterval = 8;
constexpr std::uint64_t kLongestInterval = kSecond;
constexpr std::uint64_t kBetweenLooks = kSecond / 1000;
/// When the flusher thread looks at each thread; 0: not at all. By PoolPlace::number, side by side, since it
/// goes through them often.
struct Look {
  std::atomic<std::uint64_t> due;
  std::atomic<Thread*> thread;
};
constinit Look looks[kMostWatched] = {};
std::atomic<std::uint32_t> looks_end{0};  // above all threads that were ever watched

/// CPU time that a thread uses to return to its wait after it last read its clock; to go on from one wait to
/// another takes several times as much. Only the flusher thread changes it, up and down until two of three
/// threads need less: the third is sampled once more, which costs no more than that.
std::atomic<std::uint64_t> falling_asleep{1000};
constexpr std::uint64_t kStep = 16;
/// Three times what it takes where a system call takes 1 us (virtual machines). What two of three threads
/// need more than this for is no falling asleep: they would all be sampled again and again.
constexpr std::uint64_t kMostFallingAsleep = 10'000;

void learn_falling_asleep(std::uint64_t used) {
  const std::uint64_t before = falling_asleep.load(std::memory_order_relaxed);
  std::uint64_t after = before;
  if (used > before && before < kMostFallingAsleep) after += 2 * kStep;
  if (used <= before && before > kStep) after -= kStep;
  falling_asleep.store(after, std::memory_order_relaxed);
}

/// Whether the wait, with the stack pointer `sp`, ends where an interposed function returns.
bool end_is_seen(WaitKind mark, std::uint64_t sp) {
  return mark == WaitKind::lock || mark == WaitKind::condition || mark == WaitKind::join ||
         sp < culprit_rt_thread.ends_below;
}

/// Whether the system call, which a signal interrupted, reads what a pipe, socket, terminal or event
/// descriptor is to bring: only of a file it is work.
bool reads_from_outside(const void* context) {
  if (!starts_over(context)) return false;
  const long number = machine::system_call_number(context);
  if (number != SYS_read && number != SYS_readv) return false;
  const mode_t type = file_type_of(static_cast<int>(machine::first_argument(context)));
  return type != S_IFREG && type != S_IFBLK && type != S_IFDIR;
}

/// Reads are no OutsideWaits from their beginning: what is read would have to be asked each time.
void wait_outside(Thread* thread, const void* context) {
  const Account& account = thread->blame.account;
  thread->parking.outside = account.activity == Activity::works && !account.marked && !account.changing() &&
                            reads_from_outside(context);
  if (thread->parking.outside) turn_unmarked(thread, Activity::outside);
}

void work_again(Thread* thread) {
  if (thread->parking.outside && !thread->blame.account.changing()) leave_outside(thread);
  thread->parking.outside = false;
}

void stop_watching(const Thread* thread) {
  if (thread->pool.number < kMostWatched) looks[thread->pool.number].due.store(0, std::memory_order_relaxed);
}

void park(Thread* thread, measurement::NodeIndex node, WaitKind mark, std::uint64_t time) {
  Parking& parking = thread->parking;
  create_parking_timer(thread);
  parking.mark = mark;
  parking.since_ns = time;
  begin_window(thread, time);
  parking.doubt_ns.store(0, std::memory_order_relaxed);
  // A process that is killed has waited up to its last heartbeat.
  thread->tree->life().begin_wait(node, time, mark);
  culprit_rt_thread.parked = true;
  parking.on.store(true, std::memory_order_seq_cst);
}

/// Lets the flusher thread look.
void watch(Thread* thread) {
  Parking& parking = thread->parking;
  const std::uint64_t time = now();
  const std::uint64_t due = time + thread->grid.period();
  parking.began_ns.store(time, std::memory_order_relaxed);
  parking.looked_ns.store(sampling_time(time), std::memory_order_relaxed);
  parking.looked_at.store(false, std::memory_order_relaxed);
  parking.cpu_ns.store(thread_cpu_time(), std::memory_order_relaxed);
  std::uint32_t end = looks_end.load(std::memory_order_relaxed);
  while (end <= thread->pool.number &&
         !looks_end.compare_exchange_weak(end, thread->pool.number + 1, std::memory_order_relaxed)) {
  }
  looks[thread->pool.number].thread.store(thread, std::memory_order_relaxed);
  looks[thread->pool.number].due.store(due, std::memory_order_seq_cst);
  ring_flusher_before(due);
  // Once more, long before it is looked at: what the thread uses from here on is to be little.
  parking.cpu_ns.store(thread_cpu_time(), std::memory_order_relaxed);
}

/// The thread has gone on from a wait: who waited long may wait long again.
void learn(Parking& parking) {
  parking.ended = false;
  if (parking.end_is_seen) return;
  if (parking.waited_ns >= kWorthwhile) {
    parking.patience = 1;
  } else if (parking.patience < kMostPatience) {
    parking.patience *= 2;
  }
}

/// When to look again at a thread that has waited so long. Aligned, so that the flusher thread wakes once for
/// many: waking for each of 10 000 took it 3 % of a processor.
std::uint64_t next_look(std::uint64_t time, std::uint64_t waited, std::uint64_t period) {
  const std::uint64_t longest =
      std::max(kLongestInterval, looks_end.load(std::memory_order_relaxed) * kBetweenLooks);
  const std::uint64_t interval = std::min(std::max(waited / kInterval, period), longest);
  const std::uint64_t step = std::bit_floor(interval / kInterval);
  return (time + interval + step - 1) / step * step;
}

/// Periods up to now in which the thread did not wait any more, as far as clocks show.
std::uint64_t periods_awake(Thread* thread) {
  const std::uint64_t period = thread->grid.period();
  const std::uint64_t ran = cpu_time_unsampled(thread);
  const std::uint64_t doubtful = thread->parking.doubt_ns.load(std::memory_order_relaxed) / 2;
  return ((ran > doubtful ? ran : doubtful) + period / 2) / period;
}

/// What a thread that still waits has used since its clock was last read, at most.
std::uint64_t used_in_wait(const Parking& parking) {
  return parking.looked_at.load(std::memory_order_relaxed) ? 0
                                                           : falling_asleep.load(std::memory_order_relaxed);
}

/// The thread still waits: at `here`, on the sampling clock, its CPU clock stands at `clock`.
void keep_look(Parking& parking, std::uint64_t clock, std::uint64_t here) {
  parking.looked_at.store(true, std::memory_order_relaxed);
  parking.cpu_ns.store(clock, std::memory_order_relaxed);
  parking.looked_ns.store(here, std::memory_order_relaxed);
}

/// Returns when to look again; 0: no more.
std::uint64_t look_at(Thread* thread, std::uint64_t time) {
  Parking& parking = thread->parking;
  const std::uint64_t clock = cpu_time_of(thread->tid);
  const std::uint64_t before = parking.cpu_ns.load(std::memory_order_relaxed);
  if (clock < before) return 0;  // it has ended
  const std::uint64_t usual = used_in_wait(parking);
  if (!parking.looked_at.load(std::memory_order_relaxed)) learn_falling_asleep(clock - before);
  const std::uint64_t here = sampling_time(time);
  if (clock - before > usual) {
    const std::uint64_t looked = parking.looked_ns.load(std::memory_order_relaxed);
    parking.doubt_ns.store(here > looked ? here - looked : 0, std::memory_order_relaxed);
    sample_now(thread);
    return 0;
  }
  keep_look(parking, clock, here);
  return next_look(time, time - parking.began_ns.load(std::memory_order_relaxed), thread->grid.period());
}

}  // namespace

void begin_parking(Parking& parking) {
  parking.node = measurement::kNoNodeIndex;
  parking.unchanged = 0;
  parking.patience = 1;
  parking.outside = false;
  parking.ended = false;
  parking.on.store(false, std::memory_order_relaxed);
}

void park_if_waiting(Thread* thread, const void* context, measurement::NodeIndex node, WaitKind mark,
                     std::uint64_t cpu_ns, std::uint64_t time) {
  Parking& parking = thread->parking;
  const bool same = node == parking.node;
  parking.node = node;
  parking.unchanged = same && cpu_ns <= kHardlyAny ? parking.unchanged + 1 : 0;
  if (parking.ended && !same) learn(parking);
  parking.ended = false;
  thread->account.woken_ns = 0;
  if (!in_system_call(context) || thread->blocked_call) return;  // of a blocked call only the end is seen
  if (same && cpu_ns <= kHardlyAny) thread->account.woken_ns = cpu_ns;  // for us alone
  if (thread->pool.number >= kMostWatched) return;
  parking.end_is_seen = end_is_seen(mark, unwind::registers_of(context).sp);
  if (!parking.end_is_seen && parking.unchanged < parking.patience) return;
  wait_outside(thread, context);
  park(thread, node, mark, time);
}

void fall_asleep(Thread* thread) {
  arm_parked(thread);
  const bool has_timer = thread->parking.timer.load(std::memory_order_relaxed) >= 0;
  if (!thread->parking.end_is_seen || !has_timer) watch(thread);
}

void end_parking(Thread* thread, std::uint64_t time) {
  Parking& parking = thread->parking;
  stop_watching(thread);
  culprit_rt_thread.parked = false;
  parking.on.store(false, std::memory_order_seq_cst);
  parking.ended = true;
  parking.waited_ns = time - parking.since_ns;
  thread->tree->life().end_wait();
  const std::uint64_t passed = thread->grid.pass(time);
  const std::uint64_t ran = periods_awake(thread);
  const std::uint64_t awake = ran < passed ? ran : passed;
  thread->grid.put_back(awake);
  if (passed > awake)
    charge_wait(thread, parking.node, parking.mark, passed - awake, time - awake * thread->grid.period());
  work_again(thread);
}

void unpark() {
  Thread* thread = this_thread();
  if (thread == nullptr || !thread->parking.on.load(std::memory_order_relaxed) || !own_process()) return;
  const KernelMask before = change_mask(SIG_BLOCK, ~KernelMask{0});
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (thread->parking.on.load(std::memory_order_relaxed) && !is_counting(thread, here) &&
      begin_recording(thread)) {
    begin_run(thread);
    end_parking(thread, sampling_time(now()));
    learn(thread->parking);
    thread->parking.node = measurement::kNoNodeIndex;
    end_recording(thread);
    disarm_parked(thread);
    thread->account.woken_ns = 0;
    end_run(thread, 0);
    arm_wall_clock(thread);
  }
  change_mask(SIG_SETMASK, before);
}

std::uint64_t look_at_parked_threads(std::uint64_t time) {
  std::uint64_t next = kNever;
  if (sampling_stopped()) return next;
  const std::uint32_t end = looks_end.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < end; ++i) {
    std::uint64_t due = looks[i].due.load(std::memory_order_acquire);
    if (due != 0 && due <= time) {
      const std::uint64_t again = look_at(looks[i].thread.load(std::memory_order_relaxed), time);
      // Unless the thread was faster.
      if (looks[i].due.compare_exchange_strong(due, again, std::memory_order_relaxed)) due = again;
    }
    if (due != 0 && due < next) next = due;
  }
  return next;
}

void look_at_stop(Thread* thread) {
  if (thread->pool.number >= kMostWatched ||
      looks[thread->pool.number].due.load(std::memory_order_acquire) == 0)
    return;
  Parking& parking = thread->parking;
  const std::uint64_t clock = cpu_time_of(thread->tid);
  const std::uint64_t before = parking.cpu_ns.load(std::memory_order_relaxed);
  if (clock >= before && clock - before <= used_in_wait(parking))
    keep_look(parking, clock, sampling_time(now()));
}

void look_after_stop(Thread* thread) {
  if (thread->pool.number >= kMostWatched) return;
  std::uint64_t due = looks[thread->pool.number].due.load(std::memory_order_relaxed);
  if (due == 0) return;
  looks[thread->pool.number].due.compare_exchange_strong(due, now(), std::memory_order_seq_cst);
  ring_flusher();
}

void note_open_waits() {
  const std::uint64_t time = sampling_time(now());
  for (Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    const Parking& parking = thread->parking;
    if (!thread->pool.used.load(std::memory_order_acquire) || !parking.on.load(std::memory_order_acquire))
      continue;
    if (thread->trace == nullptr || time <= parking.since_ns) continue;
    thread->trace->sample(monotonic_time(time), time - parking.since_ns, parking.node, parking.mark);
  }
}

void forget_parked_threads() {
  forget_parking_timers();
  const std::uint32_t end = looks_end.exchange(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < end; ++i) looks[i].due.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::runtime

void culprit_rt_unpark() {
  culprit::runtime::unpark();
}
