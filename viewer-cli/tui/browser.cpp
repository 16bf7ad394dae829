#include "tui/browser.hpp"

#include "print/text.hpp"
#include "request/errors.hpp"
#include "request/open_database.hpp"
#include "text/shorten.hpp"
#include "tui/pages/explain.hpp"
#include "tui/panes/choices.hpp"
#include "tui/panes/compare_pane.hpp"
#include "tui/panes/flame_pane.hpp"
#include "tui/panes/ranks_pane.hpp"
#include "tui/panes/source_pane.hpp"
#include "tui/panes/time_pane.hpp"
#include "tui/state/state_files.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <filesystem>

namespace culprit::viewer::tui {
namespace {

constexpr int kSmallest = 10, kNarrowest = 40;  // lines and columns: below, there is nothing to read
constexpr int kTallForTwo = 32;                 // lines from which a tree leaves room for what is chosen
constexpr int kWideForTwo = 100;                // columns from which source and ranks stand side by side
constexpr std::size_t kWaysBack = 50;

}  // namespace

Browser::Browser(Workspace& workspace, FindingsTask& findings) : workspace_(workspace), task_(findings) {
  const auto add = [&](auto pane) {
    auto* const made = pane.get();
    panes_.push_back(std::move(pane));
    return made;
  };
  add(std::make_unique<FindingsPane>(workspace_, *this, task_, FindingsPane::Shows::start));
  for (std::size_t view = 0; view < Workspace::kViews; ++view)
    trees_.at(view) = add(std::make_unique<TreePane>(workspace_, *this, view));
  source_ = add(std::make_unique<SourcePane>(workspace_, *this));
  ranks_ = add(std::make_unique<RanksPane>(workspace_, *this));
  time_ = add(std::make_unique<TimePane>(workspace_, *this, task_));
  findings_ = add(std::make_unique<FindingsPane>(workspace_, *this, task_, FindingsPane::Shows::analyses));
  add(std::make_unique<FlamePane>(workspace_, *this));
  if (const auto& contexts = workspace_.experiment().contexts; !contexts.empty())
    workspace_.chosen = NodeRef{Workspace::kCallingContext, 0};
}

Browser::~Browser() = default;

bool Browser::is_tree(std::size_t tab) const {
  return tab >= 1 && tab <= Workspace::kViews;
}

bool Browser::has_others_below(std::size_t tab) const {
  return is_tree(tab) || panes_[tab].get() == static_cast<const Pane*>(compare_);
}

void Browser::compare(OtherRun other) {
  if (compare_ != nullptr) {
    if (comparison_->forming()) {
      notify("Another run is still being compared");
      return;
    }
    panes_.pop_back();
    compare_ = nullptr;
  }
  comparison_ = std::make_unique<Comparison>(workspace_.source(), std::move(other));
  auto pane = std::make_unique<ComparePane>(workspace_, *this, *comparison_);
  compare_ = pane.get();
  panes_.push_back(std::move(pane));
  select_tab(panes_.size() - 1);
}

bool Browser::busy() const {
  const bool pane_is = std::ranges::any_of(panes_, [](const auto& pane) { return pane->busy(); });
  return pane_is || task_.ready() == nullptr || workspace_.selecting() ||
         (comparison_ && comparison_->forming());
}

void Browser::ask_other_run() {
  Prompt prompt;
  prompt.label = "Compare with (database): ";
  prompt.entered = [this](const std::string& text) {
    if (text.empty()) return;
    std::error_code error;
    if (std::filesystem::is_directory(text, error) && !std::filesystem::exists(text + ".db", error)) {
      notify(text + " is not merged yet (prof-mpi " + print::shell_path(text) + ')');
      return;
    }
    try {
      Opened opened = open_database(text, {}, true);
      compare({std::move(opened.source), opened.path, {}, {}});
    } catch (const std::exception& refused) {
      notify(refused.what());
    }
  };
  ask(std::move(prompt));
}

void Browser::copy_path() {
  std::string path = panes_[tab_]->path();
  if (path.empty() && workspace_.chosen) path = workspace_.path_of(*workspace_.chosen);
  if (path.empty()) {
    notify("No code is chosen");
    return;
  }
  notify("Copied, where the terminal takes OSC 52: " + path);
  copied_ = std::move(path);
}

/// As it is shown, without the keys at the bottom.
std::string Browser::screen_text() {
  Canvas canvas(height_, width_);
  draw(canvas);
  std::string text;
  for (int row = 0; row + 1 < canvas.height(); ++row) text += canvas.line(row) + '\n';
  return text;
}

void Browser::ask_file() {
  const std::filesystem::path database = workspace_.database();
  Prompt prompt;
  prompt.label = "Write this screen to a new file: ";
  const bool listed = panes_[tab_]->has_table();
  if (listed) prompt.label = "Write this screen, or (.csv) the whole table, to a new file: ";
  prompt.text = database.stem().string() + '-' + panes_[tab_]->name() + ".txt";
  prompt.entered = [this, text = screen_text(), listed](const std::string& name) {
    if (name.empty()) return;
    const bool table = name.ends_with(".csv");
    if (table && !listed) {
      notify("This screen is no table: give the file another ending than .csv");
      return;
    }
    try {
      const std::string why = write_new(name, table ? panes_[tab_]->csv() : text, workspace_.database());
      notify(why.empty() ? "Written to " + name : name + ": " + why);
    } catch (const UsageError& refused) {
      notify(refused.what());
    }
  };
  ask(std::move(prompt));
}

// -- events -------------------------------------------------------------------------------------------------

void Browser::handle(const Event& event) {
  // What a search showed while it was typed stays when it is entered.
  if (!prompt_ || event.key != Key::enter) message_.clear();
  if (answer_overlay(event)) return;
  if (event.key == Key::click && click(event)) return;
  if (panes_[tab_]->handle(event)) return;
  if (handle_everywhere(event)) return;
  if (event.key == Key::letter && event.letter > U' ') {
    std::string letter;
    encode(event.letter, letter);
    notify(letter + " means nothing here (? shows the keys)");
  }
}

bool Browser::answer_overlay(const Event& event) {
  if (prompt_) {
    const PromptLine::Answer answer = prompt_->handle(event);
    if (answer != PromptLine::Answer::open) {
      const PromptLine asked = std::move(*prompt_);
      prompt_.reset();  // the answer may ask again
      asked.answer(answer);
    }
    return true;
  }
  if (menu_) {
    const MenuBox::Answer answer = menu_->handle(event);
    if (answer != MenuBox::Answer::open) {
      const MenuBox asked = std::move(*menu_);
      menu_.reset();
      if (answer == MenuBox::Answer::taken) asked.answer();
    }
    return true;
  }
  if (!box_) return false;
  if (!box_->handle(event)) box_.reset();
  return true;
}

bool Browser::handle_everywhere(const Event& event) {
  switch (event.key) {
    case Key::tab:
      select_tab((tab_ + 1) % panes_.size());
      return true;
    case Key::back_tab:
      select_tab((tab_ + panes_.size() - 1) % panes_.size());
      return true;
    case Key::function:
      return handle_function(event.number);
    case Key::backspace:
      go_back();
      return true;
    case Key::letter:
      return handle_letter(event.letter);
    default:
      return false;
  }
}

bool Browser::handle_letter(char32_t letter) {
  // The tenth has the last digit.
  const std::size_t tab = letter == U'0' ? 9 : letter - U'1';
  if (letter >= U'0' && letter <= U'9' && tab < panes_.size()) {
    select_tab(tab);
    return true;
  }
  switch (letter) {
    case U'q':
    case U'Q':
    case control('c'):
      finished_ = true;
      return true;
    case U'?':
      show("Keys", keys_page());
      return true;
    case U'e':
      explain();
      return true;
    case U's':
      switch_to("Source");
      return true;
    case U'r':
      switch_to("Ranks");
      return true;
    case U'B':
      go_back();
      return true;
    case U'c':
      choose(columns_menu(workspace_, *this));
      return true;
    case U'S':
      choose(sort_menu(workspace_, *this));
      return true;
    case U'o':
      choose(passed_over_menu(workspace_, *this));
      return true;
    case U'T':
      choose(role_menu(workspace_, *this));
      return true;
    case U'R':
      ask(ranks_prompt(workspace_, *this));
      return true;
    case U'D':
      ask_other_run();
      return true;
    case U'd':
      ask(derived_prompt(workspace_, *this));
      return true;
    case U'w':
      ask_file();
      return true;
    case U'y':
      copy_path();
      return true;
    default:
      return false;
  }
}

/// As in htop.
bool Browser::handle_function(int number) {
  switch (number) {
    case 1:
      return handle_letter(U'?');
    case 2:
      return handle_letter(U'c');
    case 3:
      return panes_[tab_]->handle({Key::letter, U'/', 0, 0, 0});
    case 4:
      return panes_[tab_]->handle({Key::letter, U'f', 0, 0, 0});
    case 6:
      return handle_letter(U'S');
    case 10:
      return handle_letter(U'q');
    default:
      return false;
  }
}

bool Browser::click(const Event& event) {
  if (event.row != 0) return false;
  for (std::size_t tab = 0; tab < tab_places_.size(); ++tab) {
    if (event.column >= tab_places_[tab].first && event.column <= tab_places_[tab].second) select_tab(tab);
  }
  return true;
}

void Browser::select_tab(std::size_t tab) {
  tab_ = tab;
  panes_[tab_]->shown();
}

void Browser::switch_to(const std::string& name) {
  const auto found =
      std::find_if(panes_.begin(), panes_.end(), [&](const auto& pane) { return pane->name() == name; });
  if (found == panes_.end()) return;
  came_from_.emplace_back(tab_, workspace_.chosen);
  select_tab(static_cast<std::size_t>(found - panes_.begin()));
}

void Browser::go(const Target& target) {
  came_from_.emplace_back(tab_, workspace_.chosen);
  if (came_from_.size() > kWaysBack) came_from_.erase(came_from_.begin());
  workspace_.marked_locations = target.locations;
  switch (target.kind) {
    case Target::Kind::context:
      select_tab(1);
      trees_[Workspace::kCallingContext]->reveal(target.scope);
      break;
    case Target::Kind::flat:
      select_tab(3);
      trees_[Workspace::kFlat]->reveal(target.scope);
      break;
    case Target::Kind::time:
      time_->point_at(target);
      switch_to("Time");
      came_from_.pop_back();
      break;
    case Target::Kind::finding:
      findings_->choose(static_cast<Finding>(target.scope));
      switch_to("Findings");
      came_from_.pop_back();
      break;
  }
}

void Browser::go_back() {
  if (came_from_.empty()) {
    notify("There is nowhere to go back to");
    return;
  }
  const auto [tab, node] = came_from_.back();
  came_from_.pop_back();
  select_tab(tab);
  if (is_tree(tab) && node && node->view + 1 == tab) trees_.at(node->view)->reveal(node->node);
  if (node) workspace_.chosen = node;
}

void Browser::show(const std::string& title, Page page) {
  box_.emplace(title, std::move(page));
}

void Browser::explain() {
  constexpr int kWidest = 90;
  const int width = std::min(width_ - 8, kWidest);
  const std::string topic = panes_[tab_]->topic();
  if (panes_[tab_].get() == static_cast<const Pane*>(compare_)) {
    show("What a comparison says", explain_comparison(comparison_->scales(), width));
  } else if (topic == kMapsTopic) {
    show("What the maps show", explain_maps(width));
  } else if (is_pattern(topic)) {
    show("Wait patterns", explain_patterns(topic, width));
  } else {
    show("What the columns mean", explain_metrics(workspace_, width));
  }
}

void Browser::figures_changed() {
  for (const std::unique_ptr<Pane>& pane : panes_) pane->figures_changed();
}

bool Browser::work() {
  if (workspace_.selecting()) {
    if (workspace_.finish_select()) {
      message_.clear();
      figures_changed();
    }
    return true;
  }
  bool more = panes_[tab_]->work();
  if (has_others_below(tab_)) {  // what stands beside a tree
    more = ranks_->work() || more;
    more = source_->work() || more;
  }
  return more;
}

// -- drawing ------------------------------------------------------------------------------------------------

void Browser::draw(Canvas& canvas) {
  width_ = canvas.width();
  height_ = canvas.height();
  if (canvas.height() < kSmallest || canvas.width() < kNarrowest) {
    canvas.write(0, 0, "The window is too small.", Tone::warning, canvas.width());
    return;
  }
  draw_tabs(canvas);
  draw_body(canvas, {1, 0, canvas.height() - 3, canvas.width()});
  draw_bottom(canvas);
  if (menu_) menu_->draw(canvas, workspace_.unicode());
  if (box_) box_->draw(canvas, workspace_.unicode());
}

void Browser::draw_tabs(Canvas& canvas) {
  canvas.fill({0, 0, 1, canvas.width()}, U' ', Tone::bar);
  tab_places_.clear();
  // Where they do not fit with a blank on either side, they share them.
  int wanted = 0;
  for (const auto& pane : panes_) wanted += static_cast<int>(pane->name().size()) + 4;
  const char* const behind = wanted <= canvas.width() ? " " : "";
  const bool narrow = wanted - static_cast<int>(panes_.size()) > canvas.width();
  int column = 0;
  for (std::size_t tab = 0; tab < panes_.size(); ++tab) {
    const std::string text =
        ' ' + std::to_string((tab + 1) % 10) + (narrow ? "" : " ") + panes_[tab]->name() + behind;
    const int begin = column;
    column = canvas.write(0, column, text, tab == tab_ ? Tone::tab : Tone::bar, canvas.width() - column);
    tab_places_.emplace_back(begin, column - 1);
  }
  const std::string name(views::base_name(workspace_.database()));
  const auto length = static_cast<int>(columns(name));
  if (column + length + 2 <= canvas.width())
    canvas.write(0, canvas.width() - length - 1, name, Tone::bar, length);
}

void Browser::draw_body(Canvas& canvas, const Area& area) {
  if (!has_others_below(tab_) || area.height < kTallForTwo) {
    panes_[tab_]->draw(canvas, area);
    return;
  }
  const int below = area.height * 2 / 5;
  panes_[tab_]->draw(canvas, {area.row, area.column, area.height - below, area.width});
  draw_beside_tree(canvas, {area.row + area.height - below, area.column, below, area.width});
}

/// The chosen node's source and its values over the ranks.
void Browser::draw_beside_tree(Canvas& canvas, const Area& area) {
  const char32_t rule = workspace_.unicode() ? U'─' : U'-';
  canvas.fill({area.row, area.column, 1, area.width}, rule, Tone::dim);
  if (panes_[tab_].get() == static_cast<const Pane*>(compare_)) {  // which of the two runs
    const std::string before(views::base_name(workspace_.database()));
    canvas.write(area.row, area.column + 1, " before: " + before + ' ', Tone::dim, area.width / 2 - 2);
  }
  const Area inside{area.row + 1, area.column, area.height - 1, area.width};
  if (area.width < kWideForTwo) {
    ranks_->draw(canvas, inside);
    return;
  }
  const int left = area.width / 2;
  canvas.put(area.row, area.column + left, workspace_.unicode() ? U'┬' : U'+', Tone::dim);
  source_->draw(canvas, {inside.row, inside.column, inside.height, left - 1});
  canvas.fill({inside.row, area.column + left, inside.height, 1}, workspace_.unicode() ? U'│' : U'|',
              Tone::dim);
  ranks_->draw(canvas, {inside.row, inside.column + left + 2, inside.height, area.width - left - 2});
}

void Browser::draw_bottom(Canvas& canvas) {
  const int status = canvas.height() - 2;
  const auto room = static_cast<std::size_t>(canvas.width());
  if (!message_.empty()) {
    canvas.write(status, 0, shorten_middle(message_, room, workspace_.unicode()), Tone::warning,
                 canvas.width());
  } else {
    canvas.write(status, 0, shorten_middle(panes_[tab_]->status(), room, workspace_.unicode()), Tone::dim,
                 canvas.width());
  }
  if (prompt_) {
    prompt_->draw(canvas, canvas.height() - 1);
  } else {
    draw_hints(canvas, canvas.height() - 1);
  }
}

void Browser::draw_hints(Canvas& canvas, int row) {
  canvas.fill({row, 0, 1, canvas.width()}, U' ', Tone::bar);
  std::vector<Hint> hints = {{"?", "help"}, {"q", "quit"}};
  for (Hint& hint : panes_[tab_]->hints()) hints.push_back(std::move(hint));
  int column = 1;
  for (const auto& [key, what] : hints) {
    const auto length = static_cast<int>(columns(key) + columns(what)) + 1;
    if (column + length > canvas.width()) break;
    column = canvas.write(row, column, key, Tone::key, canvas.width());
    column = canvas.write(row, column + 1, what, Tone::bar, canvas.width()) + 2;
  }
}

}  // namespace culprit::viewer::tui
