// Folds rows of the calling context tree (docs/algorithms.md 4): recursion, the insides of the C++ standard
// library and of Python's interpreter, loops without a place, and what no sample met. Cost: all nodes that a
// row stands for and their children; procedures with very much below them are not folded.
#include "views/folding.hpp"

#include "views/frame.hpp"
#include "views/joining.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace culprit::views {
namespace {

using database::ContextKind;
using database::kNone;

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
      : view_(view),
        passed_over_(passed_over),
        callers_(view.name() == "callers"),
        joining_(view, passed_over) {}

  /// Rows of call sites of their own are for those who want to see each frame.
  [[nodiscard]] bool applies() const {
    if (!passed_over_.fold_calls) return false;
    if (callers_) return passed_over_.recursion;
    return view_.name() == "calling-context" && (passed_over_.recursion || passed_over_.library);
  }
  /// Whether only when the row is opened it is worth finding out what it absorbs: where that changes none of
  /// its figures.
  [[nodiscard]] bool when_opened(const VisibleNode& row) const {
    return callers_ && (view_.parent(row.node) == kNone || !joining_.may_come_back_below(row.node));
  }

  /// Whether a node is shown by the row of the procedure that it stands in, or is called from.
  [[nodiscard]] bool is_absorbed(NodeId node) const {
    const ContextKind kind = view_.kind(node);
    if (!is_procedure(kind) && !lies_in_procedure(kind)) return false;
    if (is_nested_loop(node)) return true;
    const NodeId around = joining_.procedure_around(node);
    if (around == kNone || joining_.is_start_up(around)) return false;
    if (is_procedure(kind)) return joining_.joins(around, node) || joining_.comes_back_to(node);
    return joining_.hides_loops(around);
  }

  /// Rows that the interpreter calls stand where Python does.
  void set_lines(std::vector<VisibleNode>& rows) const {
    if (callers_ || !passed_over_.library) return;
    for (VisibleNode& row : rows) {
      if (row.call && !view_.frame(*row.call).file.empty()) continue;
      if (const auto line = joining_.line_of_python(row.node)) row.call = line;
    }
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
    if ((!loop && !is_procedure(view_.kind(row.node))) || joining_.is_start_up(row.node)) return;
    if (passed_over_.wait_internals && joining_.is_wait(row.node)) return;  // nothing of it is shown
    Fold fold;
    if (row.fold) {
      fold = *row.fold;
    } else {
      fold.outermost = fold.own = fold.parts = {row.node};
    }
    const std::size_t before = fold.parts.size();
    const std::vector<NodeId> begins = fold.parts;
    for (const NodeId begin : begins) {
      if (loop && is_nameless_loop(begin)) take_in_loops(begin, fold);
      take_in(begin, fold);
    }
    if (fold.parts.size() == before && fold.re_entered.empty()) return;
    std::sort(fold.parts.begin(), fold.parts.end());
    std::sort(fold.own.begin(), fold.own.end());
    row.fold = std::make_shared<const Fold>(std::move(fold));
  }

 private:
  /// A node whose children are to be looked at.
  struct Step {
    NodeId at = 0;
    NodeId scope = 0;           ///< the procedure that it stands in
    bool part = false;          ///< whether that is shown by the row
    bool in_procedure = false;  ///< exclusive figures of a part that is not inlined hold those of this place
    std::uint32_t level = 0;    ///< of recursion
    std::uint32_t between = 0;  ///< procedures since the last part
  };

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
  void take_in_loops(NodeId begin, Fold& fold) const {
    std::uint32_t loops = 1;
    for (auto inner = only_loop_in(begin); inner; inner = only_loop_in(*inner)) {
      fold.parts.push_back(*inner);
      fold.own.push_back(*inner);
      fold.loops = std::max(fold.loops, ++loops);
    }
  }

