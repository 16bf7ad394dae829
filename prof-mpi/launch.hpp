#pragma once

#include <string>
#include <vector>

namespace culprit::prof_mpi {

/// How this process was started, as its environment shows before any MPI is initialised.
struct Launch {
  bool launched = false;  ///< by an MPI launcher (or a batch system's)
  int rank = 0;
  int size = 1;         ///< 1 also where the launcher does not say
  bool copies = false;  ///< several were started, perhaps without MPI, though nobody says how many
  /// MPI implementations that this launcher starts, the likeliest first: openmpi, mpich.
  std::vector<std::string> implementations;
};

/// Reads the environment of this process.
Launch detect_launch();

}  // namespace culprit::prof_mpi
