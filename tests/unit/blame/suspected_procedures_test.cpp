// Which procedure is suspected: by chains of procedures, whatever call sites, names and callers there are
// (docs/algorithms.md 5.4).
#include "role_fixture.hpp"

#include <catch2/catch.hpp>

namespace suspected_procedures_test {

using namespace culprit;
using namespace culprit::blame;
using database::BlameRow;
using database::ContextId;
using database::ContextKind;
using database::Suspect;
using Numbers = std::vector<std::uint32_t>;

namespace {

/// Suspects below `balanced`, which is blamed for all idleness; no sampling noise.
std::vector<Suspect> suspects_below(const TreeFixture& tree, RoleFixture& role, ContextId balanced) {
  const RoleView& view = role.view();
  const std::vector<BlameRow> blame = {{balanced, static_cast<std::uint64_t>(view.idleness[0].sum), 0, 0}};
  return find_suspects(tree.contexts(), {0, role.locations()}, view, blame, role.by_thread(), {});
}

constexpr database::StringId kWork = 1, kSecond = 2, kThird = 3, kHelper = 4;

}  // namespace

TEST_CASE("common work that ranks reach by different call sites is innocent") {
  // Rank 0: work(); second(); send. Rank 1: receive; work(); third(); send. Rank 2: receive; work().
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId work[] = {tree.call(loop, kWork, 10), tree.call(loop, kWork, 20),
                            tree.call(loop, kWork, 30)};
  const ContextId second = tree.call(loop, kSecond, 11);
  const ContextId third = tree.call(loop, kThird, 21);
  const ContextId wait = tree.add_wait(loop);
  RoleFixture role(tree.contexts(), 3);
  role.spend(work[0], {300, 0, 0});
  role.spend(work[1], {0, 300, 0});
  role.spend(work[2], {0, 0, 300});
  role.spend(second, {100, 0, 0});
  role.spend(third, {0, 70, 0});
  role.spend(wait, {0, 100, 150}, true);
  const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
  REQUIRE(suspects.size() == 2);
  CHECK(suspects[0].suspect == second);
  CHECK(suspects[0].locations == Numbers{0});
  CHECK(suspects[1].suspect == third);
  CHECK(suspects[1].locations == Numbers{1});
}

TEST_CASE("code that is one by several call sites is one suspect, at the site where the culprits reach it") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId first = tree.call(loop, kWork, 10);
  const ContextId other = tree.call(loop, kWork, 20);
  const ContextId wait = tree.add_wait(loop);
  RoleFixture role(tree.contexts(), 4);
  role.spend(first, {1000, 0, 1000, 0});
  role.spend(other, {0, 1000, 0, 1400});
  role.spend(wait, {400, 400, 400, 0}, true);
  const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].suspect == other);
  CHECK(suspects[0].scopes == std::vector<ContextId>{first, other});
  CHECK(suspects[0].locations == Numbers{3});
  CHECK(suspects[0].explains_ns == 1200);
  CHECK(suspects[0].save_removed_ns == 400);
}

TEST_CASE("code with an equal counterpart under another name is innocent") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId f = tree.call(loop, kSecond, 10);
  const ContextId g = tree.call(loop, kThird, 20);
  const ContextId h = tree.call(loop, kWork, 30);
  const ContextId wait = tree.add_wait(loop);
  RoleFixture role(tree.contexts(), 4);
  SECTION("below the balanced scope") {
    role.spend(f, {1000, 0, 0, 0});
    role.spend(g, {0, 1000, 1000, 1000});
    role.spend(h, {50, 0, 0, 0});
    role.spend(wait, {0, 50, 50, 50}, true);
    const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].suspect == h);
    CHECK(suspects[0].explains_ns == 150);
    CHECK(suspects[0].confidence == database::Confidence::sure);
  }
  SECTION("nothing tells them apart: a hint") {
    RoleFixture two(tree.contexts(), 2);
    two.spend(f, {1000, 0});
    two.spend(h, {1000, 0});
    two.spend(g, {0, 1000});
    two.spend(wait, {0, 1000}, true);
    const std::vector<Suspect> suspects = suspects_below(tree, two, loop);
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].confidence == database::Confidence::hint);
    CHECK(suspects[0].doubt == database::Doubt::rivals);
  }
}

