// Decides which rows of a view a command shows, and in which order: depth first, siblings with the largest
// figure first. Branches are left out that have too small a share, lie too deep, or lead through no row that
// the focus (RE2) matches; they are counted by reason. Nothing is expanded below the limit of depth. Cost:
// the rows that are opened.
#include "views/shown.hpp"

#include "views/folding.hpp"

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
        passed_over_(passed_over(options)) {
    if (options.focus.empty()) return;
    focus_ = std::make_unique<RE2>(options.focus, RE2::Quiet);
    if (!focus_->ok()) {
      throw BadFocus("'" + options.focus + "' is no regular expression: " + focus_->error());
    }
  }

  Shown run() {
    shown_.roots = arrange(rows_of(view_, view_.roots(), passed_over_, count_), 0, !focus_);
    shown_.statements = count_.statements;
    shown_.wait_internals = count_.wait_internals;
    shown_.start_up = count_.start_up;
    return std::move(shown_);
  }

 private:
  struct Candidate {
    VisibleNode row;
    double key;
  };

  /// `in_focus`: a node above matched.
  std::vector<ShownNode> arrange(std::vector<VisibleNode> rows, std::uint32_t depth, bool in_focus) {
    std::vector<ShownNode> result;
    for (Candidate& candidate : candidates(std::move(rows))) {
      if (options_.depth && depth > *options_.depth) {
        ++shown_.below_depth;
        continue;
      }
      const bool matches = in_focus || in_focus_itself(candidate.row);
      ShownNode shown{std::move(candidate.row), {}};
      shown.children = below(shown, depth, matches);
      if (matches || !shown.children.empty()) {
        if (shown.fold && shown.fold->unsampled.empty()) ++shown_.folded;
        result.push_back(std::move(shown));
      } else {
        ++shown_.out_of_focus;
      }
    }
    return result;
  }

  [[nodiscard]] bool in_focus_itself(const VisibleNode& row) const {
    const auto matches = [&](NodeId node) { return RE2::PartialMatch(label(view_.frame(node)), *focus_); };
    return row.fold ? std::any_of(row.fold->parts.begin(), row.fold->parts.end(), matches)
                    : matches(row.node);
  }

  std::vector<ShownNode> below(VisibleNode& row, std::uint32_t depth, bool in_focus) {
    if (row.fold && !row.fold->unsampled.empty()) return {};
    const bool counts = view_.frame(row.node).kind != ContextKind::call;
    // Beyond the depth limit nothing is expanded: callers would create every level only to count it.
    if (options_.depth && counts && depth >= *options_.depth) {
      if (may_open(view_, row.node, passed_over_, count_) && !view_.children(row.node).empty())
        ++shown_.below_depth;
      return {};
    }
    return arrange(rows_below(view_, row, passed_over_, count_), counts ? depth + 1 : depth, in_focus);
  }

  std::vector<Candidate> candidates(std::vector<VisibleNode> rows) {
    std::vector<Candidate> result;
    const auto value = [&](const VisibleNode& row, const Column& column) {
      return row.fold ? visible_value(view_, row, column, options_.fold_calls)
                      : view_.value(row.node, column);
    };
    const auto small = [&](const VisibleNode& row) {
      return options_.min_percent > 0 &&
             !(value(row, options_.size ? *options_.size : options_.sort) >= least_);
    };
    shown_.below_minimum += static_cast<std::uint64_t>(std::erase_if(rows, small));
    fold_unsampled(view_, rows, options_.sampled, options_.fold_calls);
    for (VisibleNode& row : rows) {
      const double key = value(row, options_.sort);
      result.push_back({std::move(row), std::isnan(key) ? kLast : key});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Candidate& a, const Candidate& b) { return a.key > b.key; });
    return result;
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

PassedOver passed_over(const ShowOptions& options) {
  return {.fold_calls = options.fold_calls,
          .statements = options.hide_statements,
          .start_up = options.hide_start_up,
          .wait_internals = options.hide_wait_internals,
          .recursion = options.fold,
          .library = options.fold};
}

Shown show(View& view, const ShowOptions& options, double whole) {
  return Arrangement(view, options, whole).run();
}

}  // namespace culprit::views
