// large_database OUT.db CONTEXTS LOCATIONS [traced]: writes a database of that size, made from a model: a
// core tree that all ranks share, and for every thousand ranks a part of their own; of both, each rank has
// some contexts. Summaries are formed from the values, so that what the viewer shows is consistent. `traced`:
// also what time lines of all ranks would tell, and source texts.

#include "database/writer.hpp"
#include "exchange/threads.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace culprit::database;
using culprit::metrics::Accumulator;

namespace {

constexpr std::uint32_t kCore = 4000;           // contexts that all ranks share
constexpr std::uint32_t kRanksPerGroup = 1000;  // that share the other contexts
constexpr std::uint32_t kFiles = 50, kProcedures = 5000, kLines = 4;
constexpr std::uint32_t kDepth = 60;
constexpr std::uint32_t kMetrics = 5;                    // REALTIME, idleness, communication, CPU, samples
constexpr std::uint32_t kCoreRows = 6, kGroupRows = 40;  // statements per one that has samples

// Of traced runs.
constexpr std::uint32_t kIterations = 1000;
constexpr std::uint64_t kIterationNs = 50'000'000;
constexpr std::uint32_t kCellsOfMap = 1'000'000, kLeastBins = 64, kMostBins = 1000;  // as prof-mpi has them
constexpr std::uint32_t kWaitsPerRank = 20, kCausesPerRank = 10, kOutliers = 200;

/// A small generator, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t operator()() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return state_ >> 33U;
  }

 private:
  std::uint64_t state_;
};

std::string numbered(const char* what, std::uint32_t number) {
  const std::string digits = std::to_string(number);
  return what + std::string(6 - digits.size(), '0') + digits;
}

class Model {
 public:
  Model(std::uint32_t contexts, std::uint32_t locations)
      : groups_((locations + kRanksPerGroup - 1) / kRanksPerGroup) {
    make_strings();
    make_flat();
    make_contexts(contexts);
    make_locations(locations);
    find_flat_targets();
    context_sums_.resize(e_.contexts.size() * kMetrics);
    context_own_.resize(e_.contexts.size() * kMetrics);
    flat_sums_.resize(e_.flat.size() * kMetrics);
    flat_own_.resize(e_.flat.size() * kMetrics);
    inclusive_.resize(e_.contexts.size() * kMetrics);
    flat_inclusive_.resize(e_.flat.size() * kMetrics);
    flat_exclusive_.resize(e_.flat.size() * kMetrics);
    seen_.resize(e_.contexts.size());
  }

  /// Before take().
  void add_trace() {
    make_iterations();
    make_time_map();
    make_waits();
    make_sources();
  }

  [[nodiscard]] TileScopes scopes() const { return tile_scopes(e_.contexts, e_.flat); }
  [[nodiscard]] std::vector<ContextId> parents() const {
    std::vector<ContextId> parents;
    for (const Context& context : e_.contexts) parents.push_back(context.parent);
    return parents;
  }

  void add_location(std::uint32_t location, TileBuilder& tile) {
    tile.collected().add_location();
    Random random(location);
    const std::uint32_t group = location / kRanksPerGroup;
    touched_.clear();
    for (const ContextId x : statements_[0]) {
      if (random() % kCoreRows == 0) add_row(x, random, tile);
    }
    for (const ContextId x : statements_[1 + group]) {
      if (random() % kGroupRows == 0) add_row(x, random, tile);
    }
    accumulate();
  }

  /// When all locations were added.
  Experiment take() {
    make_summaries(context_sums_, context_own_, e_.contexts.size(), e_.context_summaries);
    make_summaries(flat_sums_, flat_own_, e_.flat.size(), e_.flat_summaries);
    e_.balance.assign(1, std::vector<Balance>(e_.contexts.size()));
    e_.blame.resize(1);
    for (ContextId x = 1; x < e_.contexts.size(); x += 97) {
      if (e_.contexts[x].kind == ContextKind::procedure)
        e_.blame[0].push_back({x, 1'000'000 + x, 1000, 2'000'000});
    }
    return std::move(e_);
  }

