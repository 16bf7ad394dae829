#include "commands/causes.hpp"
#include "commands/metric_over_segments.hpp"
#include "commands/rows.hpp"
#include "commands/waits.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "tui/pages/finding_pages.hpp"
#include "tui/pages/page_parts.hpp"

#include <algorithm>

namespace culprit::viewer::tui {
namespace {

std::string ns_text(const Workspace& workspace, std::uint64_t ns) {
  return seconds_text(workspace, seconds_of(ns));
}

std::string scope_of(const Workspace& workspace, const database::TimedScope& scope, int width) {
  std::string text = scope_phrase(workspace.experiment(), scope.context, false,
                                  static_cast<std::size_t>(width), workspace.unicode());
  return scope.between ? text + " (between two MPI calls)" : text;
}

/// True: there are time lines. Else the page says how to get them.
bool has_trace(Page& page, const Workspace& workspace, int width) {
  if (workspace.experiment().trace().traced > 0) return true;
  page.say("This needs the ranks' time lines: " + no_time_lines_phrase(workspace.experiment()) + '.', width);
  return false;
}

}  // namespace

Page waits_page(const Workspace& workspace, int width) {
  Page page;
  const database::Contents& experiment = workspace.experiment();
  if (experiment.waits().empty()) {
    page.say(no_listed_waits_phrase(experiment), width);
    return page;
  }
  page.say("Who waited where, and for whom: the longest first. e explains the pattern.", width, 0, Tone::dim);
  add_heading(page, "WAITS", "waited", width);
  for (std::size_t i = 0; i < std::min(kMostRows, experiment.waits().size()); ++i) {
    const database::Wait& wait = experiment.waits()[i];
    std::string name =
        std::string(metrics::name_of(wait.pattern)) + "  " + location_label(experiment, wait.location);
    if (wait.cause_location != database::kNone)
      name += " for " + location_label(experiment, wait.cause_location);
    if (!wait.exact) name += " (approximated)";
    PageLine line = link_line(name, ns_text(workspace, wait.ns), to_context(wait.context, {wait.location}),
                              width, 0, workspace.unicode());
    line.topic = metrics::name_of(wait.pattern);
    page.add(std::move(line));
    add_path(page, workspace, wait.context, width, 4);
  }
  say_rest(page, experiment.waits().size(), "waits");
  return page;
}

Page causes_page(const Workspace& workspace, const Findings& findings, int width) {
  Page page;
  if (!has_trace(page, workspace, width)) return page;
  const database::Contents& experiment = workspace.experiment();
  std::uint64_t sum = experiment.trace().unattributed_ns;
  for (const database::Cause& cause : findings.causes) sum += cause.short_term_ns + cause.long_term_ns;
  if (sum == 0) {
    page.say(no_waits_phrase(experiment), width);
    return page;
  }
  page.say("What made ranks wait, of " + keep(ns_text(workspace, sum)) +
               " in all. Long-term is what those who "
               "waited cost others in turn; " +
               keep(ns_text(workspace, experiment.trace().unattributed_ns)) + " are unexplained.",
           width, 0, Tone::dim);
  add_heading(page, "CAUSES", "cost others", width);
  for (std::size_t i = 0; i < std::min(kMostRows, findings.causes.size()); ++i) {
    const database::Cause& cause = findings.causes[i];
    const std::uint64_t cost = cause.short_term_ns + cause.long_term_ns;
    const std::string name =
        scope_of(workspace, cause.scope, width) + " on " + location_label(experiment, cause.location);
    page.add(link_line(
        name,
        ns_text(workspace, cost) + "  " + round_percent(static_cast<double>(cost) / static_cast<double>(sum)),
        to_context(cause.scope.context, {cause.location}), width, 0, workspace.unicode()));
    if (cause.long_term_ns > 0)
      page.say("of it long-term: " + ns_text(workspace, cause.long_term_ns), width, 4);
    add_path(page, workspace, cause.scope.context, width, 4);
  }
  say_rest(page, findings.causes.size(), "causes");
  return page;
}

Page critical_path_page(const Workspace& workspace, const Findings& findings, int width) {
  Page page;
  if (!has_trace(page, workspace, width)) return page;
  const database::TraceAnalyses& trace = workspace.experiment().trace();
  const std::uint64_t length = trace.critical_end_ns - trace.critical_begin_ns;
  if (length == 0 || findings.critical.empty()) {
    page.say("No time was recorded between MPI_Init and MPI_Finalize.", width);
    return page;
  }
  const auto share = [&](std::uint64_t ns) {
    return percent(static_cast<double>(ns) / static_cast<double>(length));
  };
  const std::string partly = partly_measured(workspace.experiment());
  page.say("The path that the run's length depends on: " + keep(ns_text(workspace, length)) + ", " +
               keep(share(trace.critical_calls_ns)) +
               " of it in MPI calls. Imbalance is what its code takes here more "
               "than on an average rank." +
               (partly.empty()
                    ? partly
                    : " But " + partly + ": the critical path of the whole run may go through the others."),
           width, 0, Tone::dim);
  add_heading(page, "CRITICAL PATH", "of it", width);
  for (std::size_t i = 0; i < std::min(kMostRows, findings.critical.size()); ++i) {
    const database::CriticalScope& one = findings.critical[i];
    std::vector<std::uint32_t> locations;
    for (const database::CriticalScope::Share& each : one.shares) locations.push_back(each.location);
    page.add(link_line(scope_of(workspace, one.scope, width), share(one.ns),
                       to_context(one.scope.context, locations), width, 0, workspace.unicode()));
    page.say(keep(ns_text(workspace, one.ns)) + ", imbalance " + keep(ns_text(workspace, one.imbalance_ns)) +
                 ", on " + threads_phrase(workspace.experiment(), locations),
             width, 4);
    add_path(page, workspace, one.scope.context, width, 4);
  }
  say_rest(page, findings.critical.size(), "critical-path");
  return page;
}

Page hotspots_page(const Workspace& workspace, int width) {
  Page page;
  if (!has_trace(page, workspace, width)) return page;
  const database::Contents& experiment = workspace.experiment();
  const std::vector<database::Hotspot>& hotspots = experiment.trace().hotspots;
  if (hotspots.empty()) {
    page.say(are_ranks_comparable(experiment)
                 ? "No procedure with a notable share of the time made another rank wait."
                 : no_waits_phrase(experiment),
             width);
    return page;
  }
  page.say("Procedures with a notable share of the time that made another rank wait.", width, 0, Tone::dim);
  add_heading(page, "HOT PROCEDURES", "cost", width);
  for (std::size_t i = 0; i < std::min(kMostRows, hotspots.size()); ++i) {
    const database::Hotspot& hotspot = hotspots[i];
    const std::string name = scope_of(workspace, {hotspot.context, false}, width) + " on " +
                             location_label(experiment, hotspot.location);
    page.add(link_line(name, ns_text(workspace, hotspot.ns), to_context(hotspot.context, {hotspot.location}),
                       width, 0, workspace.unicode()));
    page.add(link_line("waited: " + location_label(experiment, hotspot.waiter) + " in " +
                           scope_of(workspace, {hotspot.waiter_context, false}, width),
                       "", to_context(hotspot.waiter_context, {hotspot.waiter}), width, 4,
                       workspace.unicode()));
  }
  say_rest(page, hotspots.size(), "hotspots");
  return page;
}

Page variation_page(const Workspace& workspace, int width) {
  Page page;
  if (!has_trace(page, workspace, width)) return page;
  const std::vector<database::Variation>& levels = workspace.experiment().trace().variations;
  if (levels.empty()) {
    page.say(
        "No procedure was seen to be called again and again: mark iterations with culprit_iteration(n) "
        "(culprit.h).",
        width);
    return page;
  }
  page.say("What took unusually long outside MPI, level by level. Enter shows it among all ranks and times.",
           width, 0, Tone::dim);
  for (std::uint32_t level = 0; level < levels.size(); ++level) {
    const database::Variation& variation = levels[level];
    const std::string what = variation.marked || variation.context == database::kNone
                                 ? "MARKED ITERATIONS"
                                 : "INVOCATIONS OF " + scope_phrase(workspace.experiment(), variation.context,
                                                                    false, 30, workspace.unicode());
    add_heading(page, what, "median " + ns_text(workspace, variation.median_ns), width);
    page.add(link_line("all ranks and times", "", {Target::Kind::time, 0, {}, -1, 0, level, {}}, width, 0,
                       workspace.unicode()));
    for (const database::Variation::Outlier& one : variation.outliers) {
      page.add(link_line("rank " + std::to_string(one.rank) + ", " +
                             name_segment(workspace.experiment(), variation, one.rank, one.segment),
                         ns_text(workspace, one.sos_ns),
                         {Target::Kind::time, 0, {}, one.rank, one.segment, level, {}}, width, 0,
                         workspace.unicode()));
      if (one.context != database::kNone) add_path(page, workspace, one.context, width, 4);
    }
    if (variation.outliers.empty()) page.add("  none took unusually long", Tone::dim);
  }
  return page;
}

}  // namespace culprit::viewer::tui
