// Writes what makes threads idle, or wait for locks, in sentences, with what would mend an uneven loop.
#include "findings/phrases.hpp"
#include "findings/serving_threads.hpp"
#include "findings/suspect_names.hpp"
#include "findings/thread_causes.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/difference.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::ContextKind;

constexpr double kWorthNaming = 0.1;   // of what is caused in all: what is named by itself
constexpr double kWorthAClause = 0.2;  // of what is waited: what nobody bears, that is worth a clause
constexpr double kLonger = 1.1;        // of two threads' work in a loop: worth naming both
constexpr std::size_t kNamed = 2;

/// Several paths to one procedure are one cause, for a sentence.
struct NamedCause {
  std::string name;
  std::optional<std::uint32_t> role;  ///< not set: several
  double caused_s;
  ContextId loop;  ///< as in ThreadCause
};

/// Empty where no code can be named. `assemble at a.c:12 (serial)`, `the loop at a.c:12 in sweep`, `MPI_Recv
/// for smooth at b.c:7 (rank 3)`, which time lines know better than suspects do.
std::string name_of_cause(const views::Figures& figures, const ThreadCause& cause, std::size_t width,
                          bool unicode) {
  const database::Contents& experiment = figures.experiment();
  if (is_mpi_wait(experiment, cause.context)) {
    std::string name = procedure_name(experiment, cause.context, width, unicode);
    if (cause.delay)
      return name + " for " + cause_phrase(experiment, cause.delay->scope.context, true, width, unicode) +
             " (" + threads_phrase(experiment, cause.delay->who.locations()) + ')';
    if (cause.awaits == nullptr) return name;
    return name + " for " + name_of(experiment, suspect_names(experiment, width, unicode), *cause.awaits) +
           " (" + threads_phrase(experiment, cause.awaits->locations) + ')';
  }
  const database::ContextKind kind = experiment.contexts[cause.context].kind;
  if (kind == ContextKind::root || kind == ContextKind::thread_root) return {};
  const bool loop = cause.loop != database::kNone;
  std::string name = scope_phrase(experiment, loop ? cause.loop : cause.context, true, width, unicode);
  if (name.starts_with("<unknown")) return "code without a name";
  if (loop) return name + " (uneven iterations)";
  return cause.serial ? name + " (serial)" : name;
}

std::vector<NamedCause> by_name(const views::Figures& figures, const std::vector<ThreadCause>& causes,
                                std::size_t width, bool unicode) {
  std::vector<NamedCause> named;
  for (const ThreadCause& cause : causes) {
    const std::string name = name_of_cause(figures, cause, width, unicode);
    const auto same = std::ranges::find_if(named, [&](const NamedCause& each) {
      return each.name == name && (!name.empty() || each.role == cause.role);
    });
    if (same != named.end()) {
      same->caused_s += cause.caused_s;
      if (same->role != cause.role) same->role.reset();
    } else {
      named.push_back({name, cause.role, cause.caused_s, cause.loop});
    }
  }
  std::ranges::stable_sort(named, std::ranges::greater(), &NamedCause::caused_s);
  return named;
}

bool is_only_main_thread(const database::Contents& experiment, std::uint32_t role) {
  return experiment.roles[role].threads == 1 && experiment.roles[role].name == "main";
}

/// `the main thread is in solve`, `main threads are in solve`, `threads are in solve`; `main threads work`,
/// where no code has a name.
std::string who_is_in(const database::Contents& experiment, const NamedCause& cause) {
  if (!cause.role) return "threads are in " + cause.name;
  const bool lone = is_only_main_thread(experiment, *cause.role);
  const std::string who = lone ? "the main thread" : role_phrase(experiment, *cause.role);
  if (cause.name.empty()) return who + (lone ? " works" : " work");
  return who + (lone ? " is in " : " are in ") + cause.name;
}

