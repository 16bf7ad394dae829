// Message patterns (docs/diagnosis.md): of each call path where messages are sent, what moving them takes,
// without waiting for late ranks; that is as much at the senders as their calls and the receivers' take,
// divided among the senders by their messages. Small messages cost per message, large ones per byte.
#include "findings/mpi_calls.hpp"

#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "measurement/runtime_notes.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace culprit::viewer {

namespace {

using database::CallTraffic;
using database::ContextId;

/// Over all threads, in the metric's raw unit; 0 where the run has none of it.
std::uint64_t sum_at(const database::Contents& experiment, std::string_view metric, ContextId context) {
  const std::optional<std::uint32_t> known = views::metric_named(experiment, metric);
  std::uint64_t sum = 0;
  for (std::uint32_t role = 0; known && role < experiment.roles.size(); ++role)
    sum += static_cast<std::uint64_t>(experiment.context_summaries.get(role, *known, context, true).sum);
  return sum;
}

/// The threads that made calls at these contexts, or polled in vain.
std::vector<std::uint32_t> callers_of(const views::Figures& figures, std::vector<ContextId> contexts) {
  std::ranges::sort(contexts);
  std::vector<std::uint64_t> made;
  for (const char* const counted : {"calls", "polls-in-vain"}) {
    const std::optional<std::uint32_t> metric = views::metric_named(figures.experiment(), counted);
    if (!metric) continue;
    const std::vector<std::uint64_t> values = figures.per_thread(contexts, *metric, true);
    made.resize(values.size());
    std::ranges::transform(made, values, made.begin(), std::plus());
  }
  std::vector<std::uint32_t> locations;
  for (std::uint32_t location = 0; location < made.size(); ++location) {
    if (made[location] != 0) locations.push_back(location);
  }
  return locations;
}

/// The outermost MPI calls that `calls` says nothing of: polls that never found anything, and in profiles
/// those whose paths had no room.
std::vector<ContextId> uncounted_calls(const database::Contents& experiment) {
  std::set<ContextId> counted;
  for (const CallTraffic& call : experiment.communication().calls) counted.insert(call.context);
  std::vector<ContextId> found = views::mpi_calls(experiment);
  std::erase_if(found, [&](ContextId call) { return counted.contains(call); });
  return found;
}

}  // namespace

bool counted_without_trace(const database::Contents& experiment) {
  return experiment.trace().traced == 0 && !experiment.communication().calls.empty();
}

bool has_unmatched_requests(const database::Contents& experiment) {
  const auto& notes = experiment.run.notes;
  if (std::ranges::find(notes, measurement::kPartitionedMessages) != notes.end()) return true;
  // Only samples know calls of these names.
  static constexpr std::array kPartitioned = {"MPI_Psend_init",  "MPI_Precv_init",   "MPI_Pready",
                                              "MPI_Pready_list", "MPI_Pready_range", "MPI_Parrived"};
  return std::ranges::any_of(views::mpi_calls(experiment), [&](ContextId call) {
    return std::ranges::find(kPartitioned, mpi_call_name(experiment, call)) != kPartitioned.end();
  });
}

std::string unmatched_requests_phrase(const database::Contents& experiment, const std::string& what) {
  if (!has_unmatched_requests(experiment)) return {};
  return "Waits for partitioned messages (MPI_Psend_init) are not matched with their senders, and count as "
         "time of the calls that wait: " +
         what + " may be wrong.";
}

std::string mpi_call_name(const database::Contents& experiment, ContextId context) {
  // Calls whose path found no room count for a caller, at last the root.
  std::string name = without_parameters(label(views::frame_of(experiment, experiment.contexts[context])));
  constexpr std::string_view kStub = "@plt";  // of the program's procedure linkage table, on the way to it
  if (name.ends_with(kStub)) name.resize(name.size() - kStub.size());
  return name.starts_with("MPI_") ? name : kFurtherPaths;
}

std::uint64_t polls_in_vain(const database::Contents& experiment, ContextId context) {
  return context == 0 ? 0 : sum_at(experiment, "polls-in-vain", context);
}

