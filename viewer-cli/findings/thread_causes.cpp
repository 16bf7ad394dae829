// Names the code that makes threads idle, or wait for locks (docs/algorithms.md 12): from the root of each
// role's calls down, to the innermost procedures that hold a good part of what is caused; what is left stays
// with their caller. A team's threads have several roles: the body of a parallel region is named in each if
// all of them together cause that much. Not named are run-time libraries, which nobody can change, and
// procedures that others call as well: not the copying is to blame but who copies. Where the code is a call
// of MPI, the blame of that call's waiting says what it waits for: the deepest balanced ancestor with blame
// of its own, and the suspect below that.
#include "findings/thread_causes.hpp"

#include "findings/phrases.hpp"
#include "findings/serving_threads.hpp"
#include "findings/suspect_names.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/difference.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::ContextKind;

constexpr double kGoodPart = 0.1;  // of what is caused in all: what is named by itself
constexpr double kRest = 0.2;      // of that: what is left to a caller, that is worth a place
constexpr double kOwnPart = 0.8;   // of a procedure's time: it is its caller's own
constexpr double kSerial = 0.75;   // of the other threads: all idle but for what teams cost
constexpr double kLonger = 1.1;    // of two threads' work in a loop: worth naming both
constexpr std::size_t kNamed = 2;

/// The sum over roles of what is counted at no place in particular.
double sum_of(const views::Figures& figures, const char* name) {
  const std::optional<std::uint32_t> metric = views::metric_named(figures.experiment(), name);
  if (!metric) return 0;
  double sum = 0;
  for (std::uint32_t role = 0; role < figures.experiment().roles.size(); ++role)
    sum += static_cast<double>(figures.context(role, *metric, 0, true).sum);
  return sum / kNsPerSecond;
}

bool is_procedure(ContextKind kind) {
  return kind == ContextKind::procedure || kind == ContextKind::inlined || kind == ContextKind::region;
}

/// Whether a call of MPI that waits: what it waits for is blamed elsewhere.
bool is_mpi_wait(const database::Contents& experiment, ContextId context) {
  const database::Context& scope = experiment.contexts[context];
  return (scope.flags & database::kFrontier) != 0 && is_procedure(scope.kind) &&
         label(views::frame_of(experiment, scope)).starts_with("MPI_");
}

/// Finds the code that causes most, role by role.
class Descent {
 public:
  Descent(const views::Figures& figures, std::uint32_t metric, double whole_s)
      : figures_(figures),
        experiment_(figures.experiment()),
        metric_(metric),
        time_(views::metric_named(experiment_, "REALTIME")),
        least_s_(kGoodPart * whole_s) {}

  std::vector<ThreadCause> run() {
    find_bodies();
    for (role_ = 0; role_ < experiment_.roles.size(); ++role_) {
      const double all = value(0);
      if (all > 0) go_down(0, database::kNone, all);
    }
    std::ranges::stable_sort(found_, std::ranges::greater(), &ThreadCause::caused_s);
    return std::move(found_);
  }

 private:
  [[nodiscard]] double value(ContextId context) const {
    return static_cast<double>(figures_.context(role_, metric_, context, true).sum) / kNsPerSecond;
  }
  [[nodiscard]] double time(ContextId context) const {
    double sum = 0;
    for (std::uint32_t role = 0; time_ && role < experiment_.roles.size(); ++role)
      sum += static_cast<double>(figures_.context(role, *time_, context, true).sum);
    return sum;
  }

  /// The bodies of parallel regions of which all threads together cause a good part.
  void find_bodies() {
    std::map<std::uint32_t, double> caused;  // by procedure
    for (ContextId at = 0; at < experiment_.contexts.size(); ++at) {
      if (!is_parallel_body(experiment_, at)) continue;
      bodies_.push_back(at);
      for (role_ = 0; role_ < experiment_.roles.size(); ++role_)
        caused[experiment_.procedures.of_context(at)] += value(at);
    }
    std::erase_if(bodies_,
                  [&](ContextId at) { return caused[experiment_.procedures.of_context(at)] < least_s_; });
  }