/// Work in `loop`, by the threads' numbers in their processes, of all processes: seconds.
std::map<std::uint32_t, double> work_by_thread(const views::Figures& figures, ContextId loop) {
  const database::Contents& experiment = figures.experiment();
  const auto time = views::metric_named(experiment, "REALTIME");
  const auto idleness = views::metric_named(experiment, "idleness");
  std::map<std::uint32_t, double> work;
  if (!time || !figures.over_all() || experiment.contexts[loop].flat == database::kNone) return work;
  std::vector<ContextId> everywhere;  // workers reach it otherwise than main threads
  for (ContextId at = 0; at < experiment.contexts.size(); ++at) {
    const bool inside = !everywhere.empty() && at < experiment.contexts[everywhere.back()].end;
    if (!inside && experiment.contexts[at].flat == experiment.contexts[loop].flat) everywhere.push_back(at);
  }
  const auto add = [&](std::uint32_t metric, double sign) {
    const std::vector<std::uint64_t> values = figures.per_thread(everywhere, metric, true);
    for (std::uint32_t location = 0; location < values.size(); ++location)
      work[experiment.locations[location].thread] +=
          sign * static_cast<double>(values[location]) / kNsPerSecond;
  };
  add(*time, 1);
  if (idleness) add(*idleness, -1);
  std::erase_if(work, [](const auto& each) { return each.second <= 0; });
  return work;
}

/// How the threads of a region share its work, as far as it is not a loop whose schedule could be another.
enum class Sharing { loop, ordered, sections };

/// By where threads idle in the region around `loop`: in libgomp's functions for that.
Sharing sharing_of(const views::Figures& figures, ContextId loop) {
  const database::Contents& experiment = figures.experiment();
  const auto idleness = views::metric_named(experiment, "idleness");
  ContextId body = loop;
  while (body != database::kNone && !is_parallel_body(experiment, body))
    body = experiment.contexts[body].parent;
  if (body == database::kNone || !idleness) return Sharing::loop;
  const std::uint32_t region = experiment.procedures.of_context(body);
  const auto idle = [&](ContextId at) {
    double sum = 0;
    for (std::uint32_t role = 0; role < experiment.roles.size(); ++role)
      sum += static_cast<double>(figures.context(role, *idleness, at, true).sum);
    return sum;
  };
  double all = 0, ordered = 0, sections = 0;
  std::uint32_t end = 0;  // of the last body: regions that are nested in it
  for (ContextId at = 0; at < experiment.contexts.size(); ++at) {
    if (at >= end) {
      if (!is_parallel_body(experiment, at) || experiment.procedures.of_context(at) != region) continue;
      end = experiment.contexts[at].end;
      all += idle(at);
    } else if (experiment.contexts[at].kind == ContextKind::procedure) {
      const std::string name = label(views::frame_of(experiment, experiment.contexts[at]));
      if (name.find("ordered") != std::string::npos) ordered += idle(at);
      if (name.find("GOMP_sections") != std::string::npos) sections += idle(at);
    }
  }
  constexpr double kMost = 0.5;
  if (all <= 0) return Sharing::loop;
  if (ordered >= kMost * all) return Sharing::ordered;
  return sections >= kMost * all ? Sharing::sections : Sharing::loop;
}

/// Which threads work longest in a loop whose iterations are uneven, and what would share them: `In that loop
/// thread 1 works 2.9 times as long as thread 0: schedule(dynamic), or smaller chunks, ...`. `named`: the
/// causes that were, in their order.
std::string schedule_advice(const views::Figures& figures, const std::vector<NamedCause>& named) {
  const auto uneven =
      std::ranges::find_if(named, [](const auto& each) { return each.loop != database::kNone; });
  // Threads that share processors take turns, whatever the schedule.
  if (uneven == named.end() || views::lacks_processors(figures.experiment())) return {};
  const Sharing sharing = sharing_of(figures, uneven->loop);
  if (sharing == Sharing::ordered)
    return "That loop has an ordered part, which its threads run one after the other: no schedule shares it.";
  const std::map<std::uint32_t, double> work = work_by_thread(figures, uneven->loop);
  const auto by_work = [](const auto& a, const auto& b) { return a.second < b.second; };
  if (work.size() < 2) return {};
  const auto [least, most] = std::ranges::minmax_element(work, by_work);
  const double ratio = most->second / least->second;
  std::string text = sharing == Sharing::sections ? "In these sections " : "In that loop ";
  if (ratio >= kLonger) {
    text += keep("thread " + std::to_string(most->first)) + " works " + keep(grouped(ratio, 1) + " times") +
            " as long as " + keep("thread " + std::to_string(least->first));
  } else {
    text += "all threads work equally long in sum, so which one is late changes";
  }
  if (sharing == Sharing::sections) return text + ": more and smaller sections share the work more evenly.";
  return text +
         ": schedule(dynamic) with small chunks shares such iterations more evenly, unless a single "
         "one takes that long.";
}

