// Properties of the views on random trees with direct and mutual recursion, against figures formed by the
// definitions.
#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/flat.hpp"
#include "views/sample_experiment.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::views::testing::random_trees_test {
namespace {

using database::ContextId;
using database::ContextKind;
using database::kNone;

constexpr std::uint32_t kTime = 0;
constexpr std::uint32_t kIdleness = 1;

int below(int bound) {
  return *rc::gen::inRange(0, bound);
}

void grow(SampleExperiment& sample, ContextId parent, int depth, std::uint32_t line_base);

/// Statements, and some call sites, get values in some threads.
void set_values(SampleExperiment& sample, ContextId leaf) {
  for (std::uint32_t location = 0; location < sample.build().locations.size(); ++location) {
    const auto time = static_cast<std::uint64_t>(below(5));
    sample.set(leaf, kTime, location, time);
    sample.set(leaf, kIdleness, location, time / 2);
  }
}

/// Two procedures' names out of four make recursion frequent.
void grow(SampleExperiment& sample, ContextId parent, int depth, std::uint32_t line_base) {
  const int children = below(4);
  for (int child = 0; child < children; ++child) {
    const auto line = line_base + static_cast<std::uint32_t>(child);
    const int choice = depth > 7 ? 0 : below(6);
    if (choice <= 1) {
      set_values(sample, sample.add(parent, {ContextKind::statement, "", "a.c", line}));
    } else if (choice == 2) {
      grow(sample, sample.add(parent, {ContextKind::loop, "", "a.c", line}), depth + 1, line * 4);
    } else if (choice == 3) {
      grow(sample, sample.add(parent, {ContextKind::inlined, "inl", "a.c", 9}), depth + 1, line * 4);
    } else {
      const ContextId call = sample.add(parent, {ContextKind::call, "", "a.c", line});
      if (below(2) == 0) set_values(sample, call);
      const int name = below(4);
      const ContextId callee =
          sample.add(call, {ContextKind::procedure, std::string(1, static_cast<char>('a' + name)),
                            name % 2 == 0 ? "a.c" : "b.c", static_cast<std::uint32_t>(name)});
      grow(sample, callee, depth + 1, 100);
    }
  }
}

SampleExperiment random_sample() {
  SampleExperiment sample({"REALTIME", "idleness"});
  const std::uint32_t main = sample.add_role("main");
  const std::uint32_t worker = sample.add_role("worker");
  sample.add_location(0, 0, main);
  sample.add_location(0, 1, worker);
  sample.add_location(1, 0, main);
  sample.add_location(2, 0, main);
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId first = sample.add(program, {ContextKind::procedure, "a", "a.c", 0});
  grow(sample, first, 0, 1);
  set_values(sample, sample.add(first, {ContextKind::statement, "", "a.c", 1000}));
  sample.finish();
  // Blame on random contexts; the views only distribute it.
  for (std::uint32_t role = 0; role < 2; ++role) {
    for (ContextId context = 0; context < sample.build().contexts.size(); ++context) {
      if (below(5) == 0) {
        const auto sum = static_cast<std::uint64_t>(1 + below(9));
        sample.build().blame[role].push_back({context, sum, sum / 2, sum * 2});
      }
    }
  }
  return sample;
}

std::string name_of(const SampleExperiment& sample, ContextId context) {
  return std::string(sample.experiment().strings[sample.experiment().contexts[context].name]);
}

/// Σ over threads and statements that `counts` picks.
template <class Counts>
double reference(const SampleExperiment& sample, std::uint32_t metric, Counts counts) {
  std::uint64_t sum = 0;
  for (ContextId context = 0; context < sample.experiment().contexts.size(); ++context) {
    if (!counts(context)) continue;
    for (std::uint32_t location = 0; location < sample.experiment().locations.size(); ++location) {
      sum += sample.own(context, metric, location);
    }
  }
  return static_cast<double>(sum);
}

bool called_from(const SampleExperiment& sample, ContextId statement, const std::string& procedure) {
  for (ContextId at = statement; at != kNone; at = sample.experiment().contexts[at].parent) {
    if (sample.experiment().contexts[at].kind == ContextKind::procedure && name_of(sample, at) == procedure)
      return true;
  }
  return false;
}

Column raw_column(const SampleExperiment& sample, const std::string& text) {
  Column column = find_column(sample.experiment(), text);
  column.divisor = 1;  // the samples are small integers: compare them exactly
  return column;
}

}  // namespace

