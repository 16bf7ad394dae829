// Folds rows of the calling context tree (docs/algorithms.md 4): recursion, the insides of the C++ standard
// library and of Python's interpreter, loops without a place, and what no sample met. Cost: all nodes that a
// row stands for and their children; procedures with very much below them are not folded.
#include "views/folding.hpp"

#include "views/frame.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

namespace culprit::views {
namespace {

using database::ContextKind;
using database::kNone;

constexpr NodeId kLargestFolded =
    200'000;  // nodes below a procedure: to look at them takes some milliseconds

bool lies_in_procedure(ContextKind kind) {
  return kind == ContextKind::loop || kind == ContextKind::call || kind == ContextKind::statement;
}

/// Of `void std::sort<int*>(int*, int*)` what begins with `std`: only templates are demangled with the type
/// that they return.
std::string_view without_return_type(std::string_view name) {
  std::size_t begin = 0, depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char letter = name[at];
    const bool opens = letter == '<' || letter == '(' || letter == '{';
    if (depth == 0 && (name.substr(at).starts_with("operator") || (letter == '(' && at > begin))) break;
    if (letter == ' ' && depth == 0) begin = at + 1;
    if (opens) ++depth;
    if ((letter == '>' || letter == ')' || letter == '}') && depth > 0) --depth;
  }
  return name.substr(begin);
}

bool is_same(const Frame& one, const Frame& other) {
  return !one.name.empty() && one.name == other.name && one.module == other.module;
}

/// What makes rows below the parts of one row the same.
using RowIdentity = std::tuple<ContextKind, bool, std::string_view, std::string_view, std::uint32_t,
                               std::string_view, std::string_view, std::uint32_t>;

RowIdentity identity_of(const View& view, const VisibleNode& row) {
  const Frame frame = view.frame(row.node);
  const Frame call = row.call ? view.frame(*row.call) : Frame{};
  const bool wait = (view.flags(row.node) & database::kFrontier) != 0;
  return {frame.kind, wait, frame.name, frame.file, frame.line, frame.module, call.file, call.line};
}

class Folding {
 public:
  Folding(View& view, const PassedOver& passed_over)
      : view_(view), passed_over_(passed_over), callers_(view.name() == "callers") {}

  /// Rows of call sites of their own are for those who want to see each frame.
  [[nodiscard]] bool applies() const {
    if (!passed_over_.fold_calls) return false;
    if (callers_) return passed_over_.recursion;
    return view_.name() == "calling-context" && (passed_over_.recursion || passed_over_.library);
  }
  /// Whether only a row that is opened is worth finding out what it absorbs.
  [[nodiscard]] bool when_opened() const { return callers_; }

  /// Whether a node is shown by the row of the procedure that it stands in, or is called from.
  [[nodiscard]] bool is_absorbed(NodeId node) const {
    const ContextKind kind = view_.kind(node);
    if (!is_procedure(kind) && !lies_in_procedure(kind)) return false;
    if (is_nested_loop(node)) return true;
    NodeId around = view_.parent(node);
    while (around != kNone && lies_in_procedure(view_.kind(around))) around = view_.parent(around);
    if (around == kNone || !is_procedure(view_.kind(around)) || is_start_up(around)) return false;
    if (is_procedure(kind)) return joins(around, node).has_value();
    return is_folded_library(around);
  }

  /// Rows that are the same become one, at the place of the first.
  void merge(std::vector<VisibleNode>& rows) const {
    std::map<RowIdentity, std::size_t> known;
    std::vector<VisibleNode> merged;
    std::vector<std::vector<NodeId>> nodes;
    for (const VisibleNode& row : rows) {
      const auto [found, added] = known.try_emplace(identity_of(view_, row), merged.size());
      if (added) {
        merged.push_back(row);
        nodes.emplace_back();
      }
      nodes[found->second].push_back(row.node);
    }
    for (std::size_t at = 0; at < merged.size(); ++at) {
      if (nodes[at].size() == 1) continue;
      std::sort(nodes[at].begin(), nodes[at].end());
      // One may lie inside another: then a call of the procedure by itself is between them (leave_out_calls).
      auto fold = std::make_shared<Fold>();
      fold->outermost = fold->own = fold->parts = std::move(nodes[at]);
      merged[at].node = fold->outermost.front();
      merged[at].fold = std::move(fold);
    }
    rows = std::move(merged);
  }

