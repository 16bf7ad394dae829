#pragma once

// The MPI that this library is built for; without C++ bindings, which would pull in that MPI's own library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#ifdef OPEN_MPI
/// Names under which the library may already be loaded.
inline constexpr const char* kMpiLibraries[] = {"libmpi.so.40"};
#else
inline constexpr const char* kMpiLibraries[] = {"libmpich.so.12", "libmpi.so.12"};
#endif
