#include "tui/widgets/overlay.hpp"

#include "text/shorten.hpp"

#include <algorithm>
#include <cctype>

namespace culprit::viewer::tui {
namespace {

/// A box in the middle of the screen with a title in its upper edge; what is inside.
Area draw_box(Canvas& canvas, int height, int width, const std::string& title, bool unicode) {
  height = std::min(height, canvas.height() - 2);
  width = std::min(width, canvas.width() - 2);
  const Area box{std::max((canvas.height() - height) / 2, 0), std::max((canvas.width() - width) / 2, 0),
                 height, width};
  canvas.fill(box, U' ', Tone::plain);
  const int right = box.column + width - 1;
  const int bottom = box.row + height - 1;
  for (int column = box.column; column <= right; ++column) {
    canvas.put(box.row, column, unicode ? U'─' : U'-', Tone::dim);
    canvas.put(bottom, column, unicode ? U'─' : U'-', Tone::dim);
  }
  for (int row = box.row; row <= bottom; ++row) {
    canvas.put(row, box.column, unicode ? U'│' : U'|', Tone::dim);
    canvas.put(row, right, unicode ? U'│' : U'|', Tone::dim);
  }
  canvas.put(box.row, box.column, unicode ? U'┌' : U'+', Tone::dim);
  canvas.put(box.row, right, unicode ? U'┐' : U'+', Tone::dim);
  canvas.put(bottom, box.column, unicode ? U'└' : U'+', Tone::dim);
  canvas.put(bottom, right, unicode ? U'┘' : U'+', Tone::dim);
  canvas.write(box.row, box.column + 2, ' ' + title + ' ', Tone::strong, width - 4);
  return {box.row + 1, box.column + 2, height - 2, width - 4};
}

bool contains(const std::string& text, const std::string& part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); }) !=
         text.end();
}

}  // namespace

MenuBox::MenuBox(Menu menu) : menu_(std::move(menu)) {
  filter();
  scroll_.cursor = menu_.cursor;
}

void MenuBox::check() {
  if (listed_.empty()) return;
  bool& checked = entry(scroll_.cursor).checked;
  checked = !checked;
}

/// Lists what contains the text that was typed; the cursor stays on its entry where that is listed.
void MenuBox::filter() {
  const std::size_t before = listed_.empty() ? 0 : listed_[static_cast<std::size_t>(scroll_.cursor)];
  listed_.clear();
  for (std::size_t index = 0; index < menu_.entries.size(); ++index) {
    if (contains(menu_.entries[index].text, typed_)) listed_.push_back(index);
  }
  const auto same = std::find(listed_.begin(), listed_.end(), before);
  scroll_.cursor = same == listed_.end() ? 0 : static_cast<int>(same - listed_.begin());
}

MenuBox::Answer MenuBox::click(const Event& event) {
  if (!drawn_.contains(event.row, event.column)) return Answer::left;
  const int row = scroll_.top + event.row - drawn_.row;
  if (row >= static_cast<int>(listed_.size())) return Answer::open;
  scroll_.cursor = row;
  if (!menu_.several) return Answer::taken;
  check();
  return Answer::open;
}

/// True: the key changed the text that entries are filtered by.
bool MenuBox::type(const Event& event) {
  if (event.key == Key::backspace) {
    if (!typed_.empty()) typed_.pop_back();
    filter();
    return true;
  }
  if (event.key != Key::letter || event.letter < U' ' || event.letter >= 0x7f) return false;
  const bool moves = event.is(U'j') || event.is(U'k') || event.is(U'g') || event.is(U'G') || event.is(U' ');
  if (typed_.empty() && moves) return false;
  if (typed_.empty() && event.is(U'/')) return true;  // as searches begin
  typed_ += static_cast<char>(event.letter);
  filter();
  return true;
}

