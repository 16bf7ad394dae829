#include "merge/merge.hpp"

#include "blame/one_sided.hpp"
#include "cct/message.hpp"
#include "database/writer.hpp"
#include "merge/attribute.hpp"
#include "merge/describe.hpp"
#include "merge/diagnose.hpp"
#include "merge/divide.hpp"
#include "merge/idle_rules.hpp"
#include "merge/phase.hpp"
#include "merge/recover_structure.hpp"
#include "merge/roles.hpp"
#include "merge/shape.hpp"
#include "merge/sources.hpp"
#include "merge/summarize.hpp"
#include "merge/together.hpp"
#include "merge/unite.hpp"
#include "merge/values.hpp"
#include "merge/waiting.hpp"

#include <algorithm>
#include <chrono>

namespace culprit::merge {
namespace {

/// Refuses early what would fail late, and loads the rules.
IdleRules check_request(exchange::Communicator& comm, const Options& options) {
  IdleRules rules = IdleRules::built_in();
  together(comm, [&] {
    if (comm.rank() == 0 && !options.dry_run && !options.force && std::filesystem::exists(options.output)) {
      throw std::runtime_error("writing: " + options.output.string() +
                               ": already exists (use --force or -o)");
    }
    if (!options.idle_rules.empty()) rules.add_file(options.idle_rules);
  });
  return rules;
}

/// Collective: forgets the files whose trees turned out to be damaged, and checks that something is left.
void leave_out_damaged(exchange::Communicator& comm, Division& division, const United& united,
                       const Options& options) {
  const auto damaged = [](const std::vector<std::string>& list, const std::string& path) {
    return std::ranges::find(list, path) != list.end();
  };
  std::erase_if(division.mine, [&](const std::string& path) { return damaged(united.damaged, path); });
  const std::vector<std::string> all = gather_lines(comm, united.damaged);
  const std::vector<std::string> problems = gather_lines(comm, united.problems);
  division.problems.insert(division.problems.end(), problems.begin(), problems.end());
  division.unreadable += problems.size();
  std::erase_if(division.processes,
                [&](const ProcessSummary& process) { return damaged(all, process.path); });
  together(comm, [&] {
    if (comm.rank() != 0) return;
    if (division.processes.empty()) {
      throw std::runtime_error("reading: " + options.measurement.string() +
                               ": no readable measurement (first: " + division.problems.at(0) + ")");
    }
    const bool sampled = std::ranges::any_of(united.shared.tree.nodes(), [](const cct::Node& node) {
      return node.frame.kind == cct::FrameKind::sample || node.frame.kind == cct::FrameKind::call;
    });
    if (!sampled) {
      throw std::runtime_error(
          "reading: " + options.measurement.string() +
          ": no samples were recorded (did the program end at once? it must run for more than a "
          "few sampling periods of 5 ms)");
    }
  });
}

std::set<std::string> executables_of(const std::vector<ProcessSummary>& processes) {
  std::set<std::string> paths;
  for (const ProcessSummary& process : processes) paths.insert(process.executable.path);
  paths.erase("");
  return paths;
}

/// Rank 0: contexts where marked waiting was found outside every known frontier frame become frontiers
/// themselves.
void mark_lone_waits(exchange::Communicator& comm, const ThreadAccumulation& accumulation,
                     std::vector<database::Context>& contexts) {
  cct::MessageWriter message;
  std::vector<std::uint32_t> flat;
  for (const auto& [context, kind] : accumulation.lone_waits()) {
    flat.insert(flat.end(), {context, static_cast<std::uint32_t>(kind)});
  }
  message.values(flat);
  for (const exchange::Bytes& bytes : comm.gather(message.take(), 0)) {
    const auto pairs = cct::MessageReader(bytes).values<std::uint32_t>();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      database::Context& context = contexts.at(pairs[i]);
      context.flags |= database::kFrontier | database::kInWait;
      context.wait_kind = std::max(context.wait_kind, static_cast<std::uint8_t>(pairs[i + 1]));
    }
  }
}

/// Collective: sets the waits of rank 0's experiment.
void find_waits(exchange::Communicator& comm, const ThreadAccumulation& accumulation,
                database::Experiment& experiment) {
  cct::MessageWriter message;
  message.values(accumulation.epochs());
  const std::vector<exchange::Bytes> all = comm.gather(message.take(), 0);
  together(comm, [&] {
    if (comm.rank() != 0) return;
    std::vector<blame::EpochRow> rows;
    for (const exchange::Bytes& bytes : all) {
      const auto part = cct::MessageReader(bytes).values<blame::EpochRow>();
      rows.insert(rows.end(), part.begin(), part.end());
    }
    for (blame::EpochRow& row : rows) row.rank = experiment.locations.at(row.location).rank;
    experiment.waits = blame::approximate_waits(rows);
  });
}

void write_database(exchange::Communicator& comm, const Options& options,
                    const ThreadAccumulation& accumulation, const Shape& shape,
                    const database::Experiment& experiment) {
  std::vector<database::ContextId> parents;
  for (const Shape::Scope& scope : shape.contexts) parents.push_back(scope.parent);
  database::Writer writer(comm, options.output);
  writer.add_profiles(parents, shape.columns.metrics(), accumulation.profiles());
  writer.add_experiment(experiment);
  writer.finish();
}

/// Collective: every rank gets rank 0's.
void broadcast(exchange::Communicator& comm, Outcome& outcome) {
  exchange::Bytes bytes;
  if (comm.rank() == 0) {
    cct::MessageWriter message;
    for (const std::uint64_t value : {outcome.profiles, outcome.contexts, outcome.unreadable})
      message.value(value);
    message.value(outcome.quality);
    message.text(outcome.some_ranks);
    message.value(std::uint64_t{outcome.problems.size()});
    for (const std::string& problem : outcome.problems) message.text(problem);
    bytes = message.take();
  }
  comm.broadcast(bytes, 0);
  if (comm.rank() == 0) return;
  cct::MessageReader message(bytes);
  for (std::uint64_t* value : {&outcome.profiles, &outcome.contexts, &outcome.unreadable}) {
    *value = message.value<std::uint64_t>();
  }
  outcome.quality = message.value<database::Quality>();
  outcome.some_ranks = message.text();
  for (auto left = message.value<std::uint64_t>(); left != 0; --left)
    outcome.problems.push_back(message.text());
}

/// Rank 0: everything that the database says beside values, summaries and blame.
database::Experiment describe(const Division& division, const Options& options,
                              const RecoveredStructure& structure, const cct::SharedTree& shared,
                              const Roles& roles, const Columns& columns, Attribution&& attribution,
                              Summaries& summaries) {
  database::Experiment experiment;
  experiment.run = describe_run(division.processes, options.blame);
  experiment.quality =
      judge_quality(division.processes, attribution, summaries.contexts, division.unreadable);
  experiment.metrics = describe_metrics(division.processes, columns);
  experiment.roles = roles.roles;
  experiment.locations = describe_locations(division.processes, roles);
  experiment.strings = std::move(attribution.strings);
  experiment.contexts = std::move(attribution.contexts);
  experiment.flat = std::move(attribution.flat);
  experiment.context_summaries = std::move(summaries.contexts);
  experiment.flat_summaries = std::move(summaries.flat);
  experiment.modules = describe_modules(division.processes, shared, structure, experiment);
  if (options.sources) experiment.sources = copy_sources(experiment.contexts, experiment.strings);
  return experiment;
}

Outcome judge(const Division& division, const Options& options, const database::Experiment& experiment) {
  Outcome outcome{.profiles = experiment.locations.size(),
                  .contexts = experiment.contexts.size(),
                  .unreadable = division.unreadable,
                  .quality = experiment.quality,
                  .problems = division.problems,
                  .some_ranks = describe_ranks(division.processes)};
  std::uint64_t total_ns = 0;
  for (const database::Summary& summary : experiment.context_summaries) {
    if (summary.metric != Columns::kRealtime || summary.entries.empty()) continue;
    total_ns += static_cast<std::uint64_t>(summary.entries[0].inclusive.sum);
  }
  const auto more =
      list_problems(division.processes, outcome.quality, total_ns, options.measurement.string());
  outcome.problems.insert(outcome.problems.end(), more.begin(), more.end());
  return outcome;
}

}  // namespace

