#pragma once

#include "database/database.hpp"
#include "database/each_location.hpp"
#include "exchange/communicator.hpp"

#include <vector>

namespace culprit::merge {

/// Collective: how all ranks' threads were scheduled, and whether the machine is a suspect, into rank 0's
/// experiment. `own`: those of this rank. `locations`: rank 0's counts.
void find_machine(exchange::Communicator& comm, const std::vector<database::ScheduledThread>& own,
                  const database::EachLocation& locations, database::Experiment& experiment);

}  // namespace culprit::merge
