// Collects what the report says of idleness, suspects and work (docs/algorithms.md 5), from summaries; one
// pass over the contexts.
#include "findings/diagnosis.hpp"

#include "findings/serving_threads.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/difference.hpp"
#include "views/frame.hpp"
#include "views/joining.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::ContextKind;
using views::metric_named;

constexpr double kWaiter = 0.5;          // of the mean wait
constexpr double kWorthDividing = 0.01;  // of the run: a procedure's work, among what is inlined into it

double seconds(metrics::Uint128 ns) {
  return static_cast<double>(ns) / kNsPerSecond;
}

/// Time of the thread that ran longest, without what lies in `left_out`: a main thread may end before others.
/// Cost: per-thread values of what is left out.
double elapsed(const views::Figures& figures, std::uint32_t time, std::span<const ContextId> left_out) {
  if (left_out.empty()) {
    double longest = 0;
    for (std::uint32_t role = 0; role < figures.experiment().roles.size(); ++role)
      longest = std::max(longest, seconds(figures.context(role, time, 0, true).max));
    return longest;
  }
  std::vector<std::uint64_t> lived = figures.per_thread(0, time, true);
  for (const ContextId context : left_out) {
    const std::vector<std::uint64_t> here = figures.per_thread(context, time, true);
    std::ranges::transform(lived, here, lived.begin(),
                           [](std::uint64_t all, std::uint64_t part) { return all - std::min(all, part); });
  }
  return lived.empty() ? 0 : seconds(std::ranges::max(lived));
}

/// Exclusive seconds at a flat scope, of all roles, outside communication, waits, and input and output.
double own_time(const views::Figures& figures, std::uint32_t time,
                std::span<const std::optional<std::uint32_t>> other, database::FlatId scope) {
  double sum = 0;
  for (std::uint32_t role = 0; role < figures.experiment().roles.size(); ++role) {
    sum += seconds(figures.flat(role, time, scope, false).sum);
    for (const std::optional<std::uint32_t>& metric : other)
      sum -= metric ? seconds(figures.flat(role, *metric, scope, false).sum) : 0;
  }
  return std::max(sum, 0.0);
}

/// What a procedure does itself: by the functions that are inlined into it, where they do most of it. Those
/// of the standard library count to what uses them. `own_in`: seconds right at a flat scope.
template <typename OwnIn>
std::vector<Work> divide_among_inlined(const database::Contents& experiment, Work procedure, OwnIn own_in) {
  const database::FlatId first = procedure.scope;
  std::vector<database::FlatId> owner = {first};  // of each scope of it: a procedure, an inlined function
  std::map<database::StringId, database::FlatId> known;  // inlined functions, by name
  std::map<database::FlatId, double> own;
  double all = 0;
  for (database::FlatId scope = first + 1; scope < experiment.flat[first].end; ++scope) {
    const database::FlatScope self = experiment.flat[scope];
    database::FlatId of = owner[self.parent - first];
    if (self.kind == ContextKind::inlined && !views::is_library(views::frame_of(experiment, self)))
      of = known.try_emplace(self.name, scope).first->second;
    owner.push_back(of);
    if (self.kind != ContextKind::statement) continue;
    const double here = own_in(scope);
    own[of] += here;
    all += here;
  }
  if (2 * own[first] >= all) return {procedure};
  std::vector<Work> parts;
  parts.reserve(own.size());
  for (const auto& [scope, part] : own)
    parts.push_back({.scope = scope, .seconds = procedure.seconds * part / all, .asleep = procedure.asleep});
  return parts;
}

}  // namespace

ContextId chosen_around(const database::Contents& experiment, ContextId context) {
  // Of code without symbols, the Python function that calls it says more.
  ContextId nameless = database::kNone;
  for (ContextId at = experiment.contexts[context].parent; at != database::kNone;
       at = experiment.contexts[at].parent) {
    const database::Context& around = experiment.contexts[at];
    const views::Frame frame = views::frame_of(experiment, around);
    if (!views::is_procedure(around.kind) || (around.flags & database::kRunTime) != 0 ||
        views::is_library(frame))
      continue;
    const bool python = frame.module == database::kPythonModule;
    if (!views::is_named_for_module(frame)) return python || nameless == database::kNone ? at : nameless;
    if (nameless == database::kNone) nameless = at;
  }
  return nameless;
}

