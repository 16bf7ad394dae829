#pragma once

#include <cstddef>
#include <cstdint>

// The grammar of -e and CULPRIT_EVENTS, shared by the launcher (which explains mistakes) and the runtime
// (which reads what the launcher let pass). Neither allocates nor throws.
namespace culprit::runtime {

enum class EventClock : std::uint8_t { realtime, cputime };

struct Event {
  EventClock clock = EventClock::realtime;
  std::uint64_t period_ns = 0;
};

struct EventList {
  static constexpr std::size_t kMax = 2;  ///< each clock once
  Event events[kMax] = {};                ///< REALTIME first if it is sampled
  std::size_t count = 0;
  [[nodiscard]] bool has_realtime() const { return count != 0 && events[0].clock == EventClock::realtime; }
  [[nodiscard]] const Event* find(EventClock clock) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (events[i].clock == clock) return &events[i];
    }
    return nullptr;
  }
};

inline constexpr std::uint64_t kDefaultPeriod =
    5'000'000;  ///< 200 Hz: 0.55 % where a timer interrupt costs 27 µs
inline constexpr std::uint64_t kShortestPeriod =
    100'000;  ///< 10 kHz: beyond, interrupts take most of the time
inline constexpr std::uint64_t kLongestPeriod = 3'600'000'000'000;

enum class EventError : std::uint8_t {
  none,
  empty,         ///< no events at all
  unknown,       ///< no such event
  syntax,        ///< what follows @ is no period
  out_of_range,  ///< a period outside [kShortestPeriod, kLongestPeriod]
  repeated,      ///< the same event twice
  late_none,     ///< "none" is not the first
};

/// Reads a comma-separated list (`REALTIME@f200,CPUTIME@5000`); null or empty gives the default. On an error,
/// `where` and `length` tell the item.
EventError parse_events(const char* text, EventList& list, const char*& where, std::size_t& length);

}  // namespace culprit::runtime
