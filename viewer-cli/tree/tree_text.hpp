#pragma once

#include "request/view_request.hpp"
#include "text/screen.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

/// A view as aligned numbers with the tree beside them, and a last line on what was left out. `ids`: with
/// node ids.
void write_tree(std::ostream& out, const Screen& screen, const ViewRequest& request,
                const views::Shown& shown, bool ids);

/// What was left out of a tree, and how to see it. `small`: what is said of branches below the minimum.
void write_left_out(std::ostream& out, const Screen& screen, const views::Shown& shown,
                    const std::string& small, double min_percent);

/// A path as the same table, one line per step.
void write_path(std::ostream& out, const Screen& screen, const ViewRequest& request,
                const std::vector<views::ShownNode>& steps, bool ids);

}  // namespace culprit::viewer
