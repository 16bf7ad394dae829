// Divides idleness (docs/diagnosis.md, "What waiting consists of"). Time lines show how long each wait for a
// late rank was; what is left of the calls' time is divided by the mean size of their messages. The kernel
// shows how long each thread was ready to run without a processor: of that, what lay outside waits is known
// from the CPU time of the work. Without time lines, what suspects and varying gaps explain is the waiting
// for late ranks.
#include "findings/idleness_parts.hpp"

#include "findings/mpi_calls.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace culprit::viewer {
namespace {

/// Calls whose messages are smaller on average take what the library takes.
constexpr double kSmallMessage = 4096;

/// What of waiting in MPI is for ranks that came later, by call path.
std::map<database::ContextId, double> late_by_call(const database::Contents& experiment,
                                                   const Diagnosis& diagnosis) {
  std::vector<database::ContextId> left_out;
  if (diagnosis.without_startup) left_out = views::mpi_start_up(experiment);
  const auto counts = [&](database::ContextId context) {
    return std::ranges::none_of(left_out, [&](database::ContextId start_up) {
      return start_up <= context && context < experiment.contexts[start_up].end;
    });
  };
  std::map<database::ContextId, double> late;
  for (const database::Wait& wait : experiment.waits()) {
    if (metrics::is_whole_wait(wait.pattern) && !metrics::is_of_threads(wait.pattern) && counts(wait.context))
      late[wait.context] += seconds_of(wait.ns);
  }
  return late;
}

/// Ready to run in a wait, without a processor. Outside waits a thread lacked one for no more than it lacked
/// CPU time.
double without_processor(const database::Contents& experiment) {
  double sum = 0;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    const double lived = static_cast<double>(thread.lived_ns);
    if (lived <= 0) continue;
    const double in_work =
        std::max(0.0, static_cast<double>(thread.work_ns) - static_cast<double>(thread.work_cpu_ns));
    const double waiting = std::max(0.0, static_cast<double>(thread.runnable_ns) - in_work);
    sum += std::min(waiting, static_cast<double>(thread.idle_ns)) / 1e9;
  }
  return sum;
}

/// Whether ranks started processes of another world or connected to some, whose operations are missing.
bool meets_other_worlds(const database::Contents& experiment) {
  const database::UnmatchedOperations& unmatched = experiment.trace().unmatched;
  if (unmatched.receives + unmatched.probes + unmatched.strangers == 0) return false;
  static constexpr std::array kMeet = {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_accept",
                                       "MPI_Comm_connect", "MPI_Comm_join"};
  return std::ranges::any_of(experiment.communication().calls, [&](const database::CallTraffic& call) {
    return std::ranges::find(kMeet, mpi_call_name(experiment, call.context)) != kMeet.end();
  });
}

/// What was waited in calls beyond waiting for late ranks.
struct NotLate {
  double elsewhere = 0;  ///< in calls that receive, where ranks meet other worlds
  double transfers = 0;  ///< in other calls whose messages are large
  double all = 0;        ///< in all other calls
};

NotLate not_late(const views::Figures& figures, const std::map<database::ContextId, double>& late) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> idleness = views::metric_named(experiment, "idleness");
  const bool meets = meets_other_worlds(experiment);
  NotLate sums;
  for (const database::CallTraffic& call : experiment.communication().calls) {
    if (call.context == 0) continue;  // further call paths: nothing is known of their time
    double idle = 0;
    for (std::uint32_t role = 0; idleness && role < experiment.roles.size(); ++role)
      idle += static_cast<double>(figures.context(role, *idleness, call.context, true).sum) / 1e9;
    const auto found = late.find(call.context);
    const double rest = std::max(0.0, idle - (found == late.end() ? 0 : found->second));
    if (meets && receives(mpi_call_name(experiment, call.context))) {
      sums.elsewhere += rest;
      continue;
    }
    sums.all += rest;
    if (call.messages == 0) continue;
    const double size = static_cast<double>(call.message_bytes) / static_cast<double>(call.messages);
    if (size >= kSmallMessage) sums.transfers += rest;
  }
  return sums;
}

}  // namespace

IdlenessParts divide_idleness(const views::Figures& figures, const Diagnosis& diagnosis,
                              const Losses& losses) {
  const database::Contents& experiment = figures.experiment();
  IdlenessParts parts;
  parts.threads_s = std::min(losses.threads_s, diagnosis.idle_s);
  double left = diagnosis.idle_s - parts.threads_s;
  const auto take = [&left](double seconds) {
    const double taken = std::clamp(seconds, 0.0, left);
    left -= taken;
    return taken;
  };
  const bool traced = experiment.trace().traced > 0;
  const std::map<database::ContextId, double> late = late_by_call(experiment, diagnosis);
  double for_late = 0;
  for (const auto& [context, seconds] : late) for_late += seconds;
  if (!traced) {
    for_late = std::max(for_late, losses.serial_s + losses.lasting_s + losses.drifting_s +
                                      losses.intermittent_s + losses.io_waited_s);
  }
  const double in_mpi = left;
  const NotLate rest = traced ? not_late(figures, late) : NotLate{};
  parts.late_s = take(for_late);
  parts.elsewhere_s = take(rest.elsewhere);
  // While a rank waits for a late one, it needs no processor.
  if (in_mpi > 0) parts.no_processor_s = take(without_processor(experiment) * left / in_mpi);
  if (!traced) {
    parts.undivided_s = left;
    return parts;
  }
  parts.transfer_s = rest.all > 0 ? left * rest.transfers / rest.all : 0;
  parts.library_s = left - parts.transfer_s;
  return parts;
}

std::string idleness_parts_phrase(const IdlenessParts& parts) {
  const std::array<std::pair<double, const char*>, 7> named = {
      {{parts.late_s, "for late ranks"},
       {parts.elsewhere_s, "for processes of another world"},
       {parts.transfer_s, "for transfers"},
       {parts.library_s, "in the MPI library"},
       {parts.no_processor_s, "without a processor"},
       {parts.threads_s, "for other threads"},
       {parts.undivided_s, "not divided without a trace"}}};
  const double sum = parts.sum();
  if (sum <= 0) return {};
  // In steps of the last digit of the whole; the largest part takes what rounding leaves.
  const double step = std::pow(10, std::floor(std::log10(sum)) - 2);
  std::vector<std::pair<double, const char*>> shown;
  double rest = std::round(sum / step);
  for (const auto& [seconds, what] : named) {
    const double steps = std::round(seconds / step);
    if (steps <= 0) continue;
    shown.emplace_back(steps, what);
    rest -= steps;
  }
  if (shown.size() < 2) return {};
  std::ranges::max_element(shown)->first += rest;
  std::ranges::stable_sort(shown, std::ranges::greater(), &std::pair<double, const char*>::first);
  const bool milliseconds = sum < 1;
  const double scale = milliseconds ? step * 1000 : step;
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(scale) + 1e-9)));
  std::vector<std::string> texts;
  texts.reserve(shown.size());
  for (const auto& [steps, what] : shown)
    texts.push_back(keep(grouped(steps * scale, decimals) + (milliseconds ? " ms" : " s")) + ' ' + what);
  return enumerate(texts);
}

}  // namespace culprit::viewer