  /// Code that the user wrote or chose, and can change.
  [[nodiscard]] bool can_be_named(ContextId context) const {
    const database::Context& scope = experiment_.contexts[context];
    if (!is_procedure(scope.kind) || (scope.flags & (database::kRunTime | database::kStartUp)) != 0)
      return false;
    const views::Frame frame = views::frame_of(experiment_, scope);
    const std::string_view module = views::base_name(frame.module);
    static constexpr std::array kOthers = {"libc.",   "libc-",  "ld-linux",  "libgomp", "libomp",
                                           "libiomp", "libtbb", "libstdc++", "libc++"};
    static constexpr std::array kGlue = {"std::", "__gnu_cxx::", "tbb::", "oneapi::tbb::"};
    const auto begins = [](std::string_view text) {
      return [text](const char* start) { return text.starts_with(start); };
    };
    return std::ranges::none_of(kOthers, begins(module)) && std::ranges::none_of(kGlue, begins(frame.name));
  }

  /// The nearest procedure around `context` that can be named; kNone: there is none.
  [[nodiscard]] ContextId caller_of(ContextId context) const {
    ContextId at = experiment_.contexts[context].parent;
    while (at != database::kNone && !can_be_named(at)) at = experiment_.contexts[at].parent;
    return at;
  }

  /// Whether most of the time of the procedure at `context` is spent for other callers than the procedure
  /// `around`: then it is a tool of many, and who used it is to be named.
  [[nodiscard]] bool is_shared(ContextId context, ContextId around) const {
    // The body of a region or a task is that of the function that it stands in, whoever of the team runs it.
    if (around == database::kNone || is_parallel_body(experiment_, context)) return false;
    const std::uint32_t number = experiment_.procedures.of_context(context);
    const std::uint32_t caller = experiment_.procedures.of_context(around);
    if (number == database::kNone || caller == database::kNone) return false;
    double all = 0, own = 0;
    for (ContextId at = 0; at < experiment_.contexts.size(); ++at) {
      if (experiment_.procedures.of_context(at) != number) continue;
      const ContextId by = caller_of(at);
      if (by == database::kNone) continue;  // a thread's first procedure, or that of a team
      const std::uint32_t by_procedure = experiment_.procedures.of_context(by);
      if (by_procedure == number) continue;  // a recursion: within the time of the call around
      const double here = time(at);
      all += here;
      if (by_procedure == caller) own += here;
    }
    return own < kOwnPart * all;
  }

  /// `around`: the procedure at `context`, or kNone where none above it can be named.
  void go_down(ContextId context, ContextId around, double caused_s) {
    const double left = caused_s - go_below(context, around);
    const bool good = left >= least_s_ || (around != database::kNone && left >= kRest * least_s_);
    if (good) found_.push_back({.context = context, .role = role_, .caused_s = left});
  }

  /// Names what it can below `context`, through code that it cannot name. Returns how much that caused.
  double go_below(ContextId context, ContextId around) {
    double named_s = 0;
    for (ContextId below = context + 1; below < experiment_.contexts[context].end;
         below = experiment_.contexts[below].end) {
      const double part = value(below);
      if (part < least_s_) {
        named_s += name_bodies(below);
      } else if (experiment_.contexts[below].kind == ContextKind::statement) {
        continue;
      } else if (is_mpi_wait(experiment_, below)) {
        found_.push_back({.context = below, .role = role_, .caused_s = part});
        named_s += part;
      } else if (!can_be_named(below)) {
        named_s += go_below(below, around);
      } else if (!is_shared(below, around)) {
        go_down(below, below, part);
        named_s += part;
      }
    }
    return named_s;
  }

  /// Names the share of a team's threads in what `bodies_` at and below `context` cause. Returns their sum.
  double name_bodies(ContextId context) {
    double named_s = 0;
    ContextId after = context;
    for (auto body = std::ranges::lower_bound(bodies_, context);
         body != bodies_.end() && *body < experiment_.contexts[context].end; ++body) {
      const double part = value(*body);
      if (*body < after || part < kRest * least_s_) continue;
      found_.push_back({.context = innermost(*body, part), .role = role_, .caused_s = part});
      named_s += part;
      after = experiment_.contexts[*body].end;
    }
    return named_s;
  }

  /// The innermost procedure that can be named, and has nearly all of what `body` causes.
  [[nodiscard]] ContextId innermost(ContextId body, double caused_s) const {
    ContextId found = body;
    for (ContextId at = body + 1; at < experiment_.contexts[found].end;) {
      if (value(at) < kOwnPart * caused_s) {
        at = experiment_.contexts[at].end;
        continue;
      }
      if (can_be_named(at) && !is_shared(at, found)) found = at;
      ++at;
    }
    return found;
  }

