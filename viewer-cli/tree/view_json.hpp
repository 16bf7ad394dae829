#pragma once

#include "request/view_request.hpp"

#include <ostream>

namespace culprit::viewer {

/// `{"view","metrics","units","roots":[{"id","frame","values","observers","threads","children"}]}`, written
/// node by node; `role` names the threads that are counted (null: all, statistics other than sum of the main
/// threads).
void write_view_json(std::ostream& out, const ViewRequest& request, const views::Shown& shown);

/// One row per node, parents first: id, parent, depth, frame, the metrics, observers, threads.
void write_view_csv(std::ostream& out, const ViewRequest& request, const views::Shown& shown);

}  // namespace culprit::viewer
