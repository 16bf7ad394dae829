#pragma once

#include "tui/widgets/tone.hpp"

#include <cstdint>
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

}  // namespace culprit::viewer::tui
