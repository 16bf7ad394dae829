#include "tui/browser.hpp"

#include "print/text.hpp"
#include "request/errors.hpp"
#include "request/open_database.hpp"
#include "text/shorten.hpp"
#include "tui/pages/explain.hpp"
#include "tui/panes/choices.hpp"
#include "tui/panes/time_pane.hpp"
#include "tui/state/state_files.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace culprit::viewer::tui {
namespace {

constexpr int kSmallest = 10, kNarrowest = 40;  // lines and columns: below, there is nothing to read
constexpr std::size_t kWaysBack = 50;

}  // namespace

Browser::Browser(Workspace& workspace, FindingsTask& findings)
    : workspace_(workspace), task_(findings), tabs_(workspace, *this, findings) {
  if (const auto& contexts = workspace_.experiment().contexts; !contexts.empty())
    workspace_.chosen = NodeRef{Workspace::kCallingContext, 0};
}

void Browser::compare(OtherRun other) {
  if (comparison_ && comparison_->forming()) {
    notify("Another run is still being compared");
    return;
  }
  tabs_.close_comparison();
  comparison_ = std::make_unique<Comparison>(workspace_.source(), std::move(other));
  tabs_.open_comparison(*comparison_);
}

bool Browser::busy() const {
  return tabs_.busy() || task_.ready() == nullptr || workspace_.selecting() ||
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
  std::string path = tabs_.front().path();
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
  const bool listed = tabs_.front().has_table();
  if (listed) prompt.label = "Write this screen, or (.csv) the whole table, to a new file: ";
  prompt.text = database.stem().string() + '-' + tabs_.front().name() + ".txt";
  prompt.entered = [this, text = screen_text(), listed](const std::string& name) {
    if (name.empty()) return;
    const bool table = name.ends_with(".csv");
    if (table && !listed) {
      notify("This screen is no table: give the file another ending than .csv");
      return;
    }
    try {
      const std::string why = write_new(name, table ? tabs_.front().csv() : text, workspace_.database());
      notify(why.empty() ? "Written to " + name : name + ": " + why);
    } catch (const UsageError& refused) {
      notify(refused.what());
    }
  };
  ask(std::move(prompt));
}

// -- events -------------------------------------------------------------------------------------------------

void Browser::handle(const Event& event) {
  if (overlays_.handle(event)) return;
  if (event.key == Key::click && event.row == 0) {
    tabs_.click(event.column);
    return;
  }
  if (tabs_.front().handle(event)) return;
  if (handle_everywhere(event)) return;
  if (event.key == Key::letter && event.letter > U' ') {
    std::string letter;
    encode(event.letter, letter);
    notify(letter + " means nothing here (? shows the keys)");
  }
}

bool Browser::handle_everywhere(const Event& event) {
  switch (event.key) {
    case Key::tab:
    case Key::back_tab:
      tabs_.select_next(event.key == Key::back_tab);
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
  if (letter >= U'0' && letter <= U'9' && tab < tabs_.size()) {
    tabs_.select(tab);
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
      return tabs_.front().handle({Key::letter, U'/', 0, 0, 0});
    case 4:
      return tabs_.front().handle({Key::letter, U'f', 0, 0, 0});
    case 6:
      return handle_letter(U'S');
    case 10:
      return handle_letter(U'q');
    default:
      return false;
  }
}

void Browser::switch_to(const std::string& name) {
  std::pair from(tabs_.front_index(), workspace_.chosen);
  if (tabs_.select(name)) came_from_.push_back(std::move(from));
}

void Browser::go(const Target& target) {
  came_from_.emplace_back(tabs_.front_index(), workspace_.chosen);
  if (came_from_.size() > kWaysBack) came_from_.erase(came_from_.begin());
  workspace_.marked_locations = target.locations;
  switch (target.kind) {
    case Target::Kind::context:
      tabs_.select(1);
      tabs_.tree(Workspace::kCallingContext).reveal(target.scope);
      break;
    case Target::Kind::flat:
      tabs_.select(3);
      tabs_.tree(Workspace::kFlat).reveal(target.scope);
      break;
    case Target::Kind::time:
      tabs_.time().point_at(target);
      switch_to("Time");
      came_from_.pop_back();
      break;
    case Target::Kind::finding:
      tabs_.findings().choose(static_cast<Finding>(target.scope));
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
  tabs_.select(tab);
  if (node && tabs_.front_view() == node->view) tabs_.tree(node->view).reveal(node->node);
  if (node) workspace_.chosen = node;
}

void Browser::explain() {
  constexpr int kWidest = 90;
  const int width = std::min(width_ - 8, kWidest);
  const std::string topic = tabs_.front().topic();
  if (tabs_.comparison_in_front()) {
    show("What a comparison says", explain_comparison(comparison_->scales(), width));
  } else if (topic == kMapsTopic) {
    show("What the maps show", explain_maps(width));
  } else if (is_pattern(topic)) {
    show("Wait patterns", explain_patterns(topic, width));
  } else {
    show("What the columns mean", explain_metrics(workspace_, width));
  }
}

bool Browser::work() {
  if (workspace_.selecting()) {
    if (workspace_.finish_select()) {
      overlays_.clear_message();
      figures_changed();
    }
    return true;
  }
  return tabs_.work();
}

// -- drawing ------------------------------------------------------------------------------------------------

void Browser::draw(Canvas& canvas) {
  width_ = canvas.width();
  height_ = canvas.height();
  if (canvas.height() < kSmallest || canvas.width() < kNarrowest) {
    canvas.write(0, 0, "The window is too small.", Tone::warning, canvas.width());
    return;
  }
  tabs_.draw_names(canvas);
  tabs_.draw_panes(canvas, {1, 0, canvas.height() - 3, canvas.width()});
  draw_bottom(canvas);
  overlays_.draw_boxes(canvas, workspace_.unicode());
}

void Browser::draw_bottom(Canvas& canvas) {
  const int status = canvas.height() - 2;
  const auto room = static_cast<std::size_t>(canvas.width());
  const std::string& message = overlays_.message();
  const std::string text = message.empty() ? tabs_.front().status() : message;
  canvas.write(status, 0, shorten_middle(text, room, workspace_.unicode()),
               message.empty() ? Tone::dim : Tone::warning, canvas.width());
  if (!overlays_.draw_prompt(canvas, canvas.height() - 1)) draw_hints(canvas, canvas.height() - 1);
}

void Browser::draw_hints(Canvas& canvas, int row) {
  canvas.fill({row, 0, 1, canvas.width()}, U' ', Tone::bar);
  std::vector<Hint> hints = {{"?", "help"}, {"q", "quit"}};
  for (Hint& hint : tabs_.front().hints()) hints.push_back(std::move(hint));
  int column = 1;
  for (const auto& [key, what] : hints) {
    const auto length = static_cast<int>(columns(key) + columns(what)) + 1;
    if (column + length > canvas.width()) break;
    column = canvas.write(row, column, key, Tone::key, canvas.width());
    column = canvas.write(row, column + 1, what, Tone::bar, canvas.width()) + 2;
  }
}

}  // namespace culprit::viewer::tui