FileTraffic file_traffic(const database::Contents& experiment, ContextId context) {
  return {.read = sum_at(experiment, "bytes-read", context),
          .written = sum_at(experiment, "bytes-written", context)};
}

Polling polling(const database::Contents& experiment) {
  Polling found;
  if (experiment.trace().traced == 0) return found;
  double in_polls_s = 0;
  for (const CallTraffic& call : experiment.communication().calls) {
    if (polls_in_vain(experiment, call.context) == 0) continue;
    found.lasted_s += seconds_of(call.ns);
    in_polls_s += seconds_of(sum_at(experiment, "REALTIME", call.context));
  }
  found.between_s = std::max(0.0, found.lasted_s - in_polls_s);
  for (const database::Wait& wait : experiment.waits()) {
    const bool late =
        wait.exact && metrics::is_whole_wait(wait.pattern) && wait.cause_location != database::kNone;
    if (late && polls_in_vain(experiment, wait.context) != 0) found.late_s += seconds_of(wait.ns);
  }
  found.late_s = std::min(found.late_s, found.between_s);
  return found;
}

std::string polling_phrase(const database::Contents& experiment, bool unicode) {
  constexpr double kNotable = 0.01;  // of the run
  const auto [waited_s, between_s, late_s] = polling(experiment);
  if (between_s <= 0 || between_s < kNotable * seconds_of(sum_at(experiment, "REALTIME", 0))) return {};
  return "Loops of polls wait for " + keep(duration(waited_s, unicode)) +
         " by time lines. Samples (views, blame, the share of waiting) count the loops' code between the "
         "polls, " +
         keep(duration(between_s, unicode)) + ", as work.";
}

namespace {

/// Of the calls at `paths`, and of those that were not counted. `left_out`: contexts.
std::vector<MpiCall> calls_by_function(const views::Figures& figures, const std::vector<CallTraffic>& paths,
                                       const std::vector<ContextId>& left_out) {
  const database::Contents& experiment = figures.experiment();
  std::map<std::string, MpiCall> by_name;
  std::map<std::string, std::vector<ContextId>> contexts;
  for (const CallTraffic& call : paths) {
    const std::string name = mpi_call_name(experiment, call.context);
    MpiCall& sum = by_name[name];
    const bool longest_known = sum.calls == 0 || sum.longest_ns != 0;
    sum.name = name;
    sum.calls += call.calls;
    sum.messages += call.messages;
    sum.bytes += call.message_bytes;
    sum.sent += call.sent_bytes;
    sum.received += call.received_bytes;
    sum.ns += call.ns;
    sum.counted_ns += call.ns;
    const bool known = longest_known && (call.calls == 0 || call.longest_ns != 0);
    sum.longest_ns = known ? std::max(sum.longest_ns, call.longest_ns) : 0;
    sum.vain += polls_in_vain(experiment, call.context);
    if (call.context != 0) contexts[name].push_back(call.context);
  }
  if (experiment.communication().calls.empty()) return {};
  const bool sampled = counted_without_trace(experiment);  // time lines have the time of each call
  for (const ContextId context : uncounted_calls(experiment)) {
    if (views::is_within(experiment, left_out, context)) continue;
    const std::uint64_t vain = polls_in_vain(experiment, context);
    const std::uint64_t ns = sampled ? sum_at(experiment, "REALTIME", context) : 0;
    if (vain == 0 && ns == 0) continue;
    const std::string name = mpi_call_name(experiment, context);
    MpiCall& sum = by_name[name];
    sum.name = name;
    sum.vain += vain;
    sum.ns += ns;
    contexts[name].push_back(context);
  }
  std::vector<MpiCall> list;
  for (auto& [name, call] : by_name) {
    if (const auto places = contexts.find(name); places != contexts.end())
      call.locations = callers_of(figures, std::move(places->second));
    list.push_back(std::move(call));
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &MpiCall::ns);
  return list;
}

}  // namespace

