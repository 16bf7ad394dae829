#include "tui/panes/outline_pane.hpp"

#include "tui/widgets/tree_lines.hpp"

#include <algorithm>

namespace culprit::viewer::tui {
namespace {

constexpr std::size_t kMostRowsOpened = 5'000;
constexpr std::uint32_t kAllLevels = 64;

}  // namespace

OutlinePane::OutlinePane(Workspace& workspace, Host& host, int heading)
    : workspace_(workspace),
      host_(host),
      search_(host, {[this](const std::string& pattern) {
                       return views::Search(shown_view(), pattern, workspace_.passed_over);
                     },
                     [this] { return item(); }, [this](const Item* to) { go_to(to); },
                     [this](const views::Search& search, Item* from, bool backwards) {
                       return outline_->find(search, from, backwards);
                     }}),
      heading_(heading) {}

OutlinePane::Item* OutlinePane::item() const {
  if (!outline_ || outline_->rows().empty()) return nullptr;
  const auto last = static_cast<int>(outline_->rows().size()) - 1;
  return outline_->rows()[static_cast<std::size_t>(std::clamp(scroll_.cursor, 0, last))];
}

void OutlinePane::go_to(const Item* target) {
  if (target == nullptr) return;
  scroll_.cursor = static_cast<int>(outline_->row_of(target));
  note_choice();
}

bool OutlinePane::handle(const Event& event) {
  if (!outline_) return false;
  if (event.key == Key::click || event.key == Key::click_twice) {
    if (!drawn_.contains(event.row, event.column)) return false;
    click(event);
    return true;
  }
  const bool known = move(navigation(event)) || change_tree(event) || handle_own(event);
  if (known) note_choice();
  return known;
}

void OutlinePane::click(const Event& event) {
  if (const int line = event.row - drawn_.row; line < heading_) {
    click_heading(line, event.column - drawn_.column);
    return;
  }
  if (click_row(event, drawn_, heading_, scroll_, outline_->rows().size())) toggle();
  note_choice();
}

bool OutlinePane::move(const Event& event) {
  switch (event.key) {
    case Key::left:
      go_left();
      return true;
    case Key::right:
      go_right();
      return true;
    case Key::enter:
      toggle();
      return true;
    default:
      return scroll_.move(event, static_cast<int>(outline_->rows().size()));
  }
}

bool OutlinePane::change_tree(const Event& event) {
  if (event.key == Key::function && event.number == 3) {
    search_.ask();
    return true;
  }
  if (event.key != Key::letter) return false;
  switch (event.letter) {
    case U'H':
      if (Item* const at = item()) go_to(&outline_->open_hot_path(*at));
      return true;
    case U'*':
    case U'+':
      if (Item* const at = item()) {
        outline_->open_below(*at, event.letter == U'*' ? kAllLevels : 2, kMostRowsOpened);
        go_to(at);
      }
      return true;
    case U'-':
      outline_->close_all();
      scroll_.cursor = 0;
      return true;
    case U'/':
      search_.ask();
      return true;
    case U'n':
    case U'N':
      search_.again(event.letter == U'N');
      return true;
    default:
      return false;
  }
}

void OutlinePane::go_left() {
  Item* const at = item();
  if (at == nullptr) return;
  if (at->open) {
    outline_->close(*at);
  } else {
    go_to(at->parent);
  }
}

void OutlinePane::go_right() {
  Item* const at = item();
  if (at == nullptr || !outline_->has_children(*at)) return;
  if (at->open) {
    ++scroll_.cursor;
  } else {
    outline_->open(*at);
  }
}

void OutlinePane::toggle() {
  Item* const at = item();
  if (at == nullptr) return;
  if (at->open) {
    outline_->close(*at);
  } else if (outline_->has_children(*at)) {
    outline_->open(*at);
  } else {
    host_.notify(nothing_below(*at));
  }
}

void OutlinePane::draw_outline(Canvas& canvas, const Area& area, const DrawRow& draw_row) {
  const views::Search* const search = search_.finder();
  draw_rows(canvas, area, heading_, scroll_, outline_->rows().size(), [&](int line, std::size_t row) {
    Item& item = *outline_->rows()[row];
    const auto [from, until] = draw_row({line, area.column, 1, area.width}, item);
    if (search != nullptr && search->matches(item.node)) mark_match(canvas, line, from, until);
  });
}

}  // namespace culprit::viewer::tui
