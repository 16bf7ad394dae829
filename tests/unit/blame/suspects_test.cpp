#include "role_fixture.hpp"

#include <algorithm>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace suspects_test {

using namespace culprit;
using namespace culprit::blame;
using database::BlameRow;
using database::ContextId;
using database::ContextKind;
using database::Suspect;

namespace {

/// main → loop → { call → f → statement, call → g → statement, call → wait }
struct Program {
  TreeFixture tree;
  ContextId main = tree.add(0, ContextKind::procedure);
  ContextId loop = tree.add(main, ContextKind::loop);
  ContextId f_call = tree.add(loop, ContextKind::call);
  ContextId f = tree.add(f_call, ContextKind::procedure);
  ContextId f_line = tree.add(f, ContextKind::statement);
  ContextId f_other = tree.add(f, ContextKind::statement);
  ContextId g_call = tree.add(loop, ContextKind::call);
  ContextId g = tree.add(g_call, ContextKind::procedure);
  ContextId g_line = tree.add(g, ContextKind::statement);
  ContextId wait_call = tree.add(loop, ContextKind::call);
  ContextId wait = tree.add_wait(wait_call);
};

/// Suspects below the loop, which is blamed for all idleness; no sampling noise.
std::vector<Suspect> suspects_of(Program& program, RoleFixture& role) {
  const RoleView& view = role.view();
  const auto idle = static_cast<std::uint64_t>(view.idleness[0].sum);
  const std::vector<BlameRow> blame = {{program.loop, idle, 0, 0}};
  return find_suspects(program.tree.contexts(), {3, role.locations()}, view, blame, role.by_thread(), {});
}

using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("the slow function is suspected, with its threads and its worth") {
  Program p;
  RoleFixture role(p.tree.contexts(), 4);
  role.spend(p.f_line, {1000, 1000, 1800, 1000});
  role.spend(p.g_line, {500, 500, 500, 500});
  role.spend(p.wait, {800, 800, 0, 800}, true);
  const std::vector<Suspect> suspects = suspects_of(p, role);
  REQUIRE(suspects.size() == 1);
  const Suspect& s = suspects[0];
  CHECK(s.role == 3);
  CHECK(s.balanced == p.loop);
  CHECK(s.suspect == p.f_line);
  CHECK(s.locations == Numbers{2});
  CHECK(s.excess_ns == 600);         // 1800 − 1200
  CHECK(s.explains_ns == 2400);      // all of it: 4 · (2300 − 1700)
  CHECK(s.save_balanced_ns == 600);  // 2400 / 4
  CHECK(s.save_removed_ns == 800);   // 2400 / 3
}

TEST_CASE("where two codes compensate each other, waiting in the calls after each tells who is late") {
  TreeFixture tree;
  const ContextId loop = tree.add(tree.add(0, ContextKind::procedure), ContextKind::loop);
  const ContextId f = tree.call(loop, 1, 10);
  const ContextId f_line = tree.add(f, ContextKind::statement);
  const ContextId after_f = tree.add_wait(tree.add(loop, ContextKind::call));
  const ContextId g = tree.call(loop, 2, 20);
  const ContextId g_line = tree.add(g, ContextKind::statement);
  const ContextId after_g = tree.add_wait(tree.add(loop, ContextKind::call));
  RoleFixture role(tree.contexts(), 4);
  role.spend(f_line, {1800, 1000, 1000, 1000});
  role.spend(g_line, {1000, 1800, 1000, 1000});
  const auto found = [&] {
    const RoleView& view = role.view();
    const std::vector<BlameRow> blame = {{loop, static_cast<std::uint64_t>(view.idleness[0].sum), 0, 0}};
    return find_suspects(tree.contexts(), {0, role.locations()}, view, blame, role.by_thread(), {});
  };
  SECTION("all wait in both") {
    role.spend(after_f, {0, 800, 800, 800}, true);
    role.spend(after_g, {800, 0, 800, 800}, true);
    const std::vector<Suspect> suspects = found();
    REQUIRE(suspects.size() == 2);
    CHECK(suspects[0].suspect == f_line);
    CHECK(suspects[0].locations == Numbers{0});
    CHECK(suspects[1].suspect == g_line);
    CHECK(suspects[1].locations == Numbers{1});
    for (const Suspect& s : suspects) {
      CHECK(s.balanced == loop);
      CHECK(s.explains_ns == 2400);
      CHECK(s.save_balanced_ns == 600);
      CHECK(s.save_removed_ns == 800);
    }
  }
  SECTION("all wait only where f and g are over: two late ranks") {
    role.spend(after_g, {0, 0, 800, 800}, true);
    const std::vector<Suspect> suspects = found();
    REQUIRE(suspects.size() == 2);
    for (const Suspect& s : suspects) CHECK(s.explains_ns == 800);
  }
  SECTION("each waits as long: for something else") {
    role.spend(after_f, {800, 800, 800, 800}, true);
    role.spend(after_g, {800, 800, 800, 800}, true);
    const std::vector<Suspect> suspects = found();
    REQUIRE(suspects.size() == 2);
    for (const Suspect& s : suspects) CHECK(s.explains_ns == 800);
  }
}

TEST_CASE("a smaller cause behind another call is found besides the one that explains most") {
  TreeFixture tree;
  const ContextId loop = tree.add(tree.add(0, ContextKind::procedure), ContextKind::loop);
  const ContextId f_line = tree.add(tree.call(loop, 1, 10), ContextKind::statement);
  const ContextId after_f = tree.add_wait(tree.add(loop, ContextKind::call));
  const ContextId g_line = tree.add(tree.call(loop, 2, 20), ContextKind::statement);
  const ContextId after_g = tree.add_wait(tree.add(loop, ContextKind::call));
  RoleFixture role(tree.contexts(), 4);
  role.spend(f_line, {1000, 2400, 1000, 1000});
  role.spend(after_f, {1400, 0, 1400, 1400}, true);
  const auto found = [&] {
    const RoleView& view = role.view();
    const std::vector<BlameRow> blame = {{loop, static_cast<std::uint64_t>(view.idleness[0].sum), 0, 0}};
    return find_suspects(tree.contexts(), {0, role.locations()}, view, blame, role.by_thread(), {});
  };
  SECTION("that takes longer on another rank") {
    role.spend(g_line, {1000, 1000, 1000, 1300});
    role.spend(after_g, {300, 300, 300, 0}, true);
    const std::vector<Suspect> suspects = found();
    REQUIRE(suspects.size() == 2);
    CHECK(suspects[0].suspect == f_line);
    CHECK(suspects[1].suspect == g_line);
    CHECK(suspects[1].locations == Numbers{3});
    CHECK(suspects[1].explains_ns == 900);
    CHECK(suspects[1].save_balanced_ns == 225);
    CHECK(suspects[0].explains_ns + suspects[1].explains_ns <= 4200 + 900);
  }
  SECTION("but not code that is even, where all wait as long for something else") {
    role.spend(g_line, {1000, 1000, 1000, 1000});
    role.spend(after_g, {400, 400, 400, 400}, true);
    const std::vector<Suspect> suspects = found();
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].suspect == f_line);
  }
}

