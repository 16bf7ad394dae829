// Which procedures share a row (ours; docs/algorithms.md 4): recursion, the insides of the C++ standard
// library, and those of Python's interpreter below the Python function that they work for.
// A cycle of several procedures (a calls b, b calls a) comes back to the row of its first, once the call of
// a calls b again; from then on each a below that b belongs to that row, and each b to the row below it. A
// procedure that comes back by another way (a calls c) has a row of its own: runtimes and decorators call
// everything, and what a program calls in them shall not become one flat list.
// Cost: one pass over the tree; of a procedure that recurs below itself, the length of its path.
#include "views/joining.hpp"

#include "database/procedure_name.hpp"

#include <algorithm>
#include <cstddef>

namespace culprit::views {
namespace {

using database::ContextKind;
using database::kNone;

constexpr NodeId kLargestFolded =
    200'000;  // nodes below a procedure: to look at them takes some milliseconds

/// Of `void std::sort<int*>(int*, int*)` what begins with `std`: only templates are demangled with the type
/// that they return.
std::string_view without_return_type(std::string_view name) {
  std::size_t begin = 0, depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char letter = name[at];
    const bool opens = letter == '<' || letter == '(' || letter == '{';
    const bool closes = letter == '>' || letter == ')' || letter == '}';
    const bool is_name = name.substr(at).starts_with("operator") || (letter == '(' && at > begin);
    if (depth == 0 && is_name) break;
    if (depth == 0 && letter == ' ') begin = at + 1;
    if (opens) ++depth;
    if (closes && depth > 0) --depth;
  }
  return name.substr(begin);
}

bool is_python(const Frame& frame) {
  return frame.module == database::kPythonModule;
}

bool is_of_c_library(const Frame& frame) {
  const std::string_view module = base_name(frame.module);
  return module.starts_with("libc.so") || module.starts_with("libm.so") || module.starts_with("ld-linux");
}

}  // namespace

bool is_interpreter(std::string_view file) {
  return file == "python3" || file.starts_with("python3.") || file.starts_with("libpython3");
}

bool is_interpreter(const Frame& frame) {
  return is_python(frame) ? frame.file.starts_with("<frozen importlib.")
                          : is_interpreter(base_name(frame.module));
}

bool is_library(const Frame& frame) {
  const std::string_view name = without_return_type(frame.name);
  if (name.starts_with("std::") || name.starts_with("__gnu_cxx::")) return true;
  if (is_interpreter(frame)) return true;
  if (frame.kind == ContextKind::inlined) return false;  // its file is the caller's
  if (frame.file.find("/include/c++/") != std::string_view::npos) return true;
  const std::string_view module = base_name(frame.module);
  return module.starts_with("libstdc++.so") || module.starts_with("libc++.so");
}

bool Joining::is_same(NodeId one, NodeId other) const {
  const Frame a = view_.frame(one), b = view_.frame(other);
  if (a.name.empty() || a.name != b.name || a.module != b.module) return false;
  // Of Python, functions of many decorators are called `wrapper`, and all code that is executed `<module>`.
  return !is_python(a) || (a.line == b.line && a.file == b.file && a.name != "<module>");
}

bool Joining::is_small(NodeId scope) const {
  return view_.subtree_end(scope) - scope <= kLargestFolded;
}

bool Joining::is_folded_library(NodeId scope) const {
  return passed_over_.library && !callers_ && is_small(scope) && is_library(view_.frame(scope));
}

NodeId Joining::procedure_around(NodeId node) const {
  NodeId around = view_.parent(node);
  while (around != kNone && lies_in_procedure(view_.kind(around))) around = view_.parent(around);
  return around != kNone && is_procedure(view_.kind(around)) ? around : kNone;
}

std::optional<NodeId> Joining::line_of_python(NodeId node) const {
  std::optional<NodeId> call;
  for (NodeId at = view_.parent(node); at != kNone; at = view_.parent(at)) {
    const ContextKind kind = view_.kind(at);
    if (kind == ContextKind::call) call = at;
    if (!is_procedure(kind)) continue;
    if (is_python(view_.frame(at))) return call;
    if (!hides_loops(at)) return std::nullopt;
  }
  return std::nullopt;
}

/// Whether below a procedure without a name there is one with a name that says what it is for.
bool Joining::leads_to_names(NodeId node) const {
  for (NodeId below = node + 1; below < view_.subtree_end(node); ++below) {
    if (view_.kind(below) != ContextKind::procedure) continue;
    if (is_wait(below)) return true;
    const Frame frame = view_.frame(below);
    if (!is_named_for_module(frame) && !is_library(frame) && !is_of_c_library(frame)) return true;
  }
  return false;
}