Outcome merge(exchange::Communicator& comm, const Options& options, const Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const bool root = comm.rank() == 0;
  const IdleRules rules = check_request(comm, options);

  // First pass: which contexts are there? Structure only.
  Division division = divide(comm, options.measurement);
  Phase reading(comm, progress, "reading", division.mine.size());
  const United united = unite(comm, division.mine, [&] { reading.step(); });
  leave_out_damaged(comm, division, united, options);

  // What code are they? On rank 0, which then tells the others as much as they need.
  Phase recovering(comm, progress, "structure", united.shared.modules.size());
  const RecoveredStructure structure =
      recover_structure(comm, united.shared, start_routines(division.processes, united.shared.modules),
                        options.loops, [&] { recovering.step(); });
  Attribution attribution;
  Roles roles;
  Shape shape;
  together(comm, [&] {
    if (!root) return;
    attribution = attribute(united.shared, structure, rules, options.replace_prefix);
    const auto waiting = find_waiting(attribution, rules, executables_of(division.processes));
    shape = shape_of(attribution, waiting, {.events = further_events(division.processes)});
    roles = find_roles(division.processes, united.shared.modules, structure);
  });
  broadcast(comm, shape);

  // Second pass: values, per thread, then reduced over all.
  const Share share = deal_roles(comm, division, roles);
  const auto ranges = context_ranges(shape.contexts.size(), comm.size());
  ThreadAccumulation accumulation(shape, share.role_count);
  ContextValues inclusive(ranges);
  Phase accumulating(comm, progress, "values", share.files.size());
  together(comm, [&] {
    accumulate_values(share, united.shared, accumulation, inclusive, [&] { accumulating.step(); });
  });
  const auto by_context = inclusive.exchange(comm);
  Summaries summaries = summarize(comm, shape, accumulation.roles());
  mark_lone_waits(comm, accumulation, attribution.contexts);

  // Who is to blame, and the database.
  Phase writing(comm, progress, "writing", 1);
  database::Experiment experiment;
  together(comm, [&] {
    if (root) {
      experiment = describe(division, options, structure, united.shared, roles, shape.columns,
                            std::move(attribution), summaries);
    }
  });
  find_waits(comm, accumulation, experiment);
  diagnose(comm, experiment, summaries, ranges, by_context, options.blame);
  if (!options.dry_run) write_database(comm, options, accumulation, shape, experiment);
  Outcome outcome;
  if (root) outcome = judge(division, options, experiment);
  broadcast(comm, outcome);
  writing.step();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

}  // namespace culprit::merge