MpiTraffic mpi_traffic(const views::Figures& figures, bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  MpiTraffic traffic{.calls = {},
                     .paths = experiment.communication().calls,
                     .whole_s = total_seconds(experiment, "REALTIME"),
                     .without_startup = without_startup};
  std::vector<ContextId> left_out;
  if (without_startup) left_out = views::mpi_start_up(experiment);
  std::erase_if(traffic.paths, [&](const CallTraffic& call) {
    return views::is_within(experiment, left_out, call.context);
  });
  for (const ContextId context : left_out)
    traffic.whole_s -= seconds_of(sum_at(experiment, "REALTIME", context));
  traffic.calls = calls_by_function(figures, traffic.paths, left_out);
  return traffic;
}

std::string hardest_working_call(const database::Contents& experiment) {
  std::map<std::string, std::uint64_t> work;
  for (const CallTraffic& call : experiment.communication().calls) {
    const std::string name = mpi_call_name(experiment, call.context);
    if (call.context != 0 && !views::is_start_up(name) && !views::is_mpi_file_call(name))
      work[name] += sum_at(experiment, "communication", call.context);
  }
  const auto most = std::ranges::max_element(work, {}, [](const auto& each) { return each.second; });
  return most == work.end() || most->second == 0 ? std::string() : most->first;
}

bool receives(const std::string& name) {
  return name.find("ecv") != std::string::npos || name.starts_with("MPI_Wait") ||
         name.starts_with("MPI_Test") || name.find("robe") != std::string::npos;
}

namespace {

using database::CallTraffic;
using database::ContextId;

constexpr double kNotableCost = 0.05;              // of the run
constexpr std::uint64_t kMany = 10'000;            // messages
constexpr double kSmall = 1024, kLarge = 1 << 20;  // bytes
constexpr double kTogether = 20;                   // messages in one, as an example
constexpr std::size_t kSaid = 2;

bool is_collective(const CallTraffic& call, const std::string& name) {
  return call.sent_bytes + call.received_bytes > call.message_bytes || name == "MPI_Bcast" ||
         name.find("educe") != std::string::npos || name.find("ather") != std::string::npos ||
         name.find("catter") != std::string::npos;
}

class Patterns {
 public:
  Patterns(const views::Figures& figures, const Diagnosis& diagnosis, std::size_t width, bool unicode)
      : experiment_(figures.experiment()), diagnosis_(diagnosis), width_(width), unicode_(unicode) {
    for (const database::Wait& wait : experiment_.waits()) {
      if (metrics::is_whole_wait(wait.pattern) && wait.exact) late_[wait.context] += seconds_of(wait.ns);
    }
    add_up();
  }

  [[nodiscard]] std::vector<std::string> phrases() const {
    std::vector<std::pair<double, std::string>> found;
    for (const CallTraffic& call : experiment_.communication().calls) {
      if (call.context == 0 || call.messages == 0) continue;
      const std::string name = mpi_call_name(experiment_, call.context);
      const bool collective = is_collective(call, name);
      if (!collective && call.sent_bytes == 0) continue;  // what is received was sent somewhere
      const double cost_s = collective ? own(call) : own(call) + share_of_receiving(call);
      if (cost_s < kNotableCost * diagnosis_.total_s) continue;
      const std::string text = collective ? of_collective(call, name, cost_s) : of_messages(call, cost_s);
      if (!text.empty()) found.emplace_back(cost_s, text);
    }
    add_barriers(found);
    add_polls(found);
    std::ranges::stable_sort(found, std::ranges::greater(), &std::pair<double, std::string>::first);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min(found.size(), kSaid); ++i) texts.push_back(found[i].second);
    return texts;
  }

 private:
  /// What a call path takes beyond waiting for late ranks.
  [[nodiscard]] double own(const CallTraffic& call) const {
    const auto late = late_.find(call.context);
    return std::max(0.0, seconds_of(call.ns) - (late == late_.end() ? 0 : late->second));
  }

