// Merges a measurement into a database, collectively over all ranks of the analysis (docs/algorithms.md 16).
// First pass: which processes and which contexts are there, and the structure of the sampled code. Then the
// time lines are analysed, since what they show becomes values of threads. Second pass: values, per thread
// into the database's tiles and summed over the threads of each role. Rank 0 diagnoses and writes the rest.
// If a file is lost meanwhile, all ranks begin again without it, since the means of the other threads depend
// on it. The bytes do not depend on the number of ranks. Costs per phase: docs/scaling.md.
#include "merge/merge.hpp"

#include "cct/message.hpp"
#include "database/writer.hpp"
#include "exchange/message_exchange.hpp"
#include "merge/attribution/roles.hpp"
#include "merge/attribution/sources.hpp"
#include "merge/diagnosis/diagnose.hpp"
#include "merge/diagnosis/summarize.hpp"
#include "merge/first_pass.hpp"
#include "merge/input/collectively.hpp"
#include "merge/input/divide.hpp"
#include "merge/input/lost_files.hpp"
#include "merge/rules/idle_rules.hpp"
#include "merge/timelines/communication.hpp"
#include "merge/timelines/time_line_analyses.hpp"
#include "merge/timelines/time_lines.hpp"
#include "merge/values/describe.hpp"
#include "merge/values/plan.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/survey.hpp"
#include "merge/values/values.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace culprit::merge {
namespace {

/// Refuses early what would fail late, and loads the rules.
IdleRules check_request(exchange::Communicator& comm, const Options& options) {
  IdleRules rules = IdleRules::built_in();
  collectively(comm, [&] {
    if (comm.rank() == 0 && !options.dry_run) check_output(options);
    try {
      if (!options.idle_rules.empty()) rules.add_file(options.idle_rules);
    } catch (const RulesError& refused) {
      throw std::runtime_error(std::string("idle rules: ") + refused.what());
    }
  });
  return rules;
}

/// Collective: ends the tiles; the values in them by thread.
const database::TileValues& end_tiles(database::Writer& writer, const Shape& shape) {
  std::vector<database::ContextId> parents;
  for (const Shape::Scope& scope : shape.contexts) parents.push_back(scope.parent);
  return writer.end_tiles(parents, shape.columns.metrics());
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
    message.value(outcome.private_for_inputs);
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
  outcome.private_for_inputs = message.value<bool>();
  for (auto left = message.value<std::uint64_t>(); left != 0; --left)
    outcome.problems.push_back(message.text());
}

/// Rank 0, which gives up the attribution and the summaries: everything that the database says beside values,
/// summaries, blame and locations.
database::Experiment describe(const Survey& survey, const Options& options, SampledCode& code,
                              Summaries& summaries) {
  Attribution& attribution = code.attribution;
  database::Experiment experiment;
  experiment.run = describe_run(survey.processes, options.blame);
  experiment.quality = judge_quality(survey, attribution, summaries.contexts);
  experiment.metrics = describe_metrics(survey.processes, code.shape.columns);
  experiment.roles = code.roles.roles;
  experiment.strings = std::move(attribution.strings);
  experiment.contexts = std::move(attribution.contexts);
  experiment.flat = std::move(attribution.flat);
  experiment.context_summaries = std::move(summaries.contexts);
  experiment.flat_summaries = std::move(summaries.flat);
  experiment.modules = describe_modules(survey.processes, survey.shared, code.structure, experiment);
  return experiment;
}

Outcome judge(const Survey& survey, const Options& options, const database::Experiment& experiment) {
  Outcome outcome{.profiles = survey.processes.threads(),
                  .contexts = experiment.contexts.size(),
                  .unreadable = survey.unreadable,
                  .quality = experiment.quality,
                  .problems = survey.problems,
                  .vain_rules = {},
                  .unread_modules = {},
                  .some_ranks = describe_ranks(survey.processes)};
  std::uint64_t total_ns = 0;
  for (const database::Summary& summary : experiment.context_summaries) {
    if (summary.metric != Columns::kRealtime || summary.entries.empty()) continue;
    total_ns += static_cast<std::uint64_t>(summary.entries[0].inclusive.sum);
  }
  const auto more = list_problems(survey.processes, outcome.quality, total_ns, options.measurement.string());
  outcome.problems.insert(outcome.problems.end(), more.begin(), more.end());
  return outcome;
}

/// A line for each procedure that the user named in vain.
std::vector<std::string> vain_segments(const Options& options, const Shape& shape,
                                       const TimeLineFindings& traced) {
  std::vector<std::string> lines;
  for (std::uint32_t i = 0; i < options.segments.size(); ++i) {
    if (traced.varied.contains(i)) continue;
    const bool known =
        std::ranges::any_of(shape.segments, [i](const Shape::Chosen& chosen) { return chosen.name == i; });
    const char* const why =
        traced.trace.traced == 0 ? "the run has no time lines (measure with hpcrun-lite --trace)"
        : known ? "no MPI calls below it separate its invocations (mark them with culprit_iteration(n))"
                : "no procedure of that name was sampled (viewer-cli DB view flat lists all)";
    lines.push_back("--segment: " + options.segments[i] + ": " + why);
  }
  return lines;
}

/// Rank 0: copies the sources that the experiment names. Returns who may read all that it was made from.
files::Readership add_sources(const Options& options, const Provenance& provenance, const Survey& survey,
                              database::Experiment& experiment, std::vector<std::string>& problems) {
  files::Readership readership = provenance.readership;
  const std::filesystem::path shared = place_of(options);
  for (const cct::ModuleKey& module : survey.shared.modules.keys())
    readership.restrict_to(module.path, shared);
  if (!options.sources) return readership;
  SourceRights rights{.readers = {}, .shared = shared};
  for (const uid_t owner : provenance.owners) rights.readers.emplace_back(owner);
  CopiedSources sources =
      copy_sources(experiment.contexts, experiment.strings, read_source_for(std::move(rights)));
  experiment.sources = std::move(sources.files);
  readership.restrict_to(sources.readership);
  if (!sources.problem.empty()) problems.push_back(std::move(sources.problem));
  return readership;
}

struct TracedRun {
  TimeLineFindings findings;
  std::vector<std::string> problems;  ///< of this rank's traces, a line each
};

/// Collective: analyses the time lines, where there are any.
TracedRun analyse_traces(exchange::Communicator& comm, const Options& options, const Partition& partition,
                         const database::EachLocation& each_location, const Survey& found,
                         const Shape& shape) {
  std::vector<database::Location> locations;  // these grow with the number of time lines anyway
  collectively(comm, [&] {
    if (comm.rank() != 0 || !partition.traced()) return;
    each_location([&](const database::Location& location) { locations.push_back(location); });
  });
  // Of several processes without MPI nobody knows what they have to do with each other.
  const bool alone = comm.all_max(found.processes.size() == 1 && !found.processes.ranked() ? 1 : 0) != 0;
  TimeLines lines = alone && partition.traced() ? open_thread_lines(partition, found.shared, shape)
                                                : open_time_lines(comm, partition, found.shared, shape);
  TracedRun run;
  run.findings = analyse_time_lines(comm, partition, lines, shape, locations, options);
  check_other_time_lines(partition, lines);
  run.problems = std::move(lines.problems);
  for (const auto& [file, why] : *lines.broken_off)
    run.problems.emplace_back(file).append(": ").append(why).append("; what lies before the damage is used");
  return run;
}

/// Collective: sets on rank 0 what the wrappers counted of MPI calls, and what recording calls took.
void describe_calls(exchange::Communicator& comm, const RunFacts& run, database::Experiment& experiment) {
  experiment.communication.calls = run.calls.gather(comm);
  experiment.communication.partners =
      add_up_partners(exchange::items_at_root(comm, std::span<const waits::PartnerSum>(run.partners)));
  experiment.quality.tracing_ns = comm.all_sum(run.tracing_ns);
}

/// Rank 0: sets what the time lines show, where that is sound.
void adopt(TimeLineFindings&& traced, const Survey& survey, const Options& options,
           database::Experiment& experiment, std::vector<std::string>& problems) {
  if (std::move(traced).adopt_into(experiment, survey.processes.threads())) return;
  problems.push_back(options.measurement.string() +
                     ": the time lines contradict each other; waits, causes, variation and critical path "
                     "from traces are left out (measure again)");
}

/// Leaves out names of what no partner sent in.
void keep_used_names(database::Experiment& experiment) {
  std::set<std::uint64_t> used;
  for (const database::PartnerTraffic& row : experiment.communication.partners) used.insert(row.communicator);
  std::erase_if(experiment.run.names, [&](const auto& name) { return !used.contains(name.first); });
}

/// Collective: what happened, on every rank. `problems`: further ones, of rank 0.
Outcome conclude(exchange::Communicator& comm, const Survey& survey, const Options& options,
                 const database::Experiment& experiment, const std::vector<std::string>& problems,
                 bool private_for_inputs) {
  Outcome outcome;
  collectively(comm, [&] {
    if (comm.rank() == 0) outcome = judge(survey, options, experiment);
  });
  outcome.problems.insert(outcome.problems.end(), problems.begin(), problems.end());
  outcome.private_for_inputs = private_for_inputs;
  broadcast(comm, outcome);
  return outcome;
}

/// What there is to be a value beside what is sampled.
void add_columns(const Survey& survey, const TimeLineFindings& traced, Columns& columns) {
  columns.traced = traced.values.names;
  if (columns.traced.empty() && survey.counts_calls) columns.traced = call_metrics();
  columns.polled = survey.counts_polls;
  columns.with_bytes = survey.counts_bytes && columns.with_io;
}

/// Collective: merges all files but those that are lost. Throws FilesLost where further ones are.
Outcome merge_rest(exchange::Communicator& comm, const Options& options, const IdleRules& rules,
                   const Lost& lost, const Progress& progress) {
  const bool root = comm.rank() == 0;
  // First pass: which processes are there, and which contexts?
  Provenance provenance;
  const Survey found = survey_rest(comm, options, lost, progress, provenance);
  SampledCode code = recover_code(comm, options, rules, found, progress);
  Shape& shape = code.shape;

  // Time lines; what they show are values, too.
  std::optional<database::Writer> writer;
  if (!options.dry_run) writer.emplace(comm, options.output);
  const Partition partition(comm, found.processes, code.roles);
  const database::EachLocation each_location = describe_locations(found.processes, code.roles);
  Phase analysing(comm, progress, "time lines", 1);
  TracedRun traced = analyse_traces(comm, options, partition, each_location, found, shape);
  analysing.step();
  add_columns(found, traced.findings, shape.columns);
  const Plan plan(shape, found.valued, traced.findings.values.contexts);
  ThreadAccumulation accumulation(shape, plan, found.transfers, partition.role_count(),
                                  &traced.findings.values);

  // Second pass: values, per thread, then reduced over all.
  Phase accumulating(comm, progress, "values", partition.files());
  accumulate_values(comm, partition, found.shared, accumulation, writer ? &*writer : nullptr,
                    [&] { accumulating.step(); });
  Summaries summaries = summarize(comm, shape, plan, accumulation.roles());
  mark_lone_waits(comm, accumulation.run(), code.attribution.contexts);

  // Who is to blame, and the rest of the database.
  Phase writing(comm, progress, "writing", 1);
  database::Experiment experiment;
  collectively(comm, [&] {
    if (root) experiment = describe(found, options, code, summaries);
  });
  gather_facts(comm, accumulation.run(), summaries, each_location, experiment);
  describe_calls(comm, accumulation.run(), experiment);
  std::vector<std::string> problems = vain_segments(options, shape, traced.findings);
  std::vector<std::string> vain_rules;
  files::Readership readership;
  collectively(comm, [&] {
    if (!root) return;
    readership = add_sources(options, provenance, found, experiment, problems);
    adopt(std::move(traced.findings), found, options, experiment, problems);
    keep_used_names(experiment);
    vain_rules = rules.vain(experiment.strings);
  });
  bool private_for_inputs = false;
  if (writer) {
    WorkByThread work(comm, *writer, end_tiles(*writer, shape));
    diagnose(work, experiment, code.roles, summaries, options.blame);
    writer->add_experiment(experiment, each_location);
    private_for_inputs = writer->finish(readership);
  }
  for (const std::string& line : gather_lines(comm, traced.problems)) problems.push_back(line);
  Outcome outcome = conclude(comm, found, options, experiment, problems, private_for_inputs);
  outcome.vain_rules = std::move(vain_rules);
  if (root) outcome.unread_modules = unread_modules(experiment);
  writing.step();
  return outcome;
}

}  // namespace