namespace {

/// Whose calls of a run-time library's procedure take at least half of what it takes; kNone where nobody's
/// do.
ContextId caller_of(const views::Figures& figures, std::uint32_t time, database::FlatId procedure) {
  struct Caller {
    double seconds = 0;
    ContextId context = database::kNone;
  };
  const database::Contents& experiment = figures.experiment();
  std::map<database::FlatId, Caller> callers;
  double all = 0;
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    if (experiment.contexts[context].flat != procedure) continue;
    double here = 0;
    for (std::uint32_t role = 0; role < experiment.roles.size(); ++role)
      here += seconds(figures.context(role, time, context, true).sum);
    all += here;
    const ContextId around = chosen_around(experiment, context);
    if (around == database::kNone) continue;
    Caller& caller = callers[experiment.contexts[around].flat];
    caller.seconds += here;
    caller.context = around;
  }
  const auto most =
      std::ranges::max_element(callers, {}, [](const auto& each) { return each.second.seconds; });
  return most == callers.end() || 2 * most->second.seconds < all ? database::kNone : most->second.context;
}

/// Seconds of what procedures do themselves.
struct OwnWork {
  double seconds = 0, on_cpu = 0;
};

/// The Python function for which the interpreter, or an extension module, does something; kNone where none is
/// around.
database::FlatId python_around(const database::Contents& experiment, ContextId context) {
  for (ContextId at = experiment.contexts[context].parent; at != database::kNone;
       at = experiment.contexts[at].parent) {
    const database::Context& around = experiment.contexts[at];
    if (!views::is_procedure(around.kind)) continue;
    const views::Frame frame = views::frame_of(experiment, around);
    if (frame.module == database::kPythonModule) return around.flat;
    if (!views::is_library(frame) && !views::is_named_for_module(frame)) break;
  }
  return database::kNone;
}

/// What the interpreter does for a Python function is that function's own work, as views fold it.
void give_to_python(const views::Figures& figures, std::uint32_t time, std::vector<OwnWork>& own) {
  const database::Contents& experiment = figures.experiment();
  std::map<database::FlatId, std::map<database::FlatId, double>> takers;  // by the interpreter's procedure
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    const database::Context& self = experiment.contexts[context];
    if (self.kind != ContextKind::procedure || own[self.flat].seconds <= 0 ||
        !views::is_interpreter(views::base_name(experiment.strings[self.module])))
      continue;
    double& taken = takers[self.flat][python_around(experiment, context)];
    for (std::uint32_t role = 0; role < experiment.roles.size(); ++role)
      taken += seconds(figures.context(role, time, context, false).sum);
  }
  for (const auto& [interpreter, functions] : takers) {
    const OwnWork given = own[interpreter];
    double whole = 0;
    for (const auto& [function, taken] : functions) whole += taken;
    for (const auto& [function, taken] : functions) {
      if (function == database::kNone || whole <= 0) continue;
      const double share = taken / whole;
      own[function].seconds += share * given.seconds;
      own[function].on_cpu += share * given.on_cpu;
      own[interpreter].seconds -= share * given.seconds;
      own[interpreter].on_cpu -= share * given.on_cpu;
    }
  }
}

/// By flat scope, of procedures: outside communication, waits, and input and output. Helper threads work only
/// while they have a processor; so do all where processors lack: a thread loses its processor at some calls
/// more often than elsewhere.
std::vector<OwnWork> own_work(const views::Figures& figures, std::uint32_t time,
                              std::span<const std::optional<std::uint32_t>> other, bool starved) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> cpu = metric_named(experiment, "CPU");
  const std::uint32_t main = views::main_role(experiment);
  std::vector<OwnWork> result(experiment.flat.size());
  for (database::FlatId scope = 0; scope < result.size(); ++scope) {
    if (experiment.flat[scope].kind != ContextKind::procedure) continue;
    for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
      const auto own_in = [&](std::uint32_t metric) {
        return seconds(figures.flat(role, metric, scope, false).sum);
      };
      double own = own_in(time);
      for (const std::optional<std::uint32_t>& metric : other) own -= metric ? own_in(*metric) : 0;
      if (cpu && (starved || role != main)) own = std::min(own, own_in(*cpu));
      result[scope].seconds += own;
      result[scope].on_cpu += cpu ? own_in(*cpu) : own;
    }
  }
  give_to_python(figures, time, result);
  return result;
}

/// Whether what work lacks in CPU time is sleep: by the kernel's scheduler, threads were not ready to run
/// without a processor for most of it, be it in their work or in waits.
bool mostly_sleeps(const database::Contents& experiment) {
  double gone_ns = 0, ready_ns = 0;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    const auto work = static_cast<double>(thread.work_ns), cpu = static_cast<double>(thread.work_cpu_ns);
    const double gone = std::max(0.0, work - cpu);
    gone_ns += gone;
    ready_ns += std::min(gone, static_cast<double>(thread.runnable_ns));
  }
  return gone_ns > 2 * ready_ns;
}

