#pragma once

#include "runtime/events/kernel_event.hpp"

#include <cstddef>
#include <cstdint>

// The grammar of -e and CULPRIT_EVENTS, shared by the launcher (which explains mistakes) and the runtime
// (which reads what the launcher let pass). Neither allocates nor throws.
namespace culprit::runtime {

enum class EventSource : std::uint8_t {
  realtime,  ///< a timer on the wall clock
  cputime,   ///< a timer on the thread's CPU clock
  kernel,    ///< a software event of the kernel
  papi,      ///< anything else: by name, through PAPI
};

struct Event {
  static constexpr std::size_t kMaxName = 128;  ///< with its zero byte; what a measurement has room for
  EventSource source = EventSource::realtime;
  std::uint64_t period = 0;     ///< ns for times, else counts; 0 where the kernel chooses it
  std::uint64_t frequency = 0;  ///< signals per second, where the kernel is to choose the period; else 0
  const KernelEvent* kernel = nullptr;  ///< set where the source is the kernel
  char name[kMaxName] = {};             ///< as the measurement names it

  /// True where values are nanoseconds.
  [[nodiscard]] bool time() const {
    return source == EventSource::realtime || source == EventSource::cputime ||
           (kernel != nullptr && kernel->time);
  }
  /// Whether it counts context switches.
  [[nodiscard]] bool is_switch() const {
    return kernel != nullptr && kernel->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
  }
  /// Whether it counts attempts to serve page faults, of which the kernel gives some up for a signal.
  [[nodiscard]] bool is_fault() const {
    return kernel != nullptr && kernel->config == PERF_COUNT_SW_PAGE_FAULTS;
  }
};

struct EventList {
  static constexpr std::size_t kMax = 9;  ///< REALTIME and what a measurement holds besides (kMaxEvents)
  Event events[kMax] = {};                ///< REALTIME first if it is sampled
  std::size_t count = 0;
  [[nodiscard]] bool has_realtime() const { return count != 0 && events[0].source == EventSource::realtime; }
  /// The first event of this source; null without one.
  [[nodiscard]] const Event* find(EventSource source) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (events[i].source == source) return &events[i];
    }
    return nullptr;
  }
};

inline constexpr std::uint64_t kDefaultPeriod =
    5'000'000;  ///< 200 Hz: 0.55 % where a timer interrupt costs 27 µs
inline constexpr std::uint64_t kShortestPeriod =
    100'000;  ///< 10 kHz: beyond, interrupts take most of the time
inline constexpr std::uint64_t kLongestPeriod = 3'600'000'000'000;
inline constexpr std::uint64_t kHighestFrequency = 1'000'000'000 / kShortestPeriod;
inline constexpr std::uint64_t kLargestPapiPeriod = 0x7fffffff;  ///< PAPI_overflow takes an int

/// How often PAPI events are sampled unless the user says: what a core does in a few milliseconds at most. By
/// what the name ends in or holds.
std::uint64_t default_papi_period(const char* name);

enum class EventError : std::uint8_t {
  none,
  empty,         ///< no events at all
  unknown,       ///< not the form of a name
  syntax,        ///< what follows @ is no period
  out_of_range,  ///< a time outside [kShortestPeriod, kLongestPeriod], a frequency above kHighestFrequency, 0
  too_large,     ///< a count above what the source takes
  no_frequency,  ///< a frequency for an event that has only periods
  repeated,      ///< the same event twice
  late_none,     ///< "none" is not the first
  too_many,      ///< more than kMax
};

/// Reads a comma-separated list (`REALTIME@f200,CPUTIME@5000,perf::PAGE-FAULTS@10`); null or empty gives the
/// default. On an error, `where` and `length` are the item.
EventError parse_events(const char* text, EventList& list, const char*& where, std::size_t& length);

}  // namespace culprit::runtime
