#include "views/difference.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::views {
namespace {

/// The scope of one side that stands for all: the one with the most.
std::optional<std::uint32_t> largest(const FoldedTree& tree, const std::vector<std::uint32_t>& members) {
  if (members.empty()) return std::nullopt;
  return *std::max_element(members.begin(), members.end(), [&](std::uint32_t left, std::uint32_t right) {
    return tree[left].inclusive < tree[right].inclusive;
  });
}

double sum(const FoldedTree& tree, const std::vector<std::uint32_t>& members, double FoldedScope::*figure) {
  double result = 0;
  for (const std::uint32_t member : members) result += tree[member].*figure;
  return result;
}

double work_of(const Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  if (experiment.metrics.empty()) return 0;
  const auto whole = [&](std::string_view name) { return total(figures, find_column(experiment, name)); };
  double work = whole(experiment.metrics[main_metric(experiment)].name);
  for (const database::Metric& metric : experiment.metrics) {
    if (metric.name == "idleness") work -= whole(metric.name);
  }
  return work;
}

}  // namespace

Difference::Difference(const Figures& a, const Column& column_a, const Figures& b, const Column& column_b)
    : tree_a_(a, column_a),
      tree_b_(b, column_b),
      matched_(match(tree_a_, tree_b_)),
      column_(column_a),
      total_a_(total(a, column_a)),
      total_b_(total(b, column_b)),
      more_ranks_(static_cast<double>(ranks_of(b.experiment())) / ranks_of(a.experiment())) {
  const bool inclusive = column_a.name.inclusive;
  for (const MatchedScope& matched : matched_) {
    ComparedScope scope{matched.parent, matched.children, {}, {}};
    const std::optional<std::uint32_t> first = largest(tree_a_, matched.a);
    const std::optional<std::uint32_t> second = largest(tree_b_, matched.b);
    if (first) scope.frame_a = tree_a_[*first].frame;
    if (second) scope.frame_b = tree_b_[*second].frame;
    scope.flags = second ? tree_b_[*second].flags : tree_a_[*first].flags;
    scope.own_a = sum(tree_a_, matched.a, &FoldedScope::own);
    scope.own_b = sum(tree_b_, matched.b, &FoldedScope::own);
    scope.a = inclusive ? scope.own_a : sum(tree_a_, matched.a, &FoldedScope::exclusive);
    scope.b = inclusive ? scope.own_b : sum(tree_b_, matched.b, &FoldedScope::exclusive);
    scopes_.push_back(std::move(scope));
  }
  for (std::size_t scope = scopes_.size(); inclusive && scope-- > 1;) {
    scopes_[scopes_[scope].parent].a += scopes_[scope].a;
    scopes_[scopes_[scope].parent].b += scopes_[scope].b;
  }
  for (ComparedScope& scope : scopes_) {
    scope.a /= column_a.divisor;
    scope.b /= column_b.divisor;
    scope.own_a /= column_a.divisor;
    scope.own_b /= column_b.divisor;
  }
}

std::optional<double> Difference::ratio(const ComparedScope& scope) {
  if (scope.a == 0) return std::nullopt;
  return scope.b / scope.a;
}

double Difference::ideal(double a, Scaling scaling) const {
  // Sums stay with strong scaling, means with weak scaling.
  const bool mean = column_.name.statistic == Statistic::mean;
  if (scaling == Scaling::strong) return mean ? a / more_ranks_ : a;
  return mean ? a : a * more_ranks_;
}

std::optional<double> Difference::scaling_loss(const ComparedScope& scope, Scaling scaling) const {
  if (total_b_ == 0) return std::nullopt;
  return (scope.b - ideal(scope.a, scaling)) / total_b_;
}

std::optional<database::ContextId> Difference::context_in_first(std::uint32_t scope) const {
  const std::optional<std::uint32_t> member = largest(tree_a_, matched_[scope].a);
  if (!member) return std::nullopt;
  const auto& contexts = tree_a_.figures().experiment().contexts;
  for (database::ContextId context = 0; context < contexts.size(); ++context) {
    if (tree_a_.scope_of(context) == *member) return context;  // the scope's own frame precedes what is in it
  }
  return std::nullopt;
}

std::vector<Frame> Difference::path(std::uint32_t scope) const {
  const MatchedScope& matched = matched_[scope];
  if (!matched.b.empty()) return tree_b_.path(*largest(tree_b_, matched.b));
  return tree_a_.path(*largest(tree_a_, matched.a));
}

std::uint32_t ranks_of(const database::Contents& experiment) {
  return std::max(experiment.run.ranks, 1U);
}

LikelyScaling likely_scaling(const Figures& a, const Figures& b) {
  const double before = work_of(a);
  const double after = work_of(b);
  if (before <= 0 || after <= 0) return {};
  LikelyScaling likely;
  likely.work_ratio = after / before;
  const double more_ranks = static_cast<double>(ranks_of(b.experiment())) / ranks_of(a.experiment());
  // On a scale of ratios: nearer to 1, or nearer to the ratio of the ranks?
  const double grown = std::log(likely.work_ratio) / std::log(more_ranks);
  if (more_ranks != 1 && grown > 0.5) likely.scaling = Scaling::weak;
  return likely;
}

}  // namespace culprit::views