/// Whether a procedure without a name stands between Python and what an extension module calls by name, as
/// those of mpi4py do.
bool Joining::is_glue(NodeId node) const {
  if (!passed_over_.library || callers_ || is_wait(node)) return false;
  const std::string_view module = view_.frame(node).module;
  for (NodeId at = node; at != kNone; at = procedure_around(at)) {
    const Frame frame = view_.frame(at);
    if (is_python(frame)) return at != node && is_small(node) && leads_to_names(node);
    const bool of_interpreter = at != node && is_interpreter(base_name(frame.module));
    if (!of_interpreter && (frame.module != module || !is_named_for_module(frame))) return false;
  }
  return false;
}

std::optional<Joining::Why> Joining::joins(NodeId scope, NodeId node) const {
  if (!is_small(scope) || is_wait(node) || is_start_up(node) || is_start_up(scope)) return std::nullopt;
  const Frame frame = view_.frame(node), around = view_.frame(scope);
  if (passed_over_.library && !callers_) {
    const bool inside = is_library(around) || is_python(around) || is_glue(scope);
    if (inside && (is_library(frame) || is_glue(node))) return Why::library;
  }
  if (passed_over_.recursion && is_same(scope, node)) return Why::recursion;
  return std::nullopt;
}

/// The procedures like `like` that `scope` calls, also from what joins it.
std::vector<NodeId> Joining::called_from(NodeId scope, NodeId like) const {
  struct Step {
    NodeId at, scope;
  };
  std::vector<NodeId> found;
  std::vector<Step> open = {{scope, scope}};
  while (!open.empty()) {
    const Step step = open.back();
    open.pop_back();
    for (const NodeId child : view_.children(step.at)) {
      const ContextKind kind = view_.kind(child);
      if (kind == ContextKind::loop || kind == ContextKind::call) open.push_back({child, step.scope});
      if (!is_procedure(kind)) continue;
      if (is_same(child, like)) {
        found.push_back(child);
      } else if (joins(step.scope, child)) {
        open.push_back({child, child});
      }
    }
  }
  return found;
}

/// The row that a cycle comes back to at `way[at]`.
std::optional<std::size_t> Joining::come_back(const std::vector<Row>& rows, const std::vector<NodeId>& way,
                                              std::size_t at) const {
  const NodeId node = way[at];
  if (is_wait(node) || is_start_up(node) || is_start_up(rows.back().first) || !view_.recurs(node))
    return std::nullopt;
  if (is_small(rows.back().first) && is_same(rows.back().first, node)) return rows.size() - 1;
  for (std::size_t row = rows.size() - 1; row-- > 0;) {
    const Row& back = rows[row];
    const NodeId next = rows[row + 1].first;
    if (is_wait(next) || is_start_up(back.first) || is_start_up(next) || at - back.last > kLongestCycle)
      return std::nullopt;
    if (!is_small(back.first) || !is_same(back.first, node)) continue;
    const auto calls_next = [&](NodeId call) { return !called_from(call, next).empty(); };
    if (std::ranges::any_of(back.repeats, [&](NodeId known) { return is_same(known, next); }) ||
        std::ranges::any_of(called_from(way[at - 1], node), calls_next))
      return row;
  }
  return std::nullopt;
}

bool Joining::may_come_back_below(NodeId procedure) const {
  return passed_over_.recursion && view_.may_recur_below(procedure);
}

std::optional<NodeId> Joining::comes_back_to(NodeId node) const {
  if (!passed_over_.recursion || !view_.recurs(node)) return std::nullopt;
  std::vector<NodeId> way;
  for (NodeId at = node; at != kNone; at = procedure_around(at)) way.push_back(at);
  std::ranges::reverse(way);
  std::vector<Row> rows;
  bool came_back = false;
  for (std::size_t at = 0; at < way.size(); ++at) {
    came_back = false;
    if (rows.empty() || !joins(way[at - 1], way[at])) {
      const std::optional<std::size_t> row = rows.empty() ? std::nullopt : come_back(rows, way, at);
      came_back = row.has_value();
      if (came_back) {
        if (*row + 1 < rows.size()) rows[*row].repeats.push_back(rows[*row + 1].first);
        rows.resize(*row + 1);
      } else {
        rows.push_back({way[at], at, {}});
      }
    }
    rows.back().last = at;
  }
  return came_back ? std::optional(rows.back().first) : std::nullopt;
}

}  // namespace culprit::views
