#pragma once

#include "text/frame_json.hpp"
#include "text/screen.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

/// The words of a command as one types them in a shell.
std::string command_line(const std::vector<std::string>& words);

/// What was run, where, when and how; quality figures; modules and what is wrong with them.
void write_info(std::ostream& out, const Screen& screen, const database::Contents& experiment);

/// `{"command","ranks","threads","samples",…,"events","modules","start","duration_s"}`.
Json info_json(const database::Contents& experiment);

}  // namespace culprit::viewer