  /// Finds the parts of a row below one, and the calls there that belong to rows above it.
  void take_in(NodeId begin, Fold& fold) const {
    const bool procedure = is_procedure(view_.kind(begin));
    const NodeId scope = procedure ? begin : joining_.procedure_around(begin);
    std::vector<Step> open = {{begin, scope, procedure, view_.kind(begin) == ContextKind::procedure, 0, 0}};
    while (!open.empty()) {
      const Step step = open.back();
      open.pop_back();
      const bool hides_loops = step.part && joining_.hides_loops(step.scope);
      for (const NodeId child : view_.children(step.at)) {
        const ContextKind kind = view_.kind(child);
        Step next = step;
        next.at = child;
        if (is_procedure(kind)) {
          if (enter(begin, child, next, fold)) open.push_back(next);
          continue;
        }
        if (kind != ContextKind::loop && kind != ContextKind::call) continue;
        if (kind == ContextKind::loop && hides_loops) {
          fold.library = true;
          fold.parts.push_back(child);
          if (!step.in_procedure) fold.own.push_back(child);
        }
        open.push_back(next);
      }
    }
  }

  /// Whether the row of `begin` can have parts below a procedure, which becomes one if it belongs to the
  /// row. `step`: that of its caller, which becomes its own.
  bool enter(NodeId begin, NodeId procedure, Step& step, Fold& fold) const {
    const NodeId caller = std::exchange(step.scope, procedure);
    const bool outside = caller < begin;  // of a loop, the procedure around it
    std::optional<Joining::Why> why;
    if (caller != kNone && (step.part || outside)) why = joining_.joins(caller, procedure);
    const std::optional<NodeId> back = why ? std::nullopt : joining_.comes_back_to(procedure);
    if ((why && outside) || (back && *back < begin)) {
      fold.re_entered.push_back(procedure);
      return false;
    }
    const bool inlined = view_.kind(procedure) == ContextKind::inlined;
    if (!why && back != begin) {
      step.part = false;
      step.in_procedure = step.in_procedure && inlined;
      return !joining_.is_wait(procedure) && ++step.between <= kLongestCycle &&
             joining_.may_come_back_below(procedure);
    }
    fold.library = fold.library || why == Joining::Why::library;
    step.level += why == Joining::Why::library ? 0 : 1;
    fold.recursion = std::max(fold.recursion, step.level);
    fold.parts.push_back(procedure);
    // A caller's figures are part of those of the row below which it stands.
    if (!callers_ && !(inlined && step.in_procedure)) fold.own.push_back(procedure);
    step.in_procedure = step.in_procedure || !inlined;
    step.part = true;
    step.between = 0;
    return true;
  }

  View& view_;
  const PassedOver& passed_over_;
  bool callers_;
  Joining joining_;
};

}  // namespace

std::vector<VisibleNode> rows_below(View& view, VisibleNode& row, const PassedOver& passed_over,
                                    PassedOverCount& count) {
  if (row.fold && !row.fold->unsampled.empty()) return row.fold->unsampled;
  const Folding folding(view, passed_over);
  if (folding.applies() && folding.when_opened(row)) folding.absorb(row);
  const std::vector<NodeId> itself = {row.node};
  const std::vector<NodeId>& parts = row.fold ? row.fold->parts : itself;
  std::vector<VisibleNode> rows;
  for (const NodeId part : parts) {
    if (may_open(view, part, passed_over, count))
      collect_visible(view, view.children(part), std::nullopt, passed_over, rows, count);
  }
  if (!folding.applies()) return rows;
  std::erase_if(rows, [&](const VisibleNode& each) { return folding.is_absorbed(each.node); });
  if (parts.size() > 1) {
    folding.set_lines(rows);
    folding.merge(rows);
  }
  for (VisibleNode& each : rows) {
    if (!folding.when_opened(each)) folding.absorb(each);
  }
  return rows;
}

std::vector<VisibleNode> rows_of(View& view, const std::vector<NodeId>& nodes, const PassedOver& passed_over,
                                 PassedOverCount& count) {
  std::vector<VisibleNode> rows;
  collect_visible(view, nodes, std::nullopt, passed_over, rows, count);
  const Folding folding(view, passed_over);
  if (!folding.applies()) return rows;
  for (VisibleNode& each : rows) {
    if (!folding.when_opened(each)) folding.absorb(each);
  }
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
