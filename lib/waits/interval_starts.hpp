#pragma once

#include "exchange/communicator.hpp"
#include "waits/contexts.hpp"
#include "waits/ledger.hpp"
#include "waits/roster.hpp"

namespace culprit::waits {

/// Collective, once all lines are settled: finds for each wait where its synchronization interval begins
/// (algorithms.md 8), that is where its waiter and its causer last met. Two time lines meet where one waits
/// for the other, at the moment when that wait ends; a message that nobody waited for, however late it is
/// received, says nothing of when its sender was where. All meet in a collective operation that nobody
/// leaves before everybody has entered it.
void find_interval_starts(exchange::Communicator& analysis, const Roster& roster, const Contexts& contexts,
                          Ledger& ledger);

}  // namespace culprit::waits
