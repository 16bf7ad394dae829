#pragma once

#include "views/matching.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::views {

/// What a larger run is ideally compared with.
enum class Scaling : std::uint8_t {
  strong,  ///< the same problem on other numbers of ranks: the time summed over ranks stays
  weak,    ///< a problem that grows with the ranks: the time per rank stays
};

/// A scope of two runs and its figures in both, in the column's unit. NaN: a formula that has no value there.
struct ComparedScope {
  std::uint32_t parent = database::kNone;
  std::vector<std::uint32_t> children;
  std::optional<Frame> frame_a, frame_b;  ///< not set: only the other run has it
  std::uint8_t flags = 0;                 ///< database::ContextFlags
  std::uint32_t alike = 0;                ///< a number that scopes with the same label share
  double a = 0, b = 0;
  double own_a = 0, own_b = 0;  ///< without the scopes below it; 0 for formulas
  double weight = 0;            ///< how much it matters, of Difference::whole(): by what it changed

  [[nodiscard]] double change() const { return b - a; }
  /// How much it changed, for sorting: where there is no value, less than nothing.
  [[nodiscard]] double extent() const { return std::isnan(change()) ? -1 : std::abs(change()); }
  [[nodiscard]] const Frame& frame() const { return frame_b ? *frame_b : *frame_a; }
};

/// Two runs compared. For an inclusive column, a scope's figures are its own and those of the scopes below it
/// here: changes add up, and that of the root is the difference of the totals. A level that only one run has
/// (see match) so has only what is left to it. For an exclusive column the figures are those of views. A
/// formula is evaluated at each scope on the figures that its operands have there; what matters is then
/// decided by the runs' main metric.
class Difference {
 public:
  /// The columns are of the same metric in either run and additive (Column::additive), or the same formula
  /// over such. The figures, over all threads or some of either run, must outlive this.
  Difference(const Figures& a, const Column& column_a, const Figures& b, const Column& column_b);

  /// Parents before children; the first is the whole run. Empty where neither run has anything.
  [[nodiscard]] const std::vector<ComparedScope>& scopes() const { return scopes_; }

  [[nodiscard]] const Column& column() const { return column_; }
  [[nodiscard]] double total_a() const { return total_a_; }
  [[nodiscard]] double total_b() const { return total_b_; }
  /// How many different numbers ComparedScope::alike has.
  [[nodiscard]] std::uint32_t kinds_alike() const { return kinds_alike_; }
  /// What weights are shares of: the larger total; 1 for formulas.
  [[nodiscard]] double whole() const { return whole_; }

  /// b / a; not set where a is 0 or either has no value.
  [[nodiscard]] static std::optional<double> ratio(const ComparedScope& scope);

  /// What the scope costs in the second run beyond the ideal, as a share of that run's total; negative:
  /// better than ideal. Not set where the total is 0, and for formulas. Where the figures are those of some
  /// ranks only, the ideal is what as many ranks of the second run would have.
  [[nodiscard]] std::optional<double> scaling_loss(const ComparedScope& scope, Scaling scaling) const;

  /// The scope's context in the first run, the one with most of those it stands for; not set where only the
  /// second run has it.
  [[nodiscard]] std::optional<database::ContextId> context_in_first(std::uint32_t scope) const;

  /// The frames from the root to the scope: of the second run, or of the first where only it has the scope.
  [[nodiscard]] std::vector<Frame> path(std::uint32_t scope) const;

 private:
  /// Figures by scope, in a column's unit.
  struct Compared {
    std::vector<double> a, b, own_a, own_b;
  };

  [[nodiscard]] Compared compare(const FoldedTree& first, const Column& column_a, const FoldedTree& second,
                                 const Column& column_b) const;
  [[nodiscard]] Compared evaluate(const Column& column_a, const Column& column_b) const;
  void weigh(const Column& column_a, const Column& column_b);
  void number_alike();
  [[nodiscard]] double ideal(double a, Scaling scaling) const;

  FoldedTree tree_a_, tree_b_;
  std::vector<MatchedScope> matched_;
  Column column_;
  std::vector<ComparedScope> scopes_;
  std::uint32_t kinds_alike_ = 0;
  double total_a_ = 0, total_b_ = 0, whole_ = 0;
  double more_ranks_ = 1;     ///< ranks of the second run over those of the first
  double more_compared_ = 1;  ///< of the ranks whose figures these are
};

/// Ranks of a run; 1 where it has none.
std::uint32_t ranks_of(const database::Contents& experiment);
/// Whether the machine of a run is a suspect, and not for slow processors.
bool lacks_processors(const database::Contents& experiment);

/// Which scaling two runs with different numbers of ranks show: strong where the time outside of
/// communication and waits, summed over all ranks, has stayed rather than grown with the ranks. Where
/// processors lack in one of them it is the time on processors, which does not grow where ranks share them.
struct LikelyScaling {
  Scaling scaling = Scaling::strong;
  double work_ratio = 1;       ///< of the second run to the first
  bool of_processors = false;  ///< it is that of time on processors
};
LikelyScaling likely_scaling(const Figures& a, const Figures& b);

}  // namespace culprit::views
