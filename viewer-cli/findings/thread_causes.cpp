// Names the code that makes threads idle, or wait for locks: from the root of each role's calls down, as long
// as one callee holds most of what is caused; where several hold a good part each, these; what is left stays
// with their caller. Run-time libraries are not gone into: nobody can change them.
#include "findings/thread_causes.hpp"

#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"

#include <algorithm>
#include <optional>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::ContextKind;

constexpr double kNsPerSecond = 1e9;
constexpr double kGoodPart = 0.1;       // of what is caused in all: what is named by itself
constexpr double kWorthTelling = 0.01;  // of the run
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

class Descent {
 public:
  Descent(const views::Figures& figures, std::uint32_t metric, double whole_s)
      : figures_(figures), metric_(metric), least_s_(kGoodPart * whole_s) {}

  std::vector<ThreadCause> run() {
    for (role_ = 0; role_ < figures_.experiment().roles.size(); ++role_) {
      const double all = value(0);
      if (all > 0) go_down(0, all);
    }
    std::ranges::stable_sort(found_, std::ranges::greater(), &ThreadCause::caused_s);
    return std::move(found_);
  }

 private:
  [[nodiscard]] double value(ContextId context) const {
    return static_cast<double>(figures_.context(role_, metric_, context, true).sum) / kNsPerSecond;
  }
  [[nodiscard]] bool can_be_named(ContextId context) const {
    return (figures_.experiment().contexts[context].flags & (database::kRunTime | database::kInWait)) == 0;
  }

  void go_down(ContextId context, double caused_s) {
    const auto& contexts = figures_.experiment().contexts;
    const bool frontier = (contexts[context].flags & database::kFrontier) != 0;
    double left = caused_s;
    for (ContextId below = context + 1; !frontier && below < contexts[context].end;
         below = contexts[below].end) {
      const double part = value(below);
      if (part < least_s_ || part <= 0) continue;
      if (!leads_to_code(below)) continue;
      go_down(below, part);
      left -= part;
    }
    if (left > 1e-3 * caused_s && left > 0)
      found_.push_back({.context = context, .role = role_, .caused_s = left});
  }

  /// Below it is something that can be named, or it is by itself.
  [[nodiscard]] bool leads_to_code(ContextId context) const {
    const auto& contexts = figures_.experiment().contexts;
    if (contexts[context].kind == ContextKind::statement) return false;  // its procedure says enough
    if (can_be_named(context)) return true;
    if ((contexts[context].flags & database::kFrontier) != 0) return true;  // a call of MPI
    for (ContextId below = context + 1; below < contexts[context].end; ++below) {
      if (contexts[below].kind != ContextKind::statement && can_be_named(below) && value(below) >= least_s_)
        return true;
    }
    return false;
  }

  const views::Figures& figures_;
  std::uint32_t metric_;
  double least_s_;
  std::uint32_t role_ = 0;
  std::vector<ThreadCause> found_;
};

/// Several paths to one procedure are one cause, for a sentence.
struct NamedCause {
  std::string name;
  std::uint32_t role;
  double caused_s;
};

std::vector<NamedCause> by_name(const views::Figures& figures, const std::vector<ThreadCause>& causes,
                                std::size_t width, bool unicode) {
  std::vector<NamedCause> named;
  for (const ThreadCause& cause : causes) {
    const std::string name = scope_phrase(figures.experiment(), cause.context, true, width, unicode);
    const auto same = std::ranges::find_if(
        named, [&](const NamedCause& each) { return each.name == name && each.role == cause.role; });
    if (same != named.end()) {
      same->caused_s += cause.caused_s;
    } else {
      named.push_back({name, cause.role, cause.caused_s});
    }
  }
  std::ranges::stable_sort(named, std::ranges::greater(), &NamedCause::caused_s);
  return named;
}

/// `the main thread is in`, `main threads are in`, `threads of gomp_thread_start are in`.
std::string who_is_in(const database::Contents& experiment, std::uint32_t role) {
  if (experiment.roles[role].threads == 1 && experiment.roles[role].name == "main")
    return "the main thread is in ";
  return role_phrase(experiment, role) + " are in ";
}

std::string part(double part_s, double whole_s) {
  return keep(round_percent(std::min(1.0, part_s / whole_s)));
}

/// The roles that idle most, and how much of their time.
std::string who_idles(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const auto metric = views::metric_named(experiment, "idleness-counted");
  const auto time = views::metric_named(experiment, "REALTIME");
  if (!metric || !time) return {};
  double most = 0, share = 0;
  std::uint32_t who = 0;
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
    const auto idle = static_cast<double>(figures.context(role, *metric, 0, true).sum);
    const auto all = static_cast<double>(figures.context(role, *time, 0, true).sum);
    if (idle <= most || all <= 0) continue;
    most = idle;
    share = idle / all;
    who = role;
  }
  if (most <= 0) return {};
  std::string name = role_phrase(experiment, who);
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name + " idle " + keep(round_percent(std::min(1.0, share))) + " of their time";
}

}  // namespace

ThreadCauses find_thread_causes(const views::Figures& figures) {
  ThreadCauses causes;
  causes.idle_s = sum_of(figures, "idleness-counted");
  causes.caused_s = sum_of(figures, "idleness-caused");
  causes.unborne_s = sum_of(figures, "idleness-unborne");
  causes.lock_waited_s = sum_of(figures, "lock-wait-counted");
  causes.lock_caused_s = sum_of(figures, "lock-wait-caused");
  causes.lock_unborne_s = sum_of(figures, "lock-wait-unborne");
  const database::Contents& experiment = figures.experiment();
  if (causes.caused_s > 0)
    causes.idleness =
        Descent(figures, *views::metric_named(experiment, "idleness-caused"), causes.caused_s).run();
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
  const auto while_in = [&](const std::vector<ThreadCause>& list, double whole_s) {
    std::vector<std::string> parts;
    for (const NamedCause& cause : by_name(figures, list, width, unicode)) {
      if (parts.size() == kNamed || (!parts.empty() && cause.caused_s < kGoodPart * whole_s)) break;
      parts.push_back(part(cause.caused_s, whole_s) + (parts.empty() ? " of that" : "") + " while " +
                      who_is_in(experiment, cause.role) + cause.name);
    }
    return enumerate(parts);
  };
  if (causes.idle_s >= kWorthTelling * total_s && !causes.idleness.empty()) {
    if (const std::string who = who_idles(figures); !who.empty())
      phrases.push_back(who + ", " + while_in(causes.idleness, causes.idle_s) + '.');
  }
  if (causes.lock_waited_s >= kWorthTelling * total_s && !causes.locks.empty()) {
    std::vector<std::string> holders;
    for (const NamedCause& cause : by_name(figures, causes.locks, width, unicode)) {
      if (holders.size() == kNamed || (!holders.empty() && cause.caused_s < kGoodPart * causes.lock_waited_s))
        break;
      holders.push_back(part(cause.caused_s, causes.lock_waited_s) + (holders.empty() ? " of that" : "") +
                        " because of locks that are held in " + cause.name);
    }
    phrases.push_back("Threads wait for locks " + keep(round_percent(causes.lock_waited_s / total_s)) +
                      " of the time, " + enumerate(holders) + '.');
  }
  return phrases;
}

}  // namespace culprit::viewer
