#pragma once

#include "tui/widgets/target.hpp"
#include "tui/widgets/tone.hpp"

#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

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

}  // namespace culprit::viewer::tui