TEST_CASE("a suspect explains no more than imbalance can, nor more than the blame") {
  Program p;
  RoleFixture role(p.tree.contexts(), 4);
  role.spend(p.f_line, {1000, 1000, 1800, 1000});
  SECTION("idleness for other reasons stays unexplained") {
    role.spend(p.wait, {1800, 1800, 1000, 1800}, true);
    CHECK(suspects_of(p, role).at(0).explains_ns == 2400);
  }
  SECTION("overlap leaves less idleness than imbalance") {
    role.spend(p.wait, {400, 400, 0, 400}, true);
    CHECK(suspects_of(p, role).at(0).explains_ns == 1200);
  }
}

TEST_CASE("functions that compensate each other are not suspected") {
  Program p;
  RoleFixture role(p.tree.contexts(), 4);
  SECTION("wholly") {
    role.spend(p.f_line, {100, 900, 100, 900});
    role.spend(p.g_line, {900, 100, 900, 100});
    role.spend(p.wait, {50, 50, 50, 50}, true);
    CHECK(suspects_of(p, role).empty());
  }
  SECTION("while a third makes the others wait") {
    const ContextId slow = p.tree.add(p.tree.add(p.loop, ContextKind::call), ContextKind::procedure);
    RoleFixture with_slow(p.tree.contexts(), 4);
    with_slow.spend(p.f_line, {100, 900, 100, 900});
    with_slow.spend(p.g_line, {900, 100, 900, 100});
    with_slow.spend(slow, {200, 200, 200, 600});
    with_slow.spend(p.wait, {400, 400, 400, 0}, true);
    const std::vector<Suspect> suspects = suspects_of(p, with_slow);
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].suspect == slow);
    CHECK(suspects[0].locations == Numbers{3});
    CHECK(suspects[0].explains_ns == 1200);
  }
}

