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

/// The context of that name that comes first; throws std::logic_error where there is none.
database::ContextId context_named(const database::Experiment& experiment, const std::string& name);
/// The loop at a line.
database::ContextId loop_at(const database::Experiment& experiment, std::uint32_t line);

}  // namespace culprit::viewer::tui::testing
