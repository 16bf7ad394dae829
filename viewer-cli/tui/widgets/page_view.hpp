#pragma once

#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"
#include "tui/widgets/page.hpp"
#include "tui/widgets/scroll.hpp"

#include <optional>
#include <string>

namespace culprit::viewer::tui {

/// A page on the screen: scrolled, with a cursor that goes from link to link.
class PageView {
 public:
  /// Keeps the cursor where it was, as far as the page has such a line.
  void set_page(Page page);
  [[nodiscard]] const Page& page() const { return page_; }

  /// Moves; false: the key means nothing here.
  bool handle(const Event& event);
  void draw(Canvas& canvas, const Area& area);

  /// The link under the cursor.
  [[nodiscard]] const PageLine* current() const;
  /// The link at a place of the screen, with the cursor put on it; null: there is none.
  const PageLine* click(int row, int column);

  /// To the next (previous) line in which something matches; false: there is none. Throws views::BadPattern.
  bool find(const std::string& pattern, bool backwards);
  void to_top();

 private:
  [[nodiscard]] int lines() const { return static_cast<int>(page_.lines.size()); }
  [[nodiscard]] bool links_to(int line) const;
  void step(int direction);
  void turn(int by);
  void find_link();

  Page page_;
  int cursor_ = 0, top_ = 0, height_ = 20;
  Area drawn_;
};

}  // namespace culprit::viewer::tui
