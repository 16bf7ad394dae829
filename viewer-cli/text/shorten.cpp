// Shortens names of procedures by what says least about them (shorten.hpp): parameters, return types,
// template arguments, namespaces, the middle. Brackets are paired with those of operators' names left out
// (`operator<<`, `operator()`). Cost: linear in the name for each part that goes.
#include "text/shorten.hpp"

#include <algorithm>
#include <cctype>
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

/// By byte: whether it belongs to an operator's name (`operator<<`, `operator()`, `operator->`) and is no
/// bracket.
std::vector<bool> operator_signs(std::string_view name) {
  constexpr std::string_view word = "operator";
  constexpr std::string_view signs = "<>=-*!+/%^&|~,[]";
  std::vector<bool> result(name.size(), false);
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    std::size_t sign = at + word.size();
    if (name.substr(sign, 2) == "()") {
      result[sign] = result[sign + 1] = true;
      continue;
    }
    while (sign < name.size() && signs.find(name[sign]) != std::string_view::npos) result[sign++] = true;
  }
  return result;
}

/// The bracketed parts at nesting level one, outside operators' names.
std::vector<Range> brackets(std::string_view name, char open, char close) {
  const std::vector<bool> is_sign = operator_signs(name);
  std::vector<Range> found;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (is_sign[at]) continue;
    if (name[at] == open) {
      if (depth++ == 0) found.push_back({at + 1, 0});
    } else if (name[at] == close && depth > 0) {
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

/// Cuts what demangled templates of functions return (`void f<int>`): no other name has a space outside of
/// brackets, but for operators of types, thunks, and what is inside of a member function that is const.
void drop_return_type(std::string& name) {
  const std::string_view all(name);
  if (all.find(" thunk to ") != std::string_view::npos) return;
  std::size_t begin = 0, depth = 0;
  const std::vector<bool> is_sign = operator_signs(all);
  for (std::size_t at = 0; at < all.size() && all.substr(at, 2) != " [" && all.substr(at, 8) != "operator";
       ++at) {
    if (is_sign[at]) continue;
    if (all[at] == '<' || all[at] == '(' || all[at] == '{') ++depth;
    if ((all[at] == '>' || all[at] == ')' || all[at] == '}') && depth > 0) --depth;
    if (all[at] == ' ' && depth == 0) {
      if (at > 0 && all[at - 1] == ')') return;
      begin = at + 1;
    }
  }
  name.erase(0, begin);
}

/// Cuts the last parameter list, with `const` and the like behind it; `(anonymous namespace)` is no such
/// list. A remark in square brackets behind it (`f(int) [clone .cold]`) stays.
void drop_parameters(std::string& name) {
  const std::vector<Range> lists = brackets(name, '(', ')');
  if (lists.empty() || lists.back().begin == 1) return;
  const Range& last = lists.back();
  // What goes on behind it is no parameter list: `{lambda(int)#1}`, `(anonymous namespace)::f`.
  if (last.end + 1 < name.size() && name[last.end + 1] != ' ') return;
  const std::size_t remark = name.find(" [", last.end);
  const std::string kept = remark == std::string::npos ? std::string{} : name.substr(remark);
  name.resize(last.begin - 1);
  name += kept;
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

std::string without_parameters(std::string_view name) {
  std::string result(name);
  drop_parameters(result);
  if (result.size() < name.size()) drop_return_type(result);
  return result;
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
