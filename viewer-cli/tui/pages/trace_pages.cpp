#include "commands/variation.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "findings/segment_picture.hpp"
#include "text/quantity.hpp"
#include "tui/pages/finding_pages.hpp"
#include "tui/pages/page_parts.hpp"

#include <algorithm>
#include <string>

namespace culprit::viewer::tui {
namespace {

/// True: there are time lines. Else the page says how to get them.
bool has_trace(Page& page, const Workspace& workspace, int width) {
  if (workspace.experiment().trace().traced > 0) return true;
  page.say("This needs the ranks' time lines: " + no_time_lines_phrase(workspace.experiment()) + '.', width);
  return false;
}

Page traced_page(const Workspace& workspace, const List& list, int width) {
  Page page;
  if (has_trace(page, workspace, width)) add_list(page, workspace, list, width);
  return page;
}

/// `ITERATIONS OF `: what the segments of a level are, as headings are written.
std::string segments_heading(const database::Contents& experiment, const database::Variation& variation) {
  std::string text = segment_name(experiment, variation) + std::string("s ") +
                     segment_preposition(experiment, variation) + ' ';
  std::ranges::transform(text, text.begin(), [](char letter) {
    return 'a' <= letter && letter <= 'z' ? letter - 'a' + 'A' : letter;
  });
  return text;
}

}  // namespace

Page waits_page(const Workspace& workspace, const Findings& findings, bool by_rank, int width) {
  Page page;
  add_list(page, workspace, findings.waits.at(by_rank ? 1 : 0), width);
  return page;
}

Page causes_page(const Workspace& workspace, const Findings& findings, bool by_rank, int width) {
  return traced_page(workspace, findings.causes.at(by_rank ? 1 : 0), width);
}

Page critical_path_page(const Workspace& workspace, const Findings& findings, int width) {
  return traced_page(workspace, findings.critical, width);
}

Page hotspots_page(const Workspace& workspace, const Findings& findings, bool by_rank, int width) {
  return traced_page(workspace, findings.hotspots.at(by_rank ? 1 : 0), width);
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
  page.say(
      "What took far longer outside MPI than the median, level by level. Enter shows it among all ranks and "
      "times.",
      width, 0, Tone::dim);
  for (std::uint32_t level = 0; level < levels.size(); ++level) {
    const database::Variation& variation = levels[level];
    const std::string what =
        variation.marked || variation.context == database::kNone
            ? "MARKED ITERATIONS"
            : segments_heading(workspace.experiment(), variation) +
                  scope_phrase(workspace.experiment(), variation.context, false, 30, workspace.unicode());
    add_heading(page, what, "median " + seconds_text(workspace, seconds_of(variation.median_ns)), width);
    page.add(link_line("all ranks and times", "", {Target::Kind::time, 0, {}, -1, 0, level, {}}, width, 0,
                       workspace.unicode()));
    add_list(page, workspace,
             outliers_list(workspace.experiment(), variation,
                           {.unicode = workspace.unicode(), .most = kMostRows}, level),
             width);
  }
  return page;
}

}  // namespace culprit::viewer::tui
