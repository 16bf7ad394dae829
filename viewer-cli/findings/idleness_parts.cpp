// Divides idleness (docs/diagnosis.md, "What waiting consists of"). Time lines show how long each wait for a
// late rank was; what is left of the calls' time is divided by the mean size of their messages. The kernel
// shows how long each thread was ready to run without a processor: of that, what lay in waits is known from
// their CPU time (blame/machine.hpp). Without time lines, what suspects and varying gaps explain is the
// waiting for late ranks; of the rest, how much is for late ranks nothing shows, nor then what lacked a
// processor.
#include "findings/idleness_parts.hpp"

#include "blame/machine.hpp"
#include "findings/coverage.hpp"
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
    return !views::is_within(experiment, left_out, context);
  };
  std::map<database::ContextId, double> late;
  for (const database::Wait& wait : experiment.waits()) {
    if (wait.pattern == metrics::WaitPattern::wait_at_init) continue;  // set-up is no idleness
    // A target that makes no progress is not late.
    if (wait.pattern == metrics::WaitPattern::flush_wait && wait.cause_location == database::kNone) continue;
    if (metrics::is_whole_wait(wait.pattern) && !metrics::is_of_threads(wait.pattern) && counts(wait.context))
      late[wait.context] += seconds_of(wait.ns);
  }
  return late;
}

/// Ready to run in a wait, without a processor.
double without_processor(const database::Contents& experiment) {
  double sum_ns = 0;
  for (const database::ScheduledThread& thread : experiment.machine().threads)
    sum_ns += std::min(blame::preempted(thread).waits_ns, static_cast<double>(thread.idle_ns));
  return sum_ns / kNsPerSecond;
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
      idle += static_cast<double>(figures.context(role, *idleness, call.context, true).sum) / kNsPerSecond;
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
  parts.without_startup = diagnosis.without_startup;
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
  if (!traced) for_late = std::max(for_late, losses.late_s() + losses.io_waited_s);
  const double in_mpi = left;
  const NotLate rest = traced ? not_late(figures, late) : NotLate{};
  parts.late_s = take(for_late);
  parts.elsewhere_s = take(rest.elsewhere);
  // While a rank waits for a late one, it needs no processor.
  const double lacked_s = in_mpi > 0 ? without_processor(experiment) * left / in_mpi : 0;
  parts.unmatched = has_unmatched_requests(experiment);
  if (!all_ranks_traced(experiment) || parts.unmatched) {
    parts.partly_traced = traced;
    parts.undivided_s = left;
    parts.perhaps_no_processor_s = std::min(lacked_s, left);
    return parts;
  }
  parts.no_processor_s = take(lacked_s);
  parts.transfer_s = rest.all > 0 ? left * rest.transfers / rest.all : 0;
  parts.library_s = left - parts.transfer_s;
  return parts;
}

IdlenessParts divide_idleness(const views::Figures& figures, bool without_startup) {
  const Diagnosis diagnosis = diagnose(figures, without_startup);
  return divide_idleness(figures, diagnosis, measure_losses(figures, diagnosis).losses);
}

namespace {

constexpr std::array<std::pair<double IdlenessParts::*, const char*>, 7> kNamedParts = {
    {{&IdlenessParts::late_s, "for late ranks"},
     {&IdlenessParts::elsewhere_s, "for processes that the ranks started or connected to"},
     {&IdlenessParts::transfer_s, "for transfers"},
     {&IdlenessParts::library_s, "in the MPI library"},
     {&IdlenessParts::no_processor_s, "without a processor"},
     {&IdlenessParts::threads_s, "for other threads"},
     {&IdlenessParts::undivided_s, ""}}};

const char* undivided_what(const IdlenessParts& parts) {
  if (parts.unmatched) return "of an unknown kind, as partitioned messages are not matched";
  if (parts.partly_traced) return "of a kind that only time lines of all ranks show";
  return "of a kind that only hpcrun-lite --trace shows";
}

/// A part as it is shown.
struct ShownPart {
  double IdlenessParts::*part = nullptr;
  std::string what = {};
  double steps = 0;  ///< of the last digit of the whole
  std::string amount = {};
};
struct ShownParts {
  std::vector<ShownPart> parts;  ///< the largest first; their amounts add up to the whole's
  std::string whole;
};

/// Rounded to this part of the whole and finer, an amount would have digits that say nothing.
constexpr double kFinest = 1e-4;

/// In steps of the last digit of the whole, or of the second of the smallest amount that is to be
/// recognized; the largest part takes what rounding leaves. An amount too small for that is left out.
ShownParts shown_parts(const IdlenessParts& parts, double smallest_s = 0) {
  ShownParts shown;
  const double sum = parts.sum();
  if (sum <= 0) return shown;
  double step = std::pow(10, std::floor(std::log10(sum)) - 2);
  if (smallest_s >= kFinest * sum)
    step = std::min(step, std::max(std::pow(10, std::floor(std::log10(smallest_s)) - 1),
                                   std::pow(10, std::floor(std::log10(kFinest * sum)))));
  const double all = std::round(sum / step);
  double rest = all;
  for (const auto& [part, what] : kNamedParts) {
    const double steps = std::round(parts.*part / step);
    if (steps <= 0) continue;
    const bool undivided = part == &IdlenessParts::undivided_s;
    shown.parts.push_back({.part = part, .what = undivided ? undivided_what(parts) : what, .steps = steps});
    rest -= steps;
  }
  if (shown.parts.empty()) return shown;
  std::ranges::max_element(shown.parts, {}, &ShownPart::steps)->steps += rest;
  std::ranges::stable_sort(shown.parts, std::ranges::greater(), &ShownPart::steps);
  const bool milliseconds = sum < 1;
  const double scale = milliseconds ? step * 1000 : step;
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(scale) + 1e-9)));
  const auto amount = [&](double steps) {
    return keep(grouped(steps * scale, decimals) + (milliseconds ? " ms" : " s"));
  };
  for (ShownPart& each : shown.parts) {
    each.amount = amount(each.steps);
    const double perhaps = std::min(std::round(parts.perhaps_no_processor_s / step), each.steps);
    if (each.part == &IdlenessParts::undivided_s && perhaps > 0 &&
        parts.perhaps_no_processor_s >= kWorthReporting * sum)
      each.what += " (up to " + amount(perhaps) + " of it without a processor)";
  }
  shown.whole = amount(all);
  return shown;
}

}  // namespace

