#pragma once

#include <filesystem>
#include <string>

namespace culprit::launcher {

/// The measurement directory as this process's run has it.
struct RunClaim {
  std::filesystem::path directory;  ///< absolute
  std::string run_id;
};

/// Names the run (by its MPI job where there is one, so that all ranks on all hosts agree without talking to
/// each other), creates its directory and marker, or joins the siblings that were faster, whatever program
/// they run. Without `output` the directory is named after the program of the rank that is first. Throws
/// Failure where the directory holds another run or something else, or cannot be written.
RunClaim claim_run(const std::string& output, const std::string& program_name);

}  // namespace culprit::launcher
