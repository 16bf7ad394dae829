#pragma once

#include "views/visible.hpp"

#include <span>
#include <string_view>
#include <vector>

// Rows that stand for several nodes of the calling context tree, or of callers, so that the user's own code
// fits a screen:
// - a procedure that calls itself, directly, from its loops, or by a cycle of several procedures: what its
//   calls do is added up level by level;
// - the insides of the C++ standard library: the frame that was called stands for all that it calls, up to
//   code that is not the library's;
// - those of Python's interpreter: the Python function that they work for stands for them, and for the code
//   without names by which extension modules call MPI or another library;
// - loops without a known place, directly inside each other, as stripped programs have them by the dozen;
// - rows below the same one that no sample met.
// joining.hpp decides which procedures share a row. To find the nodes of a row is to look at each of them,
// at its children, and at the procedures a few calls below it. Procedures with very much below them are
// therefore not folded.
// By callers, a procedure whose caller is itself, and so on, is one row, also by a cycle of several
// procedures. That is found out when the row is opened, since a view of callers makes each level anew; of
// procedures that may stand in a cycle when it is shown, as figures depend on it.
namespace culprit::views {

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