  /// Takes in what the procedure, or the loop, of a row absorbs.
  void absorb(VisibleNode& row) const {
    const bool loop = passed_over_.recursion && view_.kind(row.node) == ContextKind::loop;
    if ((!loop && !is_procedure(view_.kind(row.node))) || is_start_up(row.node)) return;
    if (passed_over_.wait_internals && is_wait(row.node)) return;  // nothing of it is shown
    Fold fold;
    if (row.fold) {
      fold = *row.fold;
    } else {
      fold.outermost = fold.own = fold.parts = {row.node};
    }
    const std::size_t before = fold.parts.size();
    const std::vector<NodeId> begins = fold.parts;
    for (const NodeId begin : begins) {
      if (!loop) {
        take_in(begin, fold);
      } else {
        if (is_nameless_loop(begin)) take_in_loops(begin, fold);
        leave_out_calls(begin, fold);
      }
    }
    if (fold.parts.size() == before && fold.re_entered.empty()) return;
    std::sort(fold.parts.begin(), fold.parts.end());
    std::sort(fold.own.begin(), fold.own.end());
    row.fold = std::make_shared<const Fold>(std::move(fold));
  }

 private:
  enum class Why : std::uint8_t { recursion, library };

  /// A node whose children are to be looked at.
  struct Step {
    NodeId at = 0;
    NodeId scope = 0;           ///< the procedure that it stands in
    bool in_procedure = false;  ///< exclusive figures of a part that is not inlined hold those of this place
    std::uint32_t level = 0;    ///< of recursion
  };

  [[nodiscard]] bool is_start_up(NodeId node) const {
    return passed_over_.start_up && (view_.flags(node) & database::kStartUp) != 0;
  }

  [[nodiscard]] bool is_wait(NodeId node) const { return (view_.flags(node) & database::kFrontier) != 0; }
  [[nodiscard]] bool is_nameless_loop(NodeId node) const {
    return view_.kind(node) == ContextKind::loop && view_.frame(node).file.empty();
  }
  /// The loop without a place that is all a loop holds, but for statements.
  [[nodiscard]] std::optional<NodeId> only_loop_in(NodeId loop) const {
    std::optional<NodeId> found;
    for (const NodeId child : view_.children(loop)) {
      if (view_.kind(child) == ContextKind::statement) continue;
      if (found || !is_nameless_loop(child)) return std::nullopt;
      found = child;
    }
    return found;
  }
  [[nodiscard]] bool is_nested_loop(NodeId node) const {
    const NodeId above = view_.parent(node);
    return passed_over_.recursion && is_nameless_loop(node) && is_nameless_loop(above) &&
           only_loop_in(above) == node;
  }
  /// Calls of the procedure around a loop by itself belong to the procedure's row.
  void leave_out_calls(NodeId loop, Fold& fold) const {
    std::vector<NodeId> open = {loop};
    while (!open.empty()) {
      const NodeId at = open.back();
      open.pop_back();
      for (const NodeId child : view_.children(at)) {
        const ContextKind kind = view_.kind(child);
        if (kind == ContextKind::loop || kind == ContextKind::call) open.push_back(child);
        if (is_procedure(kind) && is_absorbed(child)) fold.re_entered.push_back(child);
      }
    }
  }
  void take_in_loops(NodeId begin, Fold& fold) const {
    std::uint32_t loops = 1;
    for (auto inner = only_loop_in(begin); inner; inner = only_loop_in(*inner)) {
      fold.parts.push_back(*inner);
      fold.own.push_back(*inner);
      fold.loops = std::max(fold.loops, ++loops);
    }
  }

  [[nodiscard]] bool is_small(NodeId scope) const {
    return view_.subtree_end(scope) - scope <= kLargestFolded;
  }
  [[nodiscard]] bool is_folded_library(NodeId scope) const {
    return passed_over_.library && !callers_ && is_small(scope) && is_library(view_.frame(scope));
  }

  /// Why a procedure that is called from `scope` has no row of its own. Waits always have one.
  [[nodiscard]] std::optional<Why> joins(NodeId scope, NodeId node) const {
    if (!is_small(scope) || is_wait(node) || is_start_up(node) || is_start_up(scope)) return std::nullopt;
    const Frame frame = view_.frame(node);
    if (is_folded_library(scope) && is_library(frame)) return Why::library;
    if (passed_over_.recursion && is_same(view_.frame(scope), frame)) return Why::recursion;
    return std::nullopt;
  }