TEST_CASE("two slow functions share the explanation") {
  Program p;
  RoleFixture role(p.tree.contexts(), 5);
  role.spend(p.f_line, {1000, 1600, 1000, 1000, 1000});
  role.spend(p.g_line, {500, 500, 500, 900, 500});
  role.spend(p.wait, {600, 0, 600, 200, 600}, true);
  // Work 1500 2100 1500 1900 1500, mean 1700: X is 400 on thread 1 and 200 on thread 3; f's excess is 480, of
  // which X(1) lets 400 pass; g's is 320, of which X(3) lets 200. All wait for thread 1 alone for the 200
  // between them, 1000 in sum, and for both before, 500 for each.
  const std::vector<Suspect> suspects = suspects_of(p, role);
  REQUIRE(suspects.size() == 2);
  CHECK(suspects[0].suspect == p.f_line);
  CHECK(suspects[0].locations == Numbers{1});
  CHECK(suspects[1].suspect == p.g_line);
  CHECK(suspects[1].locations == Numbers{3});
  CHECK(suspects[0].explains_ns + suspects[1].explains_ns <= 2000);
  CHECK(suspects[0].explains_ns == 1500);
  CHECK(suspects[1].explains_ns == 500);
}

TEST_CASE("one very late thread counts for more than many slightly late ones") {
  // Of 64 threads, 16 work 270 more in f, and one 560 more in g: without g, the last one comes 290 earlier;
  // without f, none does.
  constexpr std::size_t kThreads = 64, kVeryLate = 18;
  Program p;
  RoleFixture role(p.tree.contexts(), kThreads);
  std::vector<std::uint64_t> f(kThreads, 0), g(kThreads, 0), wait(kThreads, 560);
  for (std::size_t t = 0; t < kThreads; t += 4) f[t] = 270, wait[t] = 290;
  g[kVeryLate] = 560, wait[kVeryLate] = 0;
  role.spend_each(p.main, std::vector<std::uint64_t>(kThreads, 200));
  role.spend_each(p.f_line, f);
  role.spend_each(p.g_line, g);
  role.spend_each(p.wait, wait, true);
  const std::vector<Suspect> suspects = suspects_of(p, role);
  REQUIRE(suspects.size() == 2);
  CHECK(suspects[0].suspect == p.g_line);
  CHECK(suspects[0].locations == Numbers{kVeryLate});
  CHECK(suspects[0].save_balanced_ns == Approx(300).margin(5));  // and a 17th of the stretch of both
  CHECK(suspects[1].suspect == p.f_line);
  CHECK(suspects[1].locations.size() == 16);
  CHECK(suspects[1].save_balanced_ns == Approx(180).margin(5));
  for (const Suspect& s : suspects) CHECK(s.confidence == database::Confidence::sure);
}

