// The flusher thread: a bare kernel thread that tends the measurement every quarter of a second (heartbeat,
// room ahead of need, trace blocks) and looks at parked threads in between. The C library does not know it.
// It sleeps on a futex until its turn, the next parked thread is due, or somebody is short of room; a word
// with the holder's id keeps it from the file meanwhile.
#include "runtime/recording/flusher.hpp"

#include "machine/machine.hpp"
#include "measurement/raw_memory.hpp"
#include "runtime/api.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/backoff.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/own_stack.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>

namespace culprit::runtime {
namespace {

constexpr std::uint64_t kTurn = kSecond / 4;
constexpr std::uint64_t kLeastSleep = kSecond / 250;
constexpr std::size_t kStack = 64 * 1024;
constexpr std::size_t kTlsSpare = 64 * 1024;    // the C library's own thread-local variables take 150 bytes
constexpr std::size_t kDescriptor = 16 * 1024;  // and its thread descriptor 2.3 KB

// Held: the bit, and the id of the thread that holds the flusher thread.
constexpr std::uint32_t idle = 0;
constexpr std::uint32_t busy = 1;
constexpr std::uint32_t kHeld = std::uint32_t{1} << 31;

std::atomic<std::uint32_t> state{idle};
std::atomic<bool> started{false};
std::atomic<bool> running{false};
std::atomic<bool> dismissed{false};
std::atomic<std::uint32_t> bell{0};  // a futex: the flusher thread sleeps on it
std::atomic<std::uint64_t> asleep_until{0};
std::atomic<bool> turn_wanted{false};
std::atomic<pid_t> flusher_id{0};
/// A call to be made, in the memory of the thread that waits for it.
struct Errand {
  RepeatedCall call;
  std::atomic<bool> done{false};
  bool succeeded = false;
};
std::atomic<Errand*> errand{nullptr};
FlusherDuties duties{};
void* memory = nullptr;
std::size_t memory_size = 0;

void ring() {
  bell.fetch_add(1, std::memory_order_release);
  system_call(SYS_futex, word(&bell), FUTEX_WAKE_PRIVATE, 1);
}

/// Gives the calling thread a table of descriptors of its own, empty. What it opens then neither takes a
/// number that the program counts on getting nor needs one of those that the program has used up. Kernels
/// before 5.9 cannot do that in one step: there the table stays shared.
bool separate_descriptors() {
  constexpr long kCloseRange = 436;
  constexpr long kUnshare = 2;
  return system_call(kCloseRange, 0, 0xffffffff, kUnshare) == 0;
}

/// One turn, unless the file is being sealed.
void take_turn() {
  std::uint32_t expected = idle;
  if (!state.compare_exchange_strong(expected, busy, std::memory_order_acquire)) return;
  duties.turn();
  state.store(idle, std::memory_order_release);
}

void run_errand() {
  Errand* const asked = errand.exchange(nullptr, std::memory_order_acquire);
  if (asked == nullptr) return;
  const auto& [number, words] = asked->call;
  asked->succeeded = system_call(number, words[0], words[1], words[2], words[3], words[4]) >= 0;
  asked->done.store(true, std::memory_order_release);
}

int run_flusher() {
  system_call(SYS_prctl, PR_SET_NAME, word("culprit"));
  duties.begin(separate_descriptors());
  std::uint64_t due = 0;
  for (;;) {
    const std::uint32_t heard = bell.load(std::memory_order_acquire);
    if (process.ended.load(std::memory_order_acquire) || dismissed.load(std::memory_order_acquire)) break;
    run_errand();
    const bool wanted = turn_wanted.exchange(false, std::memory_order_relaxed);
    if (wanted || now() >= due) {
      take_turn();
      process.brake.judge(now());
      due = now() + kTurn;
    }
    asleep_until.store(due, std::memory_order_seq_cst);  // whoever is parked during the look rings
    const std::uint64_t look = duties.look(now());
    const std::uint64_t time = now();
    const std::uint64_t until = look < due ? look : due;
    const std::uint64_t rest = until > time + kLeastSleep ? until - time : kLeastSleep;
    asleep_until.store(time + rest, std::memory_order_relaxed);
    const timespec turn = to_timespec(rest);
    system_call(SYS_futex, word(&bell), FUTEX_WAIT_PRIVATE, heard, word(&turn));
    if (const std::uint64_t woken = now(); woken > time + rest) duties.overslept(woken - time - rest);
  }
  running.store(false, std::memory_order_release);
  return 0;
}

/// How far from the thread pointer the variables lie that the flusher thread uses: its own, and the C
/// library's errno. Those of every library that was loaded between the two lie there too (ThreadSanitizer's
/// take 780 KB).
std::size_t room_for_variables() {
  const std::uintptr_t pointer = machine::thread_pointer();
  std::uintptr_t farthest = 0;
  for (const void* variable :
       {static_cast<const void*>(&errno), static_cast<const void*>(&culprit_rt_thread)}) {
    const auto at = reinterpret_cast<std::uintptr_t>(variable);
    farthest = std::max(farthest, machine::kVariablesAbovePointer ? at - pointer : pointer - at);
  }
  constexpr std::size_t kPage = 4096;
  return (farthest + kTlsSpare + kPage - 1) / kPage * kPage;
}

}  // namespace

void assign_duties(const FlusherDuties& given) {
  duties = given;
}

void start_flusher() {
  if (started.exchange(true, std::memory_order_acq_rel)) return;
  const std::size_t variables = room_for_variables();
  const std::size_t below = machine::kVariablesAbovePointer ? kDescriptor : variables;
  const std::size_t size = kStack + variables + kDescriptor;
  void* area = measurement::raw_map(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (area == MAP_FAILED) {
    file.note("no memory for the flusher thread: no heartbeat, the measurement cannot grow");
    return;
  }
  memory = area;
  memory_size = size;
  char* stack_end = static_cast<char*>(area) + kStack;
  const KernelMask before = change_mask(SIG_SETMASK, ~KernelMask{0});
  running.store(true, std::memory_order_relaxed);
  constexpr unsigned long kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                   CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID;
  static_assert(sizeof flusher_id == sizeof(pid_t));
  if (culprit_start_kernel_thread(kFlags, stack_end, reinterpret_cast<pid_t*>(&flusher_id), run_flusher,
                                  machine::make_thread_control(stack_end + below)) < 0) {
    running.store(false, std::memory_order_relaxed);
    file.note("the flusher thread could not be started: no heartbeat, the measurement cannot grow");
  }
  change_mask(SIG_SETMASK, before);
}

void forget_flusher() {
  if (memory != nullptr) measurement::raw_unmap(memory, memory_size);
  memory = nullptr;
  running.store(false, std::memory_order_relaxed);
  dismissed.store(false, std::memory_order_relaxed);
  flusher_id.store(0, std::memory_order_relaxed);
  errand.store(nullptr, std::memory_order_relaxed);
  state.store(idle, std::memory_order_relaxed);
  started.store(false, std::memory_order_relaxed);
}

bool dismiss_flusher() {
  if (!running.load(std::memory_order_acquire) || dismissed.exchange(true, std::memory_order_acq_rel))
    return false;
  Backoff backoff;
  while (flusher_id.load(std::memory_order_acquire) == 0 && running.load(std::memory_order_acquire))
    backoff.pause();  // another thread is starting it
  ring_flusher();
  // Only when the kernel knows it no more is the program alone.
  while (system_call(SYS_tgkill, process_id(), flusher_id.load(std::memory_order_relaxed), 0) == 0)
    backoff.pause();
  measurement::raw_unmap(memory, memory_size);
  memory = nullptr;
  flusher_id.store(0, std::memory_order_relaxed);
  dismissed.store(false, std::memory_order_release);
  started.store(false, std::memory_order_release);
  return true;
}

bool repeat_in_flusher(const RepeatedCall& call) {
  Errand asked{.call = call};
  Backoff backoff;
  for (Errand* none = nullptr; !errand.compare_exchange_weak(none, &asked, std::memory_order_acq_rel);
       none = nullptr)
    backoff.pause();  // another thread's is yet to be done
  ring();
  while (!asked.done.load(std::memory_order_acquire)) {
    if (!running.load(std::memory_order_acquire)) {  // it ended: nobody has the call to make
      Errand* own = &asked;
      errand.compare_exchange_strong(own, nullptr, std::memory_order_acq_rel);
      return true;
    }
    backoff.pause();
  }
  return asked.succeeded;
}

void ring_flusher() {
  turn_wanted.store(true, std::memory_order_relaxed);
  ring();
}

void ring_flusher_before(std::uint64_t time) {
  std::uint64_t until = asleep_until.load(std::memory_order_seq_cst);
  // A flusher thread that wakes a little later is left alone, and is rung once by many.
  if (until > time + kLeastSleep && asleep_until.compare_exchange_strong(until, 0, std::memory_order_relaxed))
    ring();
}

void hold_flusher() {
  const std::uint32_t held = kHeld | static_cast<std::uint32_t>(thread_id());
  std::uint32_t expected = idle;
  Backoff backoff;
  while (!state.compare_exchange_weak(expected, held, std::memory_order_acquire)) {
    // By the code that a signal handler interrupted, and will not return to: it ends the process.
    if (expected == held) return;
    expected = idle;
    backoff.pause();
  }
}

bool flusher_runs() {
  return running.load(std::memory_order_acquire);
}

void await_flusher() {
  constexpr std::uint64_t kLook = kSecond / 10'000;
  ring();
  for (std::uint64_t waited = 0; running.load(std::memory_order_acquire) && waited < kSecond;
       waited += kLook) {
    const timespec look = to_timespec(kLook);
    system_call(SYS_nanosleep, word(&look), 0);
  }
}

void release_flusher() {
  state.store(idle, std::memory_order_release);
}

}  // namespace culprit::runtime