TEST_CASE("equal work below callers of different names is innocent, what one of them does besides is not") {
  // Rank 0: master() { work(); extra(); }. The others: worker() { work(); }.
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId master = tree.call(loop, kSecond, 10);
  const ContextId of_master = tree.call(master, kWork, 3);
  const ContextId extra = tree.call(master, kHelper, 4);
  const ContextId worker = tree.call(loop, kThird, 12);
  const ContextId of_worker = tree.call(worker, kWork, 8);
  const ContextId wait = tree.add_wait(loop);
  RoleFixture role(tree.contexts(), 4);
  role.spend(of_master, {1000, 0, 0, 0});
  role.spend(extra, {100, 0, 0, 0});
  role.spend(of_worker, {0, 1000, 1000, 1000});
  role.spend(wait, {0, 100, 100, 100}, true);
  const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].suspect == extra);
}

TEST_CASE("several causes below one caller are suspected, not the caller") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId step = tree.call(loop, kWork, 10);
  const ContextId a = tree.call(step, kSecond, 3);
  const ContextId b = tree.call(step, kThird, 4);
  const ContextId c = tree.call(step, kHelper, 5);
  const ContextId wait = tree.add_wait(loop);
  RoleFixture role(tree.contexts(), 4);
  role.spend(a, {1000, 1000, 1500, 1000});
  role.spend(b, {1000, 1000, 1000, 1400});
  role.spend(c, {1000, 1000, 1000, 1000});
  role.spend(wait, {500, 500, 0, 100}, true);
  const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
  REQUIRE(suspects.size() == 2);
  CHECK(suspects[0].suspect == a);
  CHECK(suspects[0].locations == Numbers{2});
  CHECK(suspects[1].suspect == b);
  CHECK(suspects[1].locations == Numbers{3});
}

TEST_CASE("where all that a caller does is uneven alike, it is suspected itself") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId product = tree.call(loop, kWork, 10);
  const ContextId rows = tree.at_line(product, ContextKind::loop, 3);
  const ContextId own = tree.at_line(rows, ContextKind::statement, 4);
  const ContextId row = tree.add(rows, ContextKind::inlined);
  const ContextId even = tree.call(loop, kSecond, 11);
  const ContextId wait = tree.add_wait(loop);
  RoleFixture role(tree.contexts(), 4);
  role.spend(own, {1000, 1000, 1000, 1400});
  role.spend(row, {600, 600, 600, 840});
  role.spend(even, {1000, 1000, 1000, 1000});
  role.spend(wait, {640, 640, 640, 0}, true);
  const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].suspect == rows);
  CHECK(suspects[0].named == product);
  CHECK(suspects[0].explains_ns == 4 * 480);
}

TEST_CASE("where no procedure below holds most, the walk goes on to the loop that does") {
  // step() { for (…) { a(); b(); c(); d(); } rest(); }
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId step = tree.call(loop, kWork, 10);
  const ContextId inner = tree.at_line(step, ContextKind::loop, 20);
  std::vector<ContextId> parts;
  for (database::StringId name = 10; name < 14; ++name) parts.push_back(tree.call(inner, name, 20 + name));
  const ContextId rest = tree.call(step, kHelper, 30);
  const ContextId wait = tree.add_wait(loop);
  RoleFixture role(tree.contexts(), 4);
  for (const ContextId part : parts) role.spend(part, {100, 100, 200, 100});
  role.spend(rest, {1000, 1000, 1000, 1000});
  role.spend(wait, {400, 400, 0, 400}, true);
  const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].suspect == inner);
  CHECK(suspects[0].named == step);
}

TEST_CASE("a suspect is named by the function that stands out, not by the helper that it shares") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  std::vector<ContextId> functions, lines;
  for (database::StringId name = 10; name < 13; ++name) {
    functions.push_back(tree.call(loop, name, name));
    lines.push_back(
        tree.at_line(tree.call(functions.back(), kHelper, name + 10), ContextKind::statement, 99));
  }
  const ContextId wait = tree.add_wait(loop);
  SECTION("which does nothing itself") {
    RoleFixture role(tree.contexts(), 4);
    role.spend(lines[0], {1000, 1000, 1000, 1000});
    role.spend(lines[1], {1000, 1000, 1700, 1000});
    role.spend(lines[2], {1000, 1000, 1000, 1600});
    role.spend(wait, {700, 700, 0, 100}, true);
    const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
    REQUIRE(suspects.size() == 2);
    CHECK(suspects[0].suspect == lines[1]);
    CHECK(suspects[0].named == functions[1]);
    CHECK(suspects[1].suspect == lines[2]);
    CHECK(suspects[1].named == functions[2]);
  }
  SECTION("which works as long itself") {
    RoleFixture role(tree.contexts(), 4);
    for (const ContextId function : functions) role.spend(function, {1000, 1000, 1000, 1000});
    role.spend(lines[0], {1000, 1000, 1000, 1000});
    role.spend(lines[1], {1000, 1000, 1700, 1000});
    role.spend(wait, {700, 700, 0, 700}, true);
    const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].suspect == lines[1]);
    CHECK(suspects[0].named == functions[1]);
  }
}

