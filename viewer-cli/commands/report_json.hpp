#pragma once

#include "findings/diagnosis.hpp"
#include "text/frame_json.hpp"

namespace culprit::viewer {

/// `[{"id","path","idleness_s","share","role","waiters":[location…]}]`; shares are of all idleness.
Json blame_json(const views::Figures& figures, const std::vector<Blamed>& blamed, double idle_s);

/// `[{"balanced","suspect","ranks","locations","excess_s","explains_s","save_balanced_s","save_removed_s",
/// …}]`.
Json suspects_json(const database::Contents& experiment, const std::vector<SuspectFacts>& suspects);

/// `{"idle_share","idle_s","total_s","where","roles","blame","suspects","quality"}`.
Json report_json(const views::Figures& figures);

/// The counters of the measurement's quality; of the time lines, those that end early (`traces_stopped`) and
/// how many operations of each kind found no partner (`unmatched`).
Json quality_json(const database::Contents& experiment);

}  // namespace culprit::viewer
