#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/shape.hpp"
#include "merge/time_lines.hpp"

#include <filesystem>

namespace culprit::merge {

/// Collective: analyses the ranks' time lines, where there are any, and sets what rank 0's experiment says of
/// them: exact waits in place of approximated ones, their causes, the critical path, variation over time,
/// efficiencies, and what did not fit together. What does not fit into memory goes to $TMPDIR, or else to
/// `directory` (empty: /tmp); throws waits::SpillError where there is no room.
void analyse_time_lines(exchange::Communicator& comm, TimeLines& lines, const Shape& shape,
                        database::Experiment& experiment, const std::filesystem::path& directory);

}  // namespace culprit::merge
