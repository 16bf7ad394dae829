#pragma once

#include "merge/merge.hpp"

#include <variant>

namespace culprit::prof_mpi {

/// What the user asked for.
struct CommandLine {
  merge::Options options;
  bool quiet = false;
  bool verbose = false;
  int threads = 0;  ///< ranks as threads where there is no MPI launcher; 0: one per processor
};

/// Parses and checks the command line. Where there is nothing to run (help, version, wrong usage) the result
/// is the exit status, and what there is to say was printed if `speak` (false on all ranks but the first).
std::variant<CommandLine, int> parse_command_line(int argc, char** argv, bool speak);

}  // namespace culprit::prof_mpi
