#pragma once

#include "views/column.hpp"
#include "views/figures.hpp"

#include <span>
#include <vector>

namespace culprit::views {

/// The outermost calls of MPI_Init, MPI_Init_thread and MPI_Finalize, ascending.
std::vector<database::ContextId> mpi_start_up(const database::Contents& experiment);

/// As total(), without what lies at or below `contexts`, none of which is below another. Of statistics that
/// do not add up, total().
double total_without(const Figures& figures, const Column& column,
                     std::span<const database::ContextId> contexts);

}  // namespace culprit::views
