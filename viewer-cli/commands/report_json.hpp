#pragma once

#include "findings/diagnosis.hpp"
#include "text/frame_json.hpp"

namespace culprit::viewer {

/// `{"idle_share","idle_s","total_s","where","roles","blame","suspects","quality"}`.
Json report_json(const views::Figures& figures, bool without_startup = false);

/// The counters of the measurement's quality; of the time lines, those that end early (`traces_stopped`) and
/// how many operations of each kind found no partner (`unmatched`).
Json quality_json(const database::Contents& experiment);

}  // namespace culprit::viewer
