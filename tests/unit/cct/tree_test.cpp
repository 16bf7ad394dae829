#include "cct/tree.hpp"

#include "trees.hpp"

#include <catch2/catch.hpp>

using namespace culprit::cct;

TEST_CASE("a child is found again, and each part of the key tells frames apart", "[tree]") {
  Tree tree;
  const NodeId a = tree.child(0, {0x10, 0, FrameKind::call});
  CHECK(tree.child(0, {0x10, 0, FrameKind::call}) == a);
  CHECK(tree.child(0, {0x11, 0, FrameKind::call}) != a);
  CHECK(tree.child(0, {0x10, 1, FrameKind::call}) != a);
  CHECK(tree.child(0, {0x10, 0, FrameKind::sample}) != a);
  CHECK(tree.child(a, {0x10, 0, FrameKind::call}) != a);
  CHECK(tree.size() == 6);
}

TEST_CASE("a large tree keeps every node as its table grows", "[tree]") {
  Tree tree;
  std::vector<NodeId> ids{0};
  for (std::uint64_t i = 0; i < 20000; ++i)
    ids.push_back(tree.child(ids[i / 3], {i, kNoModule, FrameKind::call}));
  REQUIRE(tree.size() == 20001);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    REQUIRE(tree.child(ids[i / 3], {i, kNoModule, FrameKind::call}) == ids[i + 1]);
  }
  REQUIRE(tree.size() == 20001);
}

TEST_CASE("unite translates modules and reports images", "[tree]") {
  Tree tree;
  const NodeId known = tree.child(0, {0x10, 5, FrameKind::call});
  const std::vector<Node> nodes{
      {{}, kNoNode}, {{0x10, 0, FrameKind::call}, 0}, {{0x20, 1, FrameKind::sample}, 1}};
  const std::vector<std::uint32_t> modules{5, 3};
  const std::vector<NodeId> image = tree.unite(nodes, modules);
  CHECK(image[1] == known);
  CHECK(tree[image[2]].frame == FrameKey{0x20, 3, FrameKind::sample});
  CHECK(tree.unite(nodes, modules) == image);
}

TEST_CASE("unite refuses what is no tree", "[tree]") {
  Tree tree;
  const FrameKey call{1, 0, FrameKind::call};
  const std::vector<std::uint32_t> modules{0};
  CHECK_THROWS_AS(tree.unite({}, modules), std::invalid_argument);
  CHECK_THROWS_AS(tree.unite(std::vector<Node>{{call, kNoNode}}, modules), std::invalid_argument);
  CHECK_THROWS_AS(tree.unite(std::vector<Node>{{{}, kNoNode}, {call, 1}}, modules), std::invalid_argument);
  CHECK_THROWS_AS(tree.unite(std::vector<Node>{{{}, kNoNode}, {call, kNoNode}}, modules),
                  std::invalid_argument);
  CHECK_THROWS_AS(tree.unite(std::vector<Node>{{{}, kNoNode}, {call, 0}}, {}), std::invalid_argument);
}
