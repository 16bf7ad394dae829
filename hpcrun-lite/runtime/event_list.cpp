#include "runtime/event_list.hpp"

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

EventError parse_period(const char* begin, const char* end, std::uint64_t& period_ns) {
  std::uint64_t number = 0;
  const bool frequency = begin != end && *begin == 'f';
  if (!parse_number(frequency ? begin + 1 : begin, end, number)) return EventError::syntax;
  if (number == 0) return EventError::out_of_range;
  period_ns = frequency ? 1'000'000'000 / number : number * 1000;
  if (period_ns < kShortestPeriod || period_ns > kLongestPeriod) return EventError::out_of_range;
  return EventError::none;
}

EventError parse_item(Item item, Event& event) {
  const char* at = item.begin;
  while (at != item.end && *at != '@') ++at;
  if (equal(item.begin, at, "REALTIME")) {
    event.clock = EventClock::realtime;
  } else if (equal(item.begin, at, "CPUTIME")) {
    event.clock = EventClock::cputime;
  } else {
    return EventError::unknown;
  }
  event.period_ns = kDefaultPeriod;
  return at == item.end ? EventError::none : parse_period(at + 1, item.end, event.period_ns);
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
      const EventError error = parse_item(item, event);
      if (error != EventError::none) return error;
      if (given.find(event.clock) != nullptr) return EventError::repeated;
      given.events[given.count++] = event;
    }
    if (*item.end == '\0') return EventError::none;
    position = item.end + 1;
  }
}

}  // namespace

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
  if (const Event* realtime = given.find(EventClock::realtime)) {
    list.events[list.count++] = *realtime;
  } else if (!none_first) {
    list.events[list.count++] = {EventClock::realtime, kDefaultPeriod};
  }
  if (const Event* cputime = given.find(EventClock::cputime)) list.events[list.count++] = *cputime;
  return list.count == 0 ? EventError::empty : EventError::none;
}

}  // namespace culprit::runtime
