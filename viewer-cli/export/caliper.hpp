#pragma once

#include "views/figures.hpp"

#include <ostream>

namespace culprit::viewer {

/// Caliper's json-split format, for Hatchet (GraphFrame.from_caliper): scopes as in hatchet.hpp, one row per
/// scope and rank with its threads summed. Hatchet wants ranks from 0 without gaps, so they are numbered anew
/// where some are missing, and processes that are no rank come behind them; `culprit.processes` in the
/// metadata says who is who.
void write_caliper(std::ostream& out, const views::Figures& figures);

}  // namespace culprit::viewer
