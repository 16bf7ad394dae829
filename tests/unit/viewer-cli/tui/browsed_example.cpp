#include "browsed_example.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace culprit::viewer::tui::testing {
namespace {

using namespace culprit::database;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint32_t kIterations = 24;

/// The main thread of a rank.
std::uint32_t location_of(const Experiment& experiment, std::int32_t rank) {
  const auto found =
      std::find_if(experiment.locations.begin(), experiment.locations.end(),
                   [&](const Location& each) { return each.rank == rank && each.thread == 0; });
  return static_cast<std::uint32_t>(found - experiment.locations.begin());
}

Variation iterations(ContextId around, ContextId spmv) {
  Variation variation;
  variation.marked = true;
  variation.context = around;
  variation.median_ns = 600 * kMs;
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    Variation::Row row{.rank = rank, .sos_ns = {}};
    for (std::uint32_t iteration = 0; iteration < kIterations; ++iteration) {
      std::uint64_t ns = 590 * kMs + (static_cast<std::uint64_t>(rank) * 7 + iteration * 5) % 20 * kMs;
      if (rank == 3 || rank == 7) ns += 180 * kMs;
      if (rank == 5 && iteration == 11) ns = 1'900 * kMs;
      row.sos_ns.push_back(ns);
    }
    variation.rows.push_back(std::move(row));
  }
  variation.outliers = {{.rank = 5, .segment = 11, .sos_ns = 1'900 * kMs, .context = spmv}};
  return variation;
}

/// 20 s in 40 bins: ranks that wait in MPI_Allreduce do so in the second half of each second.
TimeMap waiting_over_time(ContextId spmv, ContextId allreduce) {
  constexpr std::uint32_t kBins = 40;
  TimeMap map{.begin_ns = 0, .bin_ns = 500 * kMs, .bins = kBins, .rows = {}};
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    const bool works = rank == 3 || rank == 7;
    TimeMap::Row row;
    row.rank = rank;
    TimeMap::Series waits{WaitPattern::wait_at_nxn, {}};
    for (std::uint32_t bin = 0; bin < kBins; ++bin) {
      const bool waiting = !works && bin % 2 == 1;
      row.calls_ns.push_back((waiting ? 400 : 10) * kMs);
      row.contexts.push_back(waiting ? allreduce : spmv);
      const std::uint32_t first = bin * kIterations / kBins;
      const std::uint32_t end = ((bin + 1) * kIterations + kBins - 1) / kBins;
      row.iterations.push_back({.first = first, .count = end - first});
      if (waiting) waits.cells.push_back({bin, (rank == 5 && bin == 21 ? 100 : 350) * kMs});
    }
    if (!works) row.waits.push_back(std::move(waits));
    // Rank 3 in the first half, rank 7 in the second.
    for (std::uint32_t bin = 0; bin < kBins; ++bin) {
      if (rank == (bin < kBins / 2 ? 3 : 7)) row.critical.push_back({bin, 500 * kMs});
    }
    map.rows.push_back(std::move(row));
  }
  return map;
}

/// Eight ranks reduce 8 bytes 24 000 times, and each sends 1 MB a thousand times to the next.
Communication traffic(ContextId allreduce, ContextId waitall, std::uint32_t busiest) {
  constexpr std::uint64_t kReduced = 192'000, kSent = 8'000, kMegabyte = 1'000'000;
  Communication communication;
  communication.calls = {{.context = allreduce,
                          .threads = 8,
                          .busiest = busiest,
                          .calls = kReduced,
                          .ns = 25'300 * kMs,
                          .busiest_ns = 4'200 * kMs,
                          .longest_ns = 1'310 * kMs,
                          .messages = kReduced,
                          .message_bytes = 8 * kReduced,
                          .smallest = 8,
                          .largest = 8,
                          .sent_bytes = 8 * kReduced,
                          .received_bytes = 8 * kReduced},
                         {.context = waitall,
                          .threads = 8,
                          .busiest = 0,
                          .calls = kSent,
                          .ns = 800 * kMs,
                          .busiest_ns = 100 * kMs,
                          .longest_ns = 2 * kMs,
                          .messages = kSent,
                          .message_bytes = kSent * kMegabyte,
                          .smallest = kMegabyte,
                          .largest = kMegabyte,
                          .sent_bytes = 0,
                          .received_bytes = kSent * kMegabyte}};
  for (std::int32_t rank = 0; rank < 8; ++rank)
    communication.partners.push_back({.communicator = 1,
                                      .members = 8,
                                      .from = rank,
                                      .to = (rank + 1) % 8,
                                      .messages = kSent / 8,
                                      .bytes = kSent / 8 * kMegabyte});
  return communication;
}

}  // namespace

