#pragma once

#include "database/contents.hpp"

#include <string>

namespace culprit::viewer {

/// `main > step > MPI_Win_fence`: the labels of a context's path. Without roots, start-up frames and call
/// sites where they are not to be `complete`.
std::string path_text(const database::Contents& experiment, database::ContextId context,
                      const std::string& separator, bool complete);

/// What a context is part of, for people: no statement and no call site.
database::ContextId scope_around(const database::Contents& experiment, database::ContextId context);

}  // namespace culprit::viewer
