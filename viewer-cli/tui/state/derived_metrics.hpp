#pragma once

#include <string>
#include <vector>

// Metrics that the user defined, kept with the database: one `NAME=FORMULA` a line in DB.metrics; where that
// folder cannot be written, among what the browser remembers (state_files.hpp).
namespace culprit::viewer::tui {

std::vector<std::string> load_derived_metrics(const std::string& database);

/// Returns where they went, for the user.
std::string save_derived_metrics(const std::string& database, const std::vector<std::string>& definitions);

}  // namespace culprit::viewer::tui
