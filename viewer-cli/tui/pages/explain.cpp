#include "tui/pages/explain.hpp"

#include "metrics/wait_pattern.hpp"
#include "views/derived.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace culprit::viewer::tui {

namespace {

void add_meaning(Page& page, std::string_view name, std::string_view text, int width) {
  page.add(std::string(name), Tone::strong);
  page.say(std::string(text), width, 2);
}

std::string statistic_text(views::Statistic statistic) {
  switch (statistic) {
    case views::Statistic::sum:
      return "Summed over the threads.";
    case views::Statistic::mean:
      return "Mean over the threads.";
    case views::Statistic::min:
      return "The smallest value of any thread.";
    case views::Statistic::max:
      return "The largest value of any thread.";
    case views::Statistic::stddev:
      return "Standard deviation over the threads.";
    case views::Statistic::cv:
      return "Standard deviation over the mean of the threads.";
    case views::Statistic::count:
      return "How many threads have a value here.";
  }
  return {};
}

std::string measured_text(const database::Contents& experiment, const std::string& event) {
  const auto found = std::find_if(experiment.metrics.begin(), experiment.metrics.end(),
                                  [&](const database::Metric& metric) { return metric.name == event; });
  if (found != experiment.metrics.end() && !found->description.empty()) return found->description;
  return event == views::kImbalance
             ? "Idleness that is charged to this code: it is balanced as a whole, so what "
               "makes threads wait lies inside it."
             : "Counted by the machine.";
}

void explain_column(Page& page, const Workspace& workspace, const NumberColumn& shown, int width) {
  const views::Column& column = shown.column;
  if (column.derived) {
    add_meaning(page, column.title, "Defined as " + column.derived->formula() + ".", width);
    return;
  }
  std::string text =
      measured_text(workspace.experiment(), column.name.event) + ' ' + statistic_text(column.name.statistic);
  text += column.name.inclusive ? " Inclusive: with all that is called from it."
                                : " Exclusive: this code itself, without what it calls.";
  add_meaning(page, shown.heading + "  " + column.title, text, width);
}

}  // namespace

Page explain_metrics(const Workspace& workspace, int width) {
  Page page;
  for (const NumberColumn& shown : workspace.columns()) explain_column(page, workspace, shown, width);
  add_meaning(
      page, "too short to sample",
      "No sample of the chosen threads fell into this code: it took next to no time, and is known from "
      "recorded MPI calls.",
      width);
  page.blank();
  page.add("HOW THE CULPRIT IS FOUND", Tone::heading);
  page.say(
      "Waiting is a symptom. Around each wait, the deepest code in which all threads spend the same time is "
      "balanced, and charged for it: the blame. Inside it, code that takes longer on the threads that do not "
      "wait is the suspect. b goes from a wait to the balanced code, and from there to the suspect.",
      width, 2);
  page.blank();
  page.add("ALSO MEASURED (c shows them as columns)", Tone::heading);
  for (const database::Metric& metric : workspace.experiment().metrics)
    add_meaning(page, metric.name, metric.description, width);
  return page;
}

Page explain_comparison(bool scales, int width) {
  Page page;
  add_meaning(page, "before, after", "What the code cost in the first run and in the second.", width);
  add_meaning(page, "change",
              "After less before. What changed below a line and in itself adds up to its change.", width);
  add_meaning(page, "%", "The change as a share of the whole of that run that costs more.", width);
  add_meaning(page, "ratio", "After divided by before.", width);
  if (scales)
    add_meaning(
        page, "loss %",
        "What the second run costs beyond the ideal, as a share of its whole. With strong scaling (the "
        "same problem) the ideal is the same time summed over all ranks, with weak scaling (a problem "
        "that grows with the ranks) the same time per rank. v switches between them.",
        width);
  page.blank();
  page.add("BEHIND NAMES", Tone::heading);
  add_meaning(page, "new, gone", "Code that only the second, or only the first run has.", width);
  add_meaning(
      page, "was ..., now inlined",
      "Code that contains much the same is taken for renamed; loops, inlined code and wrappers that only "
      "one run has are looked through.",
      width);
  return page;
}

Page explain_maps(int width) {
  Page page;
  page.say(
      "Ranks downwards, time or iterations to the right. A bar is as high as the mean of what shares its "
      "column; where ranks share a line, as that of the rank with most. The cursor stands on the largest; + "
      "shows them apart. The line below names what is under the cursor, the line "
      "above that its call path; Enter goes to that code.",
      width, 0, Tone::dim);
  page.blank();
  add_meaning(
      page, "iterations, invocations",
      "How long each iteration that the program marked (culprit_iteration) took; where it marked none, each "
      "of "
      "the loop that covers most of the run, or each invocation of the procedure that recurs with most time. "
      "Time in MPI calls is left out, so that who waits does not look slow. v: finer ones.",
      width);
  add_meaning(page, "above the median", "The same, as far as it is more than the median of all.", width);
  add_meaning(page, "a metric in iterations", "What was counted in each, MPI calls left out.", width);
  add_meaning(
      page, "waiting",
      "The share of each moment spent waiting for other ranks, in any pattern. The line below names the "
      "iteration, too, unless the moment lies outside of them.",
      width);
  add_meaning(page, "in MPI calls", "The share spent in MPI calls, waiting or not.", width);
  add_meaning(page, "late-sender, ...", "The share spent waiting in one pattern; e explains it on its map.",
              width);
  add_meaning(
      page, "code",
      "The procedure or MPI call with most of the time. From near (+) each call is shown, read from the "
      "measurement beside the database: with whom it exchanged what, and for whom it waited; p goes there. "
      "A line comes from who sent a message, or ended a wait, and points to who received it, or waited; "
      "where "
      "there are many, only those into the call under the cursor are drawn. "
      "The critical path is marked by columns of the map of the whole run.",
      width);
  return page;
}