std::string idleness_parts_phrase(const IdlenessParts& parts) {
  const ShownParts shown = shown_parts(parts);
  if (shown.parts.size() < 2) return {};
  std::vector<std::string> texts;
  texts.reserve(shown.parts.size());
  for (const ShownPart& each : shown.parts) texts.push_back(each.amount + ' ' + each.what);
  return enumerate(texts);
}

namespace {

constexpr double kSame = 0.005;  // of the larger one: less is lost in sampling and rounding

bool is_same(double part_s, double listed_s) {
  return std::abs(part_s - listed_s) <= kSame * std::max(part_s, listed_s);
}

/// Of a part: that the list has it, or how much the list has of its kind; empty where it has none.
std::string listed_phrase(double part_s, double listed_s, bool unicode) {
  if (listed_s <= 0) return {};
  if (is_same(part_s, listed_s)) return " (listed here)";
  return keep(" (listed here: " + duration(listed_s, unicode) + ')');
}

}  // namespace

namespace {

/// Without what the list has of MPI_Init.
std::string relation_to_report(const IdlenessParts& parts, const ListedWaits& listed, bool unicode) {
  const double both_s = listed.ranks_s + listed.threads_s;
  if (parts.sum() > 0 && is_same(parts.late_s + parts.threads_s, both_s) && is_same(parts.sum(), both_s) &&
      !parts.without_startup)
    return "That is all the waiting that the report counts.";
  const ShownParts shown = shown_parts(parts, is_same(parts.late_s, listed.ranks_s) ? listed.ranks_s : 0);
  if (shown.parts.empty()) return {};
  std::vector<std::string> texts;
  for (const ShownPart& each : shown.parts) {
    std::string text = each.what;
    if (each.part == &IdlenessParts::late_s) text += listed_phrase(parts.late_s, listed.ranks_s, unicode);
    if (each.part == &IdlenessParts::threads_s)
      text += listed_phrase(parts.threads_s, listed.threads_s, unicode);
    texts.push_back(shown.parts.size() == 1 ? text : each.amount + ' ' + text);
  }
  return (parts.without_startup ? "Without MPI_Init and MPI_Finalize, the report counts "
                                : "The report counts ") +
         shown.whole + " of waiting" + (texts.size() == 1 ? ", all of it " : ": ") + enumerate(texts) + '.';
}

}  // namespace

std::string waiting_of_report_phrase(const IdlenessParts& parts, const ListedWaits& listed, bool unicode) {
  std::string text = relation_to_report(parts, listed, unicode);
  if (parts.unmatched)
    text += std::string(text.empty() ? "" : " ") + "Waits for partitioned messages are not listed.";
  if (listed.init_s <= 0 || listed.init_s < kSame * (listed.init_s + listed.ranks_s) || parts.sum() <= 0)
    return text;
  return text + (text.empty() ? "" : " ") + "Of what is listed, " + keep(duration(listed.init_s, unicode)) +
         " are in MPI_Init, which the report counts as start-up.";
}

std::string lacked_in_figure_phrase(const IdlenessParts& parts, const std::string& figure, bool unicode) {
  const bool known = parts.perhaps_no_processor_s <= 0;
  const double lacked_s = parts.no_processor_s + parts.perhaps_no_processor_s;
  const double share = parts.sum() > 0 ? lacked_s / parts.sum() : 0;
  if (share < kWorthReporting) return {};
  return ' ' + figure +
         (known ? " includes waiting without a processor: "
                : " may include waiting without a processor: up to ") +
         keep(duration(lacked_s, unicode)) + " of the " + keep(duration(parts.sum(), unicode)) +
         " that the report counts" + keep(" (" + round_percent(share) + ").");
}

}  // namespace culprit::viewer
