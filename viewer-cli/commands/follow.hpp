#pragma once

#include "follow/follower.hpp"
#include "follow/summary.hpp"
#include "request/command_line.hpp"
#include "text/frame_json.hpp"

#include <chrono>
#include <ostream>
#include <string>

namespace culprit::viewer {

/// Whether the directory holds measurements of a run by now, waiting some time for them; says so on standard
/// error when it waits. Throws std::runtime_error, what() as `what: file: why (what to do)`, where none came.
void await_run(follow::Follower& follower, const std::string& directory);

/// One look. Throws std::runtime_error as await_run().
void look(follow::Follower& follower, const std::string& directory);

/// How long to wait after a look that cost so much CPU time: as long as was asked for, and so long that looks
/// take 1 % of one processor at most.
std::chrono::milliseconds pause_after(double cost_s, double every_s);

/// Writes a line for each interval, until the run has ended: text, or with --format json an object.
void follow_in_lines(std::ostream& out, const Invocation& invocation, follow::Follower& follower);

// The parts, for tests.
/// `12.4 s  4 ranks: 1 works, 3 wait; waiting 61 % of the last 2.0 s; rank 3 works in assemble …; 118
/// iterations/min`.
std::string line_of(const follow::Summary& summary);
Json follow_json(const follow::Summary& summary);
/// `118 iterations/min`, and where they are inferred; empty where nothing is known.
std::string iterations_in_words(const follow::Summary& summary);
/// `1 works, 3 wait`.
std::string states_in_words(const follow::Part& part);

}  // namespace culprit::viewer
