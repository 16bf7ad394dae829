#include "merge/values/accumulate.hpp"
#include "merge/values/plan.hpp"

#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace values_test {

using namespace culprit;
using database::ContextId;
using database::ContextKind;
using database::FlatId;
using database::kNone;
using merge::Columns;
using merge::Shape;

namespace {

/// A random program: procedures (each in file p/2 of module p/4) call each other at random, recursion
/// included, some through a loop. Procedure 0 is `<program root>`'s only callee.
struct RandomTree {
  Shape shape;
  std::vector<int> procedure;  ///< of each context's innermost procedure frame, -1 outside

  static constexpr int kProcedures = 6;

  /// Flat scopes: 0 root; per procedure p: module, file (made when first needed), procedure, loop, statement,
  /// loop's statement.
  FlatId flat(FlatId parent, ContextKind kind, int what) {
    const auto [entry, fresh] =
        known_.try_emplace({parent, kind, what}, static_cast<FlatId>(shape.flat.size()));
    if (fresh) shape.flat.push_back({.parent = parent, .kind = kind});
    return entry->second;
  }
  FlatId flat_procedure(int p) {
    const FlatId module = flat(0, ContextKind::module, p / 4);
    return flat(flat(module, ContextKind::file, p / 2), ContextKind::procedure, p);
  }
  ContextId add(ContextId parent, ContextKind kind, FlatId flat_id, int in) {
    shape.contexts.push_back({.parent = parent, .flat = flat_id, .kind = kind});
    procedure.push_back(in);
    return static_cast<ContextId>(shape.contexts.size() - 1);
  }
  void frame(ContextId caller, int p, int depth) {
    const FlatId flat_p = flat_procedure(p);
    const ContextId here = add(caller, ContextKind::procedure, flat_p, p);
    body(here, flat_p, p, depth);
    if (*rc::gen::inRange(0, 2) == 1) {
      const FlatId flat_loop = flat(flat_p, ContextKind::loop, p);
      body(add(here, ContextKind::loop, flat_loop, p), flat_loop, p, depth);
    }
  }
  void body(ContextId scope, FlatId flat_scope, int p, int depth) {
    add(scope, ContextKind::statement, flat(flat_scope, ContextKind::statement, p), p);
    const int calls = depth == 0 ? 0 : *rc::gen::inRange(0, 3);
    for (int c = 0; c < calls; ++c) {
      const ContextId call = add(scope, ContextKind::call, kNone, p);
      frame(call, *rc::gen::inRange(0, kProcedures), depth - 1);
    }
  }
  RandomTree() {
    shape.flat.push_back({});
    add(kNone, ContextKind::root, kNone, -1);
    frame(add(0, ContextKind::root, kNone, -1), 0, 5);
    for (ContextId x = 0; x < shape.contexts.size(); ++x) shape.own.push_back(x);
  }

 private:
  std::map<std::tuple<FlatId, ContextKind, int>, FlatId> known_;
};

/// One thread with random time at some statements and calls; the tree's nodes are the contexts.
measurement::ThreadProfile random_thread(const Shape& shape) {
  measurement::ThreadProfile thread;
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    thread.nodes.push_back({.frame = {}, .parent = shape.contexts[x].parent});
    const ContextKind kind = shape.contexts[x].kind;
    const bool leaf =
        kind == ContextKind::statement || (kind == ContextKind::call && *rc::gen::inRange(0, 5) == 0);
    if (!leaf || *rc::gen::inRange(0, 3) == 0) {
      thread.cell.push_back(cct::kNoNode);
      continue;
    }
    thread.cell.push_back(static_cast<std::uint32_t>(thread.cells.size()));
    thread.cells.push_back(
        {.time_ns = *rc::gen::inRange<std::uint64_t>(1, 1000), .samples = 1, .weight_sq = 1});
  }
  return thread;
}

std::uint64_t time_at(const measurement::ThreadProfile& thread, ContextId x) {
  return thread.cell[x] == cct::kNoNode ? 0 : thread.cells[thread.cell[x]].time_ns;
}

/// All contexts from `x` up to the root.
std::vector<ContextId> path_of(const Shape& shape, ContextId x) {
  std::vector<ContextId> path;
  for (; x != kNone; x = shape.contexts[x].parent) path.push_back(x);
  return path;
}

/// Whether context `x` is an instance of flat scope `f` or of one inside it.
bool instance_of(const Shape& shape, ContextId x, FlatId f) {
  for (FlatId g = shape.contexts[x].flat; g != kNone; g = shape.flat[g].parent) {
    if (g == f) return true;
  }
  return false;
}

