// Finds the code of a parallel region on each thread (docs/algorithms.md 9, 12.1). A team runs one function:
// its master below the call that opened the region (GOMP_parallel), its workers below the function that their
// library started them with. A cause is shown once for all of them, where the program's author knows it:
// below that call. Code is the same where procedures, loops and statements are, whatever line calls them.
#include "merge/timelines/region_paths.hpp"

#include "storage/hash.hpp"

#include <algorithm>
#include <numeric>

namespace culprit::merge {
namespace {

using database::ContextId;
using database::ContextKind;

constexpr int kDeepestLibrary = 12;  // contexts between a library's call and the region that it calls back
constexpr std::size_t kStartUp = 4;  // procedures outside of all libraries that may start a thread

}  // namespace

void RegionPaths::index() {
  const std::size_t count = shape_.contexts.size();
  first_.assign(count + 1, 0);
  for (std::size_t x = 1; x < count; ++x) ++first_[shape_.contexts[x].parent + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  children_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t x = 1; x < count; ++x)
    children_[next[shape_.contexts[x].parent]++] = static_cast<ContextId>(x);
  std::vector<bool> main(count);     // whether it is in a main thread
  std::vector<bool> library(count);  // whether the procedure around is a library's
  for (ContextId x = 1; x < count; ++x) {
    const Shape::Scope& scope = shape_.contexts[x];
    main[x] =
        (main[scope.parent] || scope.kind == ContextKind::root) && scope.kind != ContextKind::thread_root;
    const bool procedure = scope.kind == ContextKind::procedure;
    library[x] = procedure ? in_library(x) : library[scope.parent];
    if (procedure && main[x] && library[scope.parent] && !library[x]) regions_.insert(scope.flat);
  }
}

RegionPaths::Path RegionPaths::children(ContextId context) const {
  return Path(children_).subspan(first_[context], first_[context + 1] - first_[context]);
}

bool RegionPaths::in_library(ContextId context) const {
  return shape_.contexts[context].in_thread_library != 0;
}

/// `path` below `from`: where it ends.
std::optional<ContextId> RegionPaths::follow(ContextId from, Path path) const {
  if (path.empty()) return from;
  const Shape::Scope& wanted = shape_.contexts[path.front()];
  for (const ContextId child : children(from)) {
    const Shape::Scope& scope = shape_.contexts[child];
    const bool same = scope.kind == wanted.kind && scope.flat == wanted.flat &&
                      (scope.flat != database::kNone || scope.kind == ContextKind::call);
    if (!same) continue;
    if (const auto end = follow(child, path.subspan(1))) return end;
  }
  return std::nullopt;
}

/// `path`, which begins with the region's function, below the code by which a library calls it: where it
/// ends, or leaves what was sampled there.
std::optional<ContextId> RegionPaths::find_region(ContextId below, Path path, int depth) const {
  std::optional<ContextId> found;
  for (const ContextId child : children(below)) {
    const Shape::Scope& scope = shape_.contexts[child];
    std::optional<ContextId> here;
    if (scope.kind == ContextKind::procedure && scope.flat == shape_.contexts[path.front()].flat) {
      here = follow(child, path.subspan(1)).value_or(path.back());
    } else if (depth < kDeepestLibrary && (scope.kind != ContextKind::procedure || in_library(child))) {
      here = find_region(child, path, depth + 1);
    }
    if (here && here != path.back()) return here;
    if (here) found = here;
  }
  return found;
}

std::optional<ContextId> RegionPaths::find(ContextId waiting, Path path) const {
  for (ContextId at = waiting; at != 0; at = shape_.contexts[at].parent) {
    if (shape_.contexts[at].kind != ContextKind::procedure || !in_library(at)) continue;
    if (const auto end = find_region(at, path, 0)) return end;
  }
  return std::nullopt;
}

std::optional<RegionPaths::Beside> RegionPaths::look(ContextId waiting, Path path) const {
  std::size_t outside = 0;
  for (std::size_t i = 0; i < path.size() && outside < kStartUp; ++i) {
    const Shape::Scope& scope = shape_.contexts[path[i]];
    if (scope.kind != ContextKind::procedure || in_library(path[i])) continue;
    ++outside;
    if (const auto end = find(waiting, path.subspan(i))) return Beside{.context = *end};
    if (regions_.contains(scope.flat)) return std::nullopt;
  }
  return Beside{.context = path.back(), .of_region = false};
}

std::optional<RegionPaths::Beside> RegionPaths::beside(ContextId waiting, ContextId worker) {
  const auto [entry, fresh] = found_.try_emplace(storage::joined(waiting, worker));
  if (!fresh) return entry->second;
  if (first_.empty()) index();
  std::vector<ContextId> path;
  for (ContextId at = worker; at != 0; at = shape_.contexts[at].parent) path.push_back(at);
  std::ranges::reverse(path);
  if (!path.empty()) entry->second = look(waiting, path);
  return entry->second;
}

ContextId RegionPaths::marked_around(ContextId context) const {
  while (context != 0 && shape_.contexts[context].kind != ContextKind::region)
    context = shape_.contexts[context].parent;
  return context;
}

/// Around all procedures of the library that `context` lies in; `context` itself where that is none's.
ContextId RegionPaths::caller_of_library(ContextId context) const {
  ContextId call = context;
  for (ContextId at = context; at != 0; at = shape_.contexts[at].parent) {
    if (shape_.contexts[at].kind != ContextKind::procedure) continue;
    if (!in_library(at)) break;
    call = shape_.contexts[at].parent;
  }
  return call;
}

bool RegionPaths::calls(ContextId context, database::FlatId procedure) const {
  return std::ranges::any_of(children(context), [&](ContextId child) {
    const Shape::Scope& scope = shape_.contexts[child];
    return (scope.kind == ContextKind::procedure && scope.flat == procedure) || calls(child, procedure);
  });
}

/// The one that none of the others calls: a region that ends with a call by a jump has left the stack in it.
/// The root where there are several.
ContextId RegionPaths::only_one_of(Path functions) const {
  ContextId found = 0;
  for (const ContextId one : functions) {
    const database::FlatId procedure = shape_.contexts[one].flat;
    const bool called = std::ranges::any_of(functions, [&](ContextId other) {
      return shape_.contexts[other].flat != procedure && calls(other, procedure);
    });
    if (called) continue;
    if (found != 0 && shape_.contexts[found].flat != procedure) return 0;
    if (found == 0) found = one;
  }
  return found;
}

/// Of the program's functions that the library runs below `call`: the one with the fewest of the library's
/// around it, since tasks are run farther in.
ContextId RegionPaths::only_one_run_below(ContextId call) const {
  std::vector<ContextId> level;
  for (const ContextId child : children(call)) {
    if (shape_.contexts[child].kind == ContextKind::procedure && in_library(child)) level.push_back(child);
  }
  for (int depth = 0; depth < kDeepestLibrary && !level.empty(); ++depth) {
    std::vector<ContextId> run, next;
    for (const ContextId at : level) {
      for (const ContextId child : children(at)) {
        const bool function = shape_.contexts[child].kind == ContextKind::procedure && !in_library(child);
        (function ? run : next).push_back(child);
      }
    }
    if (!run.empty()) return only_one_of(run);
    level = std::move(next);
  }
  return 0;
}

ContextId RegionPaths::library_for(ContextId context) {
  if (first_.empty()) index();
  for (const ContextId child : children(caller_of_library(context))) {
    if (shape_.contexts[child].kind == ContextKind::procedure && in_library(child)) return child;
  }
  return 0;
}

ContextId RegionPaths::run_for(ContextId context) {
  const auto [entry, fresh] = run_for_.try_emplace(context, 0);
  if (!fresh) return entry->second;
  if (first_.empty()) index();
  return entry->second = only_one_run_below(caller_of_library(context));
}

}  // namespace culprit::merge
