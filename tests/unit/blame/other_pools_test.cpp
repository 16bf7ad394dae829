#include "blame/other_pools.hpp"

#include "measurement/kinds.hpp"
#include "role_fixture.hpp"

#include <catch2/catch.hpp>

namespace other_pools_test {

using namespace culprit;
using namespace culprit::blame;
using database::ContextId;
using database::ContextKind;
using database::Suspect;

namespace {

/// worker → loop → { call → task, call → other, call → wait }, on four threads.
struct Pool {
  TreeFixture tree;
  ContextId worker = tree.add(0, ContextKind::procedure);
  ContextId loop = tree.add(worker, ContextKind::loop);
  ContextId task = tree.add(tree.call(loop, 1, 10), ContextKind::statement);
  ContextId other = tree.add(tree.call(loop, 2, 20), ContextKind::statement);
  ContextId wait = tree.add_wait(tree.add(loop, ContextKind::call));
  std::vector<database::Context> contexts = tree.contexts();
  RoleFixture role{contexts, 4};

  explicit Pool(measurement::WaitKind kind = measurement::WaitKind::condition) {
    for (database::Context& each : contexts) {
      if ((each.flags & database::kFrontier) != 0) each.wait_kind = static_cast<std::uint8_t>(kind);
    }
  }

  Suspect suspect(bool workers = true) {
    const RoleView& view = role.view();
    const std::vector<database::BlameRow> blame = {
        {loop, static_cast<std::uint64_t>(view.idleness[0].sum), 0, 0}};
    const std::vector<std::uint32_t> locations = role.locations();
    return find_suspects(contexts, {.role = 0, .locations = locations, .are_workers = workers}, view, blame,
                         role.by_thread(), {})
        .at(0);
  }
};

bool states_no_saving(const Suspect& suspect) {
  return suspect.doubt == database::Doubt::pools && suspect.confidence == database::Confidence::hint &&
         suspect.save_balanced_ns == 0 && suspect.save_removed_ns == 0;
}

}  // namespace

TEST_CASE("two alike threads that alone work beside idle ones may be another pool") {
  SECTION("workers in a pool's waits") {
    Pool p;
    p.role.spend(p.task, {0, 0, 1000, 950});
    p.role.spend(p.other, {2, 9, 0, 0});
    p.role.spend(p.wait, {998, 991, 0, 50}, true);
    CHECK(states_no_saving(p.suspect()));
    CHECK_FALSE(states_no_saving(p.suspect(false)));  // ranks are one team
  }
  SECTION("a team of OpenMP") {
    Pool p(measurement::WaitKind::omp_barrier);
    p.role.spend(p.task, {0, 0, 1000, 950});
    p.role.spend(p.wait, {1000, 1000, 0, 50}, true);
    CHECK_FALSE(states_no_saving(p.suspect()));
  }
  SECTION("beside one that works as long in other code") {
    Pool p;
    p.role.spend(p.task, {0, 0, 1000, 950});
    p.role.spend(p.other, {0, 1000, 0, 0});
    p.role.spend(p.wait, {1000, 0, 0, 50}, true);
    CHECK(states_no_saving(p.suspect()));
  }
}

TEST_CASE("a pool whose work is uneven stays sure") {
  Pool p;
  SECTION("one thread does all of it") {
    p.role.spend(p.task, {0, 0, 1000, 0});
    p.role.spend(p.wait, {1000, 1000, 0, 1000}, true);
  }
  SECTION("two threads have long tasks, the others short ones of the same kind") {
    p.role.spend(p.task, {20, 20, 1000, 950});
    p.role.spend(p.wait, {980, 980, 0, 50}, true);
  }
  SECTION("the others have less to do, but something") {
    p.role.spend(p.task, {0, 0, 1000, 950});
    p.role.spend(p.other, {300, 300, 0, 0});
    p.role.spend(p.wait, {700, 700, 0, 50}, true);
  }
  SECTION("of the threads that work one works for longer") {
    p.role.spend(p.task, {0, 0, 1000, 500});
    p.role.spend(p.wait, {1000, 1000, 0, 500}, true);
  }
  const Suspect suspect = p.suspect();
  CHECK(suspect.confidence == database::Confidence::sure);
  CHECK(suspect.doubt == database::Doubt::none);
  CHECK(suspect.save_balanced_ns > 0);
}

}  // namespace other_pools_test
