#pragma once

#include "views/visible.hpp"

#include <span>
#include <string_view>
#include <vector>

// Rows that stand for several nodes of the calling context tree, or of callers, so that the user's own code
// fits a screen:
// - a procedure that calls itself, directly or from its loops: what its calls do is added up level by level;
// - the insides of the C++ standard library, and of Python's interpreter: the frame that was called stands
// for
//   all that it calls, up to code that is not theirs;
// - loops without a known place, directly inside each other, as stripped programs have them by the dozen;
// - rows below the same one that no sample met.
// To find the nodes of a row is to look at each of them and at its children. Procedures with very much below
// them are therefore not folded.
// By callers, a procedure whose caller is itself, and so on, is one row; that is found out when the row is
// opened, since a view of callers makes each level anew.
namespace culprit::views {

/// Whether a load module of this file name is CPython's interpreter: `python3`, `python3.11`,
/// `libpython3.11.so.1.0`.
bool is_interpreter(std::string_view file);

/// Whether a frame is the C++ standard library's or CPython's: by its file, its load module, or its name.
bool is_library(const Frame& frame);

/// The rows below one, or in the place of `nodes`, folded as `passed_over` asks. Counts what it passes over.
/// Of a row of callers this says what it stands for, too.
std::vector<VisibleNode> rows_below(View& view, VisibleNode& row, const PassedOver& passed_over,
                                    PassedOverCount& count);
std::vector<VisibleNode> rows_of(View& view, const std::vector<NodeId>& nodes, const PassedOver& passed_over,
                                 PassedOverCount& count);

/// Makes one row, at the end, of two or more that have nothing in any of the `columns`.
void fold_unsampled(View& view, std::vector<VisibleNode>& rows, std::span<const Column> columns,
                    bool fold_calls);

}  // namespace culprit::views
