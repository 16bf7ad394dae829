#include "merge/merge.hpp"

#include "blame/one_sided.hpp"
#include "cct/message.hpp"
#include "database/writer.hpp"
#include "exchange/message_exchange.hpp"
#include "merge/attribution/attribute.hpp"
#include "merge/attribution/recover_structure.hpp"
#include "merge/attribution/roles.hpp"
#include "merge/attribution/sources.hpp"
#include "merge/diagnosis/diagnose.hpp"
#include "merge/diagnosis/gaps.hpp"
#include "merge/diagnosis/schedules.hpp"
#include "merge/diagnosis/summarize.hpp"
#include "merge/idleness/waiting.hpp"
#include "merge/input/divide.hpp"
#include "merge/input/lost_files.hpp"
#include "merge/input/marker.hpp"
#include "merge/input/phase.hpp"
#include "merge/input/together.hpp"
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
#include <filesystem>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace culprit::merge {
namespace {

/// The database takes the place of what has its name: that must be a file, and one to be replaced. (For root,
/// it would take the place of a device.)
void check_output(const Options& options) {
  if (!std::filesystem::exists(options.output)) return;
  const std::string what = "writing: " + options.output.string();
  if (!std::filesystem::is_regular_file(options.output))
    throw std::runtime_error(what + ": is no regular file (name another one with -o)");
  if (!options.force) throw std::runtime_error(what + ": already exists (use --force or -o)");
}

/// Refuses early what would fail late, and loads the rules.
IdleRules check_request(exchange::Communicator& comm, const Options& options) {
  IdleRules rules = IdleRules::built_in();
  together(comm, [&] {
    if (comm.rank() == 0 && !options.dry_run) check_output(options);
    try {
      if (!options.idle_rules.empty()) rules.add_file(options.idle_rules);
    } catch (const RulesError& refused) {
      throw std::runtime_error(std::string("idle rules: ") + refused.what());
    }
  });
  return rules;
}

/// Collective: checks that there is something to merge.
void check_survey(exchange::Communicator& comm, const Survey& survey, const Options& options) {
  together(comm, [&] {
    if (comm.rank() != 0) return;
    if (survey.processes.empty()) {
      throw std::runtime_error("reading: " + options.measurement.string() +
                               ": no readable measurement (first: " + survey.problems.at(0) + ")");
    }
    const bool sampled = std::ranges::any_of(survey.shared.tree.nodes(), [](const cct::Node& node) {
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

std::set<std::string> executables_of(const ProcessTable& processes) {
  std::set<std::string> paths;
  for (const auto& launch : processes.launches()) paths.insert(launch->executable.path);
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

/// Tells rows of one-sided communication, and its stamps, of which ranks and hosts their locations are.
void place(std::vector<blame::EpochRow>& rows, std::vector<blame::EpochStamp>& stamps,
           const database::EachLocation& locations) {
  if (rows.empty() && stamps.empty()) return;
  struct Place {
    std::int32_t rank = -1;
    std::string host;
  };
  std::map<std::uint32_t, Place> places;  // of those that are asked for: mostly few
  for (const blame::EpochRow& row : rows) places.try_emplace(row.location);
  for (const blame::EpochStamp& stamp : stamps) places.try_emplace(stamp.location);
  std::uint32_t next = 0;
  auto wanted = places.begin();
  locations([&](const database::Location& location) {
    if (wanted == places.end() || wanted->first != next++) return;
    wanted->second = {.rank = location.rank, .host = location.host};
    ++wanted;
  });
  for (blame::EpochRow& row : rows) row.rank = places.at(row.location).rank;
  std::map<std::string, std::uint32_t> hosts;
  for (blame::EpochStamp& stamp : stamps) {
    const Place& at = places.at(stamp.location);
    stamp.rank = at.rank;
    stamp.host = hosts.try_emplace(at.host, static_cast<std::uint32_t>(hosts.size())).first->second;
  }
}

/// Collective: sets the waits of rank 0's experiment, and what its quality says of them.
void find_waits(exchange::Communicator& comm, const ThreadAccumulation& accumulation,
                const database::EachLocation& locations, database::Experiment& experiment) {
  cct::MessageWriter message;
  message.values(accumulation.epochs());
  message.values(accumulation.stamps());
  const std::vector<exchange::Bytes> all = comm.gather(message.take(), 0);
  together(comm, [&] {
    if (comm.rank() != 0) return;
    std::vector<blame::EpochRow> rows;
    std::vector<blame::EpochStamp> stamps;
    for (const exchange::Bytes& bytes : all) {
      cct::MessageReader reader(bytes);
      const auto some_rows = reader.values<blame::EpochRow>();
      rows.insert(rows.end(), some_rows.begin(), some_rows.end());
      const auto some_stamps = reader.values<blame::EpochStamp>();
      stamps.insert(stamps.end(), some_stamps.begin(), some_stamps.end());
    }
    place(rows, stamps, locations);
    blame::Approximation approximation = blame::approximate_waits(rows, stamps);
    experiment.waits = std::move(approximation.waits);
    experiment.quality.unclassified_wait_ns = approximation.unclassified_ns;
    experiment.quality.excess_wait_ns = approximation.excess_ns;
  });
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

/// Rank 0: everything that the database says beside values, summaries, blame, locations and modules.
database::Experiment describe(const Survey& survey, const Options& options, const Roles& roles,
                              const Columns& columns, Attribution&& attribution, Summaries& summaries) {
  database::Experiment experiment;
  experiment.run = describe_run(survey.processes, options.blame);
  experiment.quality = judge_quality(survey, attribution, summaries.contexts);
  experiment.metrics = describe_metrics(survey.processes, columns);
  experiment.roles = roles.roles;
  experiment.strings = std::move(attribution.strings);
  experiment.contexts = std::move(attribution.contexts);
  experiment.flat = std::move(attribution.flat);
  experiment.context_summaries = std::move(summaries.contexts);
  experiment.flat_summaries = std::move(summaries.flat);
  return experiment;
}

Outcome judge(const Survey& survey, const Options& options, const database::Experiment& experiment) {
  Outcome outcome{.profiles = survey.processes.threads(),
                  .contexts = experiment.contexts.size(),
                  .unreadable = survey.unreadable,
                  .quality = experiment.quality,
                  .problems = survey.problems,
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

/// The directory of the database.
std::filesystem::path place_of(const Options& options) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(options.output).parent_path());
}

/// Where what does not fit into memory may go: beside the database, which will need room there as well.
std::filesystem::path place_for_spills(const Options& options) {
  return options.dry_run ? std::filesystem::path() : std::filesystem::absolute(options.output).parent_path();
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

/// Collective: the first pass, over all files but those that are lost.
Survey survey_rest(exchange::Communicator& comm, const Options& options, const Lost& lost,
                   const Progress& progress, Provenance& provenance) {
  InputFiles files = divide(comm, options.measurement, place_of(options), provenance);
  if (!lost.empty()) files = files.without(lost);
  Phase reading(comm, progress, "reading", files.size());
  Survey found = survey(comm, files, place_for_spills(options), [&] { reading.step(); });
  if (comm.rank() == 0) {
    found.unreadable += lost.size();
    for (const auto& [path, why] : lost) found.problems.push_back(why);
  }
  together(comm, [&] {
    if (comm.rank() != 0) return;
    const std::string problem = marker_problem(options.measurement, found.run);
    if (!problem.empty()) found.problems.push_back(problem);
  });
  return found;
}

/// Collective: merges all files but those that are lost. Throws FilesLost where further ones are.
Outcome merge_rest(exchange::Communicator& comm, const Options& options, const IdleRules& rules,
                   const Lost& lost, const Progress& progress) {
  const bool root = comm.rank() == 0;

  // First pass: which processes are there, and which contexts?
  Provenance provenance;
  const Survey found = survey_rest(comm, options, lost, progress, provenance);
  check_survey(comm, found, options);

  // What code are they? On rank 0, which then tells the others as much as they need.
  Phase recovering(comm, progress, "structure", found.shared.modules.size());
  std::vector<Place> routines;
  together(comm, [&] { routines = start_routines(found.processes, found.shared.modules); });
  const RecoveredStructure structure = recover_structure(comm, found.shared, routines, options.loops,
                                                         options.structure_cache, [&] { recovering.step(); });
  Attribution attribution;
  Roles roles;
  Shape shape;
  together(comm, [&] {
    if (!root) return;
    attribution = attribute(found.shared, structure, rules, options.replace_prefix);
    const auto waiting = find_waiting(attribution, rules, executables_of(found.processes));
    shape = shape_of(attribution, waiting, {.events = further_events(found.processes), .traced = {}});
    shape.segments = chosen_segments(attribution, options.segments);
    roles = find_roles(found.processes, found.shared.modules, structure);
  });
  broadcast(comm, shape);

  // Time lines, where there are any; what they tell are values, too.
  std::optional<database::Writer> writer;
  if (!options.dry_run) writer.emplace(comm, options.output);
  const Partition partition(comm, found.processes, roles);
  TimeLines lines;
  const database::EachLocation each_location = describe_locations(found.processes, roles);
  std::vector<database::Location> locations;  // these grow with the number of time lines anyway
  Phase analysing(comm, progress, "time lines", 1);
  together(comm, [&] {
    if (!root || !partition.traced()) return;
    each_location([&](const database::Location& location) { locations.push_back(location); });
  });
  lines = open_time_lines(partition, found.shared, shape);
  TimeLineFindings traced =
      analyse_time_lines(comm, partition, lines, shape, locations, place_for_spills(options));
  lines.processes.clear();
  for (const auto& [file, why] : *lines.broken_off)
    lines.problems.emplace_back(file).append(": ").append(why).append(
        "; what lies before the damage is used");
  analysing.step();
  locations = {};
  shape.columns.traced = traced.values.names;
  if (shape.columns.traced.empty() && found.counts_calls) shape.columns.traced = call_metrics();
  const Plan plan(shape, found.valued, traced.values.contexts);
  ThreadAccumulation accumulation(shape, plan, found.transfers, partition.role_count(), &traced.values);

  // Second pass: values, per thread, then reduced over all.
  Phase accumulating(comm, progress, "values", partition.files());
  accumulate_values(comm, partition, found.shared, accumulation, writer ? &*writer : nullptr,
                    [&] { accumulating.step(); });
  Summaries summaries = summarize(comm, shape, plan, accumulation.roles());
  mark_lone_waits(comm, accumulation, attribution.contexts);

  // Who is to blame, and the rest of the database.
  Phase writing(comm, progress, "writing", 1);
  database::Experiment experiment;
  together(comm, [&] {
    if (!root) return;
    experiment = describe(found, options, roles, shape.columns, std::move(attribution), summaries);
    experiment.modules = describe_modules(found.processes, found.shared, structure, experiment);
  });
  find_waits(comm, accumulation, each_location, experiment);
  find_machine(comm, accumulation.schedules(), each_location, experiment);
  find_gaps(comm, accumulation.gaps(), summaries, experiment);
  experiment.communication.calls = accumulation.calls().gather(comm);
  experiment.communication.partners = add_up_partners(
      exchange::items_at_root(comm, std::span<const waits::PartnerSum>(accumulation.partners())));
  experiment.quality.tracing_ns = comm.all_sum(accumulation.tracing_ns());
  std::vector<std::string> problems = vain_segments(options, shape, traced);
  files::Readership readership;
  together(comm, [&] {
    if (root) readership = add_sources(options, provenance, found, experiment, problems);
  });
  together(comm, [&] {
    if (!root || std::move(traced).adopt_into(experiment, found.processes.threads())) return;
    problems.push_back(options.measurement.string() +
                       ": the time lines contradict each other; waits, causes, variation and critical path "
                       "from traces are left out (measure again)");
  });
  bool private_for_inputs = false;
  if (writer) {
    WorkByThread work(comm, *writer, end_tiles(*writer, shape));
    diagnose(work, experiment, roles.of, summaries, options.blame);
    writer->add_experiment(experiment, each_location);
    private_for_inputs = writer->finish(readership);
  }
  const std::vector<std::string> unused = gather_lines(comm, lines.problems);
  problems.insert(problems.end(), unused.begin(), unused.end());
  Outcome outcome;
  together(comm, [&] {
    if (root) outcome = judge(found, options, experiment);
  });
  outcome.problems.insert(outcome.problems.end(), problems.begin(), problems.end());
  outcome.private_for_inputs = private_for_inputs;
  broadcast(comm, outcome);
  writing.step();
  return outcome;
}

}  // namespace

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