void add_work(const views::Figures& figures, std::uint32_t time, std::span<const ContextId> left_out,
              Diagnosis& diagnosis) {
  const database::Contents& experiment = figures.experiment();
  const bool knows_cpu = metric_named(experiment, "CPU").has_value();
  const std::array<std::optional<std::uint32_t>, 3> other = {metric_named(experiment, "idleness"),
                                                             metric_named(experiment, "communication"),
                                                             metric_named(experiment, "io")};
  const bool starved = !experiment.machine().suspects.empty();
  diagnosis.work_on_processor = starved && knows_cpu;
  diagnosis.work_of_s = diagnosis.work_on_processor
                            ? views::total_without(figures, views::find_column(experiment, "CPU"), left_out)
                            : diagnosis.total_s;
  const bool knows_sleep = !starved && mostly_sleeps(experiment);
  const std::vector<OwnWork> own = own_work(figures, time, other, starved);
  for (database::FlatId scope = 0; scope < own.size(); ++scope) {
    if (own[scope].seconds <= 0) continue;
    constexpr double kMostly = 0.5;
    const bool asleep = knows_sleep && own[scope].on_cpu < kMostly * own[scope].seconds;
    const Work work = {.scope = scope, .seconds = own[scope].seconds, .asleep = asleep};
    const auto own_in = [&](database::FlatId at) { return own_time(figures, time, other, at); };
    const bool run_time = (experiment.flat[scope].flags & database::kRunTime) != 0;
    if (run_time || asleep || work.seconds < kWorthDividing * diagnosis.total_s) {
      diagnosis.work.push_back(work);
    } else {
      std::ranges::move(divide_among_inlined(experiment, work, own_in), std::back_inserter(diagnosis.work));
    }
  }
  std::stable_sort(diagnosis.work.begin(), diagnosis.work.end(),
                   [](const Work& a, const Work& b) { return a.seconds > b.seconds; });
  if (diagnosis.work.size() > kWorkListed) diagnosis.work.resize(kWorkListed);
  for (Work& work : diagnosis.work) {
    if ((experiment.flat[work.scope].flags & database::kRunTime) != 0)
      work.caller = caller_of(figures, time, work.scope);
  }
}

/// Takes `idle_s`, waited in `start_up`, out of what was blamed for it: contexts within, and for the rest the
/// deepest balanced one around (lib/blame/shift.cpp).
void leave_out(const database::Contents& experiment, ContextId start_up, std::uint32_t role, double idle_s,
               std::vector<Blamed>& all) {
  ContextId around = experiment.contexts[start_up].parent;
  while (around != 0 && experiment.balance(role, around) != database::Balance::balanced)
    around = experiment.contexts[around].parent;
  for (Blamed& each : all) {
    if (each.role != role || each.context < start_up || each.context >= experiment.contexts[start_up].end)
      continue;
    idle_s -= each.counted_s;
    each.counted_s = 0;
  }
  for (Blamed& each : all) {
    if (each.role == role && each.context == around) each.counted_s = std::max(0.0, each.counted_s - idle_s);
  }
}

}  // namespace

std::vector<Blamed> find_blamed(const views::Figures& figures, bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  std::vector<Blamed> result;
  const std::vector<std::vector<database::BlameRow>> blame = experiment.blame.read();
  for (std::uint32_t role = 0; role < blame.size(); ++role) {
    for (const database::BlameRow& row : blame[role])
      result.push_back({row.context, role, seconds(row.sum), seconds(row.sum)});
  }
  const std::vector<bool> serving = serving_roles(figures);
  for (Blamed& each : result) {
    each.serves = serving[each.role];
    if (each.serves) each.counted_s = 0;
  }
  const std::optional<std::uint32_t> idleness = metric_named(experiment, "idleness");
  if (without_startup && idleness) {
    for (const ContextId start_up : views::mpi_start_up(experiment)) {
      for (std::uint32_t role = 0; role < blame.size(); ++role)
        leave_out(experiment, start_up, role, seconds(figures.context(role, *idleness, start_up, true).sum),
                  result);
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Blamed& a, const Blamed& b) { return a.idle_s > b.idle_s; });
  return result;
}

Waiters::Waiters(const views::Figures& figures)
    : figures_(figures),
      idleness_(metric_named(figures.experiment(), "idleness")),
      locations_(figures.experiment().roles.size()) {
  const database::Locations& locations = figures.experiment().locations;
  for (std::uint32_t location = 0; location < locations.size(); ++location)
    locations_[locations[location].role].push_back(location);
}

