#pragma once

#include "request/command_line.hpp"
#include "stuck/findings.hpp"
#include "text/frame_json.hpp"
#include "text/screen.hpp"

#include <ostream>
#include <string>

namespace culprit::viewer {

/// `stuck`: looks at the job of a measurement directory, twice where it runs, and writes who waits for whom.
/// Returns the exit status. Throws std::runtime_error whose what() is `what: file: why (what to do)`.
int run_stuck(std::ostream& out, const Screen& screen, const Invocation& invocation);

/// Of a job that was killed: what held it at its end, or where it crashed, for the beginning of the report;
/// writes nothing where it was not stuck, nor of a rank that left, of which the verdict says more. Returns
/// whether it named a crash or an abort, with which the verdict then need not begin.
bool write_stuck_at_end(std::ostream& out, const Screen& screen, const std::string& directory);

// The parts, for tests.
void write_stuck(std::ostream& out, const Screen& screen, const stuck::Picture& picture,
                 const stuck::Findings& findings);
Json stuck_json(const stuck::Picture& picture, const stuck::Findings& findings);

}  // namespace culprit::viewer