bool is_pattern(const std::string& topic) {
  return std::ranges::any_of(metrics::kWaitPatternTexts,
                             [&](const metrics::WaitPatternText& each) { return each.name == topic; });
}

Page explain_patterns(const std::string& topic, int width) {
  Page page;
  for (const metrics::WaitPatternText& each : metrics::kWaitPatternTexts) {
    if (each.name == topic) add_meaning(page, each.name, each.meaning, width);
  }
  page.blank();
  page.add("THE OTHER WAIT PATTERNS", Tone::heading);
  for (const metrics::WaitPatternText& each : metrics::kWaitPatternTexts) {
    if (each.name != topic) add_meaning(page, each.name, each.meaning, width);
  }
  return page;
}

namespace {

using Line = std::pair<std::string_view, std::string_view>;  // keys, what they do; no keys: a heading

constexpr std::array kLines = {
    Line{"", "EVERYWHERE"},
    Line{"1 .. 9, Tab", "go to another tab (0: a comparison)"},
    Line{"j k g G, arrows", "move; Space, PgDn and PgUp: a page"},
    Line{"Enter", "open, or go where the line leads"},
    Line{"/  F3  n  N", "search (regular expression), next, previous"},
    Line{"B, Backspace", "back to where you came from"},
    Line{"s  r", "source, and values over ranks, of the chosen code"},
    Line{"e", "explain columns, maps, or the wait under the cursor"},
    Line{"D", "compare with another database"},
    Line{"w", "write this screen to a file, or a table as .csv"},
    Line{"y", "copy the call path under the cursor (OSC 52)"},
    Line{"?  F1", "these keys"},
    Line{"q  F10", "quit"},
    Line{"", "TREES"},
    Line{"l h, right left", "open, close or go to the parent"},
    Line{"b", "from a wait to the code blamed, then to the suspect"},
    Line{"H", "hot path: where most of the sorted column goes"},
    Line{"+  *  -", "open two levels, open all below, close everything"},
    Line{"z  Z", "zoom into the subtree, and back"},
    Line{"F  U", "flat view: one level less, or more, at the top"},
    Line{"<  >  S  F6", "sort by the column before or behind; choose it"},
    Line{"I  %", "smallest first; shares instead of amounts"},
    Line{"c  F2  [  ]", "choose columns, scroll them"},
    Line{"d", "define a metric: CPI=$PAPI_TOT_CYC/$PAPI_TOT_INS"},
    Line{"f  &  F4", "filter: only paths through what matches"},
    Line{"t", "hide branches below a share"},
    Line{"u", "unfold recursion, the insides of std:: and Python"},
    Line{"o", "source lines, inside of waits, start-up frames"},
    Line{"R  T", "only some ranks, only some threads"},
    Line{"m", "mark nodes, to see them together over ranks"},
    Line{"", "RANKS"},
    Line{"m", "by rank, sorted, histogram, procedures"},
    Line{"h l, + -, 0", "cursor, zoom, everything"},
    Line{"<  >  x", "another column; take all marks away"},
    Line{"", "TIME"},
    Line{"h j k l, + -, 0", "cursor, zoom, everything"},
    Line{"m  < >", "iterations, waiting, each pattern, time in MPI, code"},
    Line{"v", "finer or coarser iterations"},
    Line{"p", "single calls: the rank and time it waited for"},
    Line{"Enter", "the code where the time went"},
    Line{"", "FINDINGS"},
    Line{"h l", "another analysis"},
    Line{"m", "waits, causes, hotspots: rank by rank, or together"},
    Line{"", "FLAME"},
    Line{"arrows, Enter", "to another frame; zoom into it; Backspace: back"},
    Line{"m  u", "by calling context, or by callers; unfold"},
    Line{"", "DIFF"},
    Line{"m  v", "metric; strong or weak scaling"},
    Line{"<  >  I  H", "sort, smallest first, where most changed"},
    Line{"", "SOURCE"},
    Line{"n  N, h l", "next and previous line with costs; sideways"},
    Line{"P", "where the files are now (OLD=NEW)"},
};

}  // namespace

Page keys_page() {
  constexpr std::size_t kKeys = 17;
  Page page;
  for (const auto& [keys, text] : kLines) {
    if (keys.empty()) {
      page.blank();
      page.add(std::string(text), Tone::heading);
      continue;
    }
    page.add({{{"  " + std::string(keys) + std::string(kKeys - keys.size(), ' '), Tone::key},
               {std::string(text), Tone::plain}},
              {},
              {}});
  }
  return page;
}

}  // namespace culprit::viewer::tui