MenuBox::Answer MenuBox::handle(const Event& event) {
  switch (event.key) {
    case Key::escape:
      if (typed_.empty()) return Answer::left;
      typed_.clear();
      filter();
      return Answer::open;
    case Key::enter:
      if (menu_.several) return Answer::taken;
      return listed_.empty() ? Answer::open : Answer::taken;
    case Key::click:
    case Key::click_twice:
      return click(event);
    default:
      break;
  }
  if (event.is(U' ') && menu_.several) {
    check();
    return Answer::open;
  }
  if (!type(event)) scroll_.move(navigation(event), static_cast<int>(listed_.size()));
  return Answer::open;
}

void MenuBox::answer() const {
  if (!menu_.several) {
    if (menu_.chosen) menu_.chosen(listed_[static_cast<std::size_t>(scroll_.cursor)]);
    return;
  }
  std::vector<bool> checked;
  for (const Menu::Entry& entry : menu_.entries) checked.push_back(entry.checked);
  if (menu_.taken) menu_.taken(checked);
}

void MenuBox::draw(Canvas& canvas, bool unicode) {
  constexpr int kFrame = 4, kMark = 4;
  std::size_t names = columns(menu_.title);
  std::size_t remarks = 0;
  for (const Menu::Entry& entry : menu_.entries) {
    names = std::max(names, columns(entry.text));
    remarks = std::max(remarks, columns(entry.remark));
  }
  const auto rows = static_cast<int>(listed_.size());
  const int wanted = static_cast<int>(names + remarks) + kMark + 2 + kFrame;
  std::string title = menu_.several ? menu_.title + " (Space: check, Enter: take)" : menu_.title;
  if (!typed_.empty()) title = menu_.title + ": " + typed_;
  const int width = std::max(wanted, static_cast<int>(columns(title)) + kFrame + 2);
  // Where remarks are cut, that of the entry under the cursor stands below the list as a whole.
  constexpr int kRemarkRows = 3;
  int remark_rows = width > canvas.width() - 2 ? kRemarkRows : 0;
  // As high as with all entries, so that it stays where it is while a filter is typed.
  drawn_ = draw_box(canvas, static_cast<int>(menu_.entries.size()) + 2 + remark_rows, width, title, unicode);
  if (drawn_.height <= 2 * remark_rows) remark_rows = 0;
  drawn_.height -= remark_rows;
  scroll_.fit(rows, drawn_.height);
  if (remark_rows > 0)
    draw_remark(canvas, {drawn_.row + drawn_.height, drawn_.column, remark_rows, drawn_.width}, unicode);
  if (rows == 0)
    canvas.write(drawn_.row, drawn_.column, "nothing contains it (Escape: all)", Tone::dim, drawn_.width);
  for (int line = 0; line < drawn_.height && scroll_.top + line < rows; ++line) {
    const Menu::Entry& shown = entry(scroll_.top + line);
    const int row = drawn_.row + line;
    const std::string mark =
        menu_.several ? (shown.checked ? "[x] " : "[ ] ") : (shown.checked ? "* " : "  ");
    const int column = canvas.write(row, drawn_.column, mark + shown.text, Tone::plain, drawn_.width);
    const int behind = std::max(drawn_.column + kMark + static_cast<int>(names) + 2, column + 2);
    const int room = drawn_.column + drawn_.width - behind;
    canvas.write(row, behind, shown.remark, Tone::dim, room);
    if (room > 3 && static_cast<int>(columns(shown.remark)) > room)
      canvas.write(row, behind + room - (unicode ? 1 : 3), unicode ? "…" : "...", Tone::dim, room);
    if (scroll_.top + line == scroll_.cursor) canvas.select(row, drawn_.column, drawn_.width);
  }
  const int behind = rows - scroll_.top - drawn_.height;
  if (behind <= 0) return;
  const std::string more = ' ' + std::to_string(behind) + " more below ";
  const int end = drawn_.column + drawn_.width;
  canvas.write(drawn_.row + drawn_.height, end - static_cast<int>(columns(more)), more, Tone::key,
               drawn_.width);
}

