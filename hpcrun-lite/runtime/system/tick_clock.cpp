// Calibrates the time stamp counter against CLOCK_MONOTONIC (docs/algorithms.md 12). The rate is that of the
// last two pairs of both clocks, at least 20 ms apart; of several tries the pair that took least is taken.
// The counter is given up for good where its rate changes by more than a thousandth: a host moved the virtual
// machine. Readers see base and rate of one calibration by a count of changes (a sequence lock), and ask the
// kernel meanwhile. Cost: five readings of both clocks each time.
#include "runtime/system/tick_clock.hpp"

#include "runtime/system/system_calls.hpp"

#include <cstring>

#include <fcntl.h>

namespace culprit::runtime {
namespace {

/// Both clocks at one moment, of a few tries the one that took least.
struct Pair {
  std::uint64_t ticks = 0, ns = 0;
};

Pair read_pair() {
  constexpr int kTries = 5;
  Pair pair;
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = machine::ticks();
    const std::uint64_t ns = now();
    const std::uint64_t took = machine::ticks() - before;
    if (took >= least) continue;
    least = took;
    pair = {.ticks = before + took / 2, .ns = ns};
  }
  return pair;
}

/// The counter runs at one rate whatever the processor does, and the kernel found those of all processors to
/// agree.
bool kernel_keeps_time_by_ticks() {
  if (!machine::ticks_are_steady()) return false;
  constexpr const char* kSource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  const long descriptor = system_call(SYS_openat, AT_FDCWD, word(kSource), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  char name[8] = {};
  const long size = system_call(SYS_read, descriptor, word(&name[0]), sizeof name - 1);
  system_call(SYS_close, descriptor);
  return size >= 3 && strncmp(name, machine::kTickSource, static_cast<std::size_t>(size)) == 0;
}

}  // namespace

void TickClock::calibrate() {
  if (use_ == Use::undecided) use_ = kernel_keeps_time_by_ticks() ? Use::yes : Use::no;
  if (use_ == Use::no) return;
  const Pair pair = read_pair();
  const std::uint64_t last_ns = base_ns_.load(std::memory_order_relaxed);
  const std::uint64_t last_ticks = base_ticks_.load(std::memory_order_relaxed);
  const std::uint64_t ns = pair.ns - last_ns, ticks = pair.ticks - last_ticks;
  // Less would make of the noise of a reading more than some millionths.
  constexpr std::uint64_t kLeast = kSecond / 50;
  if (last_ns != 0 && ns < kLeast) return;
  std::uint64_t rate = 0;  // not known by the first pair alone, nor after a pause
  if (last_ns != 0 && ticks != 0 && ticks <= kMostTicks) {
    __extension__ using Wide = unsigned __int128;
    rate = static_cast<std::uint64_t>((Wide{ns} << kFraction) / ticks);
    const std::uint64_t before = rate_.load(std::memory_order_relaxed);
    const std::uint64_t apart = rate > before ? rate - before : before - rate;
    // A counter that was set, or changed its rate: a host moved the virtual machine.
    if (before != 0 && apart > before / 1000) use_ = Use::no;
    if (rate >= std::uint64_t{2} << kFraction || use_ == Use::no) rate = 0;
  }
  const std::uint32_t changes = changes_.load(std::memory_order_relaxed);
  changes_.store(changes + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  rate_.store(rate, std::memory_order_relaxed);
  base_ticks_.store(pair.ticks, std::memory_order_relaxed);
  base_ns_.store(pair.ns, std::memory_order_relaxed);
  changes_.store(changes + 2, std::memory_order_release);
}

void TickClock::forget() {
  rate_.store(0, std::memory_order_relaxed);
  base_ns_.store(0, std::memory_order_relaxed);
  changes_.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::runtime
