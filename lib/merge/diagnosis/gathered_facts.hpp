#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/diagnosis/summarize.hpp"
#include "merge/values/accumulate.hpp"

#include <vector>

namespace culprit::merge {

/// Collective: sets in rank 0's `experiment` what follows from facts that every rank's threads recorded:
/// waits of one-sided communication, suspect machines, and gaps that vary. `locations`: rank 0's counts.
void gather_facts(exchange::Communicator& comm, const ThreadAccumulation& accumulation,
                  const Summaries& summaries, const database::EachLocation& locations,
                  database::Experiment& experiment);

/// Collective: rank 0's `contexts` where marked waiting was found outside every known frontier frame become
/// frontiers themselves.
void mark_lone_waits(exchange::Communicator& comm, const ThreadAccumulation& accumulation,
                     std::vector<database::Context>& contexts);

}  // namespace culprit::merge
