#include "runtime/events/event_list.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace event_list_test {

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
  CHECK(list.events[0].period == 5'000'000);
  REQUIRE(parse("", list) == EventError::none);
  CHECK(list.count == 1);
}

TEST_CASE("REALTIME comes beside other events unless none is given first") {
  EventList list;
  REQUIRE(parse("CPUTIME@f100", list) == EventError::none);
  REQUIRE(list.count == 2);
  CHECK(list.has_realtime());
  CHECK(list.find(EventSource::cputime)->period == 10'000'000);
  REQUIRE(parse("none,CPUTIME@2500", list) == EventError::none);
  REQUIRE(list.count == 1);
  CHECK_FALSE(list.has_realtime());
  CHECK(list.events[0].period == 2'500'000);
  REQUIRE(parse("CPUTIME,REALTIME@f1000", list) == EventError::none);
  CHECK(list.events[0].source == EventSource::realtime);
  CHECK(list.events[0].period == 1'000'000);
}

TEST_CASE("mistakes are distinguished and located") {
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
  CHECK(parse("a name@7", list, &item) == EventError::unknown);
  CHECK(item == "a name@7");
  CHECK(parse("@7", list) == EventError::unknown);
  CHECK(parse(std::string(Event::kMaxName, 'x'), list) == EventError::unknown);
  CHECK(parse(",", list) == EventError::unknown);
  CHECK(parse("REALTIME,REALTIME@f5", list) == EventError::repeated);
  CHECK(parse("REALTIME,none", list) == EventError::late_none);
  CHECK(parse("none", list) == EventError::empty);
}

TEST_CASE("the kernel's events are known by either name, in any case, and keep one name") {
  EventList list;
  REQUIRE(parse("perf::PAGE-FAULTS@10,perf::cs,PERF::task_clock@1000", list) == EventError::none);
  REQUIRE(list.count == 4);
  CHECK(list.events[1].source == EventSource::kernel);
  CHECK(list.events[1].period == 10);
  CHECK_FALSE(list.events[1].time());
  CHECK(std::string(list.events[2].name) == "perf::CONTEXT-SWITCHES");
  CHECK(list.events[2].period == list.events[2].kernel->period);
  CHECK(std::string(list.events[3].name) == "perf::TASK-CLOCK");
  CHECK(list.events[3].period == 1'000'000);
  CHECK(list.events[3].time());
  CHECK(parse("perf::FAULTS,perf::PAGE-FAULTS", list) == EventError::repeated);
}

TEST_CASE(
    "a frequency of a kernel event is a period where it counts time, and left to the kernel elsewhere") {
  EventList list;
  REQUIRE(parse("perf::TASK-CLOCK@f100,perf::PAGE-FAULTS@f50", list) == EventError::none);
  CHECK(list.events[1].period == 10'000'000);
  CHECK(list.events[1].frequency == 0);
  CHECK(list.events[2].period == 0);
  CHECK(list.events[2].frequency == 50);
  CHECK(parse("perf::PAGE-FAULTS@f0", list) == EventError::out_of_range);
  CHECK(parse("perf::PAGE-FAULTS@f10001", list) == EventError::out_of_range);
  CHECK(parse("perf::PAGE-FAULTS@0", list) == EventError::out_of_range);
}

TEST_CASE("any other name is PAPI's, with a period in counts that fits an int") {
  EventList list;
  REQUIRE(parse("PAPI_TOT_CYC@4000000,skl::MEM_LOAD_RETIRED:L3_MISS:u=1,INST_RETIRED.ANY", list) ==
          EventError::none);
  CHECK(list.events[1].source == EventSource::papi);
  CHECK(list.events[1].period == 4'000'000);
  CHECK(std::string(list.events[2].name) == "skl::MEM_LOAD_RETIRED:L3_MISS:u=1");
  CHECK(list.events[3].period == default_papi_period("INST_RETIRED.ANY"));
  CHECK(parse("PAPI_TOT_CYC@2147483647", list) == EventError::none);
  CHECK(parse("PAPI_TOT_CYC@2147483648", list) == EventError::too_large);
  CHECK(parse("PAPI_TOT_CYC@f100", list) == EventError::no_frequency);
  CHECK(default_papi_period("PAPI_TOT_CYC") > default_papi_period("PAPI_L1_DCM"));
  CHECK(default_papi_period("PAPI_L1_DCM") > default_papi_period("PAPI_L3_TCM"));
}

TEST_CASE("a list has room for REALTIME and eight others, in the order given") {
  std::string others = "E0";
  for (int i = 1; i < 8; ++i) others += ",E" + std::to_string(i);
  EventList list;
  REQUIRE(parse(others, list) == EventError::none);
  CHECK(list.count == 9);
  CHECK(std::string(list.events[8].name) == "E7");
  REQUIRE(parse(others + ",REALTIME@f100", list) == EventError::none);
  CHECK(list.events[0].period == 10'000'000);
  CHECK(parse(others + ",E8", list) == EventError::too_many);
  CHECK(parse("none," + others + ",E8", list) == EventError::too_many);
}

}  // namespace event_list_test
