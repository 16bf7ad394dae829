#include "cct/tree_union.hpp"

#include "trees.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit::cct;

namespace {

std::vector<NodeId> copy(std::span<const NodeId> image) {
  return {image.begin(), image.end()};
}

}  // namespace

TEST_CASE("trees alike become one, however their modules are numbered", "[tree_union]") {
  TreeUnion all;
  const std::vector<Node> nodes{{{}, kNoNode},
                                {{0x10, 0, FrameKind::call}, 0},
                                {{0x20, 1, FrameKind::sample}, 1},
                                {{0x30, 1, FrameKind::sample}, 1},
                                {{0x40, 1, FrameKind::sample}, 0}};
  const std::vector<ModuleKey> modules{{"/a", "", 1, 1}, {"/b", "", 1, 1}};
  const std::vector<ModuleKey> swapped{modules[1], modules[0]};
  const std::vector<NodeId> first = copy(all.unite(nodes, all.add_modules(modules)));
  CHECK(copy(all.unite(nodes, all.add_modules(modules))) == first);
  // The same tree with its modules numbered otherwise.
  std::vector<Node> renumbered = nodes;
  for (Node& node : renumbered)
    if (node.frame.module != kNoModule) node.frame.module = 1 - node.frame.module;
  CHECK(copy(all.unite(renumbered, all.add_modules(swapped))) == first);
  // One context is missing.
  std::vector<Node> shorter = nodes;
  shorter.erase(shorter.begin() + 2);
  CHECK(copy(all.unite(shorter, all.add_modules(modules))) == std::vector<NodeId>{0, 1, 3, 4});
  // The same numbers with another meaning are another tree.
  CHECK(copy(all.unite(nodes, all.add_modules(swapped))) != first);
  CHECK(all.tree().size() == 9);
}

TEST_CASE("every part of a node list tells it apart", "[tree_union]") {
  TreeUnion all;
  const std::vector<ModuleId> modules =
      all.add_modules(std::vector<ModuleKey>{{"/a", "", 1, 1}, {"/b", "", 1, 1}});
  const std::vector<Node> nodes{
      {{}, kNoNode}, {{0x10, 0, FrameKind::call}, 0}, {{0x20, 0, FrameKind::call}, 1}};
  all.unite(nodes, modules);
  for (int part = 0; part < 4; ++part) {
    std::vector<Node> other = nodes;
    if (part == 0) other[2].frame.offset = 0x21;
    if (part == 1) other[2].frame.module = 1;
    if (part == 2) other[2].frame.kind = FrameKind::sample;
    if (part == 3) other[2].parent = 0;
    all.unite(other, modules);
  }
  CHECK(all.tree().size() == 7);
}

TEST_CASE("what is guessed is what would have been looked up", "[tree_union]") {
  CHECK(rc::check([] {
    std::vector<SharedTree> trees;
    const auto count = *rc::gen::inRange<std::size_t>(1, 5);
    while (trees.size() < count) trees.push_back(random_tree());
    TreeUnion all;
    SharedTree plain;
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (const SharedTree& tree : trees) {
        const auto image = all.unite(tree.tree.nodes(), all.add_modules(tree.modules.keys()));
        RC_ASSERT(copy(image) == unite(plain, tree));
      }
    }
    RC_ASSERT(content(all.shared()) == content(plain));
  }));
}

TEST_CASE("malformed node lists are refused", "[tree_union]") {
  TreeUnion all;
  CHECK_THROWS_AS(all.unite({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(all.unite(std::vector<Node>{{{}, kNoNode}, {{1, 0, FrameKind::call}, 0}}, {}),
                  std::invalid_argument);
}
