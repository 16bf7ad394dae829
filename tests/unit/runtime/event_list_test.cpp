#include "runtime/event_list.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace culprit::runtime;

namespace {

EventError parse(const std::string& text, EventList& list, std::string* item = nullptr) {
  const char* where = nullptr;
  std::size_t length = 0;
  const EventError error = parse_events(text.c_str(), list, where, length);
  if (item != nullptr) *item = std::string(where, length);
  return error;
}

}  // namespace

TEST_CASE("without a word, REALTIME is sampled at 200 Hz") {
  EventList list;
  const char* where = nullptr;
  std::size_t length = 0;
  REQUIRE(parse_events(nullptr, list, where, length) == EventError::none);
  REQUIRE(list.count == 1);
  CHECK(list.has_realtime());
  CHECK(list.events[0].period_ns == 5'000'000);
  REQUIRE(parse("", list) == EventError::none);
  CHECK(list.count == 1);
}

TEST_CASE("REALTIME comes beside other events unless none is given first") {
  EventList list;
  REQUIRE(parse("CPUTIME@f100", list) == EventError::none);
  REQUIRE(list.count == 2);
  CHECK(list.has_realtime());
  CHECK(list.find(EventClock::cputime)->period_ns == 10'000'000);
  REQUIRE(parse("none,CPUTIME@2500", list) == EventError::none);
  REQUIRE(list.count == 1);
  CHECK_FALSE(list.has_realtime());
  CHECK(list.events[0].period_ns == 2'500'000);
  REQUIRE(parse("CPUTIME,REALTIME@f1000", list) == EventError::none);
  CHECK(list.events[0].clock == EventClock::realtime);
  CHECK(list.events[0].period_ns == 1'000'000);
}

TEST_CASE("mistakes are told apart and located") {
  EventList list;
  std::string item;
  CHECK(parse("REALTIME@", list, &item) == EventError::syntax);
  CHECK(item == "REALTIME@");
  CHECK(parse("CPUTIME,REALTIME@fast", list, &item) == EventError::syntax);
  CHECK(item == "REALTIME@fast");
  CHECK(parse("REALTIME@-5", list) == EventError::syntax);
  CHECK(parse("REALTIME@99999999999999999999", list) == EventError::syntax);
  CHECK(parse("REALTIME@0", list) == EventError::out_of_range);
  CHECK(parse("REALTIME@f0", list) == EventError::out_of_range);
  CHECK(parse("REALTIME@f10001", list) == EventError::out_of_range);
  CHECK(parse("NO_SUCH_EVENT@7", list, &item) == EventError::unknown);
  CHECK(item == "NO_SUCH_EVENT@7");
  CHECK(parse("REALTIM", list) == EventError::unknown);
  CHECK(parse("REALTIMES", list) == EventError::unknown);
  CHECK(parse(",", list) == EventError::unknown);
  CHECK(parse("REALTIME,REALTIME@f5", list) == EventError::repeated);
  CHECK(parse("REALTIME,none", list) == EventError::late_none);
  CHECK(parse("none", list) == EventError::empty);
}
