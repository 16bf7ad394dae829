// Names the code that makes threads idle, or wait for locks (docs/algorithms.md 12): from the root of each
// role's calls down, to the innermost procedures that hold a good part of what is caused; what is left stays
// with their caller. A team's threads have several roles: the body of a parallel region is named in each if
// all of them together cause that much. Not named are run-time libraries, which nobody can change, and
// procedures that others call as well: not the copying is to blame but who copies. Where the code is a call
// of MPI, the blame of that call's waiting says what it waits for: the deepest balanced ancestor with blame
// of its own, and the suspect below that. Critical sections of one procedure are named by the lines that give
// their locks back.
#include "findings/thread_causes.hpp"

#include "findings/phrases.hpp"
#include "findings/serving_threads.hpp"
#include "text/call_path_text.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
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

/// Finds the code that causes most, role by role.
class Descent {
 public:
  /// `by_line`: critical sections of one procedure are named each by itself.
  Descent(const views::Figures& figures, std::uint32_t metric, double whole_s, bool by_line = false)
      : figures_(figures),
        experiment_(figures.experiment()),
        metric_(metric),
        time_(views::metric_named(experiment_, "REALTIME")),
        least_s_(kGoodPart * whole_s),
        by_line_(by_line) {}

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
    double left = caused_s - go_below(context, around);
    if (by_line_) left -= name_lines(context);
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

  /// Names the lines of the procedure at `context` that cause a good part, where several cause something.
  /// Returns their sum.
  double name_lines(ContextId context) {
    std::vector<ThreadCause> lines;
    std::size_t all = 0;
    double named_s = 0;
    for (ContextId at = context + 1; at < experiment_.contexts[context].end;) {
      const ContextKind kind = experiment_.contexts[at].kind;
      const double part = value(at);
      if (kind == ContextKind::statement && part > 0) ++all;
      if (kind == ContextKind::statement && part >= least_s_) {
        lines.push_back({.context = at, .role = role_, .caused_s = part});
        named_s += part;
      }
      at = part > 0 && !is_procedure(kind) ? at + 1 : experiment_.contexts[at].end;
    }
    if (all < 2) return 0;
    found_.insert(found_.end(), lines.begin(), lines.end());
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
  bool by_line_;
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
      cause.delay = delay_of(cause.context);
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

  /// By what the user wrote or chose; of the program's own code, where an MPI call did. What a run-time
  /// library did for no code in particular is none.
  [[nodiscard]] std::optional<CostlyCode> delay_of(ContextId call) const {
    std::vector<database::Cause> causes;
    UsersScopes scopes(experiment_);
    for (database::Cause each : experiment_.trace().causes) {
      if (each.waits_in != call) continue;
      each.scope.context = scopes.of(each.scope.context);
      if ((experiment_.contexts[each.scope.context].flags & database::kRunTime) == 0) causes.push_back(each);
    }
    const std::optional<CostliestCode> found = costliest_code(experiment_, causes);
    if (!found) return std::nullopt;
    return found->in_call ? found->of_program : found->code;
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

/// What threads idled that only serve others.
double served_s(const views::Figures& figures) {
  const std::optional<std::uint32_t> idled = views::metric_named(figures.experiment(), "idleness-counted");
  double sum = 0;
  for (std::uint32_t role = 0; idled && role < figures.experiment().roles.size(); ++role)
    if (only_serves(figures, role)) sum += static_cast<double>(figures.context(role, *idled, 0, true).sum);
  return sum / kNsPerSecond;
}

}  // namespace

bool is_mpi_wait(const database::Contents& experiment, ContextId context) {
  const database::Context& scope = experiment.contexts[context];
  return (scope.flags & database::kFrontier) != 0 && is_procedure(scope.kind) &&
         label(views::frame_of(experiment, scope)).starts_with("MPI_");
}

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
  causes.overhead_s = sum_of(figures, "thread-overhead");
  if (causes.overhead_s > 0)
    causes.overhead =
        Descent(figures, *views::metric_named(experiment, "thread-overhead"), causes.overhead_s).run();
  if (causes.lock_caused_s > 0)
    causes.locks =
        Descent(figures, *views::metric_named(experiment, "lock-wait-caused"), causes.lock_caused_s, true)
            .run();
  return causes;
}

}  // namespace culprit::viewer
