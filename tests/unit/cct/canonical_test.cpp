#include "cct/canonical.hpp"

#include "trees.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit::cct;

TEST_CASE("union is associative, commutative and idempotent", "[union]") {
  CHECK(rc::check("associative", [] {
    const SharedTree a = random_tree(), b = random_tree(), c = random_tree();
    RC_ASSERT(content(united(united(a, b), c)) == content(united(a, united(b, c))));
  }));
  CHECK(rc::check("commutative", [] {
    const SharedTree a = random_tree(), b = random_tree();
    RC_ASSERT(content(united(a, b)) == content(united(b, a)));
  }));
  CHECK(rc::check("idempotent", [] {
    const SharedTree a = random_tree(), b = random_tree();
    const SharedTree both = united(a, b);
    RC_ASSERT(content(united(both, a)) == content(both));
    RC_ASSERT(united(both, both).tree.size() == both.tree.size());
  }));
}

TEST_CASE("the union holds a context if and only if one of the trees does", "[union]") {
  CHECK(rc::check([] {
    const SharedTree a = random_tree(), b = random_tree();
    SharedTree both = a;
    const std::vector<NodeId> image = unite(both, b);
    std::vector<bool> accounted(both.tree.size());
    for (NodeId id = 0; id < a.tree.size(); ++id) accounted[id] = true;
    for (NodeId id = 0; id < b.tree.size(); ++id) {
      accounted[image[id]] = true;
      RC_ASSERT(both.tree[image[id]].frame.offset == b.tree[id].frame.offset);
      RC_ASSERT(both.tree[image[id]].parent == (id == 0 ? kNoNode : image[b.tree[id].parent]));
    }
    for (const bool one : accounted) RC_ASSERT(one);
    RC_ASSERT(unite(both, b) == image);
  }));
}

TEST_CASE("the canonical form does not depend on the order of insertion", "[canonical]") {
  CHECK(rc::check([] {
    const SharedTree shared = random_tree();
    RC_ASSERT(content(shuffled(shared)) == content(shared));
  }));
}

TEST_CASE("the canonical form is in pre-order with sorted children, and its mapping keeps every path",
          "[canonical]") {
  CHECK(rc::check([] {
    const SharedTree shared = random_tree();
    const Canonical form = canonical(shared);
    const auto nodes = form.shared.tree.nodes();
    RC_ASSERT(nodes.size() == shared.tree.size());
    for (NodeId id = 0; id < nodes.size(); ++id) {
      RC_ASSERT(path_of(form.shared, form.node[id]) == path_of(shared, id));
    }
    std::vector<NodeId> open{0};  // the path to the node before
    std::vector<NodeId> last_child(nodes.size(), kNoNode);
    for (NodeId id = 1; id < nodes.size(); ++id) {
      while (!open.empty() && open.back() != nodes[id].parent) open.pop_back();
      RC_ASSERT(!open.empty());
      if (const NodeId elder = last_child[nodes[id].parent]; elder != kNoNode) {
        const FrameKey& x = nodes[elder].frame;
        const FrameKey& y = nodes[id].frame;
        RC_ASSERT(std::tie(x.module, x.offset, x.kind) < std::tie(y.module, y.offset, y.kind));
      }
      last_child[nodes[id].parent] = id;
      open.push_back(id);
    }
    const auto keys = form.shared.modules.keys();
    RC_ASSERT(std::is_sorted(keys.begin(), keys.end()));
  }));
}

TEST_CASE("paths deeper than any machine stack are put in order", "[canonical]") {
  SharedTree shared;
  NodeId at = 0;
  for (std::uint64_t depth = 0; depth < 300000; ++depth)
    at = shared.tree.child(at, {depth, kNoModule, FrameKind::call});
  CHECK(canonical(shared).node[at] == at);
}
