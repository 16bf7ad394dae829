#include "commands/communication.hpp"
#include "findings/coverage.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "tui/pages/finding_pages.hpp"
#include "tui/pages/page_parts.hpp"

#include <algorithm>
#include <vector>

namespace culprit::viewer::tui {
namespace {

constexpr int kIndent = 4;

void add_paths(Page& page, const Workspace& workspace, const std::vector<database::CallTraffic>& calls,
               const Screen& screen, int width) {
  const database::Contents& experiment = workspace.experiment();
  add_heading(page, "BY CALL PATH", "time", width);
  for (std::size_t i = 0; i < std::min(kMostRows, calls.size()); ++i) {
    const database::CallTraffic& call = calls[i];
    std::string name = mpi_call_name(experiment, call.context) + "  " + counted(call.calls, "call");
    if (call.messages != 0)
      name += ", " + counted(call.messages, "message") + " of " +
              bytes(static_cast<double>(call.message_bytes) / static_cast<double>(call.messages));
    page.add(link_line(name, seconds_text(workspace, seconds_of(call.ns)), to_context(call.context), width, 0,
                       workspace.unicode()));
    page.say(call_details(experiment, call, screen), width, kIndent, Tone::dim);
  }
  say_rest(page, calls.size(), "communication");
}

}  // namespace

Page communication_page(const Workspace& workspace, const Findings& findings, int width) {
  Page page;
  const database::Contents& experiment = workspace.experiment();
  if (findings.mpi.calls.empty()) {
    page.say(no_calls_phrase(experiment), width);
    return page;
  }
  const Screen screen{
      .width = static_cast<std::size_t>(width), .colour = false, .unicode = workspace.unicode()};
  page.say(communication_summary(findings.mpi, workspace.unicode()), width, 0, Tone::dim);
  page.blank();
  Tone tone = Tone::heading;
  for (const std::string& line : function_lines(screen, experiment, findings.mpi)) {
    page.add(line, tone);
    tone = Tone::plain;
  }
  const std::vector<std::string> partners = partner_lines(screen, experiment);
  if (!partners.empty()) {
    add_heading(page, "WHO SENDS TO WHOM", "bytes", width);
    for (const std::string& line : partners) page.add(line);
  }
  add_paths(page, workspace, findings.mpi.paths, screen, width);
  if (const std::string note = communication_note(experiment); !note.empty()) {
    page.blank();
    page.say(note, width, 0, Tone::dim);
  }
  return page;
}

}  // namespace culprit::viewer::tui