std::string part(double part_s, double whole_s) {
  return keep(round_percent(std::min(1.0, part_s / whole_s)));
}

/// How long the threads of a role idled, and lived.
struct RoleIdles {
  std::uint32_t role = 0;
  double idle = 0, time = 0;  // ns
};

std::string share_phrase(const RoleIdles& each, bool lone) {
  return keep(round_percent(std::min(1.0, each.idle / each.time))) +
         (lone ? " of its time" : " of their time");
}

/// The roles that idle, and how much of their time: all that is idled, but for a little, since what comes
/// behind it are shares of all. `The worker threads idle 67 % of their time and the main thread 33 % of its
/// time`; of more roles `Threads idle 58 % of their time`.
std::string who_idles(const views::Figures& figures) {
  constexpr double kNearlyAll = 0.95;
  const database::Contents& experiment = figures.experiment();
  const auto metric = views::metric_named(experiment, "idleness-counted");
  const auto time = views::metric_named(experiment, "REALTIME");
  if (!metric || !time) return {};
  RoleIdles all;
  std::vector<RoleIdles> roles;
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
    const RoleIdles each{.role = role,
                         .idle = static_cast<double>(figures.context(role, *metric, 0, true).sum),
                         .time = static_cast<double>(figures.context(role, *time, 0, true).sum)};
    if (only_serves(figures, role)) continue;
    all.idle += each.idle;
    all.time += each.time;
    if (each.idle > 0 && each.time > 0) roles.push_back(each);
  }
  if (roles.empty()) return {};
  std::ranges::stable_sort(roles, std::ranges::greater(), &RoleIdles::idle);
  const auto lone = [&](const RoleIdles& each) { return is_only_main_thread(experiment, each.role); };
  const auto who = [&](const RoleIdles& each) {
    return lone(each) ? std::string("main thread") : role_phrase(experiment, each.role);
  };
  const RoleIdles& first = roles.front();
  std::string text =
      "The " + who(first) + (lone(first) ? " idles " : " idle ") + share_phrase(first, lone(first));
  if (first.idle >= kNearlyAll * all.idle) return text;
  if (first.idle + roles[1].idle < kNearlyAll * all.idle) return "Threads idle " + share_phrase(all, false);
  return text + " and the " + who(roles[1]) + ' ' + share_phrase(roles[1], lone(roles[1]));
}

/// Writes causes in sentences.
class ThreadCausePhrases {
 public:
  ThreadCausePhrases(const views::Figures& figures, std::size_t width, bool unicode)
      : figures_(figures), causes_(find_thread_causes(figures)), width_(width), unicode_(unicode) {}

  /// What is more comes first.
  [[nodiscard]] std::vector<std::string> write(double total_s) const {
    const double least_s = kWorthReporting * total_s;
    const bool burdened = causes_.overhead_s >= least_s;
    std::vector<std::pair<double, std::vector<std::string>>> parts;
    if (const double idle_s = causes_.idle_s - causes_.served_s; idle_s >= least_s)
      parts.emplace_back(idle_s, of_idling(!burdened));
    if (causes_.lock_waited_s >= least_s) parts.emplace_back(causes_.lock_waited_s, of_locks(total_s));
    if (burdened) parts.emplace_back(causes_.overhead_s, of_overhead(total_s));
    std::ranges::stable_sort(parts, std::ranges::greater(), [](const auto& each) { return each.first; });
    std::vector<std::string> phrases;
    for (auto& [seconds, of_part] : parts) std::ranges::move(of_part, std::back_inserter(phrases));
    return phrases;
  }

