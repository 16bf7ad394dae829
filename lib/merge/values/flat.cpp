// Which flat scopes a context's values add to (docs/algorithms.md 3, 4). Inclusive: its flat scope and those
// around it, as far as no other instance of the same scope lies above on the path; so recursion counts
// nothing twice. Exclusive: the scope itself, the loop or inlined procedure directly around, procedure, file
// and module. One walk in pre-order that counts the open instances of each flat scope.
#include "merge/values/flat.hpp"

namespace culprit::merge {

using database::ContextId;
using database::ContextKind;
using database::FlatId;
using database::kNone;

FlatTargets::FlatTargets(const Shape& shape) {
  find_outermost(shape);
  find_exclusive(shape);
}

/// Walks the contexts in pre-order, keeping for each flat scope how many contexts of the current path are its
/// instances.
void FlatTargets::find_outermost(const Shape& shape) {
  std::vector<std::uint32_t> instances(shape.flat.size(), 0);
  std::vector<ContextId> path;
  const auto count = [&](ContextId x, std::uint32_t by) {
    for (FlatId f = shape.contexts[x].flat; f != kNone; f = shape.flat[f].parent) instances[f] += by;
  };
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    while (!path.empty() && path.back() != shape.contexts[x].parent) {
      count(path.back(), ~std::uint32_t{0});  // minus one
      path.pop_back();
    }
    inclusive_.add_list();
    // The flat root stands for everything, contexts outside all procedures included.
    if (x == 0) inclusive_.add(0);
    for (FlatId f = shape.contexts[x].flat; f != kNone && f != 0; f = shape.flat[f].parent) {
      if (instances[f] == 0) inclusive_.add(f);
    }
    count(x, 1);
    path.push_back(x);
  }
}

void FlatTargets::find_exclusive(const Shape& shape) {
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    exclusive_.add_list();
    ContextId scope = x;
    while (scope != kNone && shape.contexts[scope].flat == kNone) scope = shape.contexts[scope].parent;
    if (scope == kNone) continue;
    const FlatId innermost = shape.contexts[scope].flat;
    const bool statement = shape.flat[innermost].kind == ContextKind::statement;
    for (FlatId f = innermost; f != kNone && f != 0; f = shape.flat[f].parent) {
      const ContextKind kind = shape.flat[f].kind;
      const bool nested = kind == ContextKind::loop || kind == ContextKind::inlined;
      const bool direct = f == innermost || (statement && f == shape.flat[innermost].parent);
      if (!nested || direct) exclusive_.add(f);
    }
  }
}

IdLists exclusive_contexts(const Shape& shape) {
  const auto nested = [&shape](ContextId x) {
    return shape.contexts[x].kind == ContextKind::loop || shape.contexts[x].kind == ContextKind::inlined;
  };
  IdLists targets;
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    targets.add_list();
    targets.add(x);
    const ContextKind kind = shape.contexts[x].kind;
    const bool leaf = kind == ContextKind::statement || kind == ContextKind::call;
    if (!leaf && !nested(x)) continue;
    ContextId scope = shape.contexts[x].parent;
    if (leaf && nested(scope)) targets.add(scope);
    while (nested(scope)) scope = shape.contexts[scope].parent;
    if (shape.contexts[scope].kind == ContextKind::procedure) targets.add(scope);
  }
  return targets;
}

}  // namespace culprit::merge
