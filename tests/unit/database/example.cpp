#include "example.hpp"

#include "database/writer.hpp"
#include "exchange/threads.hpp"

#include <array>
#include <map>

namespace culprit::database {
namespace {

using Amounts = std::array<std::uint64_t, kExampleMetrics>;
using Dense = std::vector<Amounts>;  ///< by scope

/// What one statement's samples mean for the metrics.
Amounts amounts_of(const Context& context, const Spent& spent) {
  Amounts amounts{};
  amounts[kRealtime] = spent.samples * kExamplePeriod;
  amounts[kCpu] = static_cast<std::uint64_t>(static_cast<double>(amounts[kRealtime]) * spent.on_cpu);
  amounts[kSamples] = spent.samples;
  if ((context.flags & kInWait) == 0) return amounts;
  amounts[(context.flags & kMoves) != 0 ? kCommunication : kIdleness] = amounts[kRealtime];
  return amounts;
}

void add(Amounts& to, const Amounts& from) {
  for (std::uint32_t m = 0; m < kExampleMetrics; ++m) to[m] += from[m];
}

/// Inclusive and exclusive amounts of one thread in both trees (docs/algorithms.md 3 and 4).
class ThreadAmounts {
 public:
  ThreadAmounts(const Experiment& e, const std::vector<ExampleTree::Leaf>& leaves, std::uint32_t location)
      : e_(e),
        context_inclusive(e.contexts.size()),
        context_exclusive(e.contexts.size()),
        flat_inclusive(e.flat.size()),
        flat_exclusive(e.flat.size()) {
    for (const ExampleTree::Leaf& leaf : leaves) {
      const Amounts amounts = amounts_of(e.contexts[leaf.context], leaf.spent(location));
      add_inclusive(leaf.context, amounts);
      add_exclusive(leaf.context, amounts);
    }
  }

 private:
  const Experiment& e_;

 public:
  Dense context_inclusive, context_exclusive, flat_inclusive, flat_exclusive;

 private:
  void add_inclusive(ContextId leaf, const Amounts& amounts) {
    std::vector<bool> counted(e_.flat.size());
    for (ContextId x = leaf; x != kNone; x = e_.contexts[x].parent) {
      add(context_inclusive[x], amounts);
      for (FlatId f = e_.contexts[x].flat; f != kNone; f = e_.flat[f].parent) {
        if (!counted[f]) add(flat_inclusive[f], amounts);
        counted[f] = true;
      }
    }
  }

  void add_exclusive_to(ContextId x, const Amounts& amounts) {
    add(context_exclusive[x], amounts);
    if (e_.contexts[x].flat != kNone) add(flat_exclusive[e_.contexts[x].flat], amounts);
  }

