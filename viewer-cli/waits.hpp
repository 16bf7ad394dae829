#pragma once

#include "database/database.hpp"
#include "frame_json.hpp"
#include "text/screen.hpp"

#include <ostream>

// Wait states (`waits`): who waited where, by pattern, and where it is known because of whom.
namespace culprit::viewer {

Json waits_json(const database::Experiment& experiment);
void write_waits(std::ostream& out, const Screen& screen, const database::Experiment& experiment);
void write_waits_csv(std::ostream& out, const database::Experiment& experiment);

}  // namespace culprit::viewer
