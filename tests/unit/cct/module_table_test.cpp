#include "cct/module_table.hpp"

#include <catch2/catch.hpp>

using culprit::cct::ModuleKey;
using culprit::cct::ModuleTable;

TEST_CASE("a build-id names a module wherever it lies", "[module_table]") {
  ModuleTable table;
  const auto id = table.add({"/b/libx.so", "abc", 10, 1});
  CHECK(table.add({"/a/libx.so", "abc", 11, 2}) == id);
  CHECK(table.size() == 1);
  CHECK(table[id].path == "/a/libx.so");  // the smallest key, whichever came first
  CHECK(table.find({"/c/libx.so", "abc", 0, 0}) == id);
}

TEST_CASE("without a build-id path, size and time name it", "[module_table]") {
  ModuleTable table;
  const auto id = table.add({"/a", "", 10, 1});
  CHECK(table.add({"/a", "", 10, 1}) == id);
  CHECK(table.add({"/a", "", 11, 1}) != id);
  CHECK(table.add({"/a", "", 10, 2}) != id);
  CHECK(table.add({"/a", "abc", 10, 1}) != id);
  CHECK(table.size() == 4);
  CHECK_FALSE(table.find({"/b", "", 10, 1}).has_value());
}

TEST_CASE("canonical positions follow the keys", "[module_table]") {
  ModuleTable table;
  table.unite(std::vector<ModuleKey>{{"/c", "", 0, 0}, {"/a", "", 0, 0}, {"/b", "", 0, 0}});
  CHECK(table.canonical_positions() == std::vector<culprit::cct::ModuleId>{2, 0, 1});
}
