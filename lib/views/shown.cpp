#include "views/shown.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <re2/re2.h>

namespace culprit::views {
namespace {

using database::ContextKind;

constexpr double kPercent = 100;
constexpr double kLast = -std::numeric_limits<double>::infinity();

class Arrangement {
 public:
  Arrangement(View& view, const ShowOptions& options, double whole)
      : view_(view), options_(options), least_(whole * options.min_percent / kPercent) {
    if (options.focus.empty()) return;
    focus_ = std::make_unique<RE2>(options.focus, RE2::Quiet);
    if (!focus_->ok()) {
      throw BadFocus("'" + options.focus + "' is no regular expression: " + focus_->error());
    }
  }

  Shown run() {
    shown_.roots = arrange(view_.roots(), std::nullopt, 0, !focus_);
    return std::move(shown_);
  }

 private:
  struct Candidate {
    NodeId node;
    std::optional<NodeId> call;
    double key;
  };

  /// `in_focus`: a node above matched.
  std::vector<ShownNode> arrange(const std::vector<NodeId>& nodes, std::optional<NodeId> call,
                                 std::uint32_t depth, bool in_focus) {
    std::vector<Candidate> candidates;
    collect(nodes, call, candidates);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.key > b.key; });
    std::vector<ShownNode> result;
    for (const Candidate& candidate : candidates) {
      if (options_.depth && depth > *options_.depth) {
        ++shown_.below_depth;
        continue;
      }
      const bool matches = in_focus || RE2::PartialMatch(label(view_.frame(candidate.node)), *focus_);
      ShownNode shown{candidate.node, candidate.call, {}};
      if (expandable(candidate.node)) shown.children = below(candidate.node, depth, matches);
      if (matches || !shown.children.empty()) {
        result.push_back(std::move(shown));
      } else {
        ++shown_.out_of_focus;
      }
    }
    return result;
  }

  std::vector<ShownNode> below(NodeId node, std::uint32_t depth, bool in_focus) {
    const bool counts = view_.frame(node).kind != ContextKind::call;
    // Beyond the depth limit nothing is expanded: callers would create every level only to count it.
    if (options_.depth && counts && depth >= *options_.depth) {
      if (!view_.children(node).empty()) ++shown_.below_depth;
      return {};
    }
    return arrange(view_.children(node), std::nullopt, counts ? depth + 1 : depth, in_focus);
  }

  void collect(const std::vector<NodeId>& nodes, std::optional<NodeId> call,
               std::vector<Candidate>& candidates) {
    for (const NodeId node : nodes) {
      const ContextKind kind = view_.frame(node).kind;
      if (kind == ContextKind::statement && options_.hide_statements) {
        ++shown_.statements;
        continue;
      }
      if (options_.hide_wait_internals && internal(node)) {
        ++shown_.wait_internals;
        continue;
      }
      if (options_.hide_start_up && (view_.flags(node) & database::kStartUp) != 0) {
        ++shown_.start_up;
        if (view_.name() == "calling-context") collect(view_.children(node), std::nullopt, candidates);
        continue;
      }
      if (kind == ContextKind::call && options_.fold_calls) {
        const std::vector<NodeId> callees = view_.children(node);
        if (!callees.empty()) {
          collect(callees, node, candidates);
          continue;
        }
      }
      const double key = view_.value(node, options_.sort);
      const double size = options_.size ? view_.value(node, *options_.size) : key;
      if (options_.min_percent > 0 && !(size >= least_)) {
        ++shown_.below_minimum;
        continue;
      }
      candidates.push_back({node, call, std::isnan(key) ? kLast : key});
    }
  }

  [[nodiscard]] bool internal(NodeId node) const {
    const std::uint8_t flags = view_.flags(node);
    return (flags & database::kInWait) != 0 && (flags & database::kFrontier) == 0;
  }

  /// Wait internals are hidden by not opening the frame that holds them, so that they count as one branch.
  [[nodiscard]] bool expandable(NodeId node) {
    const bool frontier = (view_.flags(node) & database::kFrontier) != 0;
    if (!options_.hide_wait_internals || !frontier || view_.name() != "calling-context") return true;
    if (!view_.children(node).empty()) ++shown_.wait_internals;
    return false;
  }

  View& view_;
  const ShowOptions& options_;
  double least_;
  std::unique_ptr<RE2> focus_;
  Shown shown_;
};

}  // namespace

Shown show(View& view, const ShowOptions& options, double whole) {
  return Arrangement(view, options, whole).run();
}

}  // namespace culprit::views
