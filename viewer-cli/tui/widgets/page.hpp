#pragma once

#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"
#include "tui/widgets/scroll.hpp"
#include "tui/widgets/tone.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// Where a link leads.
struct Target {
  enum class Kind : std::uint8_t { context, flat, time, finding };

  Kind kind = Kind::context;
  std::uint32_t scope = 0;               ///< ContextId, FlatId, or which finding (Findings)
  std::vector<std::uint32_t> locations;  ///< to mark among the ranks
  std::int32_t rank = -1;                ///< time
  std::uint32_t segment = 0, level = 0;  ///< time
  std::string metric;                    ///< to sort by; empty: as it is
};

struct Span {
  std::string text;
  Tone tone = Tone::plain;
};

/// A line of a page; where it leads somewhere, the cursor can stand on it.
struct PageLine {
  std::vector<Span> spans;
  std::optional<Target> target;
  std::string topic;  ///< what `e` explains here: a wait pattern or metric
};

/// Text with links.
struct Page {
  std::vector<PageLine> lines;

  void add(PageLine line) { lines.push_back(std::move(line)); }
  void add(const std::string& text, Tone tone = Tone::plain) { lines.push_back({{{text, tone}}, {}, {}}); }
  void blank() {
    if (!lines.empty()) lines.emplace_back();
  }
  /// A paragraph, wrapped at `width`, indented; all of its lines are alike, the first leads to the target.
  void say(const std::string& text, int width, int indent = 0, Tone tone = Tone::plain,
           std::optional<Target> target = std::nullopt);
};

/// Text of a line.
std::string text_of(const PageLine& line);

/// Writes a paragraph, wrapped at the area's width.
void write_wrapped(Canvas& canvas, const Area& area, const std::string& text, Tone tone);

/// Columns that a text takes.
int width_of(const std::string& text);

/// The numbers in front of a tree, right-aligned below their headings: as many columns as there is room for.
class Cells {
 public:
  /// What a column shows side by side: an amount, a share, or both.
  struct Part {
    std::size_t column = 0;
    bool share = false;
    std::string heading;
    int width = 0;
  };

  /// `sorted`: the column that rows are sorted by.
  Cells(std::size_t sorted, bool smallest_first, bool unicode)
      : sorted_(sorted), smallest_first_(smallest_first), unicode_(unicode) {}

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] bool shows(std::size_t column) const;
  void header(Canvas& canvas, int row, int column) const;
  /// The column at an offset from where the numbers begin; nothing where there is none.
  [[nodiscard]] std::optional<std::size_t> column_at(int offset) const;

 protected:
  /// With a sign where rows are sorted by it.
  [[nodiscard]] std::string heading(std::size_t column, const std::string& text) const;
  /// Adds a column, unless it takes more than what is left of `room` columns of the screen; the first always
  /// gets in.
  bool add(const std::vector<Part>& parts, int room);
  void write(Canvas& canvas, int row, int column, const std::function<Span(const Part&)>& cell) const;

  static constexpr int kGap = 2;

 private:
  std::vector<Part> parts_;
  int width_ = 0;
  std::size_t sorted_;
  bool smallest_first_, unicode_;
};

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
  [[nodiscard]] bool is_heading(int line) const;
  void step(int direction);
  void turn(int by);
  void find_link();

  Page page_;
  int cursor_ = 0, top_ = 0, height_ = 20;
  Area drawn_;
};

}  // namespace culprit::viewer::tui
