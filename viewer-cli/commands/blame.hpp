#pragma once

#include "findings/diagnosis.hpp"
#include "text/screen.hpp"

#include <ostream>

namespace culprit::viewer {

/// Balanced contexts and their blame, as a table with their call paths.
void write_blame(std::ostream& out, const Screen& screen, const views::Figures& figures);
void write_blame_csv(std::ostream& out, const views::Figures& figures);

/// Ranked suspects, each with ranks, work, what it explains and what mending it saves.
void write_suspects(std::ostream& out, const Screen& screen, const views::Figures& figures);
void write_suspects_csv(std::ostream& out, const views::Figures& figures);

/// Suspects of the database with their facts.
std::vector<SuspectFacts> examine_all(const views::Figures& figures);

/// Idleness over all roles, seconds.
double idleness_of(const views::Figures& figures);

}  // namespace culprit::viewer
