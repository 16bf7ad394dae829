#include "views/shown.hpp"

#include "views/visible.hpp"

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
      : view_(view),
        options_(options),
        least_(whole * options.min_percent / kPercent),
        passed_over_{options.fold_calls, options.hide_statements, options.hide_start_up,
                     options.hide_wait_internals} {
    if (options.focus.empty()) return;
    focus_ = std::make_unique<RE2>(options.focus, RE2::Quiet);
    if (!focus_->ok()) {
      throw BadFocus("'" + options.focus + "' is no regular expression: " + focus_->error());
    }
  }

  Shown run() {
    shown_.roots = arrange(view_.roots(), std::nullopt, 0, !focus_);
    shown_.statements = count_.statements;
    shown_.wait_internals = count_.wait_internals;
    shown_.start_up = count_.start_up;
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
      if (may_open(view_, candidate.node, passed_over_, count_))
        shown.children = below(candidate.node, depth, matches);
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
    std::vector<VisibleNode> visible;
    collect_visible(view_, nodes, call, passed_over_, visible, count_);
    for (const VisibleNode& each : visible) {
      const double key = view_.value(each.node, options_.sort);
      const double size = options_.size ? view_.value(each.node, *options_.size) : key;
      if (options_.min_percent > 0 && !(size >= least_)) {
        ++shown_.below_minimum;
        continue;
      }
      candidates.push_back({each.node, each.call, std::isnan(key) ? kLast : key});
    }
  }

  View& view_;
  const ShowOptions& options_;
  double least_;
  PassedOver passed_over_;
  PassedOverCount count_;
  std::unique_ptr<RE2> focus_;
  Shown shown_;
};

}  // namespace

Shown show(View& view, const ShowOptions& options, double whole) {
  return Arrangement(view, options, whole).run();
}

}  // namespace culprit::views
