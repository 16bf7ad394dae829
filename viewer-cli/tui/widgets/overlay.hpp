#pragma once

#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/page.hpp"
#include "tui/widgets/scroll.hpp"

#include <optional>
#include <string>
#include <vector>

// What lies above the panes until it is answered.
namespace culprit::viewer::tui {

/// A menu in a box: only the entries that contain what is typed are listed.
class MenuBox {
 public:
  explicit MenuBox(Menu menu);

  enum class Answer : std::uint8_t { open, left, taken };
  Answer handle(const Event& event);
  /// Calls back the one who asked; after Answer::taken.
  void answer() const;
  void draw(Canvas& canvas, bool unicode);

 private:
  Answer click(const Event& event);
  bool type(const Event& event);
  void check();
  void filter();
  [[nodiscard]] Menu::Entry& entry(int row) { return menu_.entries[listed_[static_cast<std::size_t>(row)]]; }
  void draw_remark(Canvas& canvas, const Area& area, bool unicode);

  Menu menu_;
  Scroll scroll_;
  Area drawn_;
  std::string typed_;
  std::vector<std::size_t> listed_;  ///< which entries
};

/// A page in a box.
class PageBox {
 public:
  PageBox(std::string title, Page page);

  /// False: it is to be closed.
  bool handle(const Event& event);
  void draw(Canvas& canvas, bool unicode);

 private:
  std::string title_;
  PageView view_;
};

/// A line that is typed, at the bottom of the screen.
class PromptLine {
 public:
  explicit PromptLine(Prompt prompt);

  enum class Answer : std::uint8_t { open, left, entered };
  Answer handle(const Event& event);
  /// Calls back the one who asked; after `entered` and `left`.
  void answer(Answer how) const;
  void draw(Canvas& canvas, int row) const;
  [[nodiscard]] const std::string& text() const { return prompt_.text; }

 private:
  void changed() const;

  Prompt prompt_;
};

/// What is above the panes at this moment: a line at the bottom until the next key, and a question, a menu or
/// a page until it is answered.
class Overlays {
 public:
  // As Host has them.
  void notify(const std::string& text) { message_ = text; }
  void ask(Prompt prompt) { prompt_.emplace(std::move(prompt)); }
  void choose(Menu menu) { menu_.emplace(std::move(menu)); }
  void show(const std::string& title, Page page) { box_.emplace(title, std::move(page)); }

  [[nodiscard]] const std::string& message() const { return message_; }
  void clear_message() { message_.clear(); }
  /// False: the event is for the panes.
  [[nodiscard]] bool handle(const Event& event);
  void draw_boxes(Canvas& canvas, bool unicode);
  /// False: nothing is asked.
  [[nodiscard]] bool draw_prompt(Canvas& canvas, int row) const;

 private:
  std::optional<PromptLine> prompt_;
  std::optional<MenuBox> menu_;
  std::optional<PageBox> box_;
  std::string message_;
};

}  // namespace culprit::viewer::tui