  const views::Figures& figures_;
  const database::Contents& experiment_;
  std::uint32_t metric_;
  std::optional<std::uint32_t> time_;
  double least_s_;
  std::uint32_t role_ = 0;
  std::vector<ContextId> bodies_;  // ascending
  std::vector<ThreadCause> found_;
};

/// The loop around `context` in the body of a parallel region, the outermost one; kNone: there is none.
ContextId loop_of_region(const database::Contents& experiment, ContextId context) {
  ContextId loop = database::kNone;
  for (ContextId at = context; at != database::kNone; at = experiment.contexts[at].parent) {
    const database::Context& scope = experiment.contexts[at];
    if (scope.kind == ContextKind::loop) loop = at;
    if (scope.kind != ContextKind::procedure && scope.kind != ContextKind::inlined) continue;
    if (is_parallel_body(experiment, at)) return loop;
    loop = database::kNone;
  }
  return database::kNone;
}

/// Adds to causes what is known of their code beside how much it caused.
class Explanation {
 public:
  explicit Explanation(const views::Figures& figures)
      : figures_(figures),
        experiment_(figures.experiment()),
        time_(views::metric_named(experiment_, "REALTIME")),
        blamed_(find_blamed(figures)) {
    for (const database::Role& role : experiment_.roles) {
      threads_ += role.threads;
      if (role.name == "main") processes_ += role.threads;
    }
  }

  void add_to(ThreadCause& cause) const {
    if (is_mpi_wait(experiment_, cause.context)) {
      cause.awaits = awaited(cause);
      return;
    }
    ContextId loop = loop_of_region(experiment_, cause.context);
    if (loop == database::kNone) loop = loop_in_body(cause);
    if (loop != database::kNone) {
      const database::FlatId flat = experiment_.contexts[cause.context].flat;
      if (flat != database::kNone && figures_.flat_presence(flat, std::nullopt).observers > 1)
        cause.loop = loop;
      return;  // others have iterations of their own
    }
    if (!time_ || processes_ == 0 || threads_ <= processes_) return;
    const double others = static_cast<double>(threads_ - processes_) / static_cast<double>(processes_);
    const auto ns = static_cast<double>(figures_.context(cause.role, *time_, cause.context, true).sum);
    cause.serial = cause.caused_s >= kSerial * others * ns / kNsPerSecond;
  }

 private:
  /// The loop directly in the body of a parallel region in which most of the cause lies: the code of its
  /// iterations need be no procedure of its own. kNone: none.
  [[nodiscard]] ContextId loop_in_body(const ThreadCause& cause) const {
    const auto metric = views::metric_named(experiment_, "idleness-caused");
    if (!metric || !is_parallel_body(experiment_, cause.context)) return database::kNone;
    for (ContextId below = cause.context + 1; below < experiment_.contexts[cause.context].end;
         below = experiment_.contexts[below].end) {
      if (experiment_.contexts[below].kind != ContextKind::loop) continue;
      const auto ns = static_cast<double>(figures_.context(cause.role, *metric, below, true).sum);
      if (ns >= kOwnPart * cause.caused_s * kNsPerSecond) return below;
    }
    return database::kNone;
  }

  [[nodiscard]] const database::Suspect* awaited(const ThreadCause& cause) const {
    for (ContextId at = cause.context; at != database::kNone; at = experiment_.contexts[at].parent) {
      for (const Blamed& blamed : blamed_) {
        if (blamed.context != at || blamed.role != cause.role) continue;
        const std::vector<Charged> charged = suspects_below(experiment_, blamed);
        return charged.empty() ? nullptr : charged.front().suspect;
      }
    }
    return nullptr;
  }

  const views::Figures& figures_;
  const database::Contents& experiment_;
  std::optional<std::uint32_t> time_;
  std::vector<Blamed> blamed_;
  std::uint64_t threads_ = 0, processes_ = 0;
};

/// Several paths to one procedure are one cause, for a sentence.
struct NamedCause {
  std::string name;
  std::optional<std::uint32_t> role;  ///< not set: several
  double caused_s;
  ContextId loop;  ///< as in ThreadCause
};

