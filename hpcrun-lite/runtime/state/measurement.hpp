#pragma once

#include "measurement/live.hpp"
#include "measurement/live_trace.hpp"

// The files of the process: created by recording.cpp and tracing.cpp, ended by process_life.cpp.
namespace culprit::runtime {

inline constinit measurement::LiveFile file;
inline constinit measurement::LiveTrace trace_file;

}  // namespace culprit::runtime
