#include "role_fixture.hpp"

#include <map>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace shift_test {

using namespace culprit;
using namespace culprit::blame;
using database::Balance;
using database::BlameRow;
using database::ContextId;
using database::ContextKind;

namespace {

std::map<ContextId, BlameRow> by_context(const std::vector<BlameRow>& rows) {
  std::map<ContextId, BlameRow> result;
  for (const BlameRow& row : rows) result[row.context] = row;
  REQUIRE(result.size() == rows.size());
  return result;
}

std::vector<Balance> balanced_at(std::size_t contexts, std::initializer_list<ContextId> which) {
  std::vector<Balance> balance(contexts, Balance::imbalanced);
  balance[0] = Balance::balanced;
  for (const ContextId x : which) balance[x] = Balance::balanced;
  return balance;
}

}  // namespace

TEST_CASE("idleness goes to the deepest balanced ancestor of its frontier") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId outer = tree.add(main, ContextKind::loop);
  const ContextId inner = tree.add(outer, ContextKind::loop);
  const ContextId uneven = tree.add(inner, ContextKind::procedure);
  const ContextId deep = tree.add_wait(uneven);
  const ContextId shallow = tree.add_wait(outer);
  const ContextId late = tree.add_wait(main);
  RoleFixture role(tree.contexts(), 3);
  role.spend(deep, {10, 20, 30}, true);
  role.spend(shallow, {1, 0, 5}, true);
  role.spend(late, {100, 100, 100}, true);
  role.spend(uneven, {7, 8, 9});

  const auto blame = by_context(
      shift_blame(tree.contexts(), role.view(), balanced_at(tree.contexts().size(), {inner, outer})));
  REQUIRE(blame.size() == 3);
  CHECK(blame.at(inner).sum == 60);
  CHECK(blame.at(inner).min == 10);
  CHECK(blame.at(inner).max == 30);
  CHECK(blame.at(outer).sum == 6);
  CHECK(blame.at(outer).min == 0);  // thread 1 never waited there
  CHECK(blame.at(outer).max == 5);
  CHECK(blame.at(0).sum == 300);

  const auto higher =
      by_context(shift_blame(tree.contexts(), role.view(), balanced_at(tree.contexts().size(), {main})));
  REQUIRE(higher.size() == 1);
  CHECK(higher.at(main).sum == 366);
  CHECK(higher.at(main).min == 110);  // least of each frontier, summed: 10 + 0 + 100
  CHECK(higher.at(main).max == 135);
}

TEST_CASE("undecided and untested contexts take no blame") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId part = tree.add(main, ContextKind::procedure);
  const ContextId wait = tree.add_wait(part);
  RoleFixture role(tree.contexts(), 2);
  role.spend(wait, {3, 4}, true);
  for (const Balance other : {Balance::undecided, Balance::untested, Balance::imbalanced}) {
    std::vector<Balance> balance = balanced_at(tree.contexts().size(), {main});
    balance[part] = other;
    const auto rows = shift_blame(tree.contexts(), role.view(), balance);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].context == main);
    CHECK(rows[0].sum == 7);
  }
}

TEST_CASE("a frontier below a frontier, and balance below one, change nothing") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId outer = tree.add(main, ContextKind::procedure, database::kFrontier);
  const ContextId nested = tree.add(outer, ContextKind::procedure, database::kFrontier);
  const ContextId leaf = tree.add(nested, ContextKind::statement);
  RoleFixture role(tree.contexts(), 2);
  role.spend(leaf, {3, 4}, true);
  const auto rows = shift_blame(tree.contexts(), role.view(),
                                balanced_at(tree.contexts().size(), {main, outer, nested, leaf}));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].context == main);
  CHECK(rows[0].sum == 7);
}

TEST_CASE("idleness without a frontier is its own frontier") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId part = tree.add(main, ContextKind::procedure);
  const ContextId marked = tree.add(part, ContextKind::statement);
  RoleFixture role(tree.contexts(), 2);
  role.spend(marked, {5, 0}, true);
  // At an inner context: beyond what its children hold.
  role.spend(part, {1, 2}, true);
  const auto blame = by_context(
      shift_blame(tree.contexts(), role.view(), balanced_at(tree.contexts().size(), {main, part, marked})));
  REQUIRE(blame.size() == 2);
  CHECK(blame.at(part).sum == 5);
  CHECK(blame.at(part).max == 5);
  CHECK(blame.at(main).sum == 3);
  CHECK(blame.at(main).min == 0);
  CHECK(blame.at(main).max == 3);
}

TEST_CASE("a tree that is nothing but a wait blames its root") {
  TreeFixture tree;
  RoleFixture role(tree.contexts(), 2);
  role.spend(0, {5, 6}, true);
  const auto rows = shift_blame(tree.contexts(), role.view(), balanced_at(1, {}));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].context == 0);
  CHECK(rows[0].sum == 11);
}

TEST_CASE("no idleness, no blame") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  RoleFixture role(tree.contexts(), 2);
  role.spend(main, {5, 6});
  CHECK(shift_blame(tree.contexts(), role.view(), balanced_at(2, {main})).empty());
  CHECK_THROWS_AS(shift_blame(tree.contexts(), role.view(), balanced_at(3, {})), std::invalid_argument);
}

TEST_CASE("blame is conserved for any tree, any flags and any balance") {
  CHECK(rc::check("Σ blame = idleness at the root", [] {
    TreeFixture tree;
    std::vector<ContextId> path = {0};
    const int scopes = *rc::gen::inRange(0, 40);
    for (int i = 0; i < scopes; ++i) {
      path.resize(*rc::gen::inRange<std::size_t>(1, path.size() + 1));
      const auto flags = *rc::gen::element<std::uint8_t>(0, 0, 0, database::kFrontier, database::kMoves);
      const auto kind = *rc::gen::element(ContextKind::procedure, ContextKind::loop, ContextKind::call);
      path.push_back(tree.add(path.back(), kind, flags));
    }
    const std::size_t contexts = tree.contexts().size();
    const std::uint32_t threads = *rc::gen::inRange<std::uint32_t>(1, 5);
    RoleFixture role(tree.contexts(), threads);
    std::uint64_t idle = 0;
    for (ContextId x = 0; x < contexts; ++x) {
      for (std::uint32_t t = 0; t < threads; ++t) {
        const auto ns = *rc::gen::inRange<std::uint64_t>(0, 1000);
        const bool waits = *rc::gen::arbitrary<bool>();
        role.spend(x, t, ns, waits);
        if (waits) idle += ns;
      }
    }
    std::vector<Balance> balance;
    for (std::size_t x = 0; x < contexts; ++x) {
      balance.push_back(
          *rc::gen::element(Balance::untested, Balance::balanced, Balance::imbalanced, Balance::undecided));
    }
    std::uint64_t blamed = 0;
    for (const BlameRow& row : shift_blame(tree.contexts(), role.view(), balance)) {
      RC_ASSERT(row.sum > 0U);
      const bool blameable =
          row.context == 0 || (balance[row.context] == Balance::balanced &&
                               (tree.contexts()[row.context].flags & database::kInWait) == 0);
      RC_ASSERT(blameable);
      RC_ASSERT(row.min <= row.max);
      blamed += row.sum;
    }
    RC_ASSERT(blamed == idle);
  }));
}

}  // namespace shift_test
