#pragma once

#include <cstddef>
#include <cstdint>

#include <linux/perf_event.h>

// The kernel's software events: counted by the kernel itself, so they need neither PAPI nor hardware counters
// and work in virtual machines. Source: perf_event_open(2).
namespace culprit::runtime {

/// One software event. Names are those of libpfm and PAPI.
struct KernelEvent {
  const char* name;
  const char* alias;     ///< another name of it, or null
  std::uint32_t config;  ///< PERF_COUNT_SW_...
  bool time;             ///< counts nanoseconds
  bool in_kernel;        ///< happens in the kernel only: nothing is left where the kernel may not be observed
  std::uint64_t period;  ///< default: ns or counts
  const char* description;  ///< one line
};

/// Default periods keep the rate of samples of an ordinary program below that of REALTIME: rare events are
/// taken one by one, frequent ones in tens or hundreds.
inline constexpr KernelEvent kKernelEvents[] = {
    {"perf::TASK-CLOCK", nullptr, PERF_COUNT_SW_TASK_CLOCK, true, false, 5'000'000,
     "processor time of the thread, finer than the kernel's tick"},
    {"perf::CPU-CLOCK", nullptr, PERF_COUNT_SW_CPU_CLOCK, true, false, 5'000'000,
     "time on a processor, by its high-resolution timer"},
    {"perf::PAGE-FAULTS", "perf::FAULTS", PERF_COUNT_SW_PAGE_FAULTS, false, false, 100,
     "page faults: memory touched for the first time, or read back from disk"},
    {"perf::MINOR-FAULTS", nullptr, PERF_COUNT_SW_PAGE_FAULTS_MIN, false, false, 100,
     "page faults that needed no disk"},
    {"perf::MAJOR-FAULTS", nullptr, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false, 1,
     "page faults that waited for a disk"},
    {"perf::CONTEXT-SWITCHES", "perf::CS", PERF_COUNT_SW_CONTEXT_SWITCHES, false, true, 10,
     "the thread left its processor: it waited, or was preempted"},
    {"perf::CPU-MIGRATIONS", "perf::MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS, false, true, 1,
     "the thread moved to another processor"},
    {"perf::ALIGNMENT-FAULTS", nullptr, PERF_COUNT_SW_ALIGNMENT_FAULTS, false, false, 1,
     "unaligned accesses that the kernel mended (never on x86)"},
    {"perf::EMULATION-FAULTS", nullptr, PERF_COUNT_SW_EMULATION_FAULTS, false, false, 1,
     "instructions that the kernel emulated"},
};

/// What the name in [begin, end) means, in any case and with `_` for `-`; null where it is no event of this
/// table.
const KernelEvent* find_kernel_event(const char* begin, const char* end);

/// How one kernel event is opened.
struct KernelOpening {
  const KernelEvent* event = nullptr;
  std::uint64_t period = 0;  ///< ns or counts between signals; 0: only count
  std::uint64_t frequency =
      0;  ///< instead of a period: signals per second, for which the kernel adapts the period
  bool user_only = false;  ///< leave out what happens while the thread is in the kernel
};

/// Opens the event for the calling thread (not for those it creates): counting at once, or, where it is to
/// send signals, disabled. Returns a descriptor that exec closes, or a negative errno. Async-signal-safe.
long open_kernel_event(const KernelOpening& opening);

/// The same, leaving the kernel out where only that is allowed and the event makes sense so; `opening` shows
/// what was opened.
long open_kernel_event_as_allowed(KernelOpening& opening);

/// Opens a counter of the processor's cycles for the calling thread, outside the kernel: a descriptor, or a
/// negative errno that says why hardware counters cannot be used here.
long open_cycle_counter();

void close_event(long descriptor);

}  // namespace culprit::runtime