ContextId context_named(const Experiment& experiment, const std::string& name) {
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    if (experiment.strings[experiment.contexts[context].name].starts_with(name)) return context;
  }
  throw std::logic_error("no context is called " + name);
}

ContextId loop_at(const Experiment& experiment, std::uint32_t line) {
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    const Context& self = experiment.contexts[context];
    if (self.kind == ContextKind::loop && self.line == line) return context;
  }
  throw std::logic_error("no loop at line " + std::to_string(line));
}

Example make_browsed_example() {
  Example example = make_example();
  Experiment& e = example.experiment;
  const ContextId spmv = loop_at(e, 88);
  const ContextId allreduce = context_named(e, "MPI_Allreduce");
  const std::uint32_t slow = location_of(e, 3);
  e.waits.clear();
  for (const std::int32_t rank : {0, 1, 2, 4, 5, 6}) {
    e.waits.push_back({.pattern = WaitPattern::wait_at_nxn,
                       .location = location_of(e, rank),
                       .context = allreduce,
                       .cause_location = slow,
                       .cause_context = spmv,
                       .exact = true,
                       .ns = 4'200 * kMs - static_cast<std::uint64_t>(rank) * kMs,
                       .count = kIterations});
  }
  TraceAnalyses& trace = e.trace;
  trace = {};
  trace.traced = 8;
  trace.parallel = 0.81;
  trace.load_balance = 0.84;
  trace.communication = 0.96;
  trace.serialization = 0.98;
  trace.transfer = 0.98;
  trace.run_ns = 20'000 * kMs;
  trace.causes = {{slow, {spmv, false}, 20'000 * kMs, 1'500 * kMs},
                  {location_of(e, 7), {spmv, false}, 3'000 * kMs, 0}};
  trace.unattributed_ns = 600 * kMs;
  trace.critical_end_ns = 20'000 * kMs;
  trace.critical_calls_ns = 900 * kMs;
  trace.critical = {{{spmv, false}, 14'000 * kMs, 4'000 * kMs, {{slow, 14'000 * kMs}}}};
  trace.hotspots = {{slow, spmv, location_of(e, 0), allreduce, 4'100 * kMs}};
  trace.variations = {iterations(loop_at(e, 140), spmv)};
  trace.time_map = waiting_over_time(spmv, allreduce);
  e.communication = traffic(allreduce, context_named(e, "MPI_Waitall"), slow);
  return example;
}

Example make_mended_example() {
  Example example = make_browsed_example();
  Experiment& e = example.experiment;
  e.run.run_id = "0123456789abcdef";
  e.run.duration_ns = e.run.duration_ns / 10 * 8;
  const ContextId allreduce = context_named(e, "MPI_Allreduce");
  constexpr std::uint64_t kLeft = 5;  // a fifth
  for (Summary& summary : e.context_summaries) {
    const auto at = std::find_if(summary.entries.begin(), summary.entries.end(),
                                 [&](const SummaryEntry& entry) { return entry.scope == allreduce; });
    if (at == summary.entries.end()) continue;
    const auto saved = at->inclusive.sum - at->inclusive.sum / kLeft;
    for (SummaryEntry& entry : summary.entries) {
      const bool around = entry.scope < allreduce && e.contexts[entry.scope].end > allreduce;
      const bool inside = entry.scope >= allreduce && entry.scope < e.contexts[allreduce].end;
      if (around) entry.inclusive.sum -= saved;
      if (inside) entry.inclusive.sum = entry.inclusive.sum / kLeft;
    }
  }
  return example;
}

namespace {

/// Ranks up to `ranks`, each with what rank 1 has.
void add_ranks(Example& example, std::int32_t ranks) {
  Experiment& e = example.experiment;
  const std::uint32_t model = location_of(e, 1);
  for (std::int32_t rank = 8; rank < ranks; ++rank) {
    const auto location = static_cast<std::uint32_t>(e.locations.size());
    e.locations.push_back(e.locations[model]);
    e.locations.back().rank = rank;
    example.profiles.push_back(example.profiles[model]);
    for (std::vector<Value>& values : example.contexts) {
      std::vector<Value> copies;
      for (const Value& value : values) {
        if (value.index == model) copies.push_back({location, value.metric, value.value});
      }
      values.insert(values.end(), copies.begin(), copies.end());
    }
    ++e.roles[e.locations[model].role].threads;
  }
  e.run.ranks = e.run.world_size = static_cast<std::uint32_t>(ranks);
}

}  // namespace

void spread_over_mesh(Example& example, std::int32_t side) {
  constexpr std::int32_t kSlow = 17;
  const std::int32_t ranks = side * side;
  add_ranks(example, ranks);
  Experiment& e = example.experiment;
  const ContextId spmv = loop_at(e, 88), allreduce = context_named(e, "MPI_Allreduce");
  const ContextId waitall = context_named(e, "MPI_Waitall");
  std::vector<std::uint32_t> locations;
  locations.reserve(static_cast<std::size_t>(ranks));
  for (std::int32_t rank = 0; rank < ranks; ++rank) locations.push_back(location_of(e, rank));
  const auto wait = [&](WaitPattern pattern, std::int32_t rank, ContextId where, std::int32_t cause,
                        std::uint64_t ns, std::uint64_t direct) {
    e.waits.push_back({pattern, locations.at(static_cast<std::size_t>(rank)), where,
                       locations.at(static_cast<std::size_t>(cause)), spmv, true, ns, kIterations, direct});
  };
  e.waits.clear();
  e.trace.causes = {
      {locations[kSlow], {spmv, false}, static_cast<std::uint64_t>(ranks) * 2'900 * kMs, 400 * kMs}};
  e.trace.hotspots.clear();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const auto varied = static_cast<std::uint64_t>(rank) * 7919 % 101;
    for (const std::int32_t step : {-side, -1, 1, side}) {
      const bool neighbour =
          rank + step >= 0 && rank + step < ranks && (step * step > 1 || (rank + step) / side == rank / side);
      if (neighbour)
        wait(WaitPattern::late_sender, rank, waitall, rank + step, (20 + varied) * kMs,
             (20 + varied) * kMs / 4);
    }
    if (rank % 2 == 0) wait(WaitPattern::late_receiver, rank, waitall, rank + 1, 30 * kMs, 30 * kMs);
    if (varied % 3 == 0)
      wait(WaitPattern::wait_at_barrier, rank, allreduce, rank == 0 ? 1 : 0, 40 * kMs, 10 * kMs);
    e.trace.causes.push_back(
        {locations.at(static_cast<std::size_t>(rank)), {waitall, false}, varied * kMs, kMs});
    if (rank == kSlow) continue;
    wait(WaitPattern::wait_at_nxn, rank, allreduce, kSlow, 2'900 * kMs + varied * kMs, 2'900 * kMs);
    e.trace.hotspots.push_back(
        {locations[kSlow], spmv, locations.at(static_cast<std::size_t>(rank)), allreduce, 2'800 * kMs});
  }
  std::stable_sort(e.waits.begin(), e.waits.end(), [](const Wait& a, const Wait& b) { return a.ns > b.ns; });
  std::ranges::stable_sort(e.trace.causes, std::ranges::greater(), &Cause::cost_ns);
}

}  // namespace culprit::viewer::tui::testing
