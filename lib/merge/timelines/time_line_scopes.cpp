// Decides where findings of time lines are shown in the tree (docs/algorithms.md 8): MPI calls at their
// frontier frame, gaps in which nothing was sampled at the innermost scope around the calls before and after,
// and procedures as variation looks at them.
#include "merge/timelines/time_line_scopes.hpp"

#include "merge/values/transfer_work.hpp"

#include <algorithm>

namespace culprit::merge {
namespace {

using database::ContextId;
using database::ContextKind;
using database::kNone;

bool in_wait(const Shape& shape, ContextId context) {
  return shape.contexts[context].wait != measurement::WaitKind::none;
}

/// Where a call is made from.
ContextId caller_of(const Shape& shape, ContextId call) {
  const ContextId parent = shape.contexts[call_scope(shape, call)].parent;
  return parent == kNone ? 0 : parent;
}

}  // namespace

ContextId call_scope(const Shape& shape, ContextId context) {
  const ContextId frontier = frontier_of(shape, context);
  return frontier == kNone ? context : frontier;
}

ContextId around_both(const Shape& shape, ContextId a, ContextId b) {
  // Parents come before their children.
  while (a != b) (a > b ? a : b) = shape.contexts[std::max(a, b)].parent;
  while (shape.contexts[a].kind == ContextKind::call || shape.contexts[a].kind == ContextKind::statement)
    a = shape.contexts[a].parent;
  return a;
}

database::TimedScope scope_of(const Shape& shape, const waits::PathOfRegion& path) {
  if (path.context != waits::PathOfRegion::kBetween)
    return {.context = call_scope(shape, path.context), .between = false};
  const ContextId after = caller_of(shape, path.region.next);
  const bool first = path.region.previous == waits::Region::kStart;
  return {.context = around_both(shape, first ? after : caller_of(shape, path.region.previous), after),
          .between = true};
}

waits::CallPaths call_paths(const Shape& shape, bool inlined) {
  waits::CallPaths paths;
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    const Shape::Scope& scope = shape.contexts[x];
    paths.parent.push_back(scope.parent);
    const bool procedure =
        scope.kind == ContextKind::procedure || (inlined && scope.kind == ContextKind::inlined);
    std::uint32_t number = procedure ? scope.flat : waits::CallPaths::kNone;
    // A loop is one for each call path: a solver's iterations differ by who calls it. So is a marked region.
    if (!inlined && (scope.kind == ContextKind::region || scope.kind == ContextKind::loop))
      number = static_cast<std::uint32_t>(shape.flat.size()) + x;
    paths.procedure.push_back(in_wait(shape, x) ? waits::CallPaths::kNone : number);
  }
  return paths;
}

waits::CallPaths compared_paths(const Shape& shape) {
  waits::CallPaths paths = call_paths(shape, true);
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    const Shape::Scope& scope = shape.contexts[x];
    const bool outermost = scope.parent == kNone || !in_wait(shape, scope.parent);
    if (in_wait(shape, x) && outermost) paths.procedure[x] = scope.flat;
  }
  return paths;
}

std::vector<std::uint32_t> enclosing_procedures(const Shape& shape) {
  std::vector<std::uint32_t> procedures(shape.contexts.size());
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    const Shape::Scope& scope = shape.contexts[x];
    const bool inside = scope.parent != kNone && scope.kind != ContextKind::procedure;
    const bool below = scope.parent != kNone && in_wait(shape, scope.parent);
    procedures[x] = inside || below ? procedures[scope.parent] : x;
  }
  return procedures;
}

}  // namespace culprit::merge
