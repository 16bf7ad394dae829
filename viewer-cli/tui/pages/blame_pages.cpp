#include "commands/report.hpp"
#include "tui/pages/finding_pages.hpp"
#include "tui/pages/page_parts.hpp"

namespace culprit::viewer::tui {
namespace {

ListOptions options_of(const Workspace& workspace, std::size_t most, int width) {
  return {.unicode = workspace.unicode(),
          .most = most,
          .least_share = 0,
          .name_columns = static_cast<std::size_t>(width)};
}

}  // namespace

void add_thread_causes(Page& page, const Workspace& workspace, const ThreadCauses& causes, std::size_t most,
                       bool brief, int width) {
  for (const List& list :
       thread_cause_lists(workspace.experiment(), causes, options_of(workspace, most, width)))
    add_list(page, workspace, list, width, brief);
}

Page blame_page(const Workspace& workspace, const Findings& findings, int width) {
  Page page;
  if (!findings.diagnosis.blamed.empty())
    page.say(
        "Waiting is charged to the innermost code around it that takes all threads equally long as a whole: "
        "what makes some of them wait lies inside.",
        width, 0, Tone::dim);
  const views::Figures all(workspace.source());  // whatever ranks are selected
  add_list(page, workspace,
           blame_list(all, findings.diagnosis.blamed, findings.diagnosis.idle_s,
                      findings.diagnosis.without_startup, options_of(workspace, kMostRows, width)),
           width);
  add_thread_causes(page, workspace, findings.thread_causes, kMostRows, false, width);
  return page;
}

Page suspects_page(const Workspace& workspace, const Findings& findings, int width) {
  Page page;
  if (!workspace.experiment().suspects().empty())
    page.say("Code inside balanced code that does more work on some threads, so that the others wait.", width,
             0, Tone::dim);
  const views::Figures all(workspace.source());  // whatever ranks are selected
  add_list(page, workspace, suspects_list(all, options_of(workspace, kMostRows, width)), width);
  add_thread_causes(page, workspace, findings.thread_causes, kMostRows, false, width);
  return page;
}

}  // namespace culprit::viewer::tui
