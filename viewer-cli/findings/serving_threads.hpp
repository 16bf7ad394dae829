#pragma once

#include "views/figures.hpp"

#include <cstdint>
#include <vector>

namespace culprit::viewer {

/// Whether all that the threads of a role do is to wait until others need them: a logger, a timer, one that
/// receives what nobody sends (ours; docs/diagnosis.md). No main threads, and no team of OpenMP, which is
/// there to work. What they wait makes nothing slower. Cost: of roles that wait nearly all the time, their
/// contexts.
bool only_serves(const views::Figures& figures, std::uint32_t role);
/// The same of each role.
std::vector<bool> serving_roles(const views::Figures& figures);

}  // namespace culprit::viewer
