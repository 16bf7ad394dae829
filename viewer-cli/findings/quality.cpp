#include "findings/quality.hpp"

#include "database/unread_module.hpp"
#include "findings/coverage.hpp"
#include "findings/ends.hpp"
#include "findings/phrases.hpp"
#include "measurement/runtime_notes.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace culprit::viewer {
namespace {

constexpr double kManyPartial = 0.01;         // of the time
constexpr double kManyUnresolved = 0.05;      // of the samples
constexpr std::uint64_t kEnoughSamples = 20;  // as many as a verdict asks for of a thread
constexpr double kCostly = 0.05;              // of the time: what the runtime keeps sampling below

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Samples at addresses that have no name.
std::string addresses_text(std::uint64_t part, std::uint64_t whole) {
  if (part == 0) return "no addresses without a name";
  return keep(grouped(static_cast<double>(part))) + (part == 1 ? " address" : " addresses") +
         " without a name" + keep(" (" + percent(share(part, whole)) + ')');
}

std::string count_and_share(std::uint64_t part, std::uint64_t whole, const std::string& what) {
  if (part == 0) return "no " + what + 's';
  return keep(grouped(static_cast<double>(part))) + ' ' + what + (part == 1 ? "" : "s") +
         keep(" (" + percent(share(part, whole)) + ')');
}

/// The modules whose code has no names because their files were gone or others when the run was merged, those
/// with the most samples first.
std::string unread_modules(const database::Contents& experiment) {
  constexpr std::size_t kListed = 3;
  std::vector<const database::ModuleInfo*> unread;
  for (const database::ModuleInfo& module : experiment.modules)
    if (!database::why_unread(module).empty()) unread.push_back(&module);
  std::ranges::stable_sort(unread, std::ranges::greater(), &database::ModuleInfo::samples);
  std::string text;
  for (std::size_t i = 0; i < std::min(unread.size(), kListed); ++i)
    text += (i == 0 ? "" : ", ") + unread[i]->path + " (" + database::why_unread(*unread[i]) + ")";
  if (unread.size() > kListed) text += ", " + counted(unread.size() - kListed, "more module");
  return text;
}

/// `3 sends and 1 receive; messages of ranks 0-1`, those that there are.
std::string unmatched_text(const database::TraceAnalyses& trace) {
  const database::UnmatchedOperations& unmatched = trace.unmatched;
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, const std::string& noun, const std::string& of = {}) {
    if (count > 0) parts.push_back(keep(counted(count, noun) + of));
  };
  add(unmatched.sends, "send");
  add(unmatched.receives, "receive");
  add(unmatched.probes, "probe");
  add(unmatched.collectives, "collective");
  add(unmatched.fences, "fence");
  add(unmatched.epochs, "epoch");
  add(unmatched.locks, "lock");
  add(unmatched.completions, "completion");
  add(unmatched.strangers, "operation", " with unrecorded processes");
  return enumerate(parts) + (trace.unmatched_ranks.empty()
                                 ? std::string()
                                 : "; messages of " + ranks_phrase(trace.unmatched_ranks));
}

}  // namespace

namespace {

/// Where nothing but the times of day relates the hosts' clocks.
std::string uncompared_text(const database::Quality& quality) {
  if (quality.clock_error_ns != database::kClocksNotCompared) return {};
  return "The hosts did not compare their clocks (ranks with a directory of their own do not see that all "
         "ranks are measured): their times of day are compared instead, and waits between hosts are wrong by "
         "as much as these differ.";
}

std::string violations_text(const database::Contents& experiment) {
  const database::Quality& quality = experiment.quality;
  if (quality.clock_violations == 0) return {};
  const bool one = quality.clock_violations == 1;
  const bool one_host = experiment.run.hosts.size() == 1;
  std::string text = counted(quality.clock_violations, "message") + (one ? " was" : " were") +
                     " received before being sent" + (one_host ? "" : ", by the clocks of the hosts,") +
                     " and " + (one ? "was" : "were") + " shifted later, with what follows on that rank: ";
  if (quality.clock_violations_left == 0) {
    text += "waits there are estimates.";
  } else {
    text += grouped(static_cast<double>(quality.clock_violations_left)) + " still " +
            (quality.clock_violations_left == 1 ? "is" : "are") +
            " in the wrong order, and waits there and their causes are wrong.";
  }
  // One clock does not err.
  if (one_host)
    text +=
        " On one host this happens where a rank's sampling was stopped while messages were on their way: "
        "later messages are then matched in their place.";
  return text;
}

}  // namespace