TEST_CASE("threads that are late alike are culprits together or not at all, whatever their jitter") {
  // One thread works 400 more, 15 others about a given part of that, some a little less and some more.
  const auto part = GENERATE(range<std::uint64_t>(40, 400, 10));
  constexpr std::size_t kThreads = 64, kAlike = 15;
  Program p;
  RoleFixture role(p.tree.contexts(), kThreads);
  std::vector<std::uint64_t> work(kThreads, 100), wait(kThreads, 400);
  work[0] += 400, wait[0] = 0;
  for (std::size_t t = 1; t <= kAlike; ++t) work[t] += part + t % 5, wait[t] -= std::min(wait[t], part);
  role.spend_each(p.f_line, work);
  role.spend_each(p.wait, wait, true);
  const std::vector<Suspect> suspects = suspects_of(p, role);
  REQUIRE(suspects.size() == 1);
  CAPTURE(part, suspects[0].locations.size());
  CHECK((suspects[0].locations.size() == 1 || suspects[0].locations.size() == 1 + kAlike));
}

TEST_CASE("a suspect explains no more than would go if all threads worked alike in it") {
  // Thread 0 is late by f and g, thread 1 by f.
  Program p;
  RoleFixture role(p.tree.contexts(), 8);
  role.spend(p.main, {100, 100, 100, 100, 100, 100, 100, 100});
  role.spend(p.f_line, {800, 800, 0, 0, 0, 0, 0, 0});
  role.spend(p.g_line, {800, 0, 0, 0, 0, 0, 0, 0});
  role.spend(p.wait, {0, 800, 1600, 1600, 1600, 1600, 1600, 1600}, true);
  const std::vector<Suspect> suspects = suspects_of(p, role);
  REQUIRE(suspects.size() == 2);
  for (const Suspect& s : suspects) {
    const std::uint64_t mean = s.suspect == p.f_line ? 200 : 100;
    CHECK(s.explains_ns <= 8 * (800 - mean));
  }
}

TEST_CASE("the walk stops where no child holds most of the excess") {
  Program p;
  RoleFixture role(p.tree.contexts(), 4);
  SECTION("two statements share it: the procedure") {
    role.spend(p.f_line, {1000, 1000, 1400, 1000});
    role.spend(p.f_other, {1000, 1000, 1400, 1000});
    role.spend(p.wait, {800, 800, 0, 800}, true);
    CHECK(suspects_of(p, role).at(0).suspect == p.f);
    CHECK(suspects_of(p, role).at(0).explains_ns == 2400);
  }
  SECTION("one statement holds it: the statement") {
    role.spend(p.f_line, {1000, 1000, 1700, 1000});
    role.spend(p.f_other, {1000, 1000, 1100, 1000});
    role.spend(p.wait, {800, 800, 0, 800}, true);
    CHECK(suspects_of(p, role).at(0).suspect == p.f_line);
    CHECK(suspects_of(p, role).at(0).explains_ns == 2100);
  }
}

TEST_CASE("call sites and roots are passed through") {
  TreeFixture tree;
  const ContextId program = tree.add(0, ContextKind::root);
  const ContextId site = tree.add(program, ContextKind::call);
  const ContextId one = tree.add(site, ContextKind::procedure);  // called through a pointer: two targets
  const ContextId other = tree.add(site, ContextKind::procedure);
  const ContextId wait = tree.add_wait(program);
  RoleFixture role(tree.contexts(), 4);
  role.spend(one, {100, 100, 100, 300});
  role.spend(other, {100, 300, 100, 100});
  role.spend(wait, {200, 0, 200, 0}, true);
  const RoleView& view = role.view();
  const std::vector<BlameRow> blame = {{0, 400, 0, 200}};
  const auto suspects =
      find_suspects(tree.contexts(), {0, role.locations()}, view, blame, role.by_thread(), {});
  REQUIRE(suspects.size() == 2);
  for (const Suspect& s : suspects) CHECK(tree.contexts()[s.suspect].kind == ContextKind::procedure);
  CHECK(suspects[0].explains_ns + suspects[1].explains_ns == 400);
}

