#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "findings/suspect_names.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "tui/pages/finding_pages.hpp"
#include "tui/pages/page_parts.hpp"

#include <algorithm>
#include <span>

namespace culprit::viewer::tui {

void add_thread_causes(Page& page, const Workspace& workspace, const ThreadCauses& causes, std::size_t most,
                       bool paths, int width) {
  const database::Contents& experiment = workspace.experiment();
  const auto add = [&](const char* heading, double whole_s, const std::vector<ThreadCause>& list) {
    if (list.empty()) return;
    add_heading(page, heading, "caused", width);
    for (const ThreadCause& cause : std::span(list).first(std::min(list.size(), most))) {
      const std::string name = scope_phrase(experiment, cause.context, false, static_cast<std::size_t>(width),
                                            workspace.unicode());
      page.add(link_line(name + role_suffix(experiment, cause.role),
                         seconds_text(workspace, cause.caused_s) + "  " +
                             round_percent(std::min(1.0, cause.caused_s / whole_s)),
                         to_context(cause.context), width, 0, workspace.unicode()));
      if (paths) add_path(page, workspace, cause.context, width, 4);
    }
  };
  add("THREADS IDLE WHILE OTHERS ARE IN", causes.idle_s, causes.idleness);
  add("THREADS WAIT FOR LOCKS HELD IN", causes.lock_waited_s, causes.locks);
}

Page blame_page(const Workspace& workspace, const Findings& findings, int width) {
  Page page;
  const Diagnosis& diagnosis = findings.diagnosis;
  if (diagnosis.blamed.empty()) {
    page.say("No waiting, hence no blame.", width);
    return page;
  }
  page.say(
      "Waiting is charged to the innermost code around it that takes all threads equally long as a whole: "
      "what makes some of them wait lies inside.",
      width, 0, Tone::dim);
  add_heading(page, "BALANCED CODE", "waiting in it", width);
  const views::Figures all(workspace.source());  // whatever ranks are selected
  const Waiters waiting(all);
  const std::size_t listed = std::min(diagnosis.blamed.size(), kMostRows);
  for (const Blamed& each : std::span(diagnosis.blamed).first(listed)) {
    const std::vector<std::uint32_t> waiters = waiting.of(each);
    page.add(link_line(
        scope_phrase(workspace.experiment(), each.context, false, static_cast<std::size_t>(width),
                     workspace.unicode()),
        seconds_text(workspace, each.idle_s) + "  " + grouped(100 * each.share(diagnosis.idle_s), 1) + " %",
        to_context(each.context, waiters), width, 0, workspace.unicode()));
    const std::string who =
        waiters.empty() ? "nobody in particular" : threads_phrase(workspace.experiment(), waiters);
    page.say("waited: " + who + role_suffix(workspace.experiment(), each.role), width, 4);
    add_path(page, workspace, each.context, width, 4);
  }
  say_rest(page, diagnosis.blamed.size(), "blame");
  if (diagnosis.without_startup) page.say(kBlameSharesWithoutStartUp, width, 0, Tone::dim);
  add_thread_causes(page, workspace, findings.thread_causes, kMostRows, true, width);
  return page;
}

std::string suspect_text(const Workspace& workspace, const SuspectFacts& facts) {
  const database::Suspect& suspect = *facts.suspect;
  const std::string doubt = confidence_phrase(workspace.experiment(), facts);
  return keep(more_work_phrase(facts)) + ' ' + threads_phrase(workspace.experiment(), suspect.locations) +
         role_suffix(workspace.experiment(), suspect.role) + ": " +
         keep(seconds_text(workspace, seconds_of(suspect.excess_ns))) + " above the mean. " +
         mending_phrase(facts, workspace.unicode()) + (doubt.empty() ? "" : " This is " + doubt + '.');
}

Page suspects_page(const Workspace& workspace, const Findings& findings, int width) {
  Page page;
  if (workspace.experiment().suspects().empty()) {
    page.say(no_suspects_phrase(workspace.experiment()), width);
    add_thread_causes(page, workspace, findings.thread_causes, kMostRows, true, width);
    return page;
  }
  page.say("Code inside balanced code that does more work on some threads, so that the others wait.", width,
           0, Tone::dim);
  add_heading(page, "UNEVEN CODE", "explains", width);
  const views::Figures all(workspace.source());  // whatever ranks are selected
  const std::vector<database::Suspect>& suspects = workspace.experiment().suspects();
  const std::vector<std::string> names =
      suspect_names(workspace.experiment(), static_cast<std::size_t>(width), workspace.unicode());
  const std::size_t listed = std::min(suspects.size(), kMostRows);
  for (const database::Suspect& suspect : std::span(suspects).first(listed)) {
    const SuspectFacts facts = examine(all, suspect);
    page.add(link_line(name_of(workspace.experiment(), names, suspect),
                       seconds_text(workspace, seconds_of(suspect.explains_ns)),
                       to_context(suspect.suspect, suspect.locations), width, 0, workspace.unicode()));
    page.say(suspect_text(workspace, facts), width, 4);
    add_path(page, workspace, suspect.suspect, width, 4);
  }
  say_rest(page, suspects.size(), "suspects");
  add_thread_causes(page, workspace, findings.thread_causes, kMostRows, true, width);
  return page;
}

}  // namespace culprit::viewer::tui
