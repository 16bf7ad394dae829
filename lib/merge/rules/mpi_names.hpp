#pragma once

#include <string>
#include <string_view>

namespace culprit::merge {

/// The C name MPI_X of a procedure that looks like a binding of MPI_X: MPI_X itself, PMPI_X, MPI_X_c (for
/// large counts), the Fortran forms mpi_x, mpi_x_, mpi_x__, mpi_x_f, mpi_x_f08, mpi_x_f08_, mpi_x_f08ts_ in
/// any case and with a leading p, Open MPI's ompi_x_f, and the linkage stubs of all these. Empty for any
/// other name. Whether MPI has such a call is not checked (IdleRules knows the calls).
std::string mpi_name(std::string_view procedure);

}  // namespace culprit::merge