TEST_CASE("work inside communication is no suspect") {
  Program p;
  const ContextId copying = p.tree.add(p.tree.add(p.loop, ContextKind::procedure, database::kFrontier),
                                       ContextKind::statement, database::kMoves);
  RoleFixture role(p.tree.contexts(), 4);
  role.spend(copying, {100, 100, 900, 100});
  role.spend(p.f_line, {1000, 1000, 1000, 1000});
  role.spend(p.wait, {800, 800, 0, 800}, true);
  CHECK(suspects_of(p, role).empty());
}

TEST_CASE("what explains under a twentieth is not listed") {
  Program p;
  RoleFixture role(p.tree.contexts(), 4);
  role.spend(p.f_line, {100'000, 100'000, 200'000, 100'000});
  role.spend(p.g_line, {10'000, 10'000, 12'000, 10'000});
  role.spend(p.wait, {100'000, 100'000, 0, 100'000}, true);
  const std::vector<Suspect> suspects = suspects_of(p, role);
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].suspect == p.f_line);
}

TEST_CASE("threads that are late by little are no culprits") {
  Program p;
  RoleFixture role(p.tree.contexts(), 8);
  role.spend(p.f_line, {1000, 1000, 1000, 1000, 1000, 1000, 1300, 2000});
  role.spend(p.wait, {1000, 1000, 1000, 1000, 1000, 1000, 700, 0}, true);
  // Mean 1162.5: excess 137.5 on thread 6, 837.5 on thread 7: the first is under a quarter of the second.
  const Suspect s = suspects_of(p, role).at(0);
  CHECK(s.locations == Numbers{7});
  CHECK(s.excess_ns == 838);
}

TEST_CASE("where culprits are not alike, removing gains what the last thread gains") {
  Program p;
  RoleFixture role(p.tree.contexts(), 4);
  role.spend(p.f_line, {1000, 1000, 1500, 2200});
  role.spend(p.g_line, {100, 100, 100, 100});
  role.spend(p.wait, {1200, 1200, 700, 0}, true);
  // Mean 1425: excess 75 on thread 2 (not late) and 775 on thread 3; alike by definition, as it is alone.
  CHECK(suspects_of(p, role).at(0).save_removed_ns == 775 * 4 / 3 + 0);

  RoleFixture two(p.tree.contexts(), 6);
  two.spend(p.f_line, {1000, 1000, 1000, 1000, 1700, 2500});
  two.spend(p.g_line, {100, 100, 100, 100, 900, 100});
  two.spend(p.wait, {1500, 1500, 1500, 1500, 0, 0}, true);
  for (const Suspect& s : suspects_of(p, two)) {
    CHECK(s.save_removed_ns >= s.save_balanced_ns);
    CHECK(s.save_removed_ns <= 1500);
  }
}

