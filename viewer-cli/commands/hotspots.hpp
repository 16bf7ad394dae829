#pragma once

#include "database/contents.hpp"
#include "text/frame_json.hpp"
#include "text/screen.hpp"

#include <ostream>

// Hot procedures that made others wait (`hotspots`).
namespace culprit::viewer {

Json hotspots_json(const database::Contents& experiment);
void write_hotspots(std::ostream& out, const Screen& screen, const database::Contents& experiment);
void write_hotspots_csv(std::ostream& out, const database::Contents& experiment);

}  // namespace culprit::viewer
