#include "views/frame.hpp"

#include "database/procedure_name.hpp"

#include <algorithm>
#include <array>

namespace culprit::views {
namespace {

using database::ContextKind;

std::string_view text(const database::Contents& experiment, database::StringId id) {
  return experiment.strings[id];
}

}  // namespace

Frame frame_of(const database::Contents& experiment, const database::Context& context) {
  return {text(experiment, context.name), text(experiment, context.file), context.line,
          text(experiment, context.module), context.kind};
}

Frame frame_of(const database::Contents& experiment, const database::FlatScope& scope) {
  return {text(experiment, scope.name), text(experiment, scope.file), scope.line,
          text(experiment, scope.module), scope.kind};
}

std::string_view kind_name(ContextKind kind) {
  constexpr std::array<std::string_view, 11> names = {"root", "thread-root", "partial", "module",
                                                      "file", "procedure",   "inlined", "loop",
                                                      "call", "statement",   "region"};
  return names.at(static_cast<std::size_t>(kind));
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string place(const Frame& frame) {
  if (frame.file.empty()) return {};
  std::string_view file = base_name(frame.file);
  if (file == "__init__.py" && file.size() < frame.file.size()) {
    // Each package of Python's has one: its folder says which.
    const std::string_view folder = frame.file.substr(0, frame.file.size() - file.size() - 1);
    file = frame.file.substr(folder.size() - base_name(folder).size());
  }
  std::string result(file);
  if (frame.line != 0) result += ':' + std::to_string(frame.line);
  return result;
}

bool is_named_for_module(const Frame& frame) {
  const std::string_view module = base_name(frame.module);
  std::string_view name = frame.name;
  if (name.starts_with('<')) name.remove_prefix(1);
  const std::size_t at = name.find('@');
  if (module.empty() || at == std::string_view::npos) return false;
  // Names of Python's extension modules lack what their files have between: `_umath.cpython-311.so`.
  const std::string_view named = name.substr(0, at);
  return named == module || (named.ends_with(".so") && module.ends_with(".so") &&
                             module.substr(0, module.find('.')) == named.substr(0, named.size() - 3));
}

std::string label(const Frame& frame) {
  std::string where = place(frame);
  switch (frame.kind) {
    case ContextKind::loop:
      if (where.empty()) where = frame.name;
      return where.empty() ? "loop" : "loop at " + where;
    case ContextKind::call:
      return where.empty() ? "call" : "call at " + where;
    case ContextKind::statement:
      if (!where.empty()) return where;
      return frame.module.empty() ? "<unknown line>" : '<' + std::string(base_name(frame.module)) + '>';
    case ContextKind::module:
      return std::string(base_name(frame.module.empty() ? frame.name : frame.module));
    case ContextKind::region:
      return (database::file_of_region(frame.name).empty() ? "region " : "") + std::string(frame.name);
    case ContextKind::file: {
      const std::string_view file = base_name(frame.file.empty() ? frame.name : frame.file);
      return file.empty() ? "<unknown file>" : std::string(file);
    }
    default:
      break;
  }
  if (!frame.name.empty()) return std::string(frame.name);
  switch (frame.kind) {
    case ContextKind::root:
      return "<run>";
    case ContextKind::thread_root:
      return "<thread root>";
    case ContextKind::partial:
      return "<partial>";
    default:
      return "<unknown procedure>";
  }
}

std::vector<database::ContextId> path_to(const database::Contents& experiment, database::ContextId context) {
  std::vector<database::ContextId> path;
  for (database::ContextId at = context; at != database::kNone; at = experiment.contexts[at].parent)
    path.push_back(at);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace culprit::views
