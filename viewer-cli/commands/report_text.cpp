// The report's paragraphs as text of a terminal.
#include "commands/report_text.hpp"

#include "text/prose.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace culprit::viewer {
namespace {

constexpr std::size_t kWidestProse = 110;  // longer lines are hard to read

using Tone = ReportParagraph::Tone;

std::string whole_text(const ReportParagraph& paragraph) {
  std::string text;
  for (const ReportPart& part : paragraph.parts) text += part.text;
  return text;
}

/// Suspects that follow each other, in columns where they fit.
void write_suspects(std::ostream& out, const Screen& screen, std::size_t width,
                    std::span<const ReportParagraph> suspects) {
  constexpr std::size_t kCells = 3;
  std::array<std::size_t, kCells> widths{};
  for (const ReportParagraph& each : suspects) {
    for (std::size_t cell = 0; cell < kCells; ++cell)
      widths.at(cell) = std::max(widths.at(cell), columns(each.parts.at(cell).text));
  }
  const std::string start = "  suspect  ";
  const bool fits = start.size() + widths[0] + widths[1] + widths[2] + 6 <= width;
  for (const ReportParagraph& each : suspects) {
    const std::string &name = each.parts[0].text, &work = each.parts[1].text, &worth = each.parts[2].text;
    if (fits) {
      out << start << screen.bold(unwrapped(name)) << std::string(widths[0] - columns(name) + 3, ' ')
          << unwrapped(work) << std::string(widths[1] - columns(work) + 3, ' ') << unwrapped(worth) << '\n';
    } else {
      out << start << screen.bold(wrap(name, width, start.size(), start.size())) << '\n'
          << std::string(start.size(), ' ')
          << wrap(std::string(work).append(", ").append(worth), width, start.size(), start.size()) << '\n';
    }
  }
}

void write_paragraph(std::ostream& out, const Screen& screen, std::size_t width,
                     const ReportParagraph& paragraph) {
  const std::string text = wrap(whole_text(paragraph), width, paragraph.hanging, paragraph.indent);
  switch (paragraph.tone) {
    case Tone::verdict:
      out << screen.bold(text);
      break;
    case Tone::quality:
      out << screen.dim(text);
      break;
    case Tone::warning:
      out << screen.warning(text);
      break;
    default:
      out << std::string(paragraph.indent, ' ') << text;
  }
  out << '\n';
}

}  // namespace

void write_report(std::ostream& out, const Screen& screen, const views::Figures& figures,
                  const std::string& database, bool without_startup, bool end_told) {
  const std::size_t width = std::min(screen.width, kWidestProse);
  std::vector<ReportParagraph> paragraphs =
      report_paragraphs(figures, database, without_startup, width, screen.unicode);
  std::vector<ReportPart>& verdict = paragraphs.front().parts;
  if (end_told && verdict.size() > 1) verdict.erase(verdict.begin());
  const auto is_suspect = [](const ReportParagraph& each) { return each.tone == Tone::suspect; };
  for (auto at = paragraphs.begin(); at != paragraphs.end();) {
    if (is_suspect(*at)) {
      const auto end = std::find_if_not(at, paragraphs.end(), is_suspect);
      write_suspects(out, screen, width, {at, end});
      at = end;
    } else {
      write_paragraph(out, screen, width, *at++);
    }
  }
}

}  // namespace culprit::viewer
