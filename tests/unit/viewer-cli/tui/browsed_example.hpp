#pragma once

#include "example.hpp"

namespace culprit::viewer::tui::testing {

/// The example of tests/unit/database with time lines that fit it: 24 marked iterations on 8 ranks, of which
/// ranks 3 and 7 take longer, one of rank 5's much longer; waits in MPI_Allreduce for rank 3, what caused
/// them, and a critical path.
database::Example make_browsed_example();

/// The same program after the work was spread: MPI_Allreduce takes a fifth of its time, and a procedure has
/// another name. Only what comparisons look at is changed.
database::Example make_mended_example();

/// Makes it a run of side × side ranks: those that are added do what rank 1 does. All wait for rank 17 in
/// MPI_Allreduce, their neighbours in the mesh for each other in MPI_Waitall; even ranks, and an irregular
/// set of ranks, for one more.
void spread_over_mesh(database::Example& example, std::int32_t side);

/// The context of that name that comes first; throws std::logic_error where there is none.
database::ContextId context_named(const database::Experiment& experiment, const std::string& name);
/// The loop at a line.
database::ContextId loop_at(const database::Experiment& experiment, std::uint32_t line);

}  // namespace culprit::viewer::tui::testing
