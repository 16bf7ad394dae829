#pragma once

#include "runtime/api.hpp"
#include "runtime/system/text.hpp"

// Where measurements go and what they are called.
namespace culprit::runtime {

/// Reads directory and run id from the environment; false if the process was not started for a measurement.
bool prepare_identity();

const char* output_directory();
const char* run_id();
const char* host();
/// Absolute path of the running program, and the directory it was started in.
const char* program_path();
const char* start_directory();

/// The file of this process: DIR/NN/HOST-PID-START.culprit, or DIR/NN/rank-000012-HOST-PID-START.culprit once
/// the process has its rank. False if the path is too long.
bool measurement_path(PathText& path, int rank);

/// Creates the directories on the way to `path`, which is below the measurement directory. Returns 0 or an
/// errno.
int make_directories(const char* path);

/// Creates the measurement directory and its marker where the launcher could not: a run of MPI inside a
/// measured program has a directory of its own. Returns 0 or an errno.
int make_run_directory();

void set_run_id(const char* id);

/// True if the launchers of all `ranks` ranks registered in the directory. After MPI_Init every rank's
/// launcher has run, so that all ranks find the same.
bool all_ranks_registered(int ranks);

/// True if the ranks that CULPRIT_RANKS names include `rank`, or all are wanted.
bool rank_wanted(int rank);
bool every_rank_wanted();
/// True if any of `ranks` ranks is wanted.
bool any_rank_wanted(int ranks);

}  // namespace culprit::runtime