TEST_CASE("explanations never exceed the blame, and excess never the excess of the whole") {
  CHECK(rc::check("Σ explains ≤ B_E", [] {
    Program p;
    const std::uint32_t threads = *rc::gen::inRange<std::uint32_t>(2, 8);
    RoleFixture role(p.tree.contexts(), threads);
    std::vector<std::uint64_t> work(threads);
    for (std::uint32_t t = 0; t < threads; ++t) {
      for (const ContextId leaf : {p.f_line, p.f_other, p.g_line}) {
        const auto ns = *rc::gen::inRange<std::uint64_t>(0, 10'000);
        role.spend(leaf, t, ns);
        work[t] += ns;
      }
    }
    std::uint64_t idle = 0;
    for (std::uint32_t t = 0; t < threads; ++t) {
      const std::uint64_t wait = std::ranges::max(work) - work[t] + 1;
      role.spend(p.wait, t, wait, true);
      idle += wait;
    }
    std::uint64_t explained = 0;
    for (const Suspect& s : suspects_of(p, role)) {
      RC_ASSERT(s.explains_ns * 20 + 20 >= idle);
      RC_ASSERT(!s.locations.empty());
      RC_ASSERT(std::ranges::is_sorted(s.locations));
      RC_ASSERT(s.save_balanced_ns * threads <= s.explains_ns + threads);
      explained += s.explains_ns;
    }
    RC_ASSERT(explained <= idle + 3);
  }));
}

TEST_CASE("one thread, no blame or wrong sizes: no suspects") {
  Program p;
  RoleFixture alone(p.tree.contexts(), 1);
  alone.spend(p.f_line, {5});
  alone.spend(p.wait, {5}, true);
  CHECK(suspects_of(p, alone).empty());
  RoleFixture two(p.tree.contexts(), 2);
  const std::vector<std::uint32_t> too_many = {0, 1, 2};
  CHECK_THROWS_AS(find_suspects(p.tree.contexts(), {0, too_many}, two.view(), {}, two.by_thread(), {}),
                  std::invalid_argument);
}

TEST_CASE("a thread that lived less than half as long as the longest lived briefly") {
  CHECK_FALSE(lived_briefly(100, 100));
  CHECK_FALSE(lived_briefly(50, 100));
  CHECK(lived_briefly(49, 100));
  CHECK_FALSE(lived_briefly(0, 0));
}

TEST_CASE("a suspect is code of the user, not what a run-time library does for it or around it") {
  // main → loop → run-time procedure → { region → loop → call → run-time sine → statement, its own statement
  // }
  TreeFixture tree;
  const ContextId main = tree.add(0, ContextKind::procedure);
  const ContextId loop = tree.add(main, ContextKind::loop);
  const ContextId runner = tree.add(loop, ContextKind::procedure, database::kRunTime);
  const ContextId runner_loop = tree.add(runner, ContextKind::loop, database::kRunTime);
  const ContextId region = tree.add(runner_loop, ContextKind::procedure);
  const ContextId items = tree.add(region, ContextKind::loop);
  const ContextId call = tree.add(items, ContextKind::call);
  const ContextId sine = tree.add(call, ContextKind::procedure, database::kRunTime);
  const ContextId sine_line = tree.add(sine, ContextKind::statement, database::kRunTime);
  const ContextId own = tree.add(runner_loop, ContextKind::statement, database::kRunTime);
  const ContextId wait = tree.add_wait(runner_loop);
  RoleFixture role(tree.contexts(), 4);
  role.spend(sine_line, {1000, 1000, 1800, 1000});
  role.spend(own, {10, 10, 10, 10});
  role.spend(wait, {800, 800, 0, 800}, true);
  const RoleView& view = role.view();
  const std::vector<BlameRow> blame = {{loop, 2400, 0, 0}};
  const auto suspects =
      find_suspects(tree.contexts(), {0, role.locations()}, view, blame, role.by_thread(), {});
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].suspect == items);

  SECTION("where nothing of the user's is below the blamed scope, the library's procedure is named") {
    const std::vector<BlameRow> deeper = {{items, 2400, 0, 0}};
    const auto found =
        find_suspects(tree.contexts(), {0, role.locations()}, view, deeper, role.by_thread(), {});
    REQUIRE(found.size() == 1);
    CHECK(found[0].suspect == sine);
  }
}

TEST_CASE("an excess of a few samples is not sure") {
  Program p;
  RoleFixture role(p.tree.contexts(), 4);
  constexpr std::uint64_t kPeriod = 5'000'000;
  const auto spend = [&](ContextId leaf, std::uint32_t thread, std::uint64_t samples) {
    role.spend(leaf, thread, samples * kPeriod, false, samples);
  };
  const auto run = [&](std::uint64_t much) {
    for (std::uint32_t t = 0; t < 4; ++t) {
      spend(p.f_line, t, 100 + (t == 2 ? much : 0));
      spend(p.g_line, t, 100);
      role.spend(p.wait, t, t == 2 ? 0 : much * kPeriod, true, t == 2 ? 0 : much);
    }
    return suspects_of(p, role);
  };
  SECTION("few") {
    const std::vector<Suspect> suspects = run(60);
    REQUIRE(suspects.size() == 1);
    CHECK(suspects[0].confidence == database::Confidence::likely);
    CHECK(suspects[0].doubt == database::Doubt::sampling);
  }
  SECTION("many") {
    CHECK(run(200).at(0).confidence == database::Confidence::sure);
  }
}

}  // namespace suspects_test