/// By the definition: time below some instance of f counts once.
std::uint64_t naive_flat_inclusive(const Shape& shape, const measurement::ThreadProfile& thread, FlatId f) {
  std::uint64_t sum = 0;
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    const auto path = path_of(shape, x);
    const bool below = f == 0 || std::any_of(path.begin(), path.end(),
                                             [&](ContextId y) { return instance_of(shape, y, f); });
    if (below) sum += time_at(thread, x);
  }
  return sum;
}

const merge::Transfers no_transfers;

struct Pair {
  metrics::Accumulator inclusive, exclusive;
};

struct Accumulated {
  std::size_t metrics = 0;
  merge::Plan plan;
  std::vector<merge::RoleSums> roles;
  std::vector<std::vector<database::Value>> profiles;

  [[nodiscard]] Pair context(ContextId x) const {
    const merge::RoleSums& sums = roles[0];
    Pair pair{.inclusive = sums.inclusive[plan.group_of[x] * metrics + Columns::kRealtime], .exclusive = {}};
    if (plan.exclusive_group[x] != kNone) {
      pair.exclusive = sums.inclusive[plan.exclusive_group[x] * metrics + Columns::kRealtime];
    } else if (plan.exclusive_row[x] != kNone) {
      pair.exclusive = sums.exclusive[plan.exclusive_row[x] * metrics + Columns::kRealtime];
    }
    return pair;
  }
  [[nodiscard]] Pair flat(FlatId f) const {
    const std::size_t at = f * metrics + Columns::kRealtime;
    return {plan.flat_leaf[f] != 0 ? roles[0].flat_exclusive[at] : roles[0].flat_inclusive[at],
            roles[0].flat_exclusive[at]};
  }
};

/// The exclusive values of the last location.
std::vector<database::Value> exclusive_of(const database::TileRows& rows) {
  const std::uint32_t location = rows.locations() - 1;
  const auto contexts = rows.contexts_of(location);
  std::vector<database::Value> values;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    for (std::uint32_t m = 0; m < rows.metrics(); ++m) {
      const std::uint64_t value = rows.column_of(location, m)[i];
      if (value != 0) values.push_back({.index = contexts[i], .metric = m, .value = value});
    }
  }
  return values;
}

Accumulated accumulate(const Shape& shape, const std::vector<measurement::ThreadProfile>& threads) {
  std::vector<std::uint8_t> valued(shape.contexts.size());
  for (const measurement::ThreadProfile& thread : threads) {
    for (ContextId x = 0; x < valued.size(); ++x)
      if (thread.cell[x] != cct::kNoNode) valued[x] = 1;
  }
  Accumulated result{
      .metrics = shape.columns.metrics(), .plan = merge::Plan(shape, valued), .roles = {}, .profiles = {}};
  merge::ThreadAccumulation accumulation(shape, result.plan, no_transfers, 1);
  accumulation.begin_process({});
  std::vector<cct::NodeId> same(shape.contexts.size());
  for (cct::NodeId n = 0; n < same.size(); ++n) same[n] = n;
  database::TileRows rows(shape.contexts.size(), shape.columns.metrics());
  for (std::uint32_t t = 0; t < threads.size(); ++t) {
    accumulation.add(threads[t], same, t, 0);
    accumulation.list_exclusive(rows);
    result.profiles.push_back(exclusive_of(rows));
  }
  rows.arrange();
  accumulation.add_tile(rows);
  result.roles = accumulation.roles();
  return result;
}

}  // namespace

TEST_CASE("inclusive values are sums over subtrees, exclusive ones add up to the root's inclusive") {
  CHECK(rc::check([] {
    const RandomTree tree;
    const Shape& shape = tree.shape;
    const measurement::ThreadProfile thread = random_thread(shape);
    const Accumulated got = accumulate(shape, {thread});
    std::vector<std::uint64_t> inclusive(shape.contexts.size(), 0);
    std::uint64_t total = 0;
    for (ContextId x = 0; x < shape.contexts.size(); ++x) {
      total += time_at(thread, x);
      for (const ContextId y : path_of(shape, x)) inclusive[y] += time_at(thread, x);
    }
    for (ContextId x = 0; x < shape.contexts.size(); ++x) {
      RC_ASSERT(static_cast<std::uint64_t>(got.context(x).inclusive.sum) == inclusive[x]);
    }
    std::uint64_t listed = 0;
    for (const database::Value& value : got.profiles[0]) {
      if (value.metric == Columns::kRealtime) listed += value.value;
    }
    RC_ASSERT(listed == total);
    // Hybrid: what belongs to procedure frames covers everything once.
    std::uint64_t of_frames = 0;
    for (ContextId x = 0; x < shape.contexts.size(); ++x) {
      if (shape.contexts[x].kind != ContextKind::procedure) continue;
      of_frames += static_cast<std::uint64_t>(got.context(x).exclusive.sum);
    }
    RC_ASSERT(of_frames == total);
  }));
}