 private:
  void make_strings() {
    e_.strings.emplace_back();
    e_.strings.emplace_back("/app");
    for (std::uint32_t f = 0; f < kFiles; ++f) e_.strings.push_back(numbered("/src/file", f));
    for (std::uint32_t p = 0; p < kProcedures; ++p) e_.strings.push_back(numbered("procedure", p));
    e_.run.program = "/app";
    e_.run.events = {"REALTIME@5000"};
    e_.run.period_ns = 5'000'000;
    e_.metrics = {{"REALTIME", "ns", "", false},
                  {"idleness", "ns", "", false},
                  {"communication", "ns", "", false},
                  {"CPU", "ns", "", false},
                  {"samples", "count", "", false}};
  }

  static StringId file_of(std::uint32_t procedure) { return 2 + procedure / (kProcedures / kFiles); }
  static StringId name_of(std::uint32_t procedure) { return 2 + kFiles + procedure; }
  static FlatId flat_of(std::uint32_t procedure) {
    return 2 + procedure / (kProcedures / kFiles) + 1 + procedure * (1 + kLines);
  }

  void make_flat() {
    const auto size = static_cast<std::uint32_t>(2 + kFiles + kProcedures * (1 + kLines));
    e_.flat.push_back({kNone, size, 0, 0, 0, 0, ContextKind::root});
    e_.flat.push_back({0, size, 1, 0, 0, 1, ContextKind::module});
    for (std::uint32_t p = 0; p < kProcedures; ++p) {
      const auto next = [&] { return static_cast<FlatId>(e_.flat.size()); };
      if (p % (kProcedures / kFiles) == 0) {
        e_.flat.push_back({1, next() + 1 + (kProcedures / kFiles) * (1 + kLines), file_of(p), file_of(p), 0,
                           1, ContextKind::file});
        file_ = next() - 1;
      }
      const FlatId self = next();
      e_.flat.push_back(
          {file_, self + 1 + kLines, name_of(p), file_of(p), 10 * p + 1, 1, ContextKind::procedure});
      for (std::uint32_t line = 0; line < kLines; ++line) {
        e_.flat.push_back({self, next() + 1, 0, file_of(p), 10 * p + 2 + line, 1, ContextKind::statement});
      }
    }
  }

  ContextId add(ContextId parent, std::uint32_t procedure, ContextKind kind, std::uint32_t line,
                FlatId flat) {
    const bool named = kind == ContextKind::procedure;
    const bool placed = kind != ContextKind::root;
    e_.contexts.push_back({parent, 0, named ? name_of(procedure) : 0, placed ? file_of(procedure) : 0, line,
                           placed ? StringId{1} : 0, flat, kind, 0, 0});
    return static_cast<ContextId>(e_.contexts.size() - 1);
  }

  /// A procedure with some statements and calls, until `end` contexts are there or it is deep enough.
  void add_procedure(ContextId parent, std::uint32_t depth, std::uint32_t end, Random& random,
                     std::size_t part) {
    const auto p = static_cast<std::uint32_t>(random() % kProcedures);
    const ContextId self = add(parent, p, ContextKind::procedure, 10 * p + 1, flat_of(p));
    const auto statements = 1 + random() % kLines;
    for (std::uint32_t line = 0; line < statements; ++line) {
      statements_[part].push_back(
          add(self, p, ContextKind::statement, 10 * p + 2 + line, flat_of(p) + 1 + line));
    }
    const auto calls = depth < 4 ? 6 : random() % 4;
    for (std::uint32_t c = 0; c < calls && depth < kDepth && e_.contexts.size() < end; ++c) {
      add_procedure(add(self, p, ContextKind::call, 10 * p + 6 + c, kNone), depth + 1, end, random, part);
    }
  }