  void take_in(NodeId begin, Fold& fold) const {
    std::vector<Step> open = {{begin, begin, view_.kind(begin) == ContextKind::procedure, 0}};
    while (!open.empty()) {
      const Step step = open.back();
      open.pop_back();
      const bool in_library = is_folded_library(step.scope);
      for (const NodeId child : view_.children(step.at)) {
        const ContextKind kind = view_.kind(child);
        Step next{child, step.scope, step.in_procedure, step.level};
        if (is_procedure(kind)) {
          const std::optional<Why> why = joins(step.scope, child);
          if (!why) continue;
          next.scope = child;
          next.level += *why == Why::recursion ? 1 : 0;
          next.in_procedure = step.in_procedure || kind == ContextKind::procedure;
          fold.library = fold.library || *why == Why::library;
          fold.recursion = std::max(fold.recursion, next.level);
          fold.parts.push_back(child);
          // A caller's figures are part of those of the row below which it stands.
          if (!callers_ && (kind == ContextKind::procedure || !step.in_procedure)) fold.own.push_back(child);
        } else if (kind == ContextKind::loop && in_library) {
          fold.library = true;
          fold.parts.push_back(child);
          if (!step.in_procedure) fold.own.push_back(child);
        } else if (kind != ContextKind::loop && kind != ContextKind::call) {
          continue;
        }
        open.push_back(next);
      }
    }
  }

  View& view_;
  const PassedOver& passed_over_;
  bool callers_;
};

}  // namespace

bool is_interpreter(std::string_view file) {
  return file == "python3" || file.starts_with("python3.") || file.starts_with("libpython3");
}

bool is_library(const Frame& frame) {
  const std::string_view name = without_return_type(frame.name);
  if (name.starts_with("std::") || name.starts_with("__gnu_cxx::")) return true;
  if (frame.kind == ContextKind::inlined) return false;  // its file is the caller's
  if (frame.file.find("/include/c++/") != std::string_view::npos) return true;
  const std::string_view module = base_name(frame.module);
  return module.starts_with("libstdc++.so") || module.starts_with("libc++.so") || is_interpreter(module);
}

std::vector<VisibleNode> rows_below(View& view, VisibleNode& row, const PassedOver& passed_over,
                                    PassedOverCount& count) {
  if (row.fold && !row.fold->unsampled.empty()) return row.fold->unsampled;
  const Folding folding(view, passed_over);
  if (folding.applies() && folding.when_opened()) folding.absorb(row);
  const std::vector<NodeId> itself = {row.node};
  const std::vector<NodeId>& parts = row.fold ? row.fold->parts : itself;
  std::vector<VisibleNode> rows;
  for (const NodeId part : parts) {
    if (may_open(view, part, passed_over, count))
      collect_visible(view, view.children(part), std::nullopt, passed_over, rows, count);
  }
  if (!folding.applies()) return rows;
  std::erase_if(rows, [&](const VisibleNode& each) { return folding.is_absorbed(each.node); });
  if (parts.size() > 1) folding.merge(rows);
  if (folding.when_opened()) return rows;
  for (VisibleNode& each : rows) folding.absorb(each);
  return rows;
}

std::vector<VisibleNode> rows_of(View& view, const std::vector<NodeId>& nodes, const PassedOver& passed_over,
                                 PassedOverCount& count) {
  std::vector<VisibleNode> rows;
  collect_visible(view, nodes, std::nullopt, passed_over, rows, count);
  const Folding folding(view, passed_over);
  if (!folding.applies() || folding.when_opened()) return rows;
  for (VisibleNode& each : rows) folding.absorb(each);
  return rows;
}

void fold_unsampled(View& view, std::vector<VisibleNode>& rows, std::span<const Column> columns,
                    bool fold_calls) {
  if (columns.empty() || rows.size() < 2) return;
  const auto without = std::stable_partition(rows.begin(), rows.end(), [&](const VisibleNode& row) {
    return std::any_of(columns.begin(), columns.end(), [&](const Column& column) {
      return visible_value(view, row, column, fold_calls) != 0;  // what does not exist is not nothing
    });
  });
  if (rows.end() - without < 2) return;
  auto fold = std::make_shared<Fold>();
  fold->unsampled.assign(without, rows.end());
  for (const VisibleNode& row : fold->unsampled) fold->outermost.push_back(row.node);
  std::sort(fold->outermost.begin(), fold->outermost.end());
  fold->own = fold->parts = fold->outermost;
  const NodeId first = fold->unsampled.front().node;
  rows.erase(without, rows.end());
  rows.push_back({first, std::nullopt, std::move(fold)});
}

}  // namespace culprit::views
