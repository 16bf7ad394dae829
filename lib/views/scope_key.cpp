#include "views/scope_key.hpp"

namespace culprit::views {
namespace {

using database::ContextKind;

/// `libmpi.so` for `/usr/lib/libmpi.so.40`.
std::string_view module_name(std::string_view module, std::string_view program) {
  if (module == program) return "<program>";
  const std::string_view name = base_name(module);
  const std::size_t version = name.find(".so.");
  return version == std::string_view::npos ? name : name.substr(0, version + 3);
}

char kind_letter(ContextKind kind) {
  switch (kind) {
    case ContextKind::procedure:
    case ContextKind::inlined:
      return 'p';
    case ContextKind::loop:
      return 'l';
    case ContextKind::region:
      return 'g';
    default:
      return 'r';
  }
}

}  // namespace

std::string bare_name(std::string_view name) {
  // Operators hold such signs themselves.
  if (name.find("operator") != std::string_view::npos) return std::string(name);
  std::string bare;
  std::size_t depth = 0;
  for (const char letter : name) {
    if (letter == '<' || letter == '(') ++depth;
    if (depth == 0) bare += letter;
    if ((letter == '>' || letter == ')') && depth > 0) --depth;
  }
  // `<program root>` and `(anonymous)` are names as they are.
  return bare.empty() ? std::string(name) : bare;
}

std::uint32_t procedure_around(const FoldedTree& tree, std::uint32_t scope) {
  std::uint32_t at = tree[scope].parent;
  while (at != database::kNone && kind_letter(tree[at].frame.kind) != 'p') at = tree[at].parent;
  return at;
}

std::string scope_key(const FoldedTree& tree, std::uint32_t scope, Likeness likeness) {
  const Frame& frame = tree[scope].frame;
  std::string key(1, kind_letter(frame.kind));
  if (frame.kind == ContextKind::loop) {
    const std::uint32_t around = procedure_around(tree, scope);
    const bool at_home = around != database::kNone && tree[around].frame.file == frame.file;
    return at_home ? key : key.append(base_name(frame.file));
  }
  key += likeness == Likeness::bare_name ? bare_name(frame.name) : std::string(frame.name);
  if (likeness != Likeness::whole) return key;
  const std::string_view program = tree.figures().experiment().run.program;
  key.append(1, '\n').append(base_name(frame.file));
  return key.append(1, '\n').append(module_name(frame.module, program));
}

}  // namespace culprit::views
