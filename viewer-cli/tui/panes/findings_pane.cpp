#include "tui/panes/findings_pane.hpp"

#include "text/shorten.hpp"
#include "views/search.hpp"

#include <algorithm>
#include <sstream>

namespace culprit::viewer::tui {
namespace {

constexpr int kWidestProse = 110;  // longer lines are hard to read

}  // namespace

FindingsPane::FindingsPane(Workspace& workspace, Host& host, FindingsTask& task, Shows shows)
    : workspace_(workspace), host_(host), task_(task), shows_(shows) {}

void FindingsPane::choose(Finding finding) {
  finding_ = finding;
  made_for_ = -1;
  view_.to_top();
}

bool FindingsPane::work() {
  if (made_for_ == -1 && task_.ready() != nullptr) {
    made_for_ = -2;  // to be made when it is drawn
    return true;
  }
  return false;
}

void FindingsPane::make_page(int width) {
  const Findings* const findings = task_.ready();
  if (findings == nullptr) {
    Page page;
    page.add("Comparing the threads...", Tone::dim);
    page.blank();
    page.add("2 shows where the time goes meanwhile.", Tone::dim);
    view_.set_page(std::move(page));
    return;
  }
  made_for_ = width;
  Page page;
  if (!findings->failure.empty()) {
    page.say(findings->failure, width, 0, Tone::warning);
  } else {
    page = shows_ == Shows::start ? start_page(workspace_, *findings, width)
                                  : finding_page(workspace_, *findings, finding_, by_rank_, width);
  }
  view_.set_page(std::move(page));
}

void FindingsPane::follow(const PageLine* line) {
  if (line != nullptr && line->target) host_.go(*line->target);
}

bool FindingsPane::handle(const Event& event) {
  if (event.key == Key::click || event.key == Key::click_twice) return click(event);
  if (event.key == Key::enter) {
    follow(view_.current());
    return true;
  }
  const Event moved = navigation(event);
  if (shows_ == Shows::analyses && (moved.key == Key::left || moved.key == Key::right)) {
    const auto number = static_cast<int>(kFindingNames.size());
    const int next = static_cast<int>(finding_) + (moved.key == Key::right ? 1 : number - 1);
    choose(static_cast<Finding>(next % number));
    return true;
  }
  if (lists_ranks() && event.is(U'm')) {
    by_rank_ = !by_rank_;
    choose(finding_);
    return true;
  }
  return view_.handle(event) || ask_search(event);
}

bool FindingsPane::click(const Event& event) {
  if (names_.contains(event.row, event.column) && shows_ == Shows::analyses) {
    int column = names_.column;
    for (std::size_t each = 0; each < kFindingNames.size(); ++each) {
      const auto width = static_cast<int>(std::string_view(kFindingNames[each]).size()) + 2;
      if (event.column >= column && event.column < column + width) choose(static_cast<Finding>(each));
      column += width;
    }
    return true;
  }
  const PageLine* const before = view_.current();
  const PageLine* const line = view_.click(event.row, event.column);
  if (line != nullptr && (line == before || event.key == Key::click_twice)) follow(line);
  return line != nullptr;
}

bool FindingsPane::ask_search(const Event& event) {
  if (event.is(U'n') || event.is(U'N')) {
    find(event.is(U'N'));
    return true;
  }
  if (!event.is(U'/')) return false;
  Prompt prompt;
  prompt.label = '/';
  prompt.entered = [this](const std::string& text) {
    if (!text.empty()) searched_ = text;
    find(false);
  };
  host_.ask(std::move(prompt));
  return true;
}

void FindingsPane::find(bool backwards) {
  if (searched_.empty()) return;
  try {
    if (!view_.find(searched_, backwards)) host_.notify("Nothing matches '" + searched_ + "'");
  } catch (const views::BadPattern& bad) {
    host_.notify(bad.what());
  }
}

int FindingsPane::draw_names(Canvas& canvas, const Area& area) {
  if (shows_ == Shows::start) return 0;
  names_ = {area.row, area.column, 1, area.width};
  int column = area.column;
  for (std::size_t each = 0; each < kFindingNames.size(); ++each) {
    const bool current = each == static_cast<std::size_t>(finding_);
    const std::string text =
        current ? '[' + std::string(kFindingNames[each]) + ']' : ' ' + std::string(kFindingNames[each]) + ' ';
    column = canvas.write(area.row, column, text, current ? Tone::strong : Tone::dim, area.width);
  }
  return 2;
}

void FindingsPane::draw(Canvas& canvas, const Area& area) {
  const int taken = draw_names(canvas, area);
  const int width = std::min(area.width, kWidestProse);
  if (made_for_ != width) make_page(width);
  view_.draw(canvas, {area.row + taken, area.column, area.height - taken, width});
}

std::vector<Hint> FindingsPane::hints() const {
  std::vector<Hint> hints = {{"Enter", "go there"}, {"j k", "move"}, {"/", "search"}};
  if (shows_ == Shows::analyses) {
    hints.insert(hints.begin() + 1, {"h l", "analysis"});
    // There is no room for more where a line has 80 columns.
    if (lists_ranks()) hints[2] = {"m", by_rank_ ? "together" : "by rank"};
    hints.push_back({"e", "explain"});
  } else {
    hints.push_back({"2", "calls"});
    hints.push_back({"8", "findings"});
  }
  return hints;
}

std::string FindingsPane::status() const {
  const PageLine* const line = view_.current();
  if (line == nullptr) return {};
  switch (line->target->kind) {
    case Target::Kind::time:
      return "Enter: its place among all ranks and times";
    case Target::Kind::flat:
      return "Enter: its place in the flat view";
    case Target::Kind::finding:
      return "Enter: the whole list";
    case Target::Kind::context:
      break;
  }
  return "Enter: its place among the calls";
}

std::string FindingsPane::path() const {
  const PageLine* const line = view_.current();
  if (line == nullptr || line->target->kind != Target::Kind::context) return {};
  return workspace_.path_of({Workspace::kCallingContext, line->target->scope});
}

std::string FindingsPane::topic() const {
  const PageLine* const line = view_.current();
  return line == nullptr ? std::string{} : line->topic;
}

std::string FindingsPane::csv() const {
  const Findings* const findings = task_.ready();
  if (findings == nullptr) return {};
  std::ostringstream text;
  write_csv(text, workspace_.experiment(), finding_table(workspace_, *findings, finding_));
  return text.str();
}

}  // namespace culprit::viewer::tui