  /// Of a call that receives. Without time lines, waiting may be for late ranks: then what it works counts.
  [[nodiscard]] double of_transfers(const CallTraffic& call) const {
    return late_known() ? own(call) : seconds_of(sum_at(experiment_, "communication", call.context));
  }

  void add_up() {
    for (const CallTraffic& call : experiment_.communication().calls) {
      if (call.context == 0) continue;
      const std::string name = mpi_call_name(experiment_, call.context);
      // MPI_Sendrecv bears its own time as a sender already.
      if (receives(name) && call.sent_bytes == 0) receiving_s_ += of_transfers(call);
      if (call.sent_bytes != 0 && !is_collective(call, name)) sent_ += sent_messages(call);
    }
  }

  [[nodiscard]] double share_of_receiving(const CallTraffic& call) const {
    return sent_ == 0 ? 0
                      : receiving_s_ * static_cast<double>(sent_messages(call)) / static_cast<double>(sent_);
  }

  /// Without those that a call receives, too.
  [[nodiscard]] std::uint64_t sent_messages(const CallTraffic& call) const {
    const bool both = mpi_call_name(experiment_, call.context).find("endrecv") != std::string::npos;
    return both ? (call.messages + 1) / 2 : call.messages;
  }

  /// `MPI_Send at p2p.c:245 in sweep`.
  [[nodiscard]] std::string place_of(const CallTraffic& call) const {
    const ContextId site = experiment_.contexts[call.context].parent;
    std::string text = mpi_call_name(experiment_, call.context);
    if (site == database::kNone || site == 0) return text;
    const std::string where = views::place(views::frame_of(experiment_, experiment_.contexts[site]));
    const ContextId around = enclosing_procedure(experiment_, site);
    const bool at_site = experiment_.contexts[site].kind == database::ContextKind::call && !where.empty();
    if (at_site) text += " at " + where;
    if (around != database::kNone) text += " in " + procedure_name(experiment_, around, width_, unicode_);
    return text;
  }

  [[nodiscard]] static std::string number(std::uint64_t count) {
    constexpr double kMillion = 1e6;
    const auto value = static_cast<double>(count);
    return value >= kMillion ? grouped(value / kMillion, 1) + " million" : grouped(value);
  }
  [[nodiscard]] std::string share(double seconds) const {
    return keep(round_percent(diagnosis_.total_s > 0 ? std::min(1.0, seconds / diagnosis_.total_s) : 0));
  }

  [[nodiscard]] std::string of_messages(const CallTraffic& call, double cost_s) const {
    const double size = static_cast<double>(call.message_bytes) / static_cast<double>(call.messages);
    const std::uint64_t sent = sent_messages(call);
    const std::string of = call.smallest == call.largest ? " of " : " of some ";
    const std::string what = keep(number(sent) + " messages" + of + bytes(size)) + " from " + place_of(call);
    const std::string takes =
        " take " + share(cost_s) + " of the time" + (receiving_s_ > 0 ? " with what receives them" : "");
    if (size < kSmall && sent >= kMany)
      return what + takes + "; sent " + keep(grouped(kTogether) + " at a time") +
             ", where none needs an answer first, up to " + share(cost_s * (1 - 1 / kTogether)) +
             " would be saved.";
    if (size >= kLarge)
      return what + takes + ": what counts is how fast the bytes move, not how many calls move them.";
    return {};
  }

  [[nodiscard]] std::string of_collective(const CallTraffic& call, const std::string& name,
                                          double cost_s) const {
    const double size = static_cast<double>(call.message_bytes) / static_cast<double>(call.messages);
    const std::string what = keep(number(call.calls) + ' ' + name + " calls") + " of " + keep(bytes(size)) +
                             place_of(call).substr(name.size());
    if (size >= kLarge)
      return what + " take " + share(cost_s) +
             " of the time: what counts is how fast the bytes move, not how many calls move them.";
    if (call.calls >= kMany && (late_known() || is_brief(call)))
      return what + " take " + share(cost_s) + " of the time" + beyond_or_with_late() +
             ": fewer, or nonblocking ones, would save that.";
    return {};
  }

