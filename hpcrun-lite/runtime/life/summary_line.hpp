#pragma once

#include "runtime/api.hpp"

namespace culprit::runtime {

/// Prints the summary line of the whole run on standard error, unless the user wants none or it was printed.
void close_run(const CulpritTotals& totals);

/// The summary line of a process that ends without one for its run: only the process that hpcrun-lite became
/// says something, and of an MPI run only rank 0.
void close_process();

/// From here on the process is a rank, of this many.
void closing_rank(int rank, int ranks);

}  // namespace culprit::runtime
