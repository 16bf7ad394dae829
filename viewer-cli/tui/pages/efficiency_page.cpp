#include "findings/coverage.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "tui/pages/finding_pages.hpp"
#include "tui/pages/page_parts.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {
namespace {

constexpr int kNameWidth = 28, kFigureWidth = 8;
constexpr double kGood = 0.9, kPoor = 0.8;

std::string bar(double share, int width, bool unicode) {
  const auto cells = static_cast<int>(std::lround(std::fmin(std::fmax(share, 0), 1) * width));
  std::string text;
  for (int cell = 0; cell < width; ++cell)
    text += cell < cells ? (unicode ? "█" : "#") : (unicode ? "·" : ".");
  return text;
}

template <typename Of>
void add_line(Page& page, const FigureOf<Of>& line, const Of& result, int width, bool unicode) {
  const double value = result.*line.value;
  const std::string figure = grouped(100 * value, 1) + " %";
  const Tone tone = value >= kGood ? Tone::good : value >= kPoor ? Tone::warm : Tone::hot;
  std::string padded = line.short_name;
  padded.resize(kNameWidth, ' ');
  padded += std::string(static_cast<std::size_t>(kFigureWidth) - figure.size(), ' ');
  const int room = std::max(std::min(width - kNameWidth - kFigureWidth - 2, 50), 10);
  page.add(
      {{{padded, Tone::plain}, {figure, Tone::strong}, {"  " + bar(value, room, unicode), tone}}, {}, {}});
  std::string meaning = std::string("      ") + line.meaning;
  if (value < kGood && line.when_low[0] != '\0') meaning.append(": ").append(line.when_low);
  page.add(meaning, Tone::dim);
}

}  // namespace

Page efficiency_page(const Workspace& workspace, const Findings& findings, int width) {
  Page page;
  const Efficiency& result = findings.efficiency;
  const ThreadEfficiency& threads = findings.thread_efficiency;
  const bool unicode = workspace.unicode();
  if (result.ranks == 0 && threads.threads == 0) {
    page.say("Efficiencies need MPI ranks or several threads, and none spent time in this run.", width);
    return page;
  }
  if (result.ranks > 0) {
    for (const EfficiencyFigure& figure : known_figures(result))
      add_line(page, figure, result, width, unicode);
    page.blank();
    page.say((result.exact ? "From time lines: run time " : "From a profile: run time ") +
                 keep(seconds_text(workspace, result.run_s)) + ", useful time outside MPI " +
                 keep(seconds_text(workspace, result.useful_mean_s)) + " on average, " +
                 keep(seconds_text(workspace, result.useful_max_s)) + " at most" +
                 thread_waits_phrase(result) + ", over " + keep(counted(result.ranks, "rank")) +
                 ". The product of the parts is the whole." + partial_figures_phrase(workspace.experiment()) +
                 efficiency_caveats(workspace.experiment(), result, findings.verdict.waiting, unicode),
             width, 0, Tone::dim);
  }
  if (threads.threads == 0) return page;
  if (result.ranks > 0) page.blank();
  for (const FigureOf<ThreadEfficiency>& figure : known_figures(threads, result))
    add_line(page, figure, threads, width, unicode);
  page.blank();
  page.say(thread_efficiency_sentence(threads, unicode), width, 0, Tone::dim);
  return page;
}

}  // namespace culprit::viewer::tui
