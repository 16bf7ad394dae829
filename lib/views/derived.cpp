// Metrics that users define by formulas over others, evaluated by muParser. A `$METRIC` becomes a variable;
// the longest known name is meant, since names may hold signs of operators. A node's figure is the formula of
// its operands' figures, which are aggregated first: a ratio of sums, no sum of ratios. It exists only where
// all operands do and the result is finite. Definitions may come with a database from anybody, so their
// number and length are bounded.
#include "views/derived.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <muParser.h>

namespace culprit::views {
namespace {

/// Definitions may come with a database, from anybody: one rests on another, and muParser on the stack.
constexpr std::size_t kMostDefinitions = 128, kLongestFormula = 2048;

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool in_word(char c) {
  return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Reads a formula and gives every metric in it a variable.
class Translation {
 public:
  Translation(const database::Contents& experiment, std::string_view formula,
              std::optional<std::uint32_t> role, std::span<const Column> defined)
      : experiment_(experiment), rest_(formula), role_(role), defined_(defined) {
    while (!rest_.empty()) {
      if (rest_.front() == '$') {
        rest_.remove_prefix(1);
        expression_ += variable(rest_.starts_with('{') ? braced() : bare());
      } else {
        expression_ += rest_.front();
        rest_.remove_prefix(1);
      }
    }
  }

  std::string expression_;
  std::vector<Column> operands_;

 private:
  std::string_view braced() {
    const std::size_t end = rest_.find('}');
    if (end == std::string_view::npos) throw BadDefinition("a '${' without its '}' (write ${METRIC})");
    const std::string_view name = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return name;
  }

  /// Names may hold what would be operators (`perf::PAGE-FAULTS`): the longest known one is meant.
  std::string_view bare() {
    std::size_t length = longest_known();
    if (length == 0) {
      while (length < rest_.size() && (in_word(rest_[length]) || rest_[length] == ':')) ++length;
      if (length == 0) throw BadDefinition("a '$' without a metric's name (write $METRIC)");
      return take(length);
    }
    if (length < rest_.size() && rest_[length] == ':') length = with_statistic(length);
    return take(length);
  }

  [[nodiscard]] std::size_t longest_known() const {
    std::size_t longest = 0;
    const auto consider = [&](std::string_view name) {
      const bool whole = name.size() >= rest_.size() || !in_word(rest_[name.size()]);
      if (name.size() > longest && whole && is_same_name(rest_.substr(0, name.size()), name))
        longest = name.size();
    };
    for (const database::Metric& metric : experiment_.metrics) consider(metric.name);
    for (const Column& column : defined_) consider(column.title);
    consider(kImbalance);
    return longest;
  }

  /// The length of the name at `colon` with a statistic behind it, if there is one.
  [[nodiscard]] std::size_t with_statistic(std::size_t colon) const {
    std::size_t end = colon + 1;
    while (end < rest_.size() && in_word(rest_[end])) ++end;
    const std::optional<MetricName> name = parse_metric_name(rest_.substr(0, end));
    return name && name->event.size() == colon ? end : colon;
  }

  std::string_view take(std::size_t length) {
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return name;
  }

  std::string variable(std::string_view name) {
    Column column;
    try {
      column = find_column(experiment_, name, role_, defined_);
    } catch (const UnknownMetric& unknown) {
      throw BadDefinition(unknown.what());
    }
    std::size_t index = 0;
    while (index < operands_.size() && operands_[index].title != column.title) ++index;
    if (index == operands_.size()) operands_.push_back(std::move(column));
    // Blanks keep what stands side by side in the formula from becoming another name.
    return " m" + std::to_string(index) + ' ';
  }

  const database::Contents& experiment_;
  std::string_view rest_;
  std::optional<std::uint32_t> role_;
  std::span<const Column> defined_;
};

void check_name(const database::Contents& experiment, std::string_view name,
                std::span<const Column> defined) {
  if (name.empty() || !is_letter(name.front()) || !std::all_of(name.begin(), name.end(), in_word)) {
    throw BadDefinition("'" + std::string(name) +
                        "' is no name (write NAME=FORMULA, NAME of letters, digits and _)");
  }
  const bool measured =
      is_same_name(name, kImbalance) ||
      std::any_of(experiment.metrics.begin(), experiment.metrics.end(),
                  [&](const database::Metric& metric) { return is_same_name(metric.name, name); });
  const bool again = std::any_of(defined.begin(), defined.end(),
                                 [&](const Column& column) { return is_same_name(column.title, name); });
  if (measured || again)
    throw BadDefinition("'" + std::string(name) + "' is a metric already (choose another name)");
}

}  // namespace

struct Derived::Parser {
  mu::Parser parser;
  std::vector<double> values;
};

Derived::Derived(std::string formula, const std::string& expression, std::vector<Column> operands)
    : formula_(std::move(formula)), operands_(std::move(operands)), parser_(std::make_unique<Parser>()) {
  parser_->values.assign(operands_.size(), 1);
  try {
    for (std::size_t i = 0; i < operands_.size(); ++i)
      parser_->parser.DefineVar("m" + std::to_string(i), &parser_->values[i]);
    parser_->parser.SetExpr(expression);
    parser_->parser.Eval();
    if (parser_->parser.GetNumResults() != 1) throw BadDefinition("more than one value (write one formula)");
  } catch (const mu::Parser::exception_type& error) {
    std::string why = error.GetMsg();
    while (why.ends_with('.')) why.pop_back();
    throw BadDefinition(why + " (write $METRIC for a metric, and + - * / ^ and functions such as max)");
  }
}

Derived::~Derived() = default;

double Derived::evaluate(std::span<const double> values) const {
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
    return kNotAvailable;
  std::copy(values.begin(), values.end(), parser_->values.begin());
  try {
    const double result = parser_->parser.Eval();
    return std::isfinite(result) ? result : kNotAvailable;
  } catch (const mu::Parser::exception_type&) {
    return kNotAvailable;  // some functions refuse values outside their domain
  }
}

Column define_column(const database::Contents& experiment, std::string_view definition,
                     std::optional<std::uint32_t> role, std::span<const Column> defined) {
  if (defined.size() >= kMostDefinitions)
    throw BadDefinition(std::to_string(kMostDefinitions) + " metrics are defined already (define fewer)");
  if (definition.size() > kLongestFormula)
    throw BadDefinition("longer than " + std::to_string(kLongestFormula) +
                        " characters (divide it among several metrics)");
  const std::size_t equals = definition.find('=');
  if (equals == std::string_view::npos) throw BadDefinition("no '=' (write NAME=FORMULA)");
  const std::string_view name = trim(definition.substr(0, equals));
  const std::string_view formula = trim(definition.substr(equals + 1));
  check_name(experiment, name, defined);
  if (formula.empty()) throw BadDefinition("no formula behind '=' (write NAME=FORMULA)");
  Translation translation(experiment, formula, role, defined);
  Column column;
  column.name.event = name;
  column.title = name;
  column.role = role;
  column.derived = std::make_shared<const Derived>(std::string(formula), translation.expression_,
                                                   std::move(translation.operands_));
  return column;
}

std::vector<Column> define_columns(const database::Contents& experiment,
                                   std::span<const std::string> definitions,
                                   std::optional<std::uint32_t> role) {
  std::vector<Column> defined;
  for (const std::string& definition : definitions)
    defined.push_back(define_column(experiment, definition, role, defined));
  return defined;
}

Column find_column(const database::Contents& experiment, std::string_view text,
                   std::optional<std::uint32_t> role, std::span<const Column> defined) {
  for (const Column& column : defined) {
    if (is_same_name(column.title, trim(text))) return column;
  }
  return find_column(experiment, text, role);
}

void add_measured(const Column& column, std::vector<Column>& measured) {
  if (!column.derived) {
    measured.push_back(column);
    return;
  }
  for (const Column& operand : column.derived->operands()) add_measured(operand, measured);
}

}  // namespace culprit::views
