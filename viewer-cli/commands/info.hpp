#pragma once

#include "text/frame_json.hpp"
#include "text/screen.hpp"

#include <ostream>

namespace culprit::viewer {

/// What was run, where, when and how; quality figures; modules and what is wrong with them.
void write_info(std::ostream& out, const Screen& screen, const database::Contents& experiment);

/// `{"command","ranks","threads","samples",…,"events","modules","start","duration_s"}`.
Json info_json(const database::Contents& experiment);

}  // namespace culprit::viewer