TEST_CASE("Callers: a root counts its outermost instances inclusively and all of them exclusively") {
  CHECK(rc::check([] {
    const SampleExperiment sample = random_sample();
    const Figures figures(sample);
    Callers callers(figures);
    double own_sum = 0;
    for (const std::string event : {"REALTIME", "idleness"}) {
      const Column inclusive = raw_column(sample, event + " (I)");
      const Column exclusive = raw_column(sample, event + " (E)");
      for (const NodeId root : callers.roots()) {
        const std::string name(callers.frame(root).name);
        const double value = callers.value(root, inclusive);
        RC_ASSERT(value == reference(sample, inclusive.metric,
                                     [&](ContextId context) { return called_from(sample, context, name); }));
        RC_ASSERT(value <= total(figures, inclusive));
        const double own = callers.value(root, exclusive);
        RC_ASSERT(own == reference(sample, exclusive.metric, [&](ContextId context) {
                    const ContextId procedure = sample.procedure(context);
                    return procedure != kNone && name_of(sample, procedure) == name;
                  }));
        if (event == "REALTIME") own_sum += own;
      }
    }
    RC_ASSERT(own_sum == total(figures, raw_column(sample, "REALTIME")));
  }));
}

TEST_CASE("Callers: a node's figures are those of its callers plus what has no caller") {
  CHECK(rc::check([] {
    const SampleExperiment sample = random_sample();
    const Figures figures(sample);
    Callers callers(figures);
    const Column inclusive = raw_column(sample, "REALTIME (I)");
    const Column exclusive = raw_column(sample, "REALTIME (E)");
    const Column blame = raw_column(sample, "imbalance (E)");
    std::vector<NodeId> open = callers.roots();
    for (int steps = 0; !open.empty() && steps < 200; ++steps) {
      const NodeId node = open.back();
      open.pop_back();
      const std::vector<NodeId> children = callers.children(node);
      for (const Column& column : {inclusive, exclusive, blame}) {
        double sum = 0;
        for (const NodeId child : children) sum += callers.value(child, column);
        const double own = callers.value(node, column);
        // Only the first procedure has no caller.
        const bool outermost = callers.path(node).back().name == "a";
        RC_ASSERT(sum <= own);
        RC_ASSERT((outermost || sum == own));
      }
      open.insert(open.end(), children.begin(), children.end());
    }
  }));
}

TEST_CASE("Callers: every statistic is the one over the threads' own sums") {
  CHECK(rc::check([] {
    const SampleExperiment sample = random_sample();
    const Figures figures(sample);
    Callers callers(figures);
    for (const NodeId root : callers.roots()) {
      const std::string name(callers.frame(root).name);
      metrics::Accumulator expected;
      for (std::uint32_t location = 0; location < sample.experiment().locations.size(); ++location) {
        if (sample.experiment().locations[location].role != 0) continue;
        std::uint64_t sum = 0;
        for (ContextId context = 0; context < sample.experiment().contexts.size(); ++context) {
          if (called_from(sample, context, name)) sum += sample.own(context, kTime, location);
        }
        if (sum != 0) expected.accumulate(sum);
      }
      const metrics::Statistics all = metrics::finalize(expected, sample.experiment().roles[0].threads);
      RC_ASSERT(callers.value(root, raw_column(sample, "REALTIME:max")) == all.max);
      RC_ASSERT(callers.value(root, raw_column(sample, "REALTIME:min")) == all.min);
      RC_ASSERT(callers.value(root, raw_column(sample, "REALTIME:cv")) == all.cv);
      RC_ASSERT(std::abs(callers.value(root, raw_column(sample, "REALTIME:mean")) - all.mean) < 1e-9);
    }
  }));
}

TEST_CASE("Ids of callers lead back to their nodes in another view object") {
  CHECK(rc::check([] {
    const SampleExperiment sample = random_sample();
    const Figures figures(sample);
    Callers first(figures);
    Callers second(figures);
    for (const NodeId root : first.roots()) {
      for (const NodeId child : first.children(root)) {
        const std::optional<NodeId> found = second.find(first.id(child));
        RC_ASSERT(found.has_value());
        RC_ASSERT(second.id(*found) == first.id(child));
        RC_ASSERT(second.value(*found, raw_column(sample, "REALTIME")) ==
                  first.value(child, raw_column(sample, "REALTIME")));
      }
    }
  }));
}