  void add_barriers(std::vector<std::pair<double, std::string>>& found) const {
    for (const CallTraffic& call : experiment_.communication().calls) {
      if (call.context == 0 || mpi_call_name(experiment_, call.context) != "MPI_Barrier") continue;
      const double cost_s = own(call);
      const bool known = late_known() || (call.calls >= kMany && is_brief(call));
      if (!known || cost_s < kNotableCost * diagnosis_.total_s) continue;
      found.emplace_back(cost_s, keep(number(call.calls) + " calls of " + place_of(call)) + " take " +
                                     share(cost_s) + " of the time" + beyond_or_with_late() +
                                     ": are they needed?");
    }
  }

  /// Loops of polls: they wait, whatever else they do.
  void add_polls(std::vector<std::pair<double, std::string>>& found) const {
    for (const CallTraffic& call : experiment_.communication().calls) {
      const double cost_s = seconds_of(call.ns);
      if (call.context == 0 || cost_s < kNotableCost * diagnosis_.total_s) continue;
      const std::uint64_t vain = polls_in_vain(experiment_, call.context);
      if (vain < kMany || vain < call.calls) continue;
      found.emplace_back(cost_s, "Of " + keep(number(vain + call.calls) + " polls") + " by " +
                                     place_of(call) + ", " + keep(number(vain)) +
                                     " found nothing: they take " + share(cost_s) +
                                     " of the time, which is waiting.");
    }
  }

  /// Whether calls take so little each that hardly any rank can be late: by the time of messages and of what
  /// the operating system does now and then.
  [[nodiscard]] static bool is_brief(const CallTraffic& call) {
    constexpr double kBrief = 50e-6;
    return seconds_of(call.ns) < kBrief * static_cast<double>(call.calls);
  }
  [[nodiscard]] std::string beyond_or_with_late() const {
    return late_known() ? " beyond waiting for late ranks" : ", waiting for each other included";
  }

  /// Else waiting for late ranks is part of what calls take.
  [[nodiscard]] bool late_known() const { return all_ranks_traced(experiment_); }

  const database::Contents& experiment_;
  const Diagnosis& diagnosis_;
  std::size_t width_;
  bool unicode_;
  std::map<ContextId, double> late_;
  double receiving_s_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace

std::string other_world_phrase(const database::Contents& experiment, const Diagnosis& diagnosis) {
  if (experiment.trace().traced > 0 || diagnosis.idle_s < kNotableCost * diagnosis.total_s) return {};
  std::string connecting;
  for (const CallTraffic& call : experiment.communication().calls) {
    const std::string name = mpi_call_name(experiment, call.context);
    if (name.starts_with("MPI_Comm_spawn")) {
      return "The run calls " + name +
             ": ranks may wait for the processes that it started, which are no part of this measurement. To "
             "measure them as a run of their own, spawn hpcrun-lite with -o run2 ./app as its arguments.";
    }
    if (name == "MPI_Comm_accept" || name == "MPI_Comm_connect" || name == "MPI_Comm_join") connecting = name;
  }
  if (connecting.empty()) return {};
  return "The run calls " + connecting +
         ": ranks may wait for processes that they connected to. Those of another job are no part of this "
         "measurement; start them with hpcrun-lite, too, as a run of their own.";
}

std::vector<std::string> message_pattern_phrases(const views::Figures& figures, const Diagnosis& diagnosis,
                                                 bool starved, std::size_t width, bool unicode) {
  if (diagnosis.total_s <= 0) return {};
  std::vector<std::string> phrases;
  if (!starved) phrases = Patterns(figures, diagnosis, width, unicode).phrases();
  if (std::string others = other_world_phrase(figures.experiment(), diagnosis); !others.empty())
    phrases.push_back(std::move(others));
  if (std::string polling = polling_phrase(figures.experiment(), unicode); !polling.empty())
    phrases.push_back(std::move(polling));
  return phrases;
}

}  // namespace culprit::viewer
