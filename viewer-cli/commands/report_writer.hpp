#pragma once

#include "commands/report_text.hpp"
#include "database/contents.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer {

/// Collects the paragraphs of a report. Parts of its texts lead to places: their marks are plain characters,
/// so that texts can be put together as strings.
class ReportWriter {
 public:
  /// Names are shortened to parts of `width` columns.
  ReportWriter(const database::Contents& experiment, std::size_t width, bool unicode)
      : experiment_(experiment), width_(width), unicode_(unicode) {}

  void say(const std::string& text, std::size_t indent = 0) { say(text, indent, indent); }
  void say(const std::string& text, std::size_t indent, std::size_t hanging) {
    add(ReportParagraph::Tone::sentence, text, indent, hanging);
  }
  void add(ReportParagraph::Tone tone, const std::string& text, std::size_t indent, std::size_t hanging);
  void add(ReportParagraph paragraph) { paragraphs_.push_back(std::move(paragraph)); }
  void gap() { paragraphs_.push_back({ReportParagraph::Tone::gap, 0, 0, {}}); }

  /// The same text, leading to a place.
  std::string link(const std::string& text, const ReportPlace& place);
  std::string link(const std::string& text, ReportPlace::Kind kind, std::uint32_t scope = 0) {
    return link(text, ReportPlace{.kind = kind, .scope = scope});
  }
  /// A context in words, leading to it.
  std::string scope(database::ContextId context, bool article, std::size_t width);

  /// Amounts that no line break divides.
  [[nodiscard]] std::string time(double seconds) const;
  [[nodiscard]] static std::string share(double value);
  /// `the loop` begins a sentence as `The loop`; names stay as they are.
  [[nodiscard]] static std::string capital(std::string text);

  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] bool unicode() const { return unicode_; }

  std::vector<ReportParagraph> take() { return std::move(paragraphs_); }

 private:
  [[nodiscard]] std::vector<ReportPart> parts_of(std::string_view text) const;

  const database::Contents& experiment_;
  std::size_t width_;
  bool unicode_;
  std::vector<ReportPlace> places_;  // that texts lead to
  std::vector<ReportParagraph> paragraphs_;
};

}  // namespace culprit::viewer
