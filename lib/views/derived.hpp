#pragma once

#include "views/column.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::views {

/// A definition that is none. what() is "why (what to do)".
class BadDefinition : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A metric that the user defines by a formula over others, such as `$PAPI_TOT_CYC / $PAPI_TOT_INS`. It is
/// evaluated at each node on what the node's columns show: aggregated first, times in seconds. Not
/// thread-safe.
class Derived {
 public:
  /// `operands` are the columns that the formula names, in the order of their first occurrence; `expression`
  /// is the formula with the names m0, m1, ... for them. Throws BadDefinition where muParser does not
  /// understand it.
  Derived(std::string formula, const std::string& expression, std::vector<Column> operands);
  ~Derived();
  Derived(const Derived&) = delete;
  Derived& operator=(const Derived&) = delete;

  [[nodiscard]] const std::string& formula() const { return formula_; }  ///< as it was given
  [[nodiscard]] const std::vector<Column>& operands() const { return operands_; }

  /// From one value per operand. NaN where an operand is NaN, or where the result is no finite number.
  [[nodiscard]] double evaluate(std::span<const double> values) const;

 private:
  struct Parser;

  std::string formula_;
  std::vector<Column> operands_;
  std::unique_ptr<Parser> parser_;
};

/// The column that `NAME=FORMULA` defines. In the formula, `$METRIC` is a metric (with `:STAT` its statistic,
/// else the sum), inclusive; `${EVENT:STAT (I|E)}` names one in full; both may be of `defined`. Operators and
/// functions are muParser's (+ - * / ^ ?: min max sqrt ...). `role` as for find_column. Throws BadDefinition,
/// also for metrics that the database does not have,
/// formulas of more than 2048 characters and more than 128 metrics.
Column define_column(const database::Contents& experiment, std::string_view definition,
                     std::optional<std::uint32_t> role, std::span<const Column> defined);

/// All of them, in order; each may name those before it.
std::vector<Column> define_columns(const database::Contents& experiment,
                                   std::span<const std::string> definitions,
                                   std::optional<std::uint32_t> role);

/// As find_column, but `text` may also be the name of one of `defined`.
Column find_column(const database::Contents& experiment, std::string_view text,
                   std::optional<std::uint32_t> role, std::span<const Column> defined);

/// The columns of the database that `column` rests on: itself, or, through all formulas, its operands.
void add_measured(const Column& column, std::vector<Column>& measured);

}  // namespace culprit::views