  void make_contexts(std::uint32_t contexts) {
    statements_.resize(1 + groups_);
    add(kNone, 0, ContextKind::root, 0, kNone);
    add(0, 0, ContextKind::root, 0, kNone);
    const ContextId main = add(1, 0, ContextKind::procedure, 1, flat_of(0));
    for (std::size_t part = 0; part <= groups_; ++part) {
      Random random(77 + part);
      const std::uint64_t more =
          part == 0 ? kCore : std::uint64_t{contexts - std::min(contexts, kCore)} * part / groups_ + kCore;
      const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(more, contexts));
      while (e_.contexts.size() < end)
        add_procedure(add(main, 0, ContextKind::call, 7, kNone), 0, end, random, part);
    }
    for (ContextId x = 0; x < e_.contexts.size(); ++x) e_.contexts[x].end = x + 1;
    for (auto x = static_cast<ContextId>(e_.contexts.size()); x-- > 1;) {
      Context& parent = e_.contexts[e_.contexts[x].parent];
      parent.end = std::max(parent.end, e_.contexts[x].end);
    }
  }

  void make_locations(std::uint32_t locations) {
    constexpr std::uint32_t kRanksPerHost = 128;
    e_.roles = {{"main", locations}};
    e_.run.ranks = e_.run.world_size = locations;
    for (std::uint32_t l = 0; l < locations; ++l) {
      e_.locations.push_back({static_cast<std::int32_t>(l), 0, 0, 1000 + l,
                              numbered("node", l / kRanksPerHost), 0, 60'000'000'000, false});
    }
    for (std::uint32_t h = 0; h <= (locations - 1) / kRanksPerHost; ++h)
      e_.run.hosts.push_back(numbered("node", h));
  }

  /// The flat scopes whose outermost instance each context is.
  void find_flat_targets() {
    std::vector<std::uint32_t> open(e_.flat.size(), 0);
    std::vector<ContextId> path;
    const auto each = [&](ContextId x, auto action) {
      for (FlatId f = e_.contexts[x].flat; f != kNone; f = e_.flat[f].parent) action(f);
    };
    for (ContextId x = 0; x < e_.contexts.size(); ++x) {
      while (!path.empty() && e_.contexts[path.back()].end <= x) {
        each(path.back(), [&](FlatId f) { --open[f]; });
        path.pop_back();
      }
      first_target_.push_back(targets_.size());
      each(x, [&](FlatId f) {
        if (open[f]++ == 0) targets_.push_back(f);
      });
      path.push_back(x);
    }
    first_target_.push_back(targets_.size());
  }

  void add_row(ContextId x, Random& random, TileBuilder& tile) {
    const std::uint64_t samples = 1 + random() % 4 * (random() % 8);
    const std::uint64_t time = samples * 5'000'000 + random() % 400'000;
    const bool waits = x % 7 == 0;
    const std::uint64_t idle = waits ? time / 2 + random() % 1000 : 0;
    const std::uint64_t row[kMetrics] = {time, idle, waits ? time - idle : 0,
                                         waits ? time / 3 + random() % 1000 : time - random() % 20'000,
                                         samples};
    tile.collected().add_row(x, row);
    touch(x);
    const ContextId around = e_.contexts[x].parent;
    const FlatId flat = e_.contexts[x].flat;
    for (std::uint32_t m = 0; m < kMetrics; ++m) {
      inclusive_[std::size_t{x} * kMetrics + m] += row[m];
      if (row[m] == 0) continue;
      context_own_[std::size_t{x} * kMetrics + m].accumulate(row[m]);
      own_of_[m].push_back({around, row[m]});
      for (FlatId f = flat; f != kNone; f = e_.flat[f].parent) {
        if (flat_exclusive_[f * kMetrics + m] == 0) flat_touched_own_.push_back(f * kMetrics + m);
        flat_exclusive_[f * kMetrics + m] += row[m];
      }
    }
  }

  void touch(ContextId x) {
    for (; x != kNone && !seen_[x]; x = e_.contexts[x].parent) {
      seen_[x] = true;
      touched_.push_back(x);
    }
  }

  void accumulate() {
    std::ranges::sort(touched_, std::greater<>());
    for (const ContextId x : touched_) {
      const ContextId parent = e_.contexts[x].parent;
      for (std::uint32_t m = 0; m < kMetrics; ++m) {
        std::uint64_t& value = inclusive_[std::size_t{x} * kMetrics + m];
        if (value == 0) continue;
        context_sums_[std::size_t{x} * kMetrics + m].accumulate(value);
        if (parent != kNone) inclusive_[std::size_t{parent} * kMetrics + m] += value;
        for (std::size_t t = first_target_[x]; t < first_target_[x + 1]; ++t) {
          std::uint64_t& flat = flat_inclusive_[targets_[t] * kMetrics + m];
          if (flat == 0) flat_touched_.push_back(targets_[t] * kMetrics + m);
          flat += value;
        }
        value = 0;
      }
      seen_[x] = false;
    }
    settle(flat_touched_, flat_inclusive_, flat_sums_);
    settle(flat_touched_own_, flat_exclusive_, flat_own_);
    // A procedure's own values: its statements follow each other.
    for (std::uint32_t m = 0; m < kMetrics; ++m) {
      for (std::size_t i = 0; i < own_of_[m].size();) {
        const ContextId procedure = own_of_[m][i].first;
        std::uint64_t sum = 0;
        for (; i < own_of_[m].size() && own_of_[m][i].first == procedure; ++i) sum += own_of_[m][i].second;
        context_own_[std::size_t{procedure} * kMetrics + m].accumulate(sum);
      }
      own_of_[m].clear();
    }
  }

  static void settle(std::vector<std::uint32_t>& touched, std::vector<std::uint64_t>& values,
                     std::vector<Accumulator>& sums) {
    for (const std::uint32_t at : touched) sums[at].accumulate(std::exchange(values[at], 0));
    touched.clear();
  }

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(e_.locations.size()); }
  ContextId any_context(Random& random) const {
    return static_cast<ContextId>(1 + random() % (e_.contexts.size() - 1));
  }

  void make_iterations() {
    TraceAnalyses& trace = e_.trace;
    trace.traced = ranks();
    trace.run_ns = kIterations * kIterationNs;
    trace.parallel = trace.load_balance = trace.communication = trace.serialization = trace.transfer = 0.9;
    Variation& level = trace.variations.emplace_back();
    level.marked = true;
    level.context = 2;
    level.median_ns = kIterationNs;
    Random random(5);
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      Variation::Row& row = level.rows.emplace_back(Variation::Row{static_cast<std::int32_t>(rank), {}});
      for (std::uint32_t i = 0; i < kIterations; ++i)
        row.sos_ns.push_back(kIterationNs - kIterationNs / 10 + random() % (kIterationNs / 5));
    }
    for (std::uint32_t i = 0; i < kOutliers; ++i) {
      const auto rank = static_cast<std::uint32_t>(random() % ranks());
      const auto segment = static_cast<std::uint32_t>(random() % kIterations);
      const std::uint64_t ns = 5 * kIterationNs - i;
      level.rows[rank].sos_ns[segment] = ns;
      level.outliers.push_back({static_cast<std::int32_t>(rank), segment, ns, any_context(random)});
    }
    level.longest_ns.assign(kIterations, 2 * kIterationNs);
  }

  void make_time_map() {
    TimeMap& map = e_.trace.time_map;
    map.bins = std::clamp(kCellsOfMap / ranks(), kLeastBins, kMostBins);
    map.bin_ns = kIterations * kIterationNs / map.bins;
    Random random(6);
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      TimeMap::Row& row = map.rows.emplace_back();
      row.rank = static_cast<std::int32_t>(rank);
      for (const WaitPattern pattern :
           {WaitPattern::late_sender, WaitPattern::wait_at_nxn, WaitPattern::late_broadcast})
        row.waits.push_back({pattern, {}});
      for (std::uint32_t bin = 0; bin < map.bins; ++bin) {
        row.calls_ns.push_back(random() % map.bin_ns);
        row.contexts.push_back(any_context(random));
        row.iterations.push_back({bin * (kIterations / map.bins), kIterations / map.bins});
        const std::uint64_t waited = row.calls_ns.back() / 2;
        if (waited > 0) row.waits[random() % row.waits.size()].cells.push_back({bin, waited});
      }
    }
  }

  /// Waits, what caused them, and the critical path.
  void make_waits() {
    TraceAnalyses& trace = e_.trace;
    Random random(7);
    const auto location = [&] { return static_cast<std::uint32_t>(random() % ranks()); };
    std::uint64_t ns = 1'000'000'000;
    for (std::uint32_t i = 0; i < ranks() * kWaitsPerRank; ++i) {
      e_.waits.push_back({WaitPattern::wait_at_nxn, location(), any_context(random), location(),
                          any_context(random), true, ns, 10});
      ns -= ns / 100'000;
    }
    for (std::uint32_t i = 0; i < ranks() * kCausesPerRank; ++i) {
      trace.causes.push_back({location(), {any_context(random), false}, ns, ns / 3});
      ns -= ns / 100'000;
    }
    trace.critical_end_ns = kIterations * kIterationNs;
    for (std::uint32_t i = 0; i < ranks(); ++i) {
      const std::uint64_t mine = trace.critical_end_ns / ranks();
      trace.critical.push_back({{any_context(random), false}, mine, mine / 4, {{location(), mine}}});
      trace.hotspots.push_back({location(), any_context(random), location(), any_context(random), ns});
    }
  }

  /// As long as the lines that procedures are said to be at.
  void make_sources() {
    constexpr std::uint32_t kEvery = 5;  // files per one with a text: all would be a million lines
    for (std::uint32_t f = 0; f < kFiles; f += kEvery) {
      SourceFile& source = e_.sources.emplace_back(SourceFile{2 + f, {}});
      const std::uint32_t lines = 10 * (f + 1) * (kProcedures / kFiles) + 10;
      for (std::uint32_t line = 1; line <= lines; ++line)
        source.text +=
            "  sum[" + std::to_string(line) + "] += factor * row[" + std::to_string(line % 97) + "];\n";
    }
  }

  static void make_summaries(std::vector<Accumulator>& sums, std::vector<Accumulator>& own,
                             std::size_t scopes, std::vector<Summary>& into) {
    for (std::uint32_t m = 0; m < kMetrics; ++m) {
      Summary& summary = into.emplace_back(Summary{0, m, {}});
      for (std::uint32_t scope = 0; scope < scopes; ++scope) {
        const std::size_t at = std::size_t{scope} * kMetrics + m;
        if (sums[at].observers != 0) summary.entries.push_back({scope, sums[at], own[at]});
      }
    }
    sums = {};
    own = {};
  }

  std::size_t groups_;
  Experiment e_;
  FlatId file_ = 0;
  std::vector<std::vector<ContextId>> statements_;  ///< of the core, then of each group
  std::vector<std::size_t> first_target_;
  std::vector<FlatId> targets_;
  std::vector<Accumulator> context_sums_, context_own_, flat_sums_, flat_own_;
  std::vector<std::uint64_t> inclusive_, flat_inclusive_, flat_exclusive_;  ///< of one location
  std::vector<bool> seen_;
  std::vector<ContextId> touched_;
  std::vector<std::uint32_t> flat_touched_, flat_touched_own_;
  std::vector<std::pair<ContextId, std::uint64_t>> own_of_[kMetrics];
};

