#pragma once

#include "blame/varying_gaps.hpp"
#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/diagnosis/summarize.hpp"

#include <vector>

namespace culprit::merge {

/// Collective: sets the varying gaps of rank 0's experiment from those of each rank's threads.
void find_gaps(exchange::Communicator& comm, const std::vector<blame::GapSums>& own,
               const Summaries& summaries, database::Experiment& experiment);

}  // namespace culprit::merge