  /// To the statement, to the loop or inlined procedure around it, and to its procedure, file and module.
  void add_exclusive(ContextId leaf, const Amounts& amounts) {
    add_exclusive_to(leaf, amounts);
    ContextId x = e_.contexts[leaf].parent;
    if (e_.contexts[x].kind != ContextKind::procedure) add_exclusive_to(x, amounts);
    while (e_.contexts[x].kind != ContextKind::procedure) x = e_.contexts[x].parent;
    add_exclusive_to(x, amounts);
    for (FlatId f = e_.flat[e_.contexts[x].flat].parent; f != 0; f = e_.flat[f].parent)
      add(flat_exclusive[f], amounts);
  }
};

/// Summaries by (role, metric) and scope while they grow.
using Tables = std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, SummaryEntry>>;

void accumulate(Tables& tables, std::uint32_t role, const Dense& inclusive, const Dense& exclusive) {
  for (std::uint32_t scope = 0; scope < inclusive.size(); ++scope) {
    for (std::uint32_t m = 0; m < kExampleMetrics; ++m) {
      if (inclusive[scope][m] == 0) continue;
      SummaryEntry& entry = tables[{role, m}][scope];
      entry.scope = scope;
      entry.inclusive.accumulate(inclusive[scope][m]);
      if (exclusive[scope][m] != 0) entry.exclusive.accumulate(exclusive[scope][m]);
    }
  }
}

std::vector<Summary> summaries_of(const Tables& tables) {
  std::vector<Summary> summaries;
  for (const auto& [key, entries] : tables) {
    Summary& summary = summaries.emplace_back(Summary{key.first, key.second, {}});
    for (const auto& [scope, entry] : entries) summary.entries.push_back(entry);
  }
  return summaries;
}

void append(std::vector<Value>& list, std::uint32_t index, const Amounts& amounts) {
  for (std::uint32_t m = 0; m < kExampleMetrics; ++m) {
    if (amounts[m] != 0) list.push_back({index, m, amounts[m]});
  }
}

void fill_values(Example& example, const std::vector<ExampleTree::Leaf>& leaves) {
  Experiment& e = example.experiment;
  Tables contexts, flat;
  example.profiles.resize(e.locations.size());
  example.contexts.resize(e.contexts.size());
  for (std::uint32_t l = 0; l < e.locations.size(); ++l) {
    const ThreadAmounts thread(e, leaves, l);
    for (ContextId x = 0; x < e.contexts.size(); ++x) {
      append(example.contexts[x], l, thread.context_inclusive[x]);
      if (e.contexts[x].kind == ContextKind::statement)
        append(example.profiles[l], x, thread.context_exclusive[x]);
    }
    accumulate(contexts, e.locations[l].role, thread.context_inclusive, thread.context_exclusive);
    accumulate(flat, e.locations[l].role, thread.flat_inclusive, thread.flat_exclusive);
  }
  e.context_summaries = summaries_of(contexts);
  e.flat_summaries = summaries_of(flat);
}

void fill_metrics(Experiment& e) {
  e.metrics = {
      {"REALTIME", "ns", "Wall-clock time, sampled.", false},
      {"CPU", "ns", "CPU time that passed between samples.", false},
      {"samples", "count", "Samples taken.", false},
      {"idleness", "ns", "Time inside blocking communication or another wait, moving no data.", false},
      {"communication", "ns", "Time inside communication that is not idle.", false},
      {"imbalance", "ns", "Idleness shifted to the deepest balanced scope above it.", true},
  };
}

void fill_run(Experiment& e) {
  e.run = {.run_id = "5eed5eed5eed5eed",
           .mpi = "Open MPI 4.1.4",
           .program = "/home/user/solver/build/solver",
           .directory = "/home/user/solver",
           .command = {"./build/solver", "--size", "256"},
           .start_realtime_ns = 1'763'694'000'000'000'000,
           .duration_ns = 23'007'000'000,
           .ranks = 8,
           .world_size = 8,
           .period_ns = kExamplePeriod,
           .hosts = {"node1", "node2"},
           .events = {"REALTIME@5000"},
           .notes = {"/opt/vendor/libblob.so has no unwind information"},
           .names = {{77, "row"}}};
  e.roles = {{"main", 8}, {"OpenMP worker", 4}};
  std::uint64_t samples = 0, partial = 0;
  for (const Summary& summary : e.context_summaries) {
    if (summary.metric != kSamples) continue;
    for (const SummaryEntry& entry : summary.entries) {
      if (entry.scope == 0) samples += static_cast<std::uint64_t>(entry.inclusive.sum);
      if (e.contexts[entry.scope].kind == ContextKind::partial)
        partial += static_cast<std::uint64_t>(entry.inclusive.sum);
    }
  }
  e.quality = {.samples = samples,
               .partial = partial,
               .partial_ns = partial * kExamplePeriod,
               .unresolved = partial,
               .dropped = 3,
               .handler_ns = samples * 4000,
               .bridged = 7,
               .slowed = 2,
               .most_halvings = 3,
               .epochs_lost = 4,
               .unclassified_wait_ns = 5,
               .excess_wait_ns = 6,
               .clock_violations_left = 7};
  e.modules = {
      {"/home/user/solver/build/solver", "0123456789abcdef0123456789abcdef01234567", 36'000, {}},
      {"/opt/vendor/libblob.so", "", partial, {"no symbols"}, 7, partial, true},
      {"/usr/lib/x86_64-linux-gnu/libmpi.so.40", "00112233445566778899aabbccddeeff00112233", 9'000, {}}};
}

void fill_sources(Experiment& e) {
  for (StringId id = 0; id < e.strings.size(); ++id) {
    if (!e.strings[id].ends_with("/spmv.cpp")) continue;
    std::string text;
    for (int line = 1; line <= 120; ++line) {
      text += line == 88   ? "  for (std::size_t row = 0; row < matrix.rows(); ++row) {\n"
              : line == 90 ? "    y[row] = row_product(matrix[row], x);\n"
                           : "  // line " + std::to_string(line) + "\n";
    }
    e.sources.push_back({id, text});
  }
}

}  // namespace

Example make_example() {
  Example example;
  Experiment& e = example.experiment;
  e.locations = example_locations();
  ExampleTree tree;
  Workload load(e.locations);
  describe_example(tree, load);
  tree.finish(e);
  fill_metrics(e);
  fill_values(example, tree.leaves());
  fill_run(e);
  fill_sources(e);
  fill_blame(example);
  e.waits = {{.pattern = WaitPattern::wait_at_nxn,
              .location = 3,
              .context = 2,
              .cause_location = 1,
              .cause_context = 1,
              .exact = true,
              .ns = 300'000'000,
              .count = 12,
              .direct_ns = 200'000'000}};
  e.trace = example_trace(static_cast<std::uint32_t>(e.locations.size()),
                          static_cast<std::uint32_t>(e.contexts.size()));
  e.machine.threads = example_machine().threads;
  return example;
}

Machine example_machine() {
  Machine machine;
  for (const std::uint32_t location : {0U, 1U}) {
    ScheduledThread& thread = machine.threads.emplace_back();
    thread = {.location = location,
              .online = 2,
              .allowed = 1,
              .voluntary = 5,
              .involuntary = 6,
              .ran_ns = 700,
              .runnable_ns = 800 + location,
              .lived_ns = 2'000,
              .sampled_ns = 1'900,
              .idle_ns = 300,
              .cpu_ns = 690,
              .work_ns = 1'600,
              .work_cpu_ns = 650,
              .instructions = 1'000'000,
              .span_ns = 2'100,
              .quota = 1'500,
              .throttled_ns = 40,
              .host_idle_ns = 10};
    for (const int processor : {0, 2, 4, 9})
      thread.processors.add(static_cast<std::uint16_t>(processor + static_cast<int>(location)));
  }
  machine.suspects = {
      {.kind = MachineKind::quota, .quota = 1'500, .lost_ns = 500, .explains_ns = 250, .locations = {0, 1}},
      {.kind = MachineKind::oversubscribed,
       .by_others = true,
       .processors = 2,
       .wanted = 2'100,
       .others = 1'000,
       .free = 30,
       .lost_ns = 400,
       .explains_ns = 200,
       .locations = {1}}};
  return machine;
}

TraceAnalyses example_trace(std::uint32_t locations, std::uint32_t contexts) {
  const std::uint32_t last = contexts - 1;
  return {
      .traced = locations,
      .stopped = 1,
      .unmatched = {1, 2, 3, 4, 5, 6, 7, 8, 9},
      .unmatched_ranks = {0, 2},
      .parallel = 0.5,
      .load_balance = 0.625,
      .communication = 0.8,
      .serialization = 0.9,
      .transfer = 0.95,
      .run_ns = 23'000'000'000,
      .causes = {{1, {last, false}, 400, 100'000'000'000, 0}, {0, {0, true}, 3, 0}},
      .unattributed_ns = 17,
      .direct_ns = 18,
      .indirect_ns = 19,
      .critical_begin_ns = 1'000,
      .critical_end_ns = 1'300,
      .critical_calls_ns = 100,
      .critical = {{{last, false}, 200, 150, {{0, 70}, {1, 130}}}, {{1, true}, 100, 0, {{1, 100}}}},
      .hotspots = {{1, 1, 0, last, 77}},
      .variations = {{true,
                      false,
                      1,
                      500,
                      {{0, {500, 70'000}, {{0, 1}, {9, 1'000'000}}, {{1, last}, {kNone, kNone}}, {60, 700}},
                       {1, {}}},
                      {{0, 1, 70'000, kNone, 0}},
                      {600, 90'000}},
                     {false,
                      true,
                      last,
                      400,
                      {{0, {}}, {1, {300}, {{UINT64_MAX}, {5}}, {{last}, {0}}, {UINT64_MAX}}},
                      {{1, 0, 300, last, kNone}},
                      {},
                      true}},
      .metrics = {0, 1},
      .time_map = {
          .begin_ns = 50,
          .bin_ns = 100,
          .bins = 3,
          .rows = {{0, {100, 0, 70'000}, {last, last, kNone}, {}, {{0, 1}, {0, 2}, {1, 1}}},
                   {1,
                    {0, 0, 0},
                    {1, 0, 1},
                    {{WaitPattern::late_sender, {{0, 7}, {2, 300}}}, {WaitPattern::wait_at_nxn, {{1, 1}}}},
                    {{}, {}, {5, 3}}}}}};
}

std::vector<ContextId> parents_of(const Experiment& experiment) {
  std::vector<ContextId> parents;
  for (const Context& context : experiment.contexts) parents.push_back(context.parent);
  return parents;
}

std::vector<Tile> tiles_of(const Example& example, std::uint32_t per_tile) {
  const std::size_t metrics = example.experiment.metrics.size();
  TileBuilder builder(parents_of(example.experiment),
                      tile_scopes(example.experiment.contexts, example.experiment.flat), metrics);
  std::vector<Tile> tiles;
  for (const std::vector<Value>& profile : example.profiles) {
    builder.collected().add_location();
    std::map<ContextId, std::vector<std::uint64_t>> rows;
    for (const Value& value : profile) {
      std::vector<std::uint64_t>& row = rows[value.index];
      row.resize(metrics);
      row[value.metric] = value.value;
    }
    for (const auto& [context, row] : rows) builder.collected().add_row(context, row);
    if (builder.collected().locations() == per_tile) tiles.push_back(builder.take());
  }
  if (builder.collected().locations() > 0) tiles.push_back(builder.take());
  return tiles;
}

void write_example(const Example& example, const std::filesystem::path& path) {
  exchange::run_on_threads(1, [&](exchange::Communicator& comm) {
    Writer writer(comm, path);
    constexpr std::uint32_t kPerTile = 16;
    const std::vector<Tile> tiles = tiles_of(example, kPerTile);
    writer.place_tiles(tiles);
    writer.add_experiment(example.experiment);
    writer.finish();
  });
}

}  // namespace culprit::database
