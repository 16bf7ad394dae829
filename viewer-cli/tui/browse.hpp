#pragma once

#include "text/screen.hpp"
#include "views/source.hpp"

#include <string>

namespace culprit::viewer::tui {

/// Lets the user browse a database until he quits; returns the exit status. The terminal is given back also
/// when a signal ends it. Throws database::DatabaseError where the database is damaged.
int browse(const views::Source& source, const std::string& database, const Screen& screen);

}  // namespace culprit::viewer::tui