TEST_CASE("a procedure that calls itself is named, and not one of its calls") {
  // cycle: smooth → { helper, smooth → helper } on one line; restrict → helper.
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId cycle = tree.call(loop, kThird, 10);
  const ContextId smooth = tree.call(cycle, kWork, 20);
  const ContextId site = tree.at_line(smooth, ContextKind::call, 30);
  const ContextId first =
      tree.at_line(tree.add(site, ContextKind::procedure, 0, kHelper), ContextKind::statement, 99);
  const ContextId inner = tree.add(site, ContextKind::procedure, 0, kWork);
  const ContextId inner_site = tree.at_line(inner, ContextKind::call, 30);
  const ContextId second =
      tree.at_line(tree.add(inner_site, ContextKind::procedure, 0, kHelper), ContextKind::statement, 99);
  const ContextId own = tree.at_line(inner, ContextKind::statement, 31);
  const ContextId others = tree.call(tree.call(cycle, kSecond, 21), kHelper, 40);
  const ContextId wait = tree.add_wait(loop);
  RoleFixture role(tree.contexts(), 4);
  role.spend(others, {1000, 1000, 1000, 1000});
  role.spend(wait, {900, 900, 0, 900}, true);
  SECTION("by what its helper does") {
    role.spend(first, {300, 300, 600, 300});
    role.spend(second, {600, 600, 1200, 600});
    const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].named == smooth);
    CHECK(suspects[0].suspect == second);
    CHECK(suspects[0].explains_ns == 2700);
  }
  SECTION("by what the inner call does itself") {
    role.spend(first, {900, 900, 900, 900});
    role.spend(own, {1000, 1000, 1900, 1000});
    const std::vector<Suspect> suspects = suspects_below(tree, role, loop);
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].suspect == own);
    CHECK(suspects[0].explains_ns == 2700);
  }
}

TEST_CASE("a suspect is listed once, with what it explains below each balanced scope around it") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId outer = tree.add(main, ContextKind::loop);
  const ContextId inner = tree.add(outer, ContextKind::loop);
  const ContextId slow = tree.call(inner, kWork, 10);
  const ContextId even = tree.call(inner, kSecond, 11);
  const ContextId inner_wait = tree.add_wait(inner);
  const ContextId outer_wait = tree.add_wait(outer);
  RoleFixture role(tree.contexts(), 4);
  role.spend(slow, {1000, 1000, 1900, 1000});
  role.spend(even, {5000, 5000, 5000, 5000});
  role.spend(inner_wait, {600, 600, 0, 600}, true);
  role.spend(outer_wait, {300, 300, 0, 300}, true);
  const std::vector<BlameRow> blame = {{outer, 900, 0, 0}, {inner, 1800, 0, 0}};
  const auto suspects =
      find_suspects(tree.contexts(), {0, role.locations()}, role.view(), blame, role.by_thread(), {});
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].suspect == slow);
  CHECK(suspects[0].balanced == inner);
  CHECK(suspects[0].explains_ns == 2700);
  CHECK(suspects[0].explained == std::vector<database::Explained>{{inner, 1800}, {outer, 900}});

  // More idleness below the outer loop is not its work: others wait once for the 675 ns above the mean.
  role.spend(outer_wait, {500, 500, 0, 500}, true);
  const std::vector<BlameRow> more = {{outer, 2400, 0, 0}, {inner, 1800, 0, 0}};
  const auto bounded =
      find_suspects(tree.contexts(), {0, role.locations()}, role.view(), more, role.by_thread(), {});
  REQUIRE(bounded.size() == 1);
  CHECK(bounded[0].explains_ns == 2700);  // 4 · 675
  CHECK(bounded[0].save_balanced_ns == 675);
  CHECK(bounded[0].save_removed_ns == 900);
}

