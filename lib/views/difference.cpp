// Two runs compared (docs/algorithms.md 17). Scopes are matched (matching.hpp);
// each has the sums of those it stands for. Inclusive figures are added up along the matched tree, so that
// changes add up, too. A formula is evaluated on the figures that its operands have at the scope. What a
// scope loses in the second run is its figure beyond the ideal: that of the first run, over more ranks. Which
// scaling two runs show is decided by their work, summed over all ranks: has it stayed, or grown with the
// ranks? Cost: that of the two folded trees and of their matching.
#include "views/difference.hpp"

#include "views/derived.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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

/// The column by which scopes are sized: the one compared, or, where that is a formula, the run's main
/// metric.
Column sizing(const Figures& figures, const Column& column) {
  if (!column.derived) return column;
  const database::Contents& experiment = figures.experiment();
  return find_column(experiment, experiment.metrics.at(main_metric(experiment)).name, column.role);
}

/// The ranks whose figures these are; 1 where there is none.
double ranks_compared(const Figures& figures) {
  std::set<std::int32_t> ranks;
  for (const std::uint32_t location : figures.locations()) {
    const std::int32_t rank = figures.experiment().locations[location].rank;
    if (rank >= 0) ranks.insert(rank);
  }
  return std::max(static_cast<double>(ranks.size()), 1.0);
}

bool has_metric(const Figures& figures, std::string_view name) {
  const std::vector<database::Metric>& metrics = figures.experiment().metrics;
  return std::ranges::find(metrics, name, &database::Metric::name) != metrics.end();
}

/// Time on processors outside of communication and waits.
double processor_work(const Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const Column column = find_column(experiment, "CPU");
  double work = total(figures, column);
  for (database::ContextId context = 0; context < experiment.contexts.size(); ++context) {
    if ((experiment.contexts[context].flags & database::kFrontier) != 0)
      work -= figures.at_context(column, context);
  }
  return work;
}

/// Time that is not idle; 0 where nothing was measured.
double busy_time(const Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  if (experiment.metrics.empty()) return 0;
  const auto whole = [&](std::string_view name) { return total(figures, find_column(experiment, name)); };
  const double all = whole(experiment.metrics[main_metric(experiment)].name);
  return has_metric(figures, "idleness") ? all - whole("idleness") : all;
}

}  // namespace

Difference::Difference(const Figures& a, const Column& column_a, const Figures& b, const Column& column_b)
    : tree_a_(a, sizing(a, column_a)),
      tree_b_(b, sizing(b, column_b)),
      matched_(match(tree_a_, tree_b_)),
      column_(column_a),
      total_a_(total(a, column_a)),
      total_b_(total(b, column_b)),
      more_ranks_(static_cast<double>(ranks_of(b.experiment())) / ranks_of(a.experiment())),
      more_compared_(ranks_compared(b) / ranks_compared(a)) {
  const Compared figures =
      column_a.derived ? evaluate(column_a, column_b) : compare(tree_a_, column_a, tree_b_, column_b);
  for (std::size_t number = 0; number < matched_.size(); ++number) {
    const MatchedScope& matched = matched_[number];
    ComparedScope scope{matched.parent, matched.children, {}, {}};
    const std::optional<std::uint32_t> first = largest(tree_a_, matched.a);
    const std::optional<std::uint32_t> second = largest(tree_b_, matched.b);
    if (first) scope.frame_a = tree_a_[*first].frame;
    if (second) scope.frame_b = tree_b_[*second].frame;
    scope.flags = second ? tree_b_[*second].flags : tree_a_[*first].flags;
    scope.a = figures.a[number];
    scope.b = figures.b[number];
    scope.own_a = figures.own_a[number];
    scope.own_b = figures.own_b[number];
    scopes_.push_back(std::move(scope));
  }
  weigh(column_a, column_b);
  number_alike();
}

/// What a label is made of, by the places of its strings: either run has each string once.
void Difference::number_alike() {
  using Key = std::tuple<const char*, const char*, const char*, std::uint32_t, database::ContextKind>;
  std::map<Key, std::uint32_t> numbers;
  for (ComparedScope& scope : scopes_) {
    const Frame& frame = scope.frame();
    const Key key{frame.name.data(), frame.file.data(), frame.module.data(), frame.line, frame.kind};
    scope.alike = numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second;
  }
  kinds_alike_ = static_cast<std::uint32_t>(numbers.size());
}

/// Of columns that are additive; the trees hold their figures.
Difference::Compared Difference::compare(const FoldedTree& first, const Column& column_a,
                                         const FoldedTree& second, const Column& column_b) const {
  const bool inclusive = column_a.name.inclusive;
  Compared figures;
  for (const MatchedScope& matched : matched_) {
    figures.own_a.push_back(sum(first, matched.a, &FoldedScope::own) / column_a.divisor);
    figures.own_b.push_back(sum(second, matched.b, &FoldedScope::own) / column_b.divisor);
    if (inclusive) continue;
    figures.a.push_back(sum(first, matched.a, &FoldedScope::exclusive) / column_a.divisor);
    figures.b.push_back(sum(second, matched.b, &FoldedScope::exclusive) / column_b.divisor);
  }
  if (!inclusive) return figures;
  figures.a = figures.own_a;
  figures.b = figures.own_b;
  for (std::size_t scope = matched_.size(); scope-- > 1;) {
    figures.a[matched_[scope].parent] += figures.a[scope];
    figures.b[matched_[scope].parent] += figures.b[scope];
  }
  return figures;
}

