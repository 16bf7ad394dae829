// Names of procedures without their parameters and what they return (procedure_name.hpp). Brackets are paired
// with those of operators' names left out (`operator<<`, `operator()`). Cost: linear in the name.
#include "database/procedure_name.hpp"

namespace culprit::database {
namespace {

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

}  // namespace

std::vector<BracketRange> brackets(std::string_view name, char open, char close) {
  const std::vector<bool> is_sign = operator_signs(name);
  std::vector<BracketRange> found;
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

void drop_return_type(std::string& name) {
  const std::string_view all(name);
  if (all.find(" thunk to ") != std::string_view::npos) return;
  std::size_t begin = 0, depth = 0;
  bool deduced = all.starts_with("decltype (");  // a type with brackets of its own: `decltype (a+b) f<int>`
  const std::vector<bool> is_sign = operator_signs(all);
  for (std::size_t at = 0; at < all.size() && all.substr(at, 2) != " [" && all.substr(at, 8) != "operator";
       ++at) {
    if (is_sign[at]) continue;
    if (all[at] == '<' || all[at] == '(' || all[at] == '{') ++depth;
    if ((all[at] == '>' || all[at] == ')' || all[at] == '}') && depth > 0) --depth;
    if (all[at] == ' ' && depth == 0) {
      const bool behind_bracket = at > 0 && all[at - 1] == ')';
      if (behind_bracket && !deduced) return;
      deduced = deduced && !behind_bracket;
      begin = at + 1;
    }
  }
  name.erase(0, begin);
}

void drop_parameters(std::string& name) {
  const std::vector<BracketRange> lists = brackets(name, '(', ')');
  if (lists.empty() || lists.back().begin == 1) return;
  const BracketRange& last = lists.back();
  // What goes on behind it is no parameter list: `{lambda(int)#1}`, `(anonymous namespace)::f`.
  if (last.end + 1 < name.size() && name[last.end + 1] != ' ') return;
  const std::size_t remark = name.find(" [", last.end);
  const std::string kept = remark == std::string::npos ? std::string{} : name.substr(remark);
  name.resize(last.begin - 1);
  name += kept;
}

std::string without_parameters(std::string_view name) {
  std::string result(name);
  drop_parameters(result);
  if (result.size() < name.size()) drop_return_type(result);
  return result;
}

}  // namespace culprit::database