TEST_CASE("flat values agree with the definition, with direct and mutual recursion") {
  CHECK(rc::check([] {
    const RandomTree tree;
    const Shape& shape = tree.shape;
    const measurement::ThreadProfile thread = random_thread(shape);
    const Accumulated got = accumulate(shape, {thread});
    std::uint64_t total = 0;
    std::vector<std::uint64_t> exclusive(RandomTree::kProcedures, 0);
    for (ContextId x = 0; x < shape.contexts.size(); ++x) {
      total += time_at(thread, x);
      if (tree.procedure[x] >= 0)
        exclusive[static_cast<std::size_t>(tree.procedure[x])] += time_at(thread, x);
    }
    std::uint64_t of_modules = 0;
    for (FlatId f = 0; f < shape.flat.size(); ++f) {
      const Pair pair = got.flat(f);
      RC_ASSERT(static_cast<std::uint64_t>(pair.inclusive.sum) == naive_flat_inclusive(shape, thread, f));
      RC_ASSERT(static_cast<std::uint64_t>(pair.inclusive.sum) <= total);
      if (shape.flat[f].kind == ContextKind::module)
        of_modules += static_cast<std::uint64_t>(pair.exclusive.sum);
      for (int p = 0; p < RandomTree::kProcedures; ++p) {
        RandomTree copy = tree;
        if (shape.flat[f].kind != ContextKind::procedure || copy.flat_procedure(p) != f) continue;
        RC_ASSERT(static_cast<std::uint64_t>(pair.exclusive.sum) == exclusive[static_cast<std::size_t>(p)]);
      }
    }
    RC_ASSERT(of_modules == total);
  }));
}

TEST_CASE("what time lines tell is a metric of any context, sampled there or not") {
  CHECK(rc::check([] {
    RandomTree tree;
    Shape& shape = tree.shape;
    const measurement::ThreadProfile thread = random_thread(shape);
    shape.columns.traced = {"late-sender", "delay-cost-short"};
    merge::TraceValues traced{.names = shape.columns.traced, .contexts = {}, .values = {}};
    std::vector<std::uint64_t> inclusive(shape.contexts.size(), 0);
    for (ContextId x = 0; x < shape.contexts.size(); ++x) {
      const auto ns = *rc::gen::inRange<std::uint64_t>(0, 3);
      if (ns == 0) continue;
      traced.contexts.push_back(x);
      traced.values.push_back({.thread = 0, .context = x, .metric = 1, .value = ns});
      traced.values.push_back({.thread = 1, .context = x, .metric = 0, .value = 7});
      for (const ContextId y : path_of(shape, x)) inclusive[y] += ns;
    }
    std::ranges::sort(traced.values);
    std::vector<std::uint8_t> valued(shape.contexts.size());
    for (ContextId x = 0; x < valued.size(); ++x) valued[x] = thread.cell[x] != cct::kNoNode ? 1 : 0;
    const merge::Plan plan(shape, valued, traced.contexts);
    merge::ThreadAccumulation accumulation(shape, plan, no_transfers, 1, &traced);
    accumulation.begin_process({});
    std::vector<cct::NodeId> same(shape.contexts.size());
    std::iota(same.begin(), same.end(), cct::NodeId{0});
    accumulation.add(thread, same, 0, 0);
    const std::size_t column = shape.columns.first_traced() + 1, metrics = shape.columns.metrics();
    database::TileRows rows(shape.contexts.size(), metrics);
    accumulation.list_exclusive(rows);
    std::uint64_t total = 0;
    for (const database::Value& value : exclusive_of(rows)) {
      RC_ASSERT(value.metric != column - 1);  // of the other thread
      if (value.metric == column) total += value.value;
    }
    RC_ASSERT(total == inclusive[0]);
    rows.arrange();
    accumulation.add_tile(rows);
    for (ContextId x = 0; x < shape.contexts.size(); ++x) {
      const auto& sums = accumulation.roles()[0].inclusive;
      RC_ASSERT(static_cast<std::uint64_t>(sums[plan.group_of[x] * metrics + column].sum) == inclusive[x]);
    }
  }));
}