/// Empty where no code can be named. `assemble at a.c:12 (serial)`, `the loop at a.c:12 in sweep`, `MPI_Recv
/// for smooth at b.c:7 (rank 3)`.
std::string name_of_cause(const views::Figures& figures, const ThreadCause& cause, std::size_t width,
                          bool unicode) {
  const database::Contents& experiment = figures.experiment();
  if (is_mpi_wait(experiment, cause.context)) {
    std::string name = procedure_name(experiment, cause.context, width, unicode);
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

/// What threads idled that only serve others.
double served_s(const views::Figures& figures) {
  const std::optional<std::uint32_t> idled = views::metric_named(figures.experiment(), "idleness-counted");
  double sum = 0;
  for (std::uint32_t role = 0; idled && role < figures.experiment().roles.size(); ++role)
    if (only_serves(figures, role)) sum += static_cast<double>(figures.context(role, *idled, 0, true).sum);
  return sum / kNsPerSecond;
}

}  // namespace

bool is_parallel_body(const database::Contents& experiment, ContextId context) {
  const database::Context& scope = experiment.contexts[context];
  if (scope.kind != ContextKind::procedure && scope.kind != ContextKind::inlined) return false;
  return label(views::frame_of(experiment, scope)).find("[OpenMP region") != std::string::npos;
}

ThreadCauses find_thread_causes(const views::Figures& figures) {
  ThreadCauses causes;
  causes.caused_s = sum_of(figures, "idleness-caused");
  causes.unborne_s = sum_of(figures, "idleness-unborne");
  causes.lock_caused_s = sum_of(figures, "lock-wait-caused");
  causes.lock_unborne_s = sum_of(figures, "lock-wait-unborne");
  // Threads of a killed process that slept did not come to say how long; others noted what they caused.
  causes.idle_s = std::max(sum_of(figures, "idleness-counted"), causes.caused_s + causes.unborne_s);
  causes.served_s = served_s(figures);
  causes.lock_waited_s =
      std::max(sum_of(figures, "lock-wait-counted"), causes.lock_caused_s + causes.lock_unborne_s);
  const database::Contents& experiment = figures.experiment();
  if (causes.caused_s > 0)
    causes.idleness =
        Descent(figures, *views::metric_named(experiment, "idleness-caused"), causes.caused_s).run();
  if (!causes.idleness.empty()) {
    const Explanation explanation(figures);
    for (ThreadCause& cause : causes.idleness) explanation.add_to(cause);
  }
  if (causes.lock_caused_s > 0)
    causes.locks =
        Descent(figures, *views::metric_named(experiment, "lock-wait-caused"), causes.lock_caused_s).run();
  return causes;
}

std::vector<std::string> thread_cause_phrases(const views::Figures& figures, double total_s,
                                              std::size_t width, bool unicode) {
  const database::Contents& experiment = figures.experiment();
  const ThreadCauses causes = find_thread_causes(figures);
  std::vector<std::string> phrases;
  const auto most_of = [&](const std::vector<ThreadCause>& list, double whole_s) {
    std::vector<NamedCause> named = by_name(figures, list, width, unicode);
    const auto little = std::ranges::find_if(named, [&](const NamedCause& cause) {
      return &cause != named.data() && cause.caused_s < kGoodPart * whole_s;
    });
    named.resize(std::min(kNamed, static_cast<std::size_t>(little - named.begin())));
    return named;
  };
  const double idle_s = causes.idle_s - causes.served_s;
  if (idle_s >= kWorthReporting * total_s && !causes.idleness.empty()) {
    if (const std::string who = who_idles(figures); !who.empty()) {
      const std::vector<NamedCause> named = most_of(causes.idleness, causes.idle_s);
      std::vector<std::string> parts;
      parts.reserve(named.size());
      for (const NamedCause& cause : named) {
        parts.push_back(part(cause.caused_s, causes.idle_s) + (parts.empty() ? " of that" : "") + " while " +
                        who_is_in(experiment, cause));
      }
      phrases.push_back(who + ", " + enumerate(parts) + '.');
      if (std::string advice = schedule_advice(figures, named); !advice.empty())
        phrases.push_back(std::move(advice));
    }
  }
  if (causes.lock_waited_s >= kWorthReporting * total_s && !causes.locks.empty()) {
    std::vector<std::string> holders;
    for (const NamedCause& cause : most_of(causes.locks, causes.lock_waited_s)) {
      holders.push_back(part(cause.caused_s, causes.lock_waited_s) + (holders.empty() ? " of that" : "") +
                        " because of locks that are held in " + cause.name);
    }
    phrases.push_back("Threads wait for locks " + keep(round_percent(causes.lock_waited_s / total_s)) +
                      " of the time, " + enumerate(holders) + '.');
  }
  return phrases;
}

}  // namespace culprit::viewer