/// What is said of the entry under the cursor, below a line.
void MenuBox::draw_remark(Canvas& canvas, const Area& area, bool unicode) {
  canvas.fill({area.row, area.column, 1, area.width}, unicode ? U'─' : U'-', Tone::dim);
  if (listed_.empty()) return;
  Page page;
  page.say(entry(scroll_.cursor).remark, area.width);
  for (int line = 1; line < area.height && line <= static_cast<int>(page.lines.size()); ++line)
    canvas.write(area.row + line, area.column, text_of(page.lines[static_cast<std::size_t>(line) - 1]),
                 Tone::plain, area.width);
}

PageBox::PageBox(std::string title, Page page) : title_(std::move(title)) {
  view_.set_page(std::move(page));
}

bool PageBox::handle(const Event& event) {
  if (event.key == Key::escape || event.key == Key::enter || event.is(U'q') || event.is(U'?')) return false;
  return view_.handle(event);
}

void PageBox::draw(Canvas& canvas, bool unicode) {
  std::size_t widest = columns(title_) + 4;
  for (const PageLine& line : view_.page().lines) widest = std::max(widest, columns(text_of(line)));
  const auto lines = static_cast<int>(view_.page().lines.size());
  const Area inside = draw_box(canvas, lines + 2, static_cast<int>(widest) + 4, title_, unicode);
  view_.draw(canvas, inside);
}

PromptLine::PromptLine(Prompt prompt) : prompt_(std::move(prompt)) {}

void PromptLine::changed() const {
  if (prompt_.typed) prompt_.typed(prompt_.text);
}

PromptLine::Answer PromptLine::handle(const Event& event) {
  switch (event.key) {
    case Key::escape:
      return Answer::left;
    case Key::enter:
      return Answer::entered;
    case Key::backspace:
      if (prompt_.text.empty()) return Answer::left;
      do {  // a whole code point
        const bool continues = (static_cast<unsigned char>(prompt_.text.back()) & 0xc0U) == 0x80U;
        prompt_.text.pop_back();
        if (!continues) break;
      } while (!prompt_.text.empty());
      changed();
      return Answer::open;
    case Key::letter:
      if (event.letter == control('u')) prompt_.text.clear();
      if (event.letter == control('g') || event.letter == control('c')) return Answer::left;
      if (event.letter >= U' ') encode(event.letter, prompt_.text);
      changed();
      return Answer::open;
    default:
      return Answer::open;
  }
}

void PromptLine::answer(Answer how) const {
  if (how == Answer::entered && prompt_.entered) prompt_.entered(prompt_.text);
  if (how == Answer::left && prompt_.left) prompt_.left();
}

void PromptLine::draw(Canvas& canvas, int row) const {
  canvas.fill({row, 0, 1, canvas.width()}, U' ', Tone::plain);
  int column = canvas.write(row, 0, prompt_.label, Tone::strong, canvas.width());
  const auto length = static_cast<int>(columns(prompt_.text));
  const int room = std::max(canvas.width() - column - 1, 1);
  const std::u32string letters = decode(prompt_.text);
  for (int at = std::max(length - room, 0); at < length; ++at)
    canvas.put(row, column++, letters[static_cast<std::size_t>(at)], Tone::plain);
  canvas.select(row, column, 1);  // the place of the next letter
}

bool Overlays::handle(const Event& event) {
  // What a search showed while it was typed stays when it is entered.
  if (!prompt_ || event.key != Key::enter) message_.clear();
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

void Overlays::draw_boxes(Canvas& canvas, bool unicode) {
  if (menu_) menu_->draw(canvas, unicode);
  if (box_) box_->draw(canvas, unicode);
}

bool Overlays::draw_prompt(Canvas& canvas, int row) const {
  if (prompt_) prompt_->draw(canvas, row);
  return prompt_.has_value();
}

}  // namespace culprit::viewer::tui
