#include "runtime/events/event_list.hpp"

#include <cstring>
#include <initializer_list>

namespace culprit::runtime {
namespace {

struct Item {
  const char* begin;
  const char* end;
};

bool equal(const char* begin, const char* end, const char* name) {
  while (begin != end && *name != '\0' && *begin == *name) {
    ++begin;
    ++name;
  }
  return begin == end && *name == '\0';
}

/// A decimal number below 10^15 with nothing around it.
bool parse_number(const char* begin, const char* end, std::uint64_t& number) {
  if (begin == end || end - begin > 15) return false;
  number = 0;
  for (; begin != end; ++begin) {
    if (*begin < '0' || *begin > '9') return false;
    number = number * 10 + static_cast<std::uint64_t>(*begin - '0');
  }
  return true;
}

bool in_name(char c) {
  const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  return letter || strchr("_:-.=+/|~#", c) != nullptr;
}

/// Letters, digits and the signs that names of PAPI's and libpfm's events are made of; none is so long that a
/// measurement would cut it.
bool is_name(const char* begin, const char* end) {
  if (begin == end || end - begin >= static_cast<std::ptrdiff_t>(Event::kMaxName)) return false;
  for (; begin != end; ++begin) {
    if (*begin == '\0' || !in_name(*begin)) return false;
  }
  return true;
}

EventError set_frequency(std::uint64_t number, Event& event) {
  if (event.source == EventSource::papi) return EventError::no_frequency;
  if (number == 0 || number > kHighestFrequency) return EventError::out_of_range;
  if (event.time()) {
    event.period = 1'000'000'000 / number;
  } else {
    event.period = 0;
    event.frequency = number;
  }
  return EventError::none;
}

EventError set_period(std::uint64_t number, Event& event) {
  if (number == 0) return EventError::out_of_range;
  if (event.source == EventSource::papi && number > kLargestPapiPeriod) return EventError::too_large;
  event.period = event.time() ? number * 1000 : number;
  const bool outside = event.period < kShortestPeriod || event.period > kLongestPeriod;
  return event.time() && outside ? EventError::out_of_range : EventError::none;
}

EventError parse_period(const char* begin, const char* end, Event& event) {
  std::uint64_t number = 0;
  const bool frequency = begin != end && *begin == 'f';
  if (!parse_number(frequency ? begin + 1 : begin, end, number)) return EventError::syntax;
  return frequency ? set_frequency(number, event) : set_period(number, event);
}

void set_name(Event& event, const char* begin, const char* end) {
  const auto length = static_cast<std::size_t>(end - begin);
  memcpy(event.name, begin, length);
  event.name[length] = '\0';
}

EventError parse_name(const char* begin, const char* end, Event& event) {
  if (!is_name(begin, end)) return EventError::unknown;
  event.kernel = find_kernel_event(begin, end);
  if (event.kernel != nullptr) {
    event.source = EventSource::kernel;
    event.period = event.kernel->period;
    set_name(event, event.kernel->name, event.kernel->name + strlen(event.kernel->name));
    return EventError::none;
  }
  set_name(event, begin, end);
  event.period = kDefaultPeriod;
  if (equal(begin, end, "REALTIME")) {
    event.source = EventSource::realtime;
  } else if (equal(begin, end, "CPUTIME")) {
    event.source = EventSource::cputime;
  } else {
    event.source = EventSource::papi;
    event.period = default_papi_period(event.name);
  }
  return EventError::none;
}

EventError parse_item(Item item, Event& event) {
  const char* at = item.end;
  while (at != item.begin && *at != '@') --at;
  if (at == item.begin) at = item.end;  // no period, or no name before it
  const EventError error = parse_name(item.begin, at, event);
  if (error != EventError::none || at == item.end) return error;
  return parse_period(at + 1, item.end, event);
}

bool holds(const EventList& list, const Event& event) {
  for (std::size_t i = 0; i < list.count; ++i) {
    if (strcmp(list.events[i].name, event.name) == 0) return true;
  }
  return false;
}

EventError add(EventList& list, const Event& event) {
  if (holds(list, event)) return EventError::repeated;
  // One place is REALTIME's, whether or not it is named.
  const bool realtime = event.source == EventSource::realtime;
  const std::size_t others = list.count - (list.find(EventSource::realtime) != nullptr ? 1 : 0);
  if (!realtime && others == EventList::kMax - 1) return EventError::too_many;
  list.events[list.count++] = event;
  return EventError::none;
}

EventError parse_list(const char* text, EventList& given, bool& none_first, Item& item) {
  bool first = true;
  for (const char* position = text;; first = false) {
    item = {position, position};
    while (*item.end != '\0' && *item.end != ',') ++item.end;
    if (equal(item.begin, item.end, "none")) {
      if (!first) return EventError::late_none;
      none_first = true;
    } else {
      Event event;
      EventError error = parse_item(item, event);
      if (error == EventError::none) error = add(given, event);
      if (error != EventError::none) return error;
    }
    if (*item.end == '\0') return EventError::none;
    position = item.end + 1;
  }
}

/// REALTIME first, unless it is not wanted, then the others as they were given.
void arrange(const EventList& given, bool none_first, EventList& list) {
  if (const Event* realtime = given.find(EventSource::realtime)) {
    list.events[list.count++] = *realtime;
  } else if (!none_first) {
    constexpr const char* kName = "REALTIME";
    parse_name(kName, kName + strlen(kName), list.events[list.count++]);
  }
  for (std::size_t i = 0; i < given.count; ++i) {
    if (given.events[i].source != EventSource::realtime) list.events[list.count++] = given.events[i];
  }
}

}  // namespace

std::uint64_t default_papi_period(const char* name) {
  constexpr std::uint64_t kPerCycle = 10'000'000;  // 300 times per second at 3 GHz
  constexpr std::uint64_t kPerAccess = 1'000'000;  // first-level misses, branches, operations
  constexpr std::uint64_t kPerMiss = 100'000;  // what goes to the last level, to memory or to the page tables
  for (const char* frequent : {"CY", "INS", "UOPS", "CLK"}) {
    if (strcasestr(name, frequent) != nullptr) return kPerCycle;
  }
  for (const char* rare : {"_L3", "LLC", "TLB", "BR_MSP", "MISP"}) {
    if (strcasestr(name, rare) != nullptr) return kPerMiss;
  }
  return kPerAccess;
}

EventError parse_events(const char* text, EventList& list, const char*& where, std::size_t& length) {
  list = EventList{};
  EventList given;
  bool none_first = false;
  where = text;
  length = 0;
  if (text != nullptr && *text != '\0') {
    Item item{};
    const EventError error = parse_list(text, given, none_first, item);
    if (error != EventError::none) {
      where = item.begin;
      length = static_cast<std::size_t>(item.end - item.begin);
      return error;
    }
  }
  arrange(given, none_first, list);
  return list.count == 0 ? EventError::empty : EventError::none;
}

}  // namespace culprit::runtime
