// Whom calls and tail calls name, of a library with internal functions that others leave their frames to.
#include "structure/tail_calls.hpp"

#include "modules.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

namespace tail_calls_test {

using namespace culprit::structure;

namespace {

std::uint64_t place_of(const std::string& symbol) {
  const std::uint64_t found = symbol_value(program("libgaps.so"), symbol);
  REQUIRE(found != 0);
  return found;
}

Request request_for(const std::string& name) {
  Request request;
  request.path = program(name);
  return request;
}

}  // namespace

TEST_CASE("the tail calls of a function lead to where others begin") {
  TailCalls code(request_for("libgaps-stripped.so"));
  const auto from = [&](const char* function) {
    std::vector<std::uint64_t> entries;
    for (const TailCall& jump : code.of(place_of(function))) {
      CHECK(jump.address > place_of(function));
      CHECK(jump.name.empty());
      entries.push_back(jump.entry);
    }
    return entries;
  };
  CHECK(from("begins") == std::vector<std::uint64_t>{place_of("middle")});
  CHECK(from("middle") == std::vector<std::uint64_t>{place_of("end")});
  CHECK(from("adds") == std::vector<std::uint64_t>{place_of("operate")});
  CHECK(from("end").empty());
  CHECK(from("uses").empty());
  CHECK(code.of(place_of("begins") + 1).empty());
}

TEST_CASE("a tail call through a linkage stub has a name") {
  TailCalls code(request_for("libgaps-stripped.so"));
  for (const auto& [function, name] : {std::pair("says", "puts"), std::pair("relays", "second")}) {
    const std::vector<TailCall>& jumps = code.of(place_of(function));
    REQUIRE(jumps.size() == 1);
    CHECK(jumps.front().name == name);
    CHECK(jumps.front().entry == 0);
  }
  CHECK(code.exported("second") == place_of("second"));
  CHECK(code.exported("hidden") == 0);
  CHECK(code.exported("puts") == 0);
}

TEST_CASE("a direct call names a function") {
  const TailCalls code(request_for("libgaps.so"));
  std::vector<std::uint64_t> called;
  for (std::uint64_t address = place_of("uses"); address < place_of("uses") + 64; ++address)
    if (const std::uint64_t entry = code.called_before(address); entry == place_of("rest"))
      called.push_back(entry);
  CHECK(called.size() == 2);
  CHECK(code.called_before(0) == 0);
  CHECK(code.called_before(~std::uint64_t{0}) == 0);
}

TEST_CASE("of a module that cannot be read, or of another build, nothing is called") {
  Request other = request_for("libgaps.so");
  other.build_id = "00";
  for (const Request& request : {request_for("nothing.so"), other}) {
    TailCalls code(request);
    CHECK(code.of(place_of("begins")).empty());
    CHECK(code.exported("second") == 0);
    CHECK(code.called_before(place_of("uses") + 20) == 0);
  }
}

}  // namespace tail_calls_test
