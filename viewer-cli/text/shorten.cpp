// Shortens names of procedures by what says least about them (shorten.hpp): parameters, return types (both by
// lib/database/procedure_name.cpp), template arguments, namespaces, the middle. Cost: linear in the name for
// each part that goes.
#include "text/shorten.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace culprit::viewer {
namespace {

using database::brackets, database::drop_parameters, database::drop_return_type;
using Range = database::BracketRange;

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

/// Byte position of the `column`-th code point.
std::size_t position(std::string_view text, std::size_t column) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (continues(text[at])) continue;
    if (column-- == 0) break;
  }
  return at;
}

std::string gap(bool unicode) {
  return unicode ? "…" : "...";
}

/// Replaces the longest template argument list that is longer than the gap itself.
bool drop_template(std::string& name, bool unicode) {
  std::vector<Range> lists = brackets(name, '<', '>');
  const std::string mark = gap(unicode);
  std::erase_if(lists, [&](const Range& list) { return list.end - list.begin <= mark.size(); });
  // A name such as <program root> or <libc.so.6+0x1f> is no template.
  std::erase_if(lists, [](const Range& list) { return list.begin == 1; });
  if (lists.empty()) return false;
  const auto longest = std::max_element(lists.begin(), lists.end(), [](const Range& a, const Range& b) {
    return a.end - a.begin < b.end - b.begin;
  });
  name.replace(longest->begin, longest->end - longest->begin, mark);
  return true;
}

/// Puts a gap in the place of the outermost namespace or class, but for the last one.
bool drop_namespace(std::string& name, bool unicode) {
  const auto is_word = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
  };
  const std::string mark = gap(unicode);
  const std::size_t begin = name.starts_with(mark) ? mark.size() : 0;
  std::size_t end = begin;
  while (end < name.size() && is_word(name[end])) ++end;
  if (end == begin || name.substr(end, 2) != "::") return false;
  const std::size_t rest = end + 2;
  if (name.substr(rest, name.find(' ', rest) - rest).find("::") == std::string::npos) return false;
  name.replace(0, rest, mark);
  return true;
}

}  // namespace

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !continues(byte); }));
}

std::string shorten_middle(std::string_view text, std::size_t width, bool unicode) {
  const std::size_t length = columns(text);
  if (length <= width) return std::string(text);
  const std::string mark = gap(unicode);
  const std::size_t mark_width = columns(mark);
  if (width <= mark_width) return std::string(text.substr(0, position(text, width)));
  const std::size_t tail = (width - mark_width) / 2;
  const std::size_t head = width - mark_width - tail;
  std::string_view before = text.substr(0, position(text, head));
  std::string_view behind = text.substr(position(text, length - tail));
  // A gap that was there before, or what the cut leaves of it, becomes part of this one.
  const std::string_view signs = unicode ? std::string_view(mark) : ".";
  while (before.ends_with(signs)) before.remove_suffix(signs.size());
  while (behind.starts_with(signs)) behind.remove_prefix(signs.size());
  return std::string(before) + mark + std::string(behind);
}

std::string name_in_prose(std::string_view name) {
  std::string plain = without_parameters(name);
  const std::string_view entry = std::string_view(plain).substr(0, plain.find(" ["));
  if (entry == "GOMP_barrier" || entry == "__kmpc_barrier") return "OpenMP barrier";
  return plain;
}

std::string shorten_name(std::string_view name, std::size_t width, bool unicode) {
  std::string result(name);
  if (columns(result) <= width) return result;
  drop_parameters(result);
  if (columns(result) > width && result.size() < name.size()) drop_return_type(result);
  while (columns(result) > width && drop_template(result, unicode)) {
  }
  while (columns(result) > width && drop_namespace(result, unicode)) {
  }
  return shorten_middle(result, width, unicode);
}

std::string align_right(const std::string& text, std::size_t width) {
  const std::size_t length = columns(text);
  return length >= width ? text : std::string(width - length, ' ') + text;
}

}  // namespace culprit::viewer
