// Which flat scopes a context's values add to (docs/algorithms.md 3, 4). Inclusive: its flat scope and those
// around it, as far as no other instance of the same scope lies above on the path; so recursion counts
// nothing twice. Exclusive: the scope itself, the loop or inlined procedure directly around, procedure, file
// and module. One walk in pre-order that counts the open instances of each flat scope.
#include "merge/values/flat.hpp"

#include "database/exclusive.hpp"

namespace culprit::merge {

using database::ContextId;
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
    database::visit_exclusive_flat(shape.contexts, shape.flat, x,
                                   [this](FlatId scope) { exclusive_.add(scope); });
  }
}

IdLists exclusive_contexts(const Shape& shape) {
  IdLists targets;
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    targets.add_list();
    targets.add(x);
    const database::ExclusiveOwners owners = database::exclusive_owners(shape.contexts, x);
    if (owners.directly != kNone) targets.add(owners.directly);
    if (owners.procedure != kNone) targets.add(owners.procedure);
  }
  return targets;
}

}  // namespace culprit::merge
