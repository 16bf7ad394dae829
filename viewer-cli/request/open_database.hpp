#pragma once

#include "views/source.hpp"

#include <memory>
#include <string>

namespace culprit::viewer {

/// An opened database, and whether it was merged just now with losses, or before its run had ended.
struct Opened {
  std::unique_ptr<views::DatabaseSource> source;
  bool degraded = false;
  std::string path;    ///< of the database
  std::string remark;  ///< that it shows only a part of its run, as it was printed; or empty
};

/// Opens a database, or that of a measurement directory: `output`, or DIR.db beside it where that is empty;
/// merges in-process on all cores where there is none yet; a database of another run is
/// refused. `anew`: a directory is merged even so, since it has changed; only DIR.db is replaced then, no
/// file that `output` names. Problems of the merge and progress (on a terminal, unless `quiet`) go to stderr.
/// Throws std::runtime_error whose what() is `what: file: why (what to do)`.
Opened open_database(const std::string& path, const std::string& output, bool quiet, bool anew = false);

}  // namespace culprit::viewer