TEST_CASE("A selection of all locations gives the summaries that merging gives") {
  CHECK(rc::check([] {
    const SampleExperiment sample = random_sample();
    const database::Contents& experiment = sample.experiment();
    const Figures all(sample);
    const std::vector<std::uint32_t> metrics = {kTime, kIdleness};
    const Figures selected(sample, {0, 1, 2, 3}, metrics);
    for (std::uint32_t role = 0; role < 2; ++role) {
      for (const std::uint32_t metric : metrics) {
        for (const bool inclusive : {false, true}) {
          for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
            RC_ASSERT(all.context(role, metric, context, inclusive) ==
                      selected.context(role, metric, context, inclusive));
          }
          for (database::FlatId scope = 0; scope < experiment.flat.size(); ++scope) {
            RC_ASSERT(all.flat(role, metric, scope, inclusive) ==
                      selected.flat(role, metric, scope, inclusive));
          }
        }
      }
    }
  }));
}

TEST_CASE("Per-thread values of contexts and flat scopes add up to their summaries") {
  CHECK(rc::check([] {
    const SampleExperiment sample = random_sample();
    const Figures figures(sample);
    CallingContext tree(figures);
    Flat flat(figures);
    for (const bool inclusive : {false, true}) {
      const Column column = raw_column(sample, inclusive ? "REALTIME (I)" : "REALTIME (E)");
      for (ContextId context = 0; context < sample.experiment().contexts.size(); ++context) {
        RC_ASSERT(figures.of_threads(column, tree.per_thread(context, kTime, inclusive)) ==
                  tree.value(context, column));
      }
      for (database::FlatId scope = 0; scope < sample.experiment().flat.size(); ++scope) {
        RC_ASSERT(figures.of_threads(column, flat.per_thread(scope, kTime, inclusive)) ==
                  flat.value(scope, column));
      }
    }
  }));
}

TEST_CASE("Flat: modules add up to the time in procedures, and blame to the blame in procedures") {
  CHECK(rc::check([] {
    const SampleExperiment sample = random_sample();
    const Figures figures(sample);
    Flat flat(figures);
    double own = 0;
    double blame = 0;
    for (const NodeId root : flat.roots()) {
      own += flat.value(root, raw_column(sample, "REALTIME (E)"));
      blame += flat.value(root, raw_column(sample, "imbalance (E)"));
    }
    RC_ASSERT(own == total(figures, raw_column(sample, "REALTIME")));
    double expected = 0;
    const auto by_role = sample.experiment().blame.read();
    for (const std::vector<database::BlameRow>& rows : by_role) {
      for (const database::BlameRow& row : rows) {
        if (sample.procedure(row.context) != kNone) expected += static_cast<double>(row.sum);
      }
    }
    RC_ASSERT(blame == expected);
  }));
}

TEST_CASE("Blame below a scope is that of its outermost instances, in callers and flat alike") {
  CHECK(rc::check([] {
    const SampleExperiment sample = random_sample();
    const Figures figures(sample);
    Callers callers(figures);
    Flat flat(figures);
    const Column column = raw_column(sample, "imbalance (I)");
    std::map<std::string, double> expected;
    const auto by_role = sample.experiment().blame.read();
    for (const std::vector<database::BlameRow>& rows : by_role) {
      for (const database::BlameRow& row : rows) {
        for (const std::string name : {"a", "b", "c", "d"}) {
          if (called_from(sample, row.context, name)) expected[name] += static_cast<double>(row.sum);
        }
      }
    }
    for (const NodeId root : callers.roots()) {
      RC_ASSERT(callers.value(root, column) == expected[std::string(callers.frame(root).name)]);
    }
    for (database::FlatId scope = 0; scope < sample.experiment().flat.size(); ++scope) {
      if (flat.frame(scope).kind != ContextKind::procedure) continue;
      RC_ASSERT(flat.value(scope, column) == expected[std::string(flat.frame(scope).name)]);
    }
    RC_ASSERT(total(figures, column) == figures.at_context(column, 0));
  }));
}

}  // namespace culprit::views::testing::random_trees_test
