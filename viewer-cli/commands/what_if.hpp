#pragma once

#include "merge/what_if.hpp"
#include "request/command_line.hpp"
#include "text/frame_json.hpp"
#include "text/screen.hpp"
#include "views/source.hpp"

#include <ostream>
#include <span>

// What the run would be with other work (`what-if`), by a replay of its time lines.
namespace culprit::viewer {

/// To read the measurement that a database was made from; `named`: what the user gave, one or the other.
/// Throws CommandError where it is not there.
merge::Options what_if_options(const database::Contents& experiment, const std::string& named);

/// The question of an invocation, in contexts of its database; throws UsageError or CommandError.
merge::WhatIfQuestion what_if_question(const views::Source& source, const Invocation& invocation);

/// `answers`: of what was asked, and, where work is balanced over the run, of balancing each interval.
void write_what_if(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                   const Invocation& invocation, std::span<const merge::WhatIfAnswer> answers);
Json what_if_json(const database::Contents& experiment, const merge::WhatIfAnswer& answer);

/// Replays the measurement that the database was made from, and writes what was asked for.
void run_what_if(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation);

}  // namespace culprit::viewer