std::string clocks_text(const database::Contents& experiment) {
  std::string text = uncompared_text(experiment.quality);
  const std::string violations = violations_text(experiment);
  if (!text.empty() && !violations.empty()) text += ' ';
  return text + violations;
}

std::uint64_t samples_of_all_events(const database::Contents& experiment) {
  metrics::Uint128 samples = experiment.quality.samples;
  if (experiment.run.period_ns == 0) return experiment.quality.samples;  // they are of all events then
  for (const std::string& event : experiment.run.events) {               // NAME@PERIOD, of times in us
    const std::size_t at = std::min(event.rfind('@'), event.size());
    const std::string name = event.substr(0, at);
    const std::optional<std::uint32_t> metric = views::metric_named(experiment, name);
    if (!metric || name == "REALTIME" || at == event.size() || experiment.contexts.empty()) continue;
    std::uint64_t period = 0;
    const char* const end = event.data() + event.size();
    if (std::from_chars(event.data() + at + 1, end, period).ptr != end || period == 0) continue;
    const unsigned scale = experiment.metrics[*metric].unit == "ns" ? 1000 : 1;
    for (std::uint32_t role = 0; role < experiment.roles.size(); ++role)
      samples += experiment.context_summaries.get(role, *metric, 0, true).sum / period / scale;
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return samples < kMost ? static_cast<std::uint64_t>(samples) : kMost;
}

double sampling_microseconds(const database::Contents& experiment) {
  const std::uint64_t samples = samples_of_all_events(experiment);
  return samples == 0
             ? 0
             : static_cast<double>(experiment.quality.handler_ns) / static_cast<double>(samples) / 1000;
}

double total_seconds(const database::Contents& experiment, std::string_view metric) {
  double sum = 0;
  for (std::uint32_t m = 0; m < experiment.metrics.size() && !experiment.contexts.empty(); ++m) {
    if (experiment.metrics[m].name != metric) continue;
    for (std::uint32_t role = 0; role < experiment.roles.size(); ++role)
      sum += static_cast<double>(experiment.context_summaries.get(role, m, 0, true).sum) / kNsPerSecond;
  }
  return sum;
}

namespace {

/// A thread that waits takes no processor, and is not sampled for long: what sampling took is a part of what
/// the processors did; where they did hardly anything, of the time.
struct SamplingShare {
  double share = 0;
  const char* of = "time";
};
SamplingShare sampling_share(const database::Contents& experiment) {
  const double taken = static_cast<double>(experiment.quality.handler_ns) / kNsPerSecond;
  constexpr double kComputes = 0.1;  // of the time
  const double cpu = total_seconds(experiment, "CPU"), time = total_seconds(experiment, "REALTIME");
  if (cpu > kComputes * time) return {taken / cpu, "CPU time"};
  return {time > 0 ? taken / time : 0, "time"};
}

/// How long the processes lasted together: their main threads.
double process_ns(const database::Contents& experiment) {
  std::uint64_t time_ns = 0;
  for (std::size_t i = 0; i < experiment.locations.size(); ++i) {
    const database::LocationEntry location = experiment.locations[i];
    if (location.thread == 0 && location.end_ns > location.start_ns)
      time_ns += location.end_ns - location.start_ns;
  }
  return static_cast<double>(time_ns);
}

/// Whether sampling took more than it may, if each process had one processor.
bool costs_processors(const database::Contents& experiment) {
  return static_cast<double>(experiment.quality.handler_ns) > kCostly * process_ns(experiment);
}

/// What time lines cost or, without a trace, what it cost to follow MPI calls: at least, since it is what was
/// seen in our code.
std::string recording_phrase(const database::Contents& experiment) {
  constexpr double kLittle = 0.001;
  const double time = process_ns(experiment);
  const auto taken = static_cast<double>(experiment.quality.tracing_ns);
  const bool traced = experiment.trace().traced > 0;
  if (time <= 0 || taken <= 0 || (!traced && taken < kLittle * time)) return {};
  return std::string(traced ? "; tracing took " : "; following calls took ") +
         (taken < kLittle * time ? "" : "at least ") + keep(percent(taken / time)) + " of the time";
}

}  // namespace

std::string sampling_share_text(const database::Contents& experiment) {
  const auto [share, of] = sampling_share(experiment);
  return share > 0 ? keep(percent(share)) + " of the " + of : "";
}

double partial_share(const database::Contents& experiment) {
  const double total_s = total_seconds(experiment, "REALTIME");
  return total_s > 0 ? static_cast<double>(experiment.quality.partial_ns) / kNsPerSecond / total_s : 0;
}

std::string refused_sampling_text(const database::Contents& experiment) {
  const std::string_view before = measurement::kWhyNotSampled;
  for (const std::string& note : experiment.run.notes) {
    if (const std::size_t at = note.find(before); at != std::string::npos)
      return note.substr(at + before.size());
  }
  return {};
}

std::string nothing_sampled_phrase(const database::Contents& experiment, double total_s,
                                   std::uint64_t samples) {
  const std::string refused = refused_sampling_text(experiment);
  // Where sampling was refused, waits that the wrappers stamp are known, but not of how much time.
  if (total_s > 0 && (samples > 0 || refused.empty())) return {};
  if (experiment.trace().traced > 0 && samples == 0)
    return "Nothing was sampled, but its time lines hold every MPI call: see `waits`, `causes` and "
           "`critical-path`.";
  // Where only other events are sampled, there is the time of waits, which wrappers stamp.
  const std::vector<std::string>& events = experiment.run.events;
  const bool timed = events.empty() || std::ranges::any_of(events, [](const std::string& event) {
                       return event.starts_with("REALTIME@");
                     });
  if (!timed)
    return "Time was not measured, so waiting cannot be distinguished from work: measure with the event "
           "REALTIME. `view` shows the events that were.";
  if (!refused.empty()) return "Nothing was sampled: the system refused it: " + refused + '.';
  return "Nothing was sampled, so there is nothing to diagnose. The program may have ended within its first "
         "sampling period, or have been measured with sampling switched off.";
}

std::string quality_text(const database::Contents& experiment) {
  const database::Quality& quality = experiment.quality;
  const std::size_t threads = experiment.locations.size();
  std::string text = "Measured: ";
  if (experiment.run.ranks > 0) text += keep(counted(experiment.run.ranks, "rank")) + ", ";
  text += keep(counted(threads, "thread")) + ", " + keep(counted(quality.samples, "sample"));
  if (experiment.run.period_ns > 0) {
    text += keep(" at " + grouped(kNsPerSecond / static_cast<double>(experiment.run.period_ns)) + "/s");
  }
  text += "; " + count_and_share(quality.partial, quality.samples, "partial unwind") + ", ";
  if (quality.bridged > 0) text += keep(counted(quality.bridged, "stack") + " partly reconstructed") + ", ";
  text += addresses_text(quality.unresolved, quality.samples) + ", " +
          (quality.dropped == 0 ? "none dropped"
                                : keep(grouped(static_cast<double>(quality.dropped))) + " dropped");
  if (quality.clock_error_ns == database::kClocksNotCompared) {
    text += ", clocks of hosts not compared";
  } else if (quality.clock_error_ns > 0) {
    constexpr double kMicrosecond = 1000;
    const double us = std::ceil(static_cast<double>(quality.clock_error_ns) / kMicrosecond);
    text += ", clocks of hosts within " + keep(grouped(us) + " us");
  }
  if (quality.clock_violations > 0) {
    text += ", " + keep(counted(quality.clock_violations, "clock violation"));
    if (quality.clock_violations_left > 0)
      text += keep(" (" + grouped(static_cast<double>(quality.clock_violations_left)) + " left)");
  }
  if (const std::string share = sampling_share_text(experiment); !share.empty())
    text += "; sampling took " + share;
  return text + recording_phrase(experiment) + '.';
}

namespace {

/// The others waited for the rank that was killed first until they were, too: no wait of theirs ends.
std::string first_killed_text(const database::Contents& experiment) {
  if (const std::vector<std::uint32_t> left = ranks_that_left(experiment); !left.empty())
    return ' ' + capitalized(threads_phrase(experiment, left)) +
           " had ended without MPI_Finalize (exit or return from main): launchers then kill the others.";
  const std::optional<FirstEnded> first = first_ended(experiment);
  if (!first) return {};
  const std::string rank = ' ' + capitalized(threads_phrase(experiment, std::array{first->location}));
  const std::string before = keep(duration(seconds_of(first->ns), false));
  if (first->seen) return rank + " was last seen " + before + " before the others: look there first.";
  return rank + " ended first, " + before +
         " before the last: what others waited for it then has no cause in the time lines.";
}

}  // namespace

std::string cut_short_text(const database::Contents& experiment) {
  const std::string phrase = cut_short_phrase(experiment);
  if (phrase.empty()) return {};
  return phrase + ": what happened in the last second before that may be missing." +
         first_killed_text(experiment);
}

namespace {

/// What was stopped counts as working or waiting where it was stopped.
template <typename Warn>
void warn_of_standstill(const database::Contents& experiment, const Warn& warn) {
  constexpr std::size_t kListed = 3;
  std::size_t found = 0;
  for (const std::string& note : experiment.run.notes) {
    if (note.find(measurement::kStoodStill) != std::string::npos && ++found <= kListed)
      warn(note + ": that time counts as work or waiting of the code that it was in.");
  }
  if (found > kListed)
    warn(counted(found - kListed, "more standstill") + " of that kind (`viewer-cli DB info` lists them).");
}

/// Calls warn(text) with each thing to say.
template <typename Warn>
void warn_of_samples(const database::Contents& experiment, const Warn& warn) {
  const database::Quality& quality = experiment.quality;
  if (const std::string cut = cut_short_text(experiment); !cut.empty()) warn(cut);
  if (ranks_without_mpi(experiment))
    warn(
        "a launcher started the processes as ranks, and no call of MPI was seen. If the program should use "
        "MPI, it was built without it, for another MPI than the launcher's, or with MPI linked statically; "
        "each process may have done all of the work.");
  if (all_ranks_left(experiment))
    warn(
        "all ranks ended without MPI_Finalize (exit or return from main; Open MPI ends them so when its "
        "launcher dies): `viewer-cli DIR stuck` says what they waited in.");
  if (quality.unreadable > 0) {
    warn(counted(quality.unreadable, "measurement file") + " could not be read and " +
         (quality.unreadable == 1 ? "is" : "are") + " missing here.");
  }
  for (const std::string& note : experiment.run.notes) {
    if (note.find(measurement::kWhyNotSampled) != std::string::npos) warn(note + '.');
  }
  warn_of_standstill(experiment, warn);
  if (const std::string partly = partly_measured(experiment); !partly.empty())
    warn(partly + ": the work of the others and the waits for them are not in the results.");
  if (quality.dropped > 0) {
    warn(counted(quality.dropped, "sample") +
         " could not be recorded; times are too small by at least that much.");
  }
  if (quality.full > 0) {
    warn(counted(quality.full, "sample") + " had no room for their call path and are shown at a caller.");
  }
  if (quality.slowed > 0) {
    const std::uint64_t factor = std::uint64_t{1} << std::min<std::uint64_t>(quality.most_halvings, 63);
    warn("sampling cost more than it may (a tenth of a thread's time, a twentieth of the processors): " +
         counted(quality.slowed, "thread") + (quality.slowed == 1 ? " was" : " were") +
         " sampled more slowly, at times at 1/" + grouped(static_cast<double>(factor)) +
         " of the rate; times stay right, but come from fewer samples.");
  }
  if (quality.epochs_lost > 0) {
    warn(counted(quality.epochs_lost, "figure") +
         " of one-sided calls or large messages could not be recorded (too many paths, windows or peers, "
         "or no space): `waits` lists too little.");
  }
}

template <typename Warn>
void warn_of_recording(const database::Contents& experiment, const Warn& warn) {
  constexpr double kMuch = 0.1;
  const double time = process_ns(experiment);
  const double share = time > 0 ? static_cast<double>(experiment.quality.tracing_ns) / time : 0;
  if (share < kMuch) return;
  const bool traced = experiment.trace().traced > 0;
  warn("recording calls took at least " + keep(percent(share)) +
       " of the time, which counts as work of these calls" +
       (traced ? ": without --trace, shares are nearer to the program's own." : "."));
}

template <typename Warn>
void warn_of_traces(const database::Contents& experiment, const Warn& warn) {
  const std::uint64_t untraced =
      experiment.run.ranks - std::min<std::uint64_t>(experiment.run.ranks, experiment.trace().traced);
  if (experiment.trace().traced > 0 && untraced > 0) {
    warn("the time lines of " +
         keep(grouped(static_cast<double>(untraced)) + " of " + counted(experiment.run.ranks, "rank")) +
         " are missing (their traces were not there, damaged, or of other processes): waits of these ranks, "
         "and for them, are missing.");
  }
  if (experiment.trace().stopped > 0) {
    warn(counted(experiment.trace().stopped, "trace") + (experiment.trace().stopped == 1 ? " ends" : " end") +
         " before the run (--trace-limit, a full disk, or damage): what came after is missing in waits, "
         "causes and "
         "the "
         "critical path.");
  }
  if (const std::uint64_t unmatched = experiment.trace().unmatched.sum(); unmatched > 0) {
    warn(counted(unmatched, "operation") + " in the traces found no partner (" +
         unmatched_text(experiment.trace()) +
         "), which may never have completed; waits for them may be missing.");
  }
  if (const std::string clocks = clocks_text(experiment); !clocks.empty()) warn(clocks);
}

template <typename Warn>
void warn_of_unnamed_code(const database::Contents& experiment, const Warn& warn) {
  const database::Quality& quality = experiment.quality;
  if (partial_share(experiment) > kManyPartial) {
    warn(percent(partial_share(experiment)) +
         " of the time lies in partial unwinds (under <partial>); `info` " +
         "says which modules they end in, and notes why.");
  }
  if (share(quality.unresolved, quality.samples) > kManyUnresolved) {
    warn(percent(share(quality.unresolved, quality.samples)) +
         " of the samples lie in code without symbols.");
  }
  if (const std::string unread = unread_modules(experiment); !unread.empty())
    warn("no names for the procedures of " + unread +
         ". Merge again where the files are those that were measured.");
}

}  // namespace

std::vector<std::string> quality_warnings(const database::Contents& experiment) {
  std::vector<std::string> lines;
  const auto warn = [&](const std::string& text) { lines.push_back("Note: " + text); };
  warn_of_samples(experiment, warn);
  warn_of_recording(experiment, warn);
  warn_of_traces(experiment, warn);
  warn_of_unnamed_code(experiment, warn);
  // Of a program that waits sampling takes a large part of little CPU time. A thread's first samples cost
  // most: a run of few is too short to say, and needs more of them.
  if (const auto [share, of] = sampling_share(experiment);
      share > kCostly && experiment.quality.samples >= kEnoughSamples && costs_processors(experiment)) {
    warn("sampling itself took " + percent(share) + " of the " + of +
         "; sample more slowly (hpcrun-lite -e REALTIME@f100).");
  }
  return lines;
}

}  // namespace culprit::viewer
