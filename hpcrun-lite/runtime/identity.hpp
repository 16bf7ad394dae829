#pragma once

#include "runtime/api.hpp"
#include "runtime/process.hpp"

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
/// the rank is known. False if the path is too long.
bool measurement_path(PathText& path, int rank);

/// Creates the directories on the way to `path`, which is below the measurement directory. Returns 0 or an
/// errno.
int make_directories(const char* path);

/// Rank 0: claims the directory for this MPI run, or settles on another one if it already holds one.
void settle_world(CulpritWorld& world);
/// Every rank: adopts what rank 0 settled.
void adopt_world(const CulpritWorld& world);

/// True if the ranks that CULPRIT_RANKS names include `rank`, or all are wanted.
bool rank_wanted(int rank);

}  // namespace culprit::runtime
