#include "text/shorten.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace culprit::viewer {
namespace {

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

struct Range {
  std::size_t begin = 0, end = 0;  ///< what stands between the brackets
};

bool is_operator(std::string_view name, std::size_t at) {
  constexpr std::string_view word = "operator";
  // operator<, operator<<, operator(), operator-> and the like are names, not brackets.
  while (at > 0 && std::string_view("<>()=-!").find(name[at - 1]) != std::string_view::npos) --at;
  return at >= word.size() && name.substr(at - word.size(), word.size()) == word;
}

/// The bracketed parts at nesting level one, outside operators' names.
std::vector<Range> brackets(std::string_view name, char open, char close) {
  std::vector<Range> found;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == open && !is_operator(name, at)) {
      if (depth++ == 0) found.push_back({at + 1, 0});
    } else if (name[at] == close && depth > 0 && !is_operator(name, at)) {
      if (--depth == 0) found.back().end = at;
    }
  }
  if (depth > 0) found.pop_back();
  return found;
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

/// Cuts the last parameter list, with `const` and the like behind it; `(anonymous namespace)` is no such
/// list.
void drop_parameters(std::string& name) {
  const std::vector<Range> lists = brackets(name, '(', ')');
  if (lists.empty() || lists.back().begin == 1) return;
  const Range& last = lists.back();
  const std::string_view inside = std::string_view(name).substr(last.begin, last.end - last.begin);
  if (inside == "anonymous namespace" || name.compare(last.end, 3, ")::") == 0) return;
  name.resize(last.begin - 1);
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
  return std::string(text.substr(0, position(text, head))) + mark +
         std::string(text.substr(position(text, length - tail)));
}

std::string shorten_name(std::string_view name, std::size_t width, bool unicode) {
  std::string result(name);
  if (columns(result) <= width) return result;
  drop_parameters(result);
  while (columns(result) > width && drop_template(result, unicode)) {
  }
  return shorten_middle(result, width, unicode);
}

}  // namespace culprit::viewer