 private:
  [[nodiscard]] std::vector<NamedCause> most_of(const std::vector<ThreadCause>& list, double whole_s) const {
    std::vector<NamedCause> named = by_name(figures_, list, width_, unicode_);
    const auto little = std::ranges::find_if(named, [&](const NamedCause& cause) {
      return &cause != named.data() && cause.caused_s < kWorthNaming * whole_s;
    });
    named.resize(std::min(kNamed, static_cast<std::size_t>(little - named.begin())));
    return named;
  }

  /// Chunks that are too small are no uneven iterations: then there is no advice on schedules.
  [[nodiscard]] std::vector<std::string> of_idling(bool with_advice) const {
    const std::string who = who_idles(figures_);
    if (who.empty()) return {};
    const std::vector<NamedCause> named = most_of(causes_.idleness, causes_.idle_s);
    std::vector<std::string> parts;
    parts.reserve(named.size() + 1);
    for (const NamedCause& cause : named)
      parts.push_back(share_of(cause.caused_s, causes_.idle_s, parts) + " while " +
                      who_is_in(figures_.experiment(), cause));
    const double unborne_s = causes_.unborne_s - causes_.served_s;
    if (unborne_s >= kWorthAClause * causes_.idle_s)
      parts.push_back(share_of(unborne_s, causes_.idle_s, parts) + " while no thread of the process worked");
    if (parts.empty()) return {};
    std::vector<std::string> phrases{who + ", " + enumerate(parts) + '.'};
    if (std::string advice = schedule_advice(figures_, named); with_advice && !advice.empty())
      phrases.push_back(std::move(advice));
    return phrases;
  }

  [[nodiscard]] std::vector<std::string> of_overhead(double total_s) const {
    std::vector<std::string> places;
    for (const NamedCause& cause : most_of(causes_.overhead, causes_.overhead_s))
      if (!cause.name.empty())
        places.push_back(share_of(cause.caused_s, causes_.overhead_s, places) + " in " + cause.name);
    return {"OpenMP's run-time library takes " + keep(round_percent(causes_.overhead_s / total_s)) +
            " of the time" + (places.empty() ? "" : ", " + enumerate(places)) +
            ": larger chunks of loops, and fewer and larger regions and tasks, take less."};
  }

  [[nodiscard]] std::vector<std::string> of_locks(double total_s) const {
    std::vector<std::string> holders;
    for (const NamedCause& cause : most_of(causes_.locks, causes_.lock_waited_s))
      holders.push_back(share_of(cause.caused_s, causes_.lock_waited_s, holders) +
                        " because of locks that are held in " + cause.name);
    if (causes_.lock_unborne_s >= kWorthAClause * causes_.lock_waited_s)
      holders.push_back(share_of(causes_.lock_unborne_s, causes_.lock_waited_s, holders) +
                        " for locks of which it is not known who held them");
    if (holders.empty()) return {};
    return {"Threads wait for locks " + keep(round_percent(causes_.lock_waited_s / total_s)) +
            " of the time, " + enumerate(holders) + '.'};
  }

  /// The first of a list says of what.
  static std::string share_of(double part_s, double whole_s, const std::vector<std::string>& before) {
    return part(part_s, whole_s) + (before.empty() ? " of that" : "");
  }

  const views::Figures& figures_;
  const ThreadCauses causes_;
  std::size_t width_;
  bool unicode_;
};

}  // namespace

std::vector<std::string> thread_cause_phrases(const views::Figures& figures, double total_s,
                                              std::size_t width, bool unicode) {
  return ThreadCausePhrases(figures, width, unicode).write(total_s);
}

}  // namespace culprit::viewer
