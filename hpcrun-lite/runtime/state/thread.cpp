// The states of sampled threads, in a pool: a stack of unused ones, changed by compare-and-swap, whose head
// carries a count of changes in the bits that no address has, so that one which was taken and put back is
// noticed. States are never unmapped: a late reader finds old values, not a fault. A thread announces that it
// records and then looks whether recording was stopped; the thread that stops it stores that first and then
// waits for those that record: one of the two sees the other.
#include "runtime/state/thread.hpp"

#include "measurement/raw_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/backoff.hpp"
#include "runtime/system/clock.hpp"

#include <csignal>

#include <sched.h>

__thread CulpritThread culprit_rt_thread;

namespace culprit::runtime {
namespace {

std::atomic<Thread*> threads{nullptr};
std::atomic<std::uint64_t> unused_threads{0};
std::atomic<std::size_t> known_threads{0};

// Recording takes microseconds, and the first time milliseconds. A thread that seems to take longer than this
// left it by a longjmp out of a handler of the program's.
constexpr std::uint64_t kLongestRecording = 5 * kSecond;
constexpr std::size_t kTogether = 16;

/// Gives a thread the pages that its handler will usually touch, so that no sample waits for the kernel to
/// find them: some 120 KiB, or, in a program with very many threads, the 35 KiB of one that hardly does
/// anything but wait. Where memory is too short for that, the handler finds them one by one.
void populate(Thread* thread, std::uint32_t number) {
  constexpr std::uintptr_t kPage = 4096;
  const auto range = [](const void* begin, std::size_t size) {
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(begin) / kPage * kPage;
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(begin) + size + kPage - 1) / kPage * kPage;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): whole pages
    (void)measurement::raw_populate(reinterpret_cast<void*>(first), end - first);
  };
  const char* const used_stack = thread->handler_stack + kHandlerStack - kUsualHandlerStack;
  range(used_stack, static_cast<std::size_t>(reinterpret_cast<const char*>(&thread->walker) - used_stack));
  if (number < measurement::kPopulatedThreads)
    thread->walker.usual_memory(range);
  else
    thread->walker.least_memory(range);
}

/// The first of the unused threads, and in the bits that no address has a count of changes: a thread that was
/// taken and put back meanwhile is not taken for the same.
constexpr unsigned kAddressBits = 48;
constexpr std::uint64_t kAddress = (std::uint64_t{1} << kAddressBits) - 1;

Thread* first_of(std::uint64_t head) {
  return reinterpret_cast<Thread*>(head & kAddress);  // NOLINT(performance-no-int-to-ptr): packed below
}
std::uint64_t changed(std::uint64_t head, const Thread* first) {
  return ((head >> kAddressBits) + 1) << kAddressBits | reinterpret_cast<std::uint64_t>(first);
}

void add_unused(Thread* thread) {
  std::uint64_t head = unused_threads.load(std::memory_order_relaxed);
  do {
    thread->pool.next_unused.store(first_of(head), std::memory_order_relaxed);
  } while (!unused_threads.compare_exchange_weak(head, changed(head, thread), std::memory_order_release,
                                                 std::memory_order_relaxed));
}

/// One of the unused threads, or null.
Thread* take_unused() {
  std::uint64_t head = unused_threads.load(std::memory_order_acquire);
  Thread* first = nullptr;
  do {
    first = first_of(head);
    if (first == nullptr) return nullptr;
    // Where another thread took it meanwhile this reads what does not matter: threads are never unmapped.
  } while (!unused_threads.compare_exchange_weak(
      head, changed(head, first->pool.next_unused.load(std::memory_order_relaxed)),
      std::memory_order_acquire));
  return first;
}

/// Adds a thread, in memory that is still zero, to the list of all.
Thread* add_thread(void* memory) {
  auto* thread = static_cast<Thread*>(memory);  // all zero is a valid state, but for the timers
  const auto number = static_cast<std::uint32_t>(known_threads.fetch_add(1, std::memory_order_relaxed));
  populate(thread, number);
  thread->pool.number = number;
  thread->forget_timers();
  thread->pool.next = first_thread();
  while (!threads.compare_exchange_weak(thread->pool.next, thread, std::memory_order_release)) {
  }
  return thread;
}

/// A thread in memory of its own; where there are many, some at a time in one mapping, of which the kernel
/// has a limited number.
Thread* map_threads() {
  const std::size_t known = known_threads.load(std::memory_order_relaxed);
  const std::size_t count = known < measurement::kPopulatedThreads ? 1 : kTogether;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = measurement::raw_map(nullptr, count * sizeof(Thread), PROT_READ | PROT_WRITE, flags);
  if (memory == MAP_FAILED) return nullptr;
  auto* first = static_cast<Thread*>(memory);
  for (std::size_t i = 1; i < count; ++i) add_unused(add_thread(first + i));
  return add_thread(first);
}

}  // namespace

Thread* first_thread() {
  return threads.load(std::memory_order_acquire);
}

Thread* allocate_thread() {
  Thread* thread = take_unused();
  if (thread == nullptr) thread = map_threads();
  if (thread != nullptr) thread->pool.used.store(true, std::memory_order_release);
  return thread;
}

void free_thread(Thread* thread) {
  thread->pool.used.store(false, std::memory_order_release);
  add_unused(thread);
}

bool is_counting(Thread* thread, std::uintptr_t sp) {
  const std::uintptr_t at = thread->counting_at;
  if (at == 0) return false;
  const auto own_stack = [&regions = thread->regions](std::uintptr_t address) {
    return address >= regions.stack_low && address < regions.stack_high;
  };
  // Of an alternate stack, or a coroutine's, the address says nothing.
  if (sp <= at || !own_stack(sp) || !own_stack(at)) return true;
  thread->counting_at = 0;
  return false;
}

bool begin_recording(Thread* thread) {
  thread->busy.store(true, std::memory_order_seq_cst);
  if (!process.stopped.load(std::memory_order_seq_cst)) return true;
  thread->busy.store(false, std::memory_order_release);
  return false;
}

void end_recording(Thread* thread) {
  thread->busy.store(false, std::memory_order_release);
}

bool stop_recording() {
  process.stopped.store(true, std::memory_order_seq_cst);
  const Thread* mine = this_thread();
  const std::uint64_t until = now() + kLongestRecording;
  Backoff backoff;
  for (const Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    while (thread != mine && thread->busy.load(std::memory_order_seq_cst)) {
      if (now() >= until) return false;
      backoff.pause();
    }
  }
  return true;
}

void allow_recording() {
  process.stopped.store(false, std::memory_order_seq_cst);
}

}  // namespace culprit::runtime
