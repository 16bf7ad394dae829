#include "commands/report_writer.hpp"

#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>

namespace culprit::viewer {
namespace {

/// What stands around a part of a text that leads somewhere: kLink, the number of the place, kOf, the part,
/// kEnd. They occur in no text of ours, and names of others are spelled without them.
constexpr char kLink = '\x1c', kOf = '\x1d', kEnd = '\x1e';

}  // namespace

void ReportWriter::add(ReportParagraph::Tone tone, const std::string& text, std::size_t indent,
                       std::size_t hanging) {
  paragraphs_.push_back({tone, indent, hanging, parts_of(text)});
}

std::string ReportWriter::link(const std::string& text, const ReportPlace& place) {
  places_.push_back(place);
  return kLink + std::to_string(places_.size() - 1) + kOf + text + kEnd;
}

std::string ReportWriter::scope(database::ContextId context, bool article, std::size_t width) {
  return link(scope_phrase(experiment_, context, article, width, unicode_), ReportPlace::Kind::context,
              context);
}

std::string ReportWriter::time(double seconds) const {
  return keep(duration(seconds, unicode_));
}

std::string ReportWriter::share(double value) {
  return keep(percent(value));
}

std::string ReportWriter::capital(std::string text) {
  const std::size_t first = text.starts_with(kLink) ? text.find(kOf) + 1 : 0;
  const std::string_view words = std::string_view(text).substr(first);
  if (words.starts_with("the ") || words.starts_with("a "))
    text[first] = static_cast<char>(text[first] - 'a' + 'A');
  return text;
}

std::vector<ReportPart> ReportWriter::parts_of(std::string_view text) const {
  std::vector<ReportPart> parts;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find(kLink), text.size());
    if (plain > 0) parts.push_back({std::string(text.substr(0, plain)), {}});
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t of = text.find(kOf), end = text.find(kEnd);
    const std::size_t place = std::stoul(std::string(text.substr(1, of - 1)));
    parts.push_back({std::string(text.substr(of + 1, end - of - 1)), places_.at(place)});
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace culprit::viewer