TEST_CASE("contexts that are equal in every thread are accumulated once") {
  // root -> call -> procedure -> call -> procedure -> two statements; a third below the first procedure.
  Shape shape;
  shape.flat.push_back({});
  shape.contexts = {{},
                    {.parent = 0, .kind = ContextKind::call},
                    {.parent = 1, .kind = ContextKind::procedure},
                    {.parent = 2, .kind = ContextKind::call},
                    {.parent = 3, .kind = ContextKind::procedure},
                    {.parent = 4, .kind = ContextKind::statement},
                    {.parent = 4, .kind = ContextKind::statement},
                    {.parent = 2, .kind = ContextKind::statement}};
  shape.own = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<std::uint8_t> valued{0, 0, 0, 0, 0, 1, 1, 1};
  const merge::Plan plan(shape, valued);
  CHECK(plan.group_of == std::vector<std::uint32_t>{0, 1, 1, 2, 2, 3, 4, 5});
  CHECK(plan.group_parent == std::vector<std::uint32_t>{kNone, 0, 1, 2, 2, 1});
  CHECK(plan.slots == std::vector<ContextId>{0, 5, 6, 7});
  // The outer procedure's own values are its one statement's; the inner one has two.
  CHECK(plan.exclusive_group[2] == plan.group_of[7]);
  CHECK(plan.exclusive_group[4] == kNone);
  CHECK(plan.exclusive_row[4] != kNone);
  CHECK(plan.exclusive_group[6] == plan.group_of[6]);
  // A context with values of its own is like no other, however few children it has.
  CHECK(merge::Plan(shape, std::vector<std::uint8_t>{0, 1, 0, 0, 0, 1, 1, 1}).group_of ==
        std::vector<std::uint32_t>{0, 1, 2, 3, 3, 4, 5, 6});
}

TEST_CASE("summaries observe every thread once") {
  CHECK(rc::check([] {
    const RandomTree tree;
    const Shape& shape = tree.shape;
    std::vector<measurement::ThreadProfile> threads;
    for (int t = 0; t < 3; ++t) threads.push_back(random_thread(shape));
    const Accumulated got = accumulate(shape, threads);
    metrics::Accumulator expected;
    for (const measurement::ThreadProfile& thread : threads) {
      const std::uint64_t total = naive_flat_inclusive(shape, thread, 0);
      if (total != 0) expected.accumulate(total);
    }
    RC_ASSERT(got.context(0).inclusive == expected);
    RC_ASSERT(got.flat(0).inclusive == expected);
  }));
}

TEST_CASE("more threads than are summed at once, of two roles, are each observed where they belong") {
  constexpr std::uint32_t kThreads = 1100;  // two full chunks and a part of one
  const auto times = [](std::uint32_t t) { return 1 + t % 7; };
  CHECK(rc::check([&] {
    const RandomTree tree;
    const Shape& shape = tree.shape;
    const std::vector<measurement::ThreadProfile> alike = {random_thread(shape), random_thread(shape)};
    std::vector<std::uint8_t> valued(shape.contexts.size());
    for (ContextId x = 0; x < valued.size(); ++x)
      valued[x] = alike[0].cell[x] != cct::kNoNode || alike[1].cell[x] != cct::kNoNode ? 1 : 0;
    const merge::Plan plan(shape, valued);
    merge::ThreadAccumulation accumulation(shape, plan, no_transfers, 2);
    accumulation.begin_process({});
    std::vector<cct::NodeId> same(shape.contexts.size());
    std::iota(same.begin(), same.end(), cct::NodeId{0});
    database::TileRows rows(shape.contexts.size(), shape.columns.metrics());
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      measurement::ThreadProfile thread = alike[t % 2];
      for (measurement::Cell& cell : thread.cells) cell.time_ns *= times(t);
      accumulation.add(thread, same, t, t % 3 == 0 ? 1 : 0);
      accumulation.list_exclusive(rows);
    }
    rows.arrange();
    accumulation.add_tile(rows);
    std::vector<std::vector<std::uint64_t>> inclusive(2, std::vector<std::uint64_t>(shape.contexts.size()));
    for (std::size_t kind = 0; kind < 2; ++kind) {
      for (ContextId x = 0; x < shape.contexts.size(); ++x)
        for (const ContextId y : path_of(shape, x)) inclusive[kind][y] += time_at(alike[kind], x);
    }
    const std::uint64_t flat[] = {naive_flat_inclusive(shape, alike[0], 0),
                                  naive_flat_inclusive(shape, alike[1], 0)};
    const std::size_t metrics = shape.columns.metrics();
    for (const std::uint32_t role : {0U, 1U}) {
      const merge::RoleSums& sums = accumulation.roles()[role];
      std::vector<metrics::Accumulator> expected(shape.contexts.size());
      metrics::Accumulator expected_flat;
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        if ((t % 3 == 0 ? 1U : 0U) != role) continue;
        for (ContextId x = 0; x < expected.size(); ++x) {
          const std::uint64_t time = inclusive[t % 2][x] * times(t);
          if (time != 0) expected[x].accumulate(time);
        }
        if (flat[t % 2] != 0) expected_flat.accumulate(flat[t % 2] * times(t));
      }
      for (ContextId x = 0; x < expected.size(); ++x)
        RC_ASSERT(sums.inclusive[plan.group_of[x] * metrics + Columns::kRealtime] == expected[x]);
      const auto& all = plan.flat_leaf[0] != 0 ? sums.flat_exclusive : sums.flat_inclusive;
      RC_ASSERT(all[Columns::kRealtime] == expected_flat);
    }
  }));
}

