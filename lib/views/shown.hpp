#pragma once

#include "views/view.hpp"
#include "views/visible.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace culprit::views {

/// What of a view is shown, and in which order.
struct ShowOptions {
  Column sort;                         ///< siblings by this figure, largest first
  std::optional<Column> size;          ///< what min_percent refers to; not set: what is sorted by
  std::optional<std::uint32_t> depth;  ///< levels below the roots; call sites do not count
  double min_percent = 0;              ///< branches with a smaller share of the total are left out
  std::string focus;        ///< RE2: only paths through a node with a label that matches; empty: all
  bool fold_calls = false;  ///< a call site becomes part of its callees' lines
  bool hide_statements = false;
  bool hide_start_up = false;        ///< frames that only lead to main or to a thread's start routine
  bool hide_wait_internals = false;  ///< what lies below the outermost communication or wait frame
  bool fold = false;            ///< recursion, and the insides of the standard library (views/folding.hpp)
  std::vector<Column> sampled;  ///< siblings that have nothing of all these are one row
};

[[nodiscard]] PassedOver passed_over(const ShowOptions& options);

/// A node that is shown.
struct ShownNode : VisibleNode {
  std::vector<ShownNode> children;
};

/// What is shown, and how many branches were left out for each reason.
struct Shown {
  std::vector<ShownNode> roots;
  std::uint64_t below_minimum = 0, below_depth = 0, out_of_focus = 0, statements = 0, wait_internals = 0,
                start_up = 0, folded = 0;
};

/// The focus is no regular expression. what() is "why (what to do)".
class BadFocus : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Expands `view` as far as the options ask. `whole` is the total of the column that min_percent refers to
/// (see total()). Throws BadFocus.
Shown show(View& view, const ShowOptions& options, double whole);

}  // namespace culprit::views
