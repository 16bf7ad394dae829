// Describes a run, beside its values, from the processes' summaries: how it was started, which ranks ran
// which program and which are missing, metrics, modules, and what makes the results incomplete. The run's
// length is taken from the times of day at which processes began, each lengthened by the process's own
// monotonic clock, since monotonic clocks of different hosts do not compare. Cost: some passes over the
// summaries, on rank 0.
#include "merge/values/describe.hpp"

#include "database/unread_module.hpp"
#include "measurement/limits.hpp"
#include "measurement/runtime_notes.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/trace_values.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>

namespace culprit::merge {

using database::Metric;
using measurement::EventInfo;

namespace {

/// The events of a launch's processes beside REALTIME.
std::span<const EventInfo> beside_realtime(const Launch& launch) {
  const std::span<const EventInfo> events = launch.events;
  return launch.has_realtime && !events.empty() ? events.subspan(1) : events;
}

std::string event_text(const EventInfo& event) {
  // Periods of times are given and shown in microseconds.
  const std::uint64_t period = event.unit == "ns" ? event.period / 1000 : event.period;
  return event.name + "@" + std::to_string(period);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t per_mille =
      whole == 0 ? 0 : static_cast<std::uint64_t>(metrics::Uint128{part} * 1000 / whole);
  return std::to_string(per_mille / 10) + "." + std::to_string(per_mille % 10) + " %";
}

/// Ranks that come in ascending order, as "0-3, 8": no more ranges of them than a line holds.
class RankRanges {
 public:
  void add(std::int32_t rank) {
    if (count_ != 0 && rank == last_) return;  // several files of one rank
    if (count_ != 0 && rank == last_ + 1) {
      last_ = rank;
    } else {
      if (count_ != 0) close();
      first_ = last_ = rank;
    }
    ++count_;
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// Nothing may be added after.
  std::string list() {
    if (count_ != 0) close();
    return listed_ > kListed ? text_ + ", ..." : text_;
  }

 private:
  static constexpr int kListed = 10;

  void close() {
    if (++listed_ > kListed) return;
    if (!text_.empty()) text_ += ", ";
    text_ += std::to_string(first_);
    if (last_ != first_) text_ += "-" + std::to_string(last_);
  }

  std::string text_;
  int listed_ = 0;
  std::uint32_t count_ = 0;
  std::int32_t first_ = 0, last_ = 0;
};

/// What the program marked; processes may differ.
std::string describe_iterations(const ProcessTable& processes) {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (const ProcessSummary& process : processes) {
    least = std::min(least, process.iterations);
    most = std::max(most, process.iterations);
  }
  if (most == 0) return {};
  if (least == most)
    return std::to_string(most) + (most == 1 ? " iteration" : " iterations") +
           " marked in every process (culprit_iteration)";
  return std::to_string(least) + " to " + std::to_string(most) +
         " iterations marked per process (culprit_iteration)";
}

/// The files beside the measurements.
std::string describe_traces(const ProcessTable& processes) {
  std::size_t traced = 0;
  std::uint64_t bytes = 0;
  for (const ProcessSummary& process : processes) {
    traced += process.trace_bytes != 0 ? 1 : 0;
    bytes += process.trace_bytes;
  }
  if (traced == 0) return {};
  return std::string(database::kNoteOfTraces) + std::to_string(traced) + " of " +
         std::to_string(processes.size()) + " processes: files of " + std::to_string((bytes + 1023) / 1024) +
         " KiB (--trace)";
}

/// Which ranks ran which program, in the order of their first ranks; empty where all ran one.
std::string describe_programs(const ProcessTable& processes) {
  std::vector<std::pair<std::string, RankRanges>> programs;
  for (const ProcessSummary& process : processes) {  // in the order of ranks
    if (!process.rank) continue;
    const std::string& program = process.launch->program;
    auto at = std::ranges::find(programs, program, &std::pair<std::string, RankRanges>::first);
    if (at == programs.end()) at = programs.emplace(at, program, RankRanges());
    at->second.add(*process.rank);
  }
  constexpr std::size_t kListed = 8;  // wrapper scripts may make as many as ranks
  if (programs.size() < 2) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(programs.size(), kListed); ++i) {
    auto& [program, ranks] = programs[i];
    text += text.empty() ? "" : ", ";
    text += (ranks.count() == 1 ? "rank " : "ranks ") + ranks.list() + (i == 0 ? " ran " : " ") +
            program.substr(program.rfind('/') + 1);
  }
  if (programs.size() > kListed) text += ", others further programs";
  return std::string(database::kNoteOfPrograms) + text;
}

}  // namespace

std::vector<std::string> further_events(const ProcessTable& processes) {
  std::set<std::string> names;
  for (const auto& launch : processes.launches()) {
    for (const EventInfo& event : beside_realtime(*launch)) names.insert(event.name);
  }
  return {names.begin(), names.end()};
}

bool has_threads(const ProcessTable& processes) {
  for (const ProcessSummary& process : processes) {
    if (process.threads.size() > 1) return true;
  }
  return false;
}

namespace {

/// Adds a name that a process noted; of two names of what counts as one communicator, both. False: the note
/// is of something else.
bool add_name(std::map<std::uint64_t, std::string>& names, std::string_view note) {
  const std::string_view before = measurement::kNamed, between = measurement::kIsCalled;
  if (!note.starts_with(before)) return false;
  note.remove_prefix(before.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(note.data(), note.data() + note.size(), number);
  note.remove_prefix(static_cast<std::size_t>(end - note.data()));
  if (error != std::errc() || !note.starts_with(between)) return false;
  const std::string name(note.substr(between.size()));
  std::string& known = names[number];
  if (known.empty()) {
    known = name;
  } else if ((" or " + known + " or ").find(" or " + name + " or ") == std::string::npos) {
    known += " or " + name;
  }
  return true;
}

}  // namespace

database::Run describe_run(const ProcessTable& processes, const blame::Options& options) {
  const ProcessTable::Iterator begin = processes.begin();
  const ProcessSummary& first = *begin;
  database::Run run;
  run.mpi = first.launch->mpi;
  run.program = first.launch->program;
  run.directory = first.launch->directory;
  run.command = first.launch->arguments;
  run.start_realtime_ns = first.start_realtime_ns;
  run.balance = options.mode == blame::Mode::paper ? "paper" : "noise-aware";
  run.alpha = options.alpha;
  run.tau = options.tau;
  run.epsilon = options.epsilon;
  std::set<std::string> hosts;
  std::set<std::string> events;
  std::set<std::string> notes;
  RankRanges ranks;
  std::int64_t latest = first.start_realtime_ns;
  const Launch* before = nullptr;  // most processes share it with their neighbours
  for (const ProcessSummary& process : processes) {
    if (process.rank) ranks.add(*process.rank);
    // CLOCK_MONOTONIC differs from host to host: compare wall-clock times, lengthened by monotonic durations.
    const std::uint64_t length = process.end_ns > process.start_ns ? process.end_ns - process.start_ns : 0;
    run.start_realtime_ns = std::min(run.start_realtime_ns, process.start_realtime_ns);
    latest = std::max(latest, process.start_realtime_ns + static_cast<std::int64_t>(length));
    if (process.launch.get() == before) continue;
    const Launch& launch = *process.launch;
    before = &launch;
    if (run.run_id.empty()) run.run_id = launch.run_id;
    run.world_size = std::max(run.world_size, launch.world_size);
    hosts.insert(launch.host);
    for (const std::string& note : launch.notes)
      if (!add_name(run.names, note)) notes.insert(note);
    for (const EventInfo& event : launch.events) events.insert(event_text(event));
    if (launch.has_realtime && !launch.events.empty())
      run.period_ns = std::max(run.period_ns, launch.events.front().period);
  }
  if (std::string iterations = describe_iterations(processes); !iterations.empty())
    notes.insert(std::move(iterations));
  if (std::string traces = describe_traces(processes); !traces.empty()) notes.insert(std::move(traces));
  if (std::string programs = describe_programs(processes); !programs.empty())
    notes.insert(std::move(programs));
  run.duration_ns = static_cast<std::uint64_t>(latest - run.start_realtime_ns);
  run.ranks = ranks.count();
  run.hosts.assign(hosts.begin(), hosts.end());
  run.events.assign(events.begin(), events.end());
  run.notes.assign(notes.begin(), notes.end());
  return run;
}

namespace {

struct MeasuredRanks {
  RankRanges found, lost;
  std::uint32_t world = 0;
  bool whole = false;  ///< all were to leave a measurement
};

MeasuredRanks measured_ranks(const ProcessTable& processes) {
  MeasuredRanks ranks;
  std::int32_t next = 0;
  const auto lose_up_to = [&](std::int32_t rank) {
    for (; next < rank; ++next) ranks.lost.add(next);
  };
  for (const ProcessSummary& process : processes) {  // in the order of ranks
    ranks.world = std::max(ranks.world, process.launch->world_size);
    ranks.whole = ranks.whole || process.launch->whole_world;
    if (!process.rank) continue;
    ranks.found.add(*process.rank);
    lose_up_to(*process.rank);
    next = *process.rank + 1;
  }
  lose_up_to(static_cast<std::int32_t>(ranks.world));
  return ranks;
}

}  // namespace

std::string describe_ranks(const ProcessTable& processes) {
  MeasuredRanks ranks = measured_ranks(processes);
  if (ranks.found.count() == 0 || ranks.lost.count() == 0 || ranks.whole) return {};
  return (ranks.found.count() == 1 ? "rank " : "ranks ") + ranks.found.list() + " of " +
         std::to_string(ranks.world);
}

database::EachLocation describe_locations(const ProcessTable& processes, const Roles& roles) {
  return [&](const std::function<void(const database::Location&)>& visit) {
    std::size_t next = 0;
    for (const ProcessSummary& process : processes) {
      for (const ThreadSummary& thread : process.threads) {
        visit({.rank = process.rank.value_or(-1),
               .thread = thread.ordinal,
               .role = roles.of(next++),
               .pid = process.pid,
               .host = process.launch->host,
               .start_ns = thread.start_ns,
               .end_ns = thread.end_ns,
               .cut_short = process.cut_short(),
               .left = process.end == measurement::EndReason::left});
      }
    }
  };
}

namespace {

/// Of every run.
std::vector<Metric> sampled_metrics() {
  return {
      {.name = "REALTIME",
       .unit = "ns",
       .description = "Wall-clock time, sampled: what the thread spent here, waiting included."},
      {.name = "idleness",
       .unit = "ns",
       .description =
           "Wall-clock time spent waiting: in calls that block, for messages, other threads or locks."},
      {.name = "communication",
       .unit = "ns",
       .description =
           "Wall-clock time in communication and synchronization calls that is not waiting: moving data, "
           "reductions, set-up."},
      {.name = "CPU",
       .unit = "ns",
       .description = "CPU time. Time on the wall without CPU time is waiting, sleep, I/O or preemption."},
      {.name = "samples", .unit = "count", .description = "Samples taken."},
  };
}

/// What the wrappers of calls counted.
void add_counted_metrics(const Columns& columns, std::vector<Metric>& metrics) {
  if (columns.polled) {
    metrics.push_back(
        {.name = "polls-in-vain",
         .unit = "count",
         .description = "Calls of MPI_Test and its like, and of MPI_Iprobe, that found nothing."});
  }
  if (columns.with_bytes) {
    metrics.push_back(
        {.name = "bytes-read",
         .unit = "bytes",
         .description =
             "Bytes that calls of the C library read, counted: from files, pipes and sockets, outside "
             "of MPI's messages."});
    metrics.push_back({.name = "bytes-written",
                       .unit = "bytes",
                       .description = "Bytes that calls of the C library wrote, counted, as bytes-read."});
  }
}

}  // namespace

std::vector<Metric> describe_metrics(const ProcessTable& processes, const Columns& columns) {
  std::vector<Metric> metrics = sampled_metrics();
  std::map<std::string, std::string> units;
  for (const auto& launch : processes.launches()) {
    for (const EventInfo& event : beside_realtime(*launch)) units.try_emplace(event.name, event.unit);
  }
  for (const std::string& name : columns.events) {
    metrics.push_back({.name = name, .unit = units[name], .description = "Sampled event " + name + "."});
  }
  if (columns.with_io) {
    metrics.push_back(
        {.name = "io",
         .unit = "ns",
         .description =
             "Wall-clock time in calls that read, write, open, close and synchronize files, and in "
             "MPI_File_*, waiting there included."});
  }
  for (std::size_t i = 0; columns.threaded && i < kThreadMetrics; ++i) {
    const auto metric = static_cast<ThreadMetric>(i);
    metrics.push_back({.name = name_of(metric), .unit = "ns", .description = describe(metric)});
  }
  for (const std::string& name : columns.traced) {
    metrics.push_back(
        {.name = name, .unit = unit_of_trace_metric(name), .description = describe_trace_metric(name)});
  }
  add_counted_metrics(columns, metrics);
  metrics.push_back({.name = "imbalance",
                     .unit = "ns",
                     .description =
                         "Blame: waiting caused somewhere inside this code, whose parts are unevenly spread "
                         "over the threads.",
                     .summary_only = true});
  return metrics;
}

namespace {

/// What all processes together say of modules.
std::map<cct::ModuleKey, ModuleFlaws> sum_up_flaws(const ProcessTable& processes) {
  std::unordered_map<const cct::ModuleKey*, ModuleFlaws> sums;  // processes share their modules
  for (const ProcessSummary& process : processes) {
    for (const ModuleFlaws& flaws : process.flaws) {
      ModuleFlaws& sum = sums[flaws.module.get()];
      sum.module = flaws.module;
      sum.bridged += flaws.bridged;
      sum.partial += flaws.partial;
      sum.no_unwind = sum.no_unwind || flaws.no_unwind;
    }
  }
  std::map<cct::ModuleKey, ModuleFlaws> by_key;
  for (const auto& [module, sum] : sums) by_key.emplace(*module, sum);
  return by_key;
}

}  // namespace

std::vector<database::ModuleInfo> describe_modules(const ProcessTable& processes,
                                                   const cct::SharedTree& shared,
                                                   const RecoveredStructure& structure,
                                                   const database::Experiment& experiment) {
  std::map<std::string, std::uint64_t> samples;
  for (const database::Summary& summary : experiment.flat_summaries) {
    if (summary.metric != Columns::kSamples) continue;
    for (const database::SummaryEntry& entry : summary.entries) {
      const database::FlatScope& scope = experiment.flat[entry.scope];
      if (scope.kind != database::ContextKind::module) continue;
      samples[experiment.strings[scope.module]] += static_cast<std::uint64_t>(entry.exclusive.sum);
    }
  }
  const std::map<cct::ModuleKey, ModuleFlaws> flaws = sum_up_flaws(processes);
  std::vector<database::ModuleInfo> modules;
  for (cct::ModuleId id = 0; id < shared.modules.size(); ++id) {
    const RecoveredStructure::Module& module = structure.modules()[id];
    if (module.addresses.empty()) continue;
    const cct::ModuleKey& key = shared.modules[id];
    modules.push_back({.path = key.path,
                       .build_id = key.build_id,
                       .samples = samples[key.path],
                       .notes = module.structure.notes});
    const auto known = flaws.find(key);
    if (known == flaws.end()) continue;
    modules.back().bridged = known->second.bridged;
    modules.back().partial = known->second.partial;
    modules.back().no_unwind = known->second.no_unwind;
  }
  return modules;
}

database::Quality judge_quality(const Survey& survey, const Attribution& attribution,
                                std::span<const database::Summary> context_summaries) {
  const measurement::Quality& sum = survey.quality.sum;
  database::Quality quality{.unreadable = survey.unreadable};
  for (const ProcessSummary& process : survey.processes) quality.cut_short += process.cut_short() ? 1 : 0;
  quality.slowed = survey.quality.slowed;
  quality.samples = sum.samples;
  quality.partial = sum.partial;
  quality.partial_ns = sum.partial_ns;
  quality.bridged = sum.bridged;
  quality.dropped = survey.quality.samples_lost;
  quality.full = sum.full;
  quality.handler_ns = sum.handler_ns;
  quality.most_halvings = sum.most_halvings;
  quality.epochs_lost = sum.epochs_lost;
  for (const database::Summary& summary : context_summaries) {
    if (summary.metric != Columns::kSamples) continue;
    for (const database::SummaryEntry& entry : summary.entries) {
      if (attribution.unresolved[entry.scope] == 0) continue;
      quality.unresolved += static_cast<std::uint64_t>(entry.exclusive.sum);
    }
  }
  return quality;
}

namespace {

std::string seconds(std::uint64_t ns) {
  constexpr std::uint64_t kTenth = 100'000'000;
  const std::uint64_t tenths = (ns + kTenth / 2) / kTenth;
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10);
}

/// And what is missing of it.
std::string how_it_ended(const ProcessSummary& process) {
  switch (process.end) {
    case measurement::EndReason::abort:
      return "it aborted (abort, an uncaught exception or MPI_Abort); data is complete up to that point";
    case measurement::EndReason::signal:
      return "a signal ended it; data is complete up to that point";
    default:
      return "its end was not recorded: it was last seen " +
             seconds(process.end_ns - std::min(process.start_ns, process.end_ns)) +
             " s after its start, and up to a second after that is missing (was it killed, or is it still "
             "running?)";
  }
}

/// Nothing is said of ranks that the user did not measure, nor of those whose files are named already.
std::string lost_ranks(const ProcessTable& processes, std::uint64_t unreadable,
                       const std::string& directory) {
  MeasuredRanks ranks = measured_ranks(processes);
  if (!ranks.whole || ranks.lost.count() <= unreadable) return {};
  const bool one = ranks.lost.count() == 1;
  return directory + (one ? ": the measurement of rank " : ": the measurements of ranks ") +
         ranks.lost.list() + " of " + std::to_string(ranks.world) +
         (one ? " is missing: its work and the waits for it are not in the results"
              : " are missing: their work and the waits for them are not in the results");
}

/// Of a run whose traces were taken away altogether nothing is said: it is merged without, as asked.
std::string lost_traces(const ProcessTable& processes, const std::string& directory) {
  RankRanges lost;
  bool some_left = false;
  for (const ProcessSummary& process : processes) {
    some_left = some_left || process.trace_bytes != 0;
    if (process.trace_lost && process.rank && !process.forked) lost.add(*process.rank);
  }
  if (!some_left || lost.count() == 0) return {};
  const bool one = lost.count() == 1;
  return directory + (one ? ": the trace of rank " : ": the traces of ranks ") + lost.list() +
         (one ? " is missing: its waits, and what it made others wait, are not in the time lines"
              : " are missing: their waits, and what they made others wait, are not in the time lines");
}

}  // namespace

std::vector<std::string> list_problems(const ProcessTable& processes, const database::Quality& quality,
                                       std::uint64_t total_ns, const std::string& directory) {
  // A run that was killed has one such line per process; a few are enough.
  constexpr std::uint64_t kListed = 5;
  std::vector<std::string> problems;
  std::uint64_t cut = 0;
  for (const ProcessSummary& process : processes) {
    if (process.cut_short() && ++cut <= kListed) {
      const std::string whose = process.rank ? "rank " + std::to_string(*process.rank) + " was " : "";
      problems.push_back(process.path + ": " + whose + "cut short: " + how_it_ended(process));
    }
  }
  if (cut > kListed) {
    problems.push_back(directory + ": " + std::to_string(cut - kListed) +
                       " more processes were cut short, or still run (" + std::to_string(cut) + " of " +
                       std::to_string(processes.size()) + " in all)");
  }
  if (std::string lost = lost_ranks(processes, quality.unreadable, directory); !lost.empty())
    problems.push_back(std::move(lost));
  if (std::string lost = lost_traces(processes, directory); !lost.empty())
    problems.push_back(std::move(lost));
  if (quality.dropped > 0) {
    problems.push_back(directory + ": " + std::to_string(quality.dropped) +
                       " samples were dropped: their threads found no room (full disk, or more than " +
                       std::to_string(measurement::kMaxThreads) + " threads at one time)");
  }
  if (metrics::Uint128{quality.partial_ns} * 100 > total_ns) {
    problems.push_back(
        directory + ": " + percent(quality.partial_ns, total_ns) +
        " of the time is in call paths that could not be unwound to their root, shown under <partial> "
        "(see viewer-cli info for the modules)");
  }
  return problems;
}

std::vector<std::string> unread_modules(const database::Experiment& experiment) {
  constexpr std::uint64_t kHundred = 100;
  std::vector<std::string> lines;
  for (const database::ModuleInfo& module : experiment.modules) {
    if (module.samples * kHundred < experiment.quality.samples) continue;
    const std::string why = database::why_unread(module);
    if (why.empty()) continue;
    lines.push_back(module.path + ": " + why +
                    ": its code has no names (put back the file that was measured, and merge again)");
  }
  return lines;
}

}  // namespace culprit::merge
