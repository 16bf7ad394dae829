#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/time_lines.hpp"

#include <cstdint>

namespace culprit::merge {

/// Collective: analyses the ranks' time lines, where there are any, and sets what rank 0's experiment says of
/// them: exact waits in place of approximated ones, clock violations. A trace that is not used, or only in
/// part, becomes a line of `problems` on its rank.
void find_exact_waits(exchange::Communicator& comm, TimeLines& lines, database::Experiment& experiment);

}  // namespace culprit::merge