void write(const char* path, std::uint32_t contexts, std::uint32_t locations, bool traced) {
  Model model(contexts, locations);
  const std::vector<ContextId> parents = model.parents();
  culprit::exchange::run_on_threads(1, [&](culprit::exchange::Communicator& comm) {
    Writer writer(comm, path);
    TileBuilder builder(parents, model.scopes(), kMetrics);
    const std::uint32_t per_tile = tile_locations(locations, std::uint64_t{locations} * kCore / 4);
    std::uint64_t rows = 0;
    for (std::uint32_t l = 0; l < locations; ++l) {
      model.add_location(l, builder);
      if (builder.collected().locations() < per_tile && l + 1 < locations) continue;
      rows += builder.collected().rows();
      const Tile tile = builder.take();
      writer.place_tiles(std::span(&tile, 1));
      writer.write_placed();
    }
    if (traced) model.add_trace();
    writer.add_experiment(model.take());
    writer.finish();
    std::printf("%u locations, %zu contexts, %llu rows of values\n", locations, parents.size(),
                static_cast<unsigned long long>(rows));
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at) {
    std::uint32_t value = 0;
    const std::string_view text = argv[at];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? value : 0;
  };
  const bool traced = argc == 5 && std::string_view(argv[4]) == "traced";
  if ((argc != 4 && !traced) || number(2) < kCore || number(3) == 0) {
    std::fprintf(stderr, "usage: large_database OUT.db CONTEXTS LOCATIONS [traced] (at least %u contexts)\n",
                 kCore);
    return 2;
  }
  try {
    write(argv[1], number(2), number(3), traced);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "large_database: write: %s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
