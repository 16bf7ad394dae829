// Finds nodes by the names on their path, and the path that keeps most of a metric (docs/algorithms.md 17).
// Cost: one pass over the contexts below what the first names match.
#include "views/node_path.hpp"

#include "views/column.hpp"
#include "views/folding.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace culprit::views {

namespace {

using database::Context;
using database::ContextId;
using database::ContextKind;

/// `cg::spmv` may also be called `spmv`.
bool is_called(std::string_view full, std::string_view name) {
  if (full == name) return true;
  return full.ends_with(name) && full.substr(0, full.size() - name.size()).ends_with("::");
}

bool matches(const Frame& frame, std::string_view name) {
  if (name.empty()) return false;
  const std::string shown = label(frame);
  if (shown == name) return true;
  switch (frame.kind) {
    case ContextKind::loop:
      return place(frame) == name || frame.name == name;
    case ContextKind::call:
      return place(frame) == name;
    case ContextKind::region:
      return frame.name == name;
    case ContextKind::procedure:
    case ContextKind::inlined:
      // Operators that hold a parenthesis themselves need the full name or an id.
      return is_called(std::string_view(shown).substr(0, shown.find('(')), name);
    default:
      return false;
  }
}

bool may_be_left_out(const Context& self) {
  return self.kind == ContextKind::call || self.kind == ContextKind::loop ||
         self.kind == ContextKind::inlined || self.kind == ContextKind::region ||
         (self.flags & database::kStartUp) != 0;
}

/// The outermost contexts called `name` in [first, end); with `direct`, only through frames that may be left
/// out.
void search(const database::Contents& experiment, ContextId first, ContextId end, std::string_view name,
            bool direct, std::vector<ContextId>& found) {
  for (ContextId context = first; context < end;) {
    const Context& self = experiment.contexts[context];
    if (matches(frame_of(experiment, self), name)) {
      found.push_back(context);
      context = self.end;
    } else {
      context = direct && !may_be_left_out(self) ? self.end : context + 1;
    }
  }
}

/// The contexts that `path` names below `above`; at its first name, in the whole tree. Names may hold `/`
/// themselves (`file /scratch/mesh.dat`), so each slash is tried as the end of a name, the first one first.
/// `missing`: the name of the path that is not found.
std::vector<ContextId> below(const database::Contents& experiment, const std::vector<ContextId>* above,
                             std::string_view path, std::string_view& missing) {
  std::string_view not_found = path.substr(0, path.find('/'));
  for (std::size_t from = 0, slash = 0; slash != std::string_view::npos; from = slash + 1) {
    slash = path.find('/', from);
    const std::string_view name = path.substr(0, slash);
    std::vector<ContextId> found;
    if (above == nullptr) {
      search(experiment, 0, static_cast<ContextId>(experiment.contexts.size()), name, false, found);
    } else {
      for (const ContextId context : *above)
        search(experiment, context + 1, experiment.contexts[context].end, name, true, found);
    }
    if (!found.empty() && slash != std::string_view::npos)
      found = below(experiment, &found, path.substr(slash + 1), not_found);
    if (!found.empty()) return found;
  }
  missing = not_found;
  return {};
}

}  // namespace

std::vector<ContextId> find_contexts(const Figures& figures, std::string_view path) {
  const database::Contents& experiment = figures.experiment();
  std::string_view missing;
  std::vector<ContextId> found = below(experiment, nullptr, path, missing);
  if (found.empty()) {
    const bool first = missing.data() == path.data();
    throw NoSuchNode((first ? "nothing in this run is called '" : "there is no '") + std::string(missing) +
                     (first ? "'" : "' directly below that") +
                     " (see `view`, or `view --ids` and give an id)");
  }
  const Column time = find_column(experiment, "REALTIME:sum (I)");
  std::stable_sort(found.begin(), found.end(), [&](ContextId a, ContextId b) {
    return figures.at_context(time, a) > figures.at_context(time, b);
  });
  return found;
}

// The hot path (docs/algorithms.md 17): from the root to the largest child while that keeps most of its
// parent.

std::vector<HotStep> hot_path(View& view, const Column& column, double whole, double keep) {
  std::vector<HotStep> path;
  double parent = 0;
  for (std::vector<NodeId> level = view.roots(); !level.empty(); level = view.children(path.back().node)) {
    HotStep best;
    bool found = false;
    for (const NodeId node : level) {
      const double value = view.value(node, column);
      if (std::isnan(value) || value <= 0 || (found && value <= best.value)) continue;
      best = {node, value, whole > 0 ? value / whole : 0};
      found = true;
    }
    if (!found || (!path.empty() && best.value < keep * parent)) break;
    path.push_back(best);
    parent = best.value;
  }
  return path;
}

std::vector<VisibleNode> hot_rows(View& view, const Column& column, const PassedOver& passed_over,
                                  double keep) {
  std::vector<VisibleNode> path;
  PassedOverCount count;
  double least = 0;
  for (std::vector<VisibleNode> rows = rows_of(view, view.roots(), passed_over, count);;
       rows = rows_below(view, path.back(), passed_over, count)) {
    VisibleNode* best = nullptr;
    double most = 0;
    for (VisibleNode& row : rows) {
      const double value = visible_value(view, row, column, passed_over.fold_calls);
      if (!(value > most)) continue;
      best = &row;
      most = value;
    }
    if (best == nullptr || most < least) return path;
    path.push_back(std::move(*best));
    least = keep * most;
  }
}

}  // namespace culprit::views
