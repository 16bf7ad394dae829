#pragma once

#include "blame/blame.hpp"
#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/summarize.hpp"

#include <cstdint>
#include <vector>

namespace culprit::merge {

/// Collective: decides balance, shifts blame and finds suspects for every role (algorithms.md 5.2 to 5.5) and
/// sets these parts of rank 0's `experiment`, whose contexts, roles and locations must be set. `mine`: the
/// per-thread inclusive values of this rank's range of contexts (context_values.hpp), which rank 0 asks for
/// as it needs them.
/// The sampling period is that of the run where it recorded one, else that of `options`.
void diagnose(exchange::Communicator& comm, database::Experiment& experiment, const Summaries& summaries,
              const std::vector<database::ContextId>& ranges,
              const std::vector<std::vector<database::Value>>& mine, const blame::Options& options);

}  // namespace culprit::merge