TEST_CASE("waits are reported location by location, with the idleness of each") {
  Shape shape;
  shape.flat.push_back({});
  shape.contexts = {
      {},
      {.parent = 0, .kind = ContextKind::procedure, .wait = measurement::WaitKind::mpi},
      {.parent = 1, .kind = ContextKind::statement, .wait = measurement::WaitKind::mpi, .idle_by_name = 1},
      {.parent = 0, .kind = ContextKind::statement, .wait = measurement::WaitKind::lock, .idle_by_name = 1}};
  shape.own = {0, 1, 2, 3};
  const std::vector<cct::NodeId> same = {0, 1, 2, 3};
  measurement::ThreadProfile thread;
  thread.nodes.assign(4, {.frame = {}, .parent = 0});
  thread.nodes[0].parent = cct::kNoNode;
  thread.nodes[2].parent = 1;
  thread.cell = {cct::kNoNode, cct::kNoNode, 0, 1};
  thread.cells.resize(2);
  thread.epochs.push_back({.node = 2, .kind = measurement::EpochKind::fence, .count = 1});
  thread.epochs.push_back({.node = 2, .kind = measurement::EpochKind::waiting_call, .count = 1});
  const merge::Plan plan(shape, std::vector<std::uint8_t>{0, 0, 1, 1});
  merge::ThreadAccumulation accumulation(shape, plan, no_transfers, 1);
  accumulation.begin_process({});
  database::TileRows rows(shape.contexts.size(), shape.columns.metrics());
  constexpr std::uint32_t kTiles = 2, kThreads = 3;
  for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      thread.cells[0].time_ns = 10 * (t + 1);
      thread.cells[1].time_ns = t == 1 ? 0 : 100;
      accumulation.add(thread, same, tile * kThreads + t, 0);
      accumulation.list_exclusive(rows);
    }
    rows.arrange();
    accumulation.add_tile(rows);
    rows.clear();
  }
  std::vector<std::pair<std::uint32_t, std::uint64_t>> reported;
  for (const blame::EpochRow& row : accumulation.run().epochs)
    reported.emplace_back(row.location, row.idle_ns);
  using Told = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  CHECK(reported ==
        Told{{0, 10}, {0, 100}, {1, 20}, {2, 30}, {2, 100}, {3, 10}, {3, 100}, {4, 20}, {5, 30}, {5, 100}});
}

