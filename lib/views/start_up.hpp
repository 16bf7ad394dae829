#pragma once

#include "views/column.hpp"
#include "views/figures.hpp"
#include "views/frame.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace culprit::views {

/// Whether a procedure of this name is MPI_Init, MPI_Init_thread or MPI_Finalize.
bool is_start_up(std::string_view procedure);

/// The outermost calls of MPI_Init, MPI_Init_thread and MPI_Finalize, ascending.
std::vector<database::ContextId> mpi_start_up(const database::Contents& experiment);

/// The outermost calls of MPI, ascending.
std::vector<database::ContextId> mpi_calls(const database::Contents& experiment);

/// Whether a procedure of this name is a call of MPI that reads, writes, opens or closes a file.
bool is_mpi_file_call(std::string_view procedure);

/// Whether a context is one of `contexts`, or lies below one.
bool is_within(const database::Contents& experiment, std::span<const database::ContextId> contexts,
               database::ContextId context);

/// The outermost calls of MPI that read, write, open and close files (`MPI_File_*`), ascending.
std::vector<database::ContextId> mpi_file_calls(const database::Contents& experiment);

/// Whether what a procedure or another node takes is a part of a whole from which start-up was left out: no
/// call that is left out, and none that holds more.
bool is_part_without_start_up(const Frame& frame, double value, double whole);

/// As total(), without what lies at or below `contexts`, none of which is below another. Of statistics that
/// do not add up, total().
double total_without(const Figures& figures, const Column& column,
                     std::span<const database::ContextId> contexts);

}  // namespace culprit::views
