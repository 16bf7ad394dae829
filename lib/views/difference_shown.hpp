#pragma once

#include "views/difference.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::views {

/// What of a comparison is shown.
struct DifferenceOptions {
  std::optional<std::uint32_t> depth;  ///< levels below the root
  double min_percent =
      0;              ///< of Difference::whole(): branches in which nothing has as much weight are left out
  std::string focus;  ///< RE2: only paths through a scope with a label that matches; empty: all
  bool hide_wait_internals = false;  ///< what lies below the outermost communication or wait frame
  bool hide_start_up = false;        ///< frames that only lead to main or to a thread's start routine
};

struct ShownScope {
  std::uint32_t scope = 0;
  std::vector<ShownScope> children;
};

/// The scopes shown, siblings with the largest change (by amount) first, and how many branches were left out
/// for each reason.
struct ShownDifference {
  std::vector<ShownScope> roots;
  std::uint64_t below_minimum = 0, below_depth = 0, out_of_focus = 0, wait_internals = 0;
};

/// Throws BadFocus.
ShownDifference show(const Difference& difference, const DifferenceOptions& options);

}  // namespace culprit::views
