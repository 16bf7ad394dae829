#pragma once

#include "commands/table.hpp"
#include "findings/diagnosis.hpp"
#include "text/screen.hpp"

#include <ostream>

namespace culprit::viewer {

/// Balanced contexts and their blame, as a table with their call paths.
void write_blame(std::ostream& out, const Screen& screen, const views::Figures& figures);
/// Shares are of `idle_s`.
Table blame_table(const views::Figures& figures, const std::vector<Blamed>& blamed, double idle_s);

/// Ranked suspects, each with ranks, work, what it explains and what mending it saves.
void write_suspects(std::ostream& out, const Screen& screen, const views::Figures& figures);
Table suspects_table(const views::Figures& figures);

/// Idleness over all roles, seconds.
double idleness_of(const views::Figures& figures);

}  // namespace culprit::viewer