/// Of formulas.
Difference::Compared Difference::evaluate(const Column& column_a, const Column& column_b) const {
  std::vector<Compared> operands;
  for (std::size_t i = 0; i < column_a.derived->operands().size(); ++i) {
    const Column& operand_a = column_a.derived->operands()[i];
    const Column& operand_b = column_b.derived->operands()[i];
    operands.push_back(operand_a.derived ? evaluate(operand_a, operand_b)
                                         : compare(FoldedTree(tree_a_.figures(), operand_a), operand_a,
                                                   FoldedTree(tree_b_.figures(), operand_b), operand_b));
  }
  Compared figures;
  figures.own_a.assign(matched_.size(), 0);
  figures.own_b.assign(matched_.size(), 0);
  std::vector<double> in_a(operands.size());
  std::vector<double> in_b(operands.size());
  for (std::size_t scope = 0; scope < matched_.size(); ++scope) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      in_a[i] = operands[i].a[scope];
      in_b[i] = operands[i].b[scope];
    }
    figures.a.push_back(column_a.derived->evaluate(in_a));
    figures.b.push_back(column_b.derived->evaluate(in_b));
  }
  return figures;
}

void Difference::weigh(const Column& column_a, const Column& column_b) {
  if (!column_a.derived) {
    whole_ = std::max(std::abs(total_a_), std::abs(total_b_));
    for (ComparedScope& scope : scopes_) scope.weight = std::abs(scope.change());
    return;
  }
  // The value of a formula says nothing about how much of the run it is of.
  whole_ = 1;
  const Compared sizes =
      compare(tree_a_, sizing(tree_a_.figures(), column_a), tree_b_, sizing(tree_b_.figures(), column_b));
  for (std::size_t scope = 0; scope < scopes_.size(); ++scope) {
    const double in_a = sizes.a[0] > 0 ? sizes.a[scope] / sizes.a[0] : 0;
    const double in_b = sizes.b[0] > 0 ? sizes.b[scope] / sizes.b[0] : 0;
    scopes_[scope].weight = std::max(in_a, in_b);
  }
}

std::optional<double> Difference::ratio(const ComparedScope& scope) {
  const double ratio = scope.b / scope.a;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

double Difference::ideal(double a, Scaling scaling) const {
  // Per rank: the time stays with weak scaling, and is divided by more ranks with strong scaling.
  const bool mean = column_.name.statistic == Statistic::mean;
  const double weak = mean ? a : a * more_compared_;
  return scaling == Scaling::weak ? weak : weak / more_ranks_;
}

std::optional<double> Difference::scaling_loss(const ComparedScope& scope, Scaling scaling) const {
  if (total_b_ == 0 || column_.derived) return std::nullopt;
  return (scope.b - ideal(scope.a, scaling)) / total_b_;
}

std::optional<database::ContextId> Difference::context_in_first(std::uint32_t scope) const {
  const std::optional<std::uint32_t> member = largest(tree_a_, matched_[scope].a);
  if (!member) return std::nullopt;
  return tree_a_[*member].context;
}

std::vector<Frame> Difference::path(std::uint32_t scope) const {
  const MatchedScope& matched = matched_[scope];
  if (!matched.b.empty()) return tree_b_.path(*largest(tree_b_, matched.b));
  return tree_a_.path(*largest(tree_a_, matched.a));
}

std::uint32_t ranks_of(const database::Contents& experiment) {
  return std::max(experiment.run.ranks, 1U);
}

bool lacks_processors(const database::Contents& experiment) {
  return std::ranges::any_of(experiment.machine().suspects, [](const database::MachineSuspect& suspect) {
    return suspect.kind != database::MachineKind::slow;
  });
}

LikelyScaling likely_scaling(const Figures& a, const Figures& b) {
  LikelyScaling likely;
  likely.of_processors = (lacks_processors(a.experiment()) || lacks_processors(b.experiment())) &&
                         has_metric(a, "CPU") && has_metric(b, "CPU");
  const double before = likely.of_processors ? processor_work(a) : busy_time(a);
  const double after = likely.of_processors ? processor_work(b) : busy_time(b);
  if (before <= 0 || after <= 0) return {};
  likely.work_ratio = after / before;
  const double more_ranks = static_cast<double>(ranks_of(b.experiment())) / ranks_of(a.experiment());
  // On a scale of ratios: nearer to 1, or nearer to the ratio of the ranks?
  const double grown = std::log(likely.work_ratio) / std::log(more_ranks);
  if (more_ranks != 1 && grown > 0.5) likely.scaling = Scaling::weak;
  return likely;
}

}  // namespace culprit::views