TEST_CASE("idleness: marks decide where a process has them, names elsewhere") {
  Shape shape;
  shape.flat.push_back({});
  shape.contexts = {
      {},
      {.parent = 0, .kind = ContextKind::statement, .wait = measurement::WaitKind::mpi, .idle_by_name = 1},
      {.parent = 0, .kind = ContextKind::statement, .wait = measurement::WaitKind::mpi, .never_idle = 1},
      {.parent = 0, .kind = ContextKind::statement},
      {.parent = 0, .kind = ContextKind::statement, .wait = measurement::WaitKind::lock, .idle_by_name = 1}};
  shape.own = {0, 1, 2, 3, 4};
  const std::vector<cct::NodeId> same = {0, 1, 2, 3, 4};
  measurement::Measurement file;
  measurement::ThreadProfile thread;
  thread.nodes.assign(5, {.frame = {}, .parent = 0});
  thread.nodes[0].parent = cct::kNoNode;
  thread.cell = {cct::kNoNode, 0, 1, 2, 3};
  thread.cells.resize(4);
  for (measurement::Cell& cell : thread.cells) cell.time_ns = 100;
  const auto idle = [&] {
    file.threads = {thread};
    const merge::Plan plan(shape, std::vector<std::uint8_t>(5, 1));
    merge::ThreadAccumulation accumulation(shape, plan, no_transfers, 1);
    accumulation.begin_process(file);
    accumulation.add(thread, same, 0, 0);
    std::map<ContextId, std::uint64_t> values;
    std::uint64_t communication = 0;
    database::TileRows rows(shape.contexts.size(), shape.columns.metrics());
    accumulation.list_exclusive(rows);
    for (const database::Value& value : exclusive_of(rows)) {
      if (value.metric == Columns::kIdleness) values[value.index] = value.value;
      if (value.metric == Columns::kCommunication) communication += value.value;
    }
    values[0] = communication;
    return std::pair(values, accumulation.run().lone_waits.size());
  };
  using Values = std::map<ContextId, std::uint64_t>;
  CHECK(idle() == std::pair(Values{{0, 100}, {1, 100}, {4, 100}}, std::size_t{0}));
  thread.cells[0].marked_ns = 30;
  thread.cells[0].mark = measurement::WaitKind::mpi;
  CHECK(idle() == std::pair(Values{{0, 170}, {1, 30}, {4, 100}}, std::size_t{0}));
  shape.contexts[1].unmarked = 1;  // of a call that nobody marks
  CHECK(idle().first[1] == 100);
  shape.contexts[1].unmarked = 0;
  thread.cells[1].marked_ns = 100;  // below code that moves data: never idle
  thread.cells[1].mark = measurement::WaitKind::mpi;
  thread.cells[2].marked_ns = 40;  // outside every frame that a rule knows
  thread.cells[2].mark = measurement::WaitKind::mpi;
  CHECK(idle() == std::pair(Values{{0, 170}, {1, 30}, {3, 40}, {4, 100}}, std::size_t{1}));
  // Locks are marked where a call of them is seen: what waits by its name does so beside them.
  thread.cells[3].marked_ns = 20;
  thread.cells[3].mark = measurement::WaitKind::lock;
  CHECK(idle().first[4] == 100);
  shape.contexts[4].idle_by_name = 0;
  CHECK(idle().first[4] == 20);
}

TEST_CASE("time in calls of input and output is a metric of its own, waiting in them included") {
  Shape shape;
  shape.flat.push_back({});
  shape.contexts = {{},
                    {.parent = 0, .kind = ContextKind::statement},
                    {.parent = 0, .kind = ContextKind::statement, .io = 1},
                    {.parent = 0,
                     .kind = ContextKind::statement,
                     .wait = measurement::WaitKind::mpi,
                     .idle_by_name = 1,
                     .io = 1}};
  shape.columns.with_io = true;
  shape.columns.threaded = true;  // its columns come after
  shape.own = {0, 1, 2, 3};
  const std::vector<cct::NodeId> same = {0, 1, 2, 3};
  measurement::Measurement file;
  measurement::ThreadProfile thread;
  thread.nodes.assign(4, {.frame = {}, .parent = 0});
  thread.nodes[0].parent = cct::kNoNode;
  thread.cell = {cct::kNoNode, 0, 1, 2};
  thread.cells.resize(3);
  for (std::size_t i = 0; i < 3; ++i) thread.cells[i].time_ns = 100 * (i + 1);
  file.threads = {thread};
  const merge::Plan plan(shape, std::vector<std::uint8_t>(4, 1));
  merge::ThreadAccumulation accumulation(shape, plan, no_transfers, 1);
  accumulation.begin_process(file);
  accumulation.add(thread, same, 0, 0);
  database::TileRows rows(shape.contexts.size(), shape.columns.metrics());
  accumulation.list_exclusive(rows);
  std::map<ContextId, std::uint64_t> io, idle;
  for (const database::Value& value : exclusive_of(rows)) {
    if (value.metric == shape.columns.io()) io[value.index] = value.value;
    if (value.metric == Columns::kIdleness) idle[value.index] = value.value;
    CHECK(value.metric <= shape.columns.io());
  }
  CHECK(io == std::map<ContextId, std::uint64_t>{{2, 200}, {3, 300}});
  CHECK(idle == std::map<ContextId, std::uint64_t>{{3, 300}});
}

}  // namespace values_test