void read_time_lines(exchange::Communicator& comm, const Options& options, const Progress& progress,
                     const UseTimeLines& use) {
  Options own = options;
  own.dry_run = true;
  own.output = options.measurement;
  const IdleRules rules = check_request(comm, own);
  Lost lost;
  for (;;) {
    try {
      Provenance provenance;
      const Survey found = survey_rest(comm, own, lost, progress, provenance);
      const SampledCode code = recover_code(comm, own, rules, found, progress);
      const Partition partition(comm, found.processes, code.roles);
      TimeLines lines = open_time_lines(comm, partition, found.shared, code.shape);
      return use(code.attribution, code.shape, lines);
    } catch (const FilesLost& more) {
      for (const LostFile& file : more.files) lost.emplace(file.path, file.why);
    }
  }
}

Outcome merge(exchange::Communicator& comm, const Options& options, const Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const IdleRules rules = check_request(comm, options);
  // Again without what was lost meanwhile: what its threads were said to have, others' means depend on. Ends,
  // as each time there are fewer files.
  Lost lost;
  for (;;) {
    try {
      Outcome outcome = merge_rest(comm, options, rules, lost, progress);
      outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      return outcome;
    } catch (const std::bad_alloc&) {
      throw std::runtime_error(out_of_memory());
    } catch (const FilesLost& found) {
      for (const LostFile& file : found.files) lost.emplace(file.path, file.why);
    }
  }
}

}  // namespace culprit::merge
