#pragma once

#include "text/screen.hpp"
#include "tui/panes/source_text.hpp"
#include "tui/state/comparison.hpp"
#include "views/source.hpp"

#include <optional>
#include <string>

namespace culprit::viewer::tui {

/// What to begin with.
struct BrowseStart {
  std::optional<OtherRun> other;  ///< to compare with
  PathPrefixes source_map;        ///< in front of those remembered
  bool without_startup = false;   ///< shares without MPI_Init and MPI_Finalize
  std::string remark;             ///< shown until the first key
};

/// Lets the user browse a database until he quits; returns the exit status. The terminal is given back also
/// when a signal ends it. Throws database::DatabaseError where the database is damaged.
int browse(const views::Source& source, const std::string& database, const Screen& screen, BrowseStart start);

}  // namespace culprit::viewer::tui
