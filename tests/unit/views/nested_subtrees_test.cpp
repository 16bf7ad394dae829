// A set of contexts and the subtrees that stand for it have the same values.
#include "views/figures.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit::views;
using culprit::database::ContextId;
using culprit::database::kNone;

namespace {

/// A tree in pre-order.
std::vector<ContextId> random_parents() {
  std::vector<ContextId> parents = {kNone}, path = {0};
  const auto size = *rc::gen::inRange<std::size_t>(1, 60);
  while (parents.size() < size) {
    const auto depth = *rc::gen::inRange<std::size_t>(1, path.size() + 1);
    path.resize(depth);
    parents.push_back(path.back());
    path.push_back(static_cast<ContextId>(parents.size() - 1));
  }
  return parents;
}

}  // namespace

TEST_CASE("nested subtrees sum up to the exclusive values of the set they stand for") {
  CHECK(rc::check([] {
    const std::vector<ContextId> parents = random_parents();
    const auto size = static_cast<std::uint32_t>(parents.size());
    const auto parent_of = [&](ContextId context) { return parents[context]; };
    std::vector<ContextId> set;
    std::vector<std::uint64_t> own, inclusive;
    std::uint64_t expected = 0;
    for (ContextId x = 0; x < size; ++x) {
      own.push_back(*rc::gen::inRange<std::uint64_t>(0, 1000));
      if (!*rc::gen::arbitrary<bool>()) continue;
      set.push_back(x);
      expected += own[x];
    }
    inclusive = own;
    for (ContextId x = size; x-- > 1;) inclusive[parents[x]] += inclusive[x];
    const auto layers = nested_subtrees(set, size, parent_of, size);
    std::uint64_t sum = 0;
    std::size_t subtrees = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      ContextId end = 0;  // of the last subtree
      for (const ContextId top : layers[layer]) {
        RC_ASSERT(top >= end);
        for (end = top + 1; end < size && parents[end] != kNone && parents[end] >= top;) ++end;
        sum += layer % 2 == 0 ? inclusive[top] : 0 - inclusive[top];
        ++subtrees;
      }
    }
    RC_ASSERT(sum == expected);
    RC_ASSERT(subtrees <= size);
    if (subtrees > 0) RC_ASSERT(nested_subtrees(set, size, parent_of, subtrees - 1).empty());
  }));
}