TEST_CASE("what is uneven in a balanced scope within makes nobody late behind that") {
  // A loop with a barrier in which one thread is slow; behind it another one works alone, as long as the
  // first worked more in the loop; or the same one does.
  const bool same_thread = GENERATE(false, true);
  CAPTURE(same_thread);
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId smooth = tree.call(loop, kWork, 10);
  const ContextId loop_wait = tree.add_wait(loop);
  const ContextId assemble = tree.call(main, kSecond, 20);
  const ContextId main_wait = tree.add_wait(main);
  RoleFixture role(tree.contexts(), 2);
  role.spend(smooth, {1500, 4500});
  role.spend(loop_wait, {3000, 0}, true);
  role.spend(assemble, same_thread ? std::initializer_list<std::uint64_t>{0, 3000}
                                   : std::initializer_list<std::uint64_t>{3000, 0});
  role.spend(main_wait,
             same_thread ? std::initializer_list<std::uint64_t>{3000, 0}
                         : std::initializer_list<std::uint64_t>{0, 3000},
             true);
  const std::vector<BlameRow> blame = {{main, 3000, 0, 0}, {loop, 3000, 0, 0}};
  const auto suspects =
      find_suspects(tree.contexts(), {0, role.locations()}, role.view(), blame, role.by_thread(), {});
  REQUIRE(suspects.size() == 2);
  for (const database::Suspect& suspect : suspects) {
    const bool serial = suspect.suspect == assemble;
    CHECK(suspect.suspect == (serial ? assemble : smooth));
    CHECK(suspect.explains_ns == 3000);
    CHECK(suspect.balanced == (serial ? main : loop));
    CHECK(suspect.locations == std::vector<std::uint32_t>{serial && !same_thread ? 0U : 1U});
  }
  CHECK(suspects[0].suspect != suspects[1].suspect);
}

TEST_CASE("what an outer scope's suspect explains is handed to those found within it") {
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId solve = tree.call(main, kThird, 5);
  const ContextId inner = tree.at_line(solve, ContextKind::loop, 20);
  const ContextId slow = tree.call(inner, kWork, 21);
  const ContextId slower = tree.call(inner, kSecond, 22);
  const ContextId even = tree.call(inner, kHelper, 23);
  const ContextId inner_wait = tree.add_wait(inner);
  const ContextId setup = tree.call(main, 9, 6);
  const ContextId outer_wait = tree.add_wait(main);
  RoleFixture role(tree.contexts(), 4);
  role.spend(slow, {1000, 1000, 1300, 1000});
  role.spend(slower, {1000, 1000, 1600, 1000});
  role.spend(even, {5000, 5000, 5000, 5000});
  role.spend(setup, {5000, 5000, 5000, 5000});
  role.spend(inner_wait, {600, 600, 0, 600}, true);
  role.spend(outer_wait, {300, 300, 0, 300}, true);
  const std::vector<BlameRow> blame = {{main, 900, 0, 0}, {inner, 1800, 0, 0}};
  const auto suspects =
      find_suspects(tree.contexts(), {0, role.locations()}, role.view(), blame, role.by_thread(), {});
  REQUIRE(suspects.size() == 2);
  CHECK(suspects[0].suspect == slower);
  CHECK(suspects[0].explained == std::vector<database::Explained>{{inner, 1200}, {main, 600}});
  CHECK(suspects[1].suspect == slow);
  CHECK(suspects[1].explained == std::vector<database::Explained>{{inner, 600}, {main, 300}});
}

TEST_CASE("what a procedure does itself, by several calls, is handed to the call within") {
  // main() { for (…) { work(); even(); barrier(); } work(); barrier(); }
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId inner = tree.at_line(main, ContextKind::loop, 20);
  const auto add_loop = [&](ContextId caller) {
    return tree.at_line(tree.call(caller, kWork, 21), ContextKind::loop, 40);
  };
  const ContextId slow = add_loop(inner);
  const ContextId called = tree.call(slow, 9, 41);
  const ContextId line = tree.at_line(slow, ContextKind::statement, 42);
  const ContextId even = tree.call(inner, kSecond, 22);
  const ContextId inner_wait = tree.add_wait(inner);
  const ContextId also = tree.at_line(add_loop(main), ContextKind::statement, 42);
  const ContextId outer_wait = tree.add_wait(main);
  RoleFixture role(tree.contexts(), 2);
  role.spend(line, {40000, 8000});
  role.spend(called, {5000, 5000});
  role.spend(even, {5000, 5000});
  role.spend(also, {100, 100});
  role.spend(inner_wait, {0, 32000}, true);
  role.spend(outer_wait, {0, 320}, true);
  const std::vector<BlameRow> blame = {{main, 320, 0, 0}, {inner, 32000, 0, 0}};
  const auto suspects =
      find_suspects(tree.contexts(), {0, role.locations()}, role.view(), blame, role.by_thread(), {});
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].suspect == line);
  CHECK(suspects[0].explains_ns == 32000);  // its excess makes each wait once
}

}  // namespace suspected_procedures_test
