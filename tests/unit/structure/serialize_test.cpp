#include "structure/serialize.hpp"

#include "modules.hpp"

#include <sstream>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <catch2/catch.hpp>

namespace serialize_test {

TEST_CASE("a module's structure survives a message") {
  const auto addresses = section_addresses(program("loops-O2"), ".text", 5);
  const auto sent = recover_all(program("loops-O2"), addresses);
  std::stringstream message;
  boost::archive::binary_oarchive(message, boost::archive::no_header) << sent;
  culprit::structure::ModuleStructure received;
  boost::archive::binary_iarchive(message, boost::archive::no_header) >> received;
  CHECK(received.files == sent.files);
  CHECK(received.notes == sent.notes);
  REQUIRE(received.procedures.size() == sent.procedures.size());
  for (std::size_t i = 0; i < sent.procedures.size(); ++i) {
    CHECK(received.procedures[i].name == sent.procedures[i].name);
    CHECK(received.procedures[i].high == sent.procedures[i].high);
    CHECK(received.procedures[i].source == sent.procedures[i].source);
  }
  REQUIRE(received.scopes.size() == sent.scopes.size());
  for (std::size_t i = 0; i < sent.scopes.size(); ++i) {
    CHECK(received.scopes[i].kind == sent.scopes[i].kind);
    CHECK(received.scopes[i].name == sent.scopes[i].name);
    CHECK(received.scopes[i].call_line == sent.scopes[i].call_line);
    CHECK(received.scopes[i].address == sent.scopes[i].address);
  }
  REQUIRE(received.points.size() == sent.points.size());
  for (std::size_t i = 0; i < sent.points.size(); ++i)
    CHECK(received.points[i].scope == sent.points[i].scope);
}

}  // namespace serialize_test
