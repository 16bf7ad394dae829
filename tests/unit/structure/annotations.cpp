#include "annotations.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace {

/// Words behind `key` up to the next comment mark; none where the key does not occur.
std::optional<std::vector<std::string>> words_after(const std::string& line, const std::string& key) {
  for (const std::string mark : {"// ", "! "}) {
    const auto at = line.find(mark + key);
    if (at == std::string::npos) continue;
    std::string rest = line.substr(at + mark.size() + key.size());
    if (!rest.empty() && rest[0] != ' ') continue;
    rest = rest.substr(0, rest.find(' ' + mark));
    std::istringstream in(rest);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
  }
  return std::nullopt;
}

}  // namespace

std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& element : path) text += (text.empty() ? "" : " ") + element;
  return text;
}

Annotations read_annotations(const std::filesystem::path& source) {
  Annotations out;
  std::ifstream in(source);
  std::string line;
  bool code = source.extension() != ".cpp";  // loops.cpp begins with the explanation of the annotations
  for (std::uint32_t number = 1; std::getline(in, line); ++number) {
    if (line.starts_with("#include")) code = true;
    if (!code) continue;
    const auto first = line.find_first_not_of(' ');
    const bool alone =
        first != std::string::npos && (line.compare(first, 3, "// ") == 0 || line[first] == '!');
    const std::uint32_t about = number + (alone ? 1 : 0);
    if (const auto loop = words_after(line, "LOOP")) out.loops[joined(*loop)] = about;
    if (line.find("ALL LOOPS") != std::string::npos) out.every_loop = true;
    Annotations::Line wanted;
    wanted.path = words_after(line, "PATH");
    if (!wanted.path) {
      wanted.path = words_after(line, "SOME");
      wanted.some = wanted.path.has_value();
    }
    if (const auto procedure = words_after(line, "PROC")) wanted.procedure = joined(*procedure);
    if (wanted.path) out.lines[about] = wanted;
  }
  return out;
}

std::vector<std::string> path_of(const culprit::structure::ModuleStructure& module,
                                 const culprit::structure::Point& point, const Annotations& annotations) {
  using culprit::structure::Scope;
  std::vector<std::string> path;
  for (std::uint32_t at = point.scope; at != culprit::structure::kNone; at = module.scopes[at].parent) {
    const Scope& scope = module.scopes[at];
    if (scope.kind == Scope::Kind::inlined) {
      path.push_back("in:" + scope.name.substr(0, scope.name.find('(')));
      continue;
    }
    const auto named =
        std::ranges::find_if(annotations.loops, [&](const auto& loop) { return loop.second == scope.line; });
    path.push_back("loop:" + (named == annotations.loops.end() ? std::to_string(scope.line) : named->first));
  }
  std::ranges::reverse(path);
  return path;
}

namespace {

bool matches_all(const std::vector<std::string>& wanted, const std::vector<std::string>& path) {
  if (wanted == std::vector<std::string>{"loop:*"})
    return !path.empty() &&
           std::ranges::all_of(path, [](const std::string& e) { return e.starts_with("loop:"); });
  std::size_t at = 0;
  for (const std::string& element : wanted) {
    const bool optional = element.ends_with('?');
    const std::string name = element.substr(0, element.size() - (optional ? 1 : 0));
    const auto bar = name.find('|');
    const bool same =
        at < path.size() && (path[at] == name.substr(0, bar) ||
                             (bar != std::string::npos && path[at] == "in:" + name.substr(bar + 1)));
    if (!same && !optional) return false;
    if (same) ++at;
  }
  return at == path.size();
}

}  // namespace

bool matches(const std::vector<std::string>& wanted, const std::vector<std::string>& path, bool some) {
  if (matches_all(wanted, path)) return true;
  if (!some) return false;
  for (auto at = wanted.begin(); at != wanted.end(); ++at)
    if (at->starts_with("in:") && matches_all({at + 1, wanted.end()}, path)) return true;
  return false;
}