std::vector<std::uint32_t> Waiters::of(const Blamed& blamed) const {
  std::vector<std::uint32_t> waiters;
  if (!idleness_) return waiters;
  const std::vector<std::uint64_t> waits = figures_.per_thread(blamed.context, *idleness_, true);
  const std::vector<std::uint32_t>& locations = locations_[blamed.role];
  double sum = 0;
  for (const std::uint32_t location : locations) sum += static_cast<double>(waits[location]);
  const auto threads = static_cast<double>(locations.size());
  for (const std::uint32_t location : locations) {
    if (waits[location] != 0 && static_cast<double>(waits[location]) * threads >= kWaiter * sum)
      waiters.push_back(location);
  }
  return waiters;
}

namespace {

/// What threads of a role waited in a blamed context, of the wait states that are asked for.
template <class IsAsked>
double waited_in(const database::Contents& experiment, const Blamed& blamed, IsAsked is_asked) {
  double sum = 0;
  for (const database::Wait& wait : experiment.waits()) {
    if (wait.context >= blamed.context && wait.context < experiment.contexts[blamed.context].end &&
        is_asked(wait.pattern) && experiment.locations[wait.location].role == blamed.role)
      sum += seconds_of(wait.ns);
  }
  return sum;
}

/// Where threads lack processors, they wait longer than until the late ones come: no suspect explains that.
void limit_to_late(const database::Contents& experiment, const Blamed& blamed,
                   std::vector<Charged>& suspects) {
  if (experiment.trace().traced == 0 || !views::lacks_processors(experiment)) return;
  double explained = 0;
  for (const Charged& each : suspects) explained += each.explains_s;
  const double late = waited_in(experiment, blamed, metrics::is_whole_wait);
  if (late <= 0 || late >= explained) return;
  for (Charged& each : suspects) each.explains_s *= late / explained;
}

}  // namespace

std::vector<Charged> suspects_below(const database::Contents& experiment, const Blamed& blamed) {
  std::vector<Charged> result;
  for (const database::Suspect& suspect : experiment.suspects()) {
    if (suspect.role != blamed.role) continue;
    for (const database::Explained& explained : suspect.explained) {
      if (explained.balanced == blamed.context) result.push_back({&suspect, seconds(explained.ns)});
    }
  }
  limit_to_late(experiment, blamed, result);
  std::ranges::stable_sort(result, std::ranges::greater(), &Charged::explains_s);
  return result;
}

bool waits_for_locks(const database::Contents& experiment, const Blamed& blamed) {
  const auto is_lock = [](metrics::WaitPattern pattern) {
    return pattern == metrics::WaitPattern::lock_held;
  };
  return 2 * waited_in(experiment, blamed, is_lock) >= blamed.idle_s;
}

bool waits_in_mpi(const views::Figures& figures, const Blamed& blamed) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> idleness = metric_named(experiment, "idleness");
  if (!idleness) return false;
  double in_mpi = 0;
  for (ContextId at = blamed.context; at < experiment.contexts[blamed.context].end; ++at) {
    if ((experiment.contexts[at].flags & database::kFrontier) == 0) continue;
    if (!label(views::frame_of(experiment, experiment.contexts[at])).starts_with("MPI_")) continue;
    in_mpi += seconds(figures.context(blamed.role, *idleness, at, true).sum);
  }
  return 2 * in_mpi >= blamed.idle_s;
}

Diagnosis diagnose(const views::Figures& figures, bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  Diagnosis diagnosis;
  const std::optional<std::uint32_t> time = metric_named(experiment, "REALTIME");
  if (!time || experiment.contexts.empty()) return diagnosis;
  const std::optional<std::uint32_t> idleness = metric_named(experiment, "idleness");
  std::vector<ContextId> left_out;
  if (without_startup) left_out = views::mpi_start_up(experiment);
  diagnosis.without_startup = without_startup;
  Idleness idle = find_idleness(figures, *time, idleness, left_out);
  diagnosis.total_s = idle.total_s;
  diagnosis.idle_s = idle.idle_s;
  diagnosis.roles = std::move(idle.roles);
  diagnosis.where = std::move(idle.where);
  diagnosis.thread_waits = std::move(idle.thread_waits);
  diagnosis.elapsed_s = elapsed(figures, *time, left_out);
  add_work(figures, *time, left_out, diagnosis);
  diagnosis.blamed = find_blamed(figures, without_startup);
  std::erase_if(diagnosis.blamed, [](const Blamed& each) { return each.serves; });
  return diagnosis;
}

}  // namespace culprit::viewer
