#pragma once

#include "export/time_lines.hpp"

#include <ostream>

namespace culprit::viewer {

/// Perfetto's trace format (protocol buffers): a process per rank, a track per thread with slices by code,
/// MPI call and wait, and arrows from the call that ended a wait to the wait's end. Written thread by thread.
void write_perfetto(std::ostream& out, const RunLines& lines);

}  // namespace culprit::viewer
