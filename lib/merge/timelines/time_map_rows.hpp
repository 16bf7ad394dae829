#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "waits/variation/time_map.hpp"

namespace culprit::merge {

/// Collective: what all ranks did over time, on rank 0, by rank; the others get nothing.
database::TimeMap gather_time_map(exchange::Communicator& comm, const waits::TimeMap& own);

}  // namespace culprit::merge
