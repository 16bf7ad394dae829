#include "measurement/thread_life.hpp"

#include "machine/machine.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/thread_sum.hpp"

namespace culprit::measurement {

using layout::growth;
using layout::ThreadHeader;

// Within the change that fills the header.
void ThreadLife::begin(std::uint64_t tid, std::uint32_t ordinal, bool main, cct::FrameKey routine,
                       std::uint64_t start_ns) noexcept {
  ThreadHeader& head = *arena_.header();
  head.tid = tid;
  head.ordinal = ordinal;
  head.flags = layout::kFlagSummed | (main ? layout::kFlagMainThread : 0);
  head.start_offset = routine.offset;
  head.start_module = routine.module;
  head.start_kind = static_cast<std::uint32_t>(routine.kind);
  head.start_ns = start_ns;
  head.lives = 1;
  head.life_start_ns = start_ns;
  head.schedule = {};
  head.schedule_balance = layout::schedule_balance(head.schedule);
  routine_ = routine;
}

void ThreadLife::open() noexcept {
  exists_.store(true, std::memory_order_release);
  usable_.store(true, std::memory_order_release);
}

// The tree, its counters and the first thread's start stay; the ended thread's values and the new one's add
// up.
bool ThreadLife::take_over(std::uint64_t tid, std::uint64_t start_ns) noexcept {
  bool ended = true;
  if (!ended_.compare_exchange_strong(ended, false, std::memory_order_acq_rel)) return false;
  ended_trees_.fetch_sub(1, std::memory_order_relaxed);
  ThreadHeader& head = *arena_.header();
  arena_.begin_change();
  const std::uint64_t sum = layout::thread_header_sum(head);
  std::atomic_ref(head.tid).store(tid, std::memory_order_relaxed);
  std::atomic_ref(head.lived_ns).store(layout::lived(head, head.end_ns), std::memory_order_relaxed);
  std::atomic_ref(head.life_start_ns).store(start_ns, std::memory_order_relaxed);
  std::atomic_ref(head.lives).store(head.lives + 1, std::memory_order_relaxed);
  publish(head.end_ns, std::uint64_t{0});
  arena_.end_change(layout::thread_header_sum(head) - sum);
  if (lock_schedule()) {
    ended_schedule_ = head.schedule;
    unlock_schedule();
  }
  arena_.take_overflow();
  usable_.store(true, std::memory_order_release);
  return true;
}

void ThreadLife::finish(std::uint64_t end_ns) noexcept {
  usable_.store(false, std::memory_order_release);
  end_wait();
  ThreadHeader& head = *arena_.header();
  arena_.begin_change();
  const std::uint64_t sum = growth(head, head.end_ns, end_ns);
  publish(head.end_ns, end_ns);
  arena_.end_change(sum);
  ended_trees_.fetch_add(1, std::memory_order_relaxed);
  ended_.store(true, std::memory_order_release);
}

void ThreadLife::forget() noexcept {
  usable_.store(false, std::memory_order_release);
  ended_.store(false, std::memory_order_release);
  exists_.store(false, std::memory_order_release);
}

void ThreadLife::begin_wait(NodeIndex index, std::uint64_t enter_ns, WaitKind mark) noexcept {
  ThreadHeader& head = *arena_.header();
  end_wait();
  waiting_ = true;
  arena_.begin_change();
  const std::uint32_t sequence = peek(head.wait_sequence);
  std::uint64_t sum = growth(head, head.wait_node, index);
  std::atomic_ref(head.wait_node).store(index, std::memory_order_relaxed);
  sum += growth(head, head.wait_mark, static_cast<std::uint32_t>(mark));
  std::atomic_ref(head.wait_mark).store(static_cast<std::uint32_t>(mark), std::memory_order_relaxed);
  sum += growth(head, head.wait_enter_ns, enter_ns);
  std::atomic_ref(head.wait_enter_ns).store(enter_ns, std::memory_order_relaxed);
  sum += growth(head, head.wait_sequence, sequence + 1);
  publish(head.wait_sequence, sequence + 1);
  arena_.end_change(sum);
}

void ThreadLife::withdraw_wait() noexcept {
  waiting_ = false;
  ThreadHeader& head = *arena_.header();
  const std::uint32_t sequence = peek(head.wait_sequence);
  if ((sequence & 1) == 0) return;
  arena_.begin_change();
  const std::uint64_t sum = growth(head, head.wait_sequence, sequence + 1);
  publish(head.wait_sequence, sequence + 1);
  arena_.end_change(sum);
}

// The count of changes is the lock: a reader finds it odd where a process was killed within. False where it
// is held for long: by the code that a signal's handler interrupted, which calls this to end the process.
bool ThreadLife::lock_schedule() noexcept {
  constexpr int kAttempts = 1 << 20;
  const std::atomic_ref changes(arena_.header()->schedule_changes);
  for (int i = 0; i < kAttempts; ++i) {
    std::uint32_t even = changes.load(std::memory_order_relaxed) & ~std::uint32_t{1};
    if (changes.compare_exchange_weak(even, even + 1, std::memory_order_acquire)) return true;
    machine::pause();
  }
  return false;
}

void ThreadLife::unlock_schedule() noexcept {
  std::uint32_t& changes = arena_.header()->schedule_changes;
  publish(changes, changes + 1);
}

void ThreadLife::set_schedule(std::uint64_t tid, const Schedule& schedule) noexcept {
  if (!schedule.known() || !exists() || !lock_schedule()) return;
  ThreadHeader& head = *arena_.header();
  const Schedule& before = ended_schedule_;
  // Who asked the kernel earlier may come later.
  const bool newer = before.ran_ns + schedule.ran_ns >= head.schedule.ran_ns;
  if (newer && usable() && peek(head.tid) == tid) {
    head.schedule = {.ran_ns = before.ran_ns + schedule.ran_ns,
                     .runnable_ns = before.runnable_ns + schedule.runnable_ns,
                     .voluntary = before.voluntary + schedule.voluntary,
                     .involuntary = before.involuntary + schedule.involuntary,
                     .processors = schedule.processors};
    head.schedule_balance = layout::schedule_balance(head.schedule);
  }
  unlock_schedule();
}

}  // namespace culprit::measurement
