#pragma once

#include "blame/blame.hpp"
#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/attribution/roles.hpp"
#include "merge/diagnosis/summarize.hpp"
#include "merge/diagnosis/work_by_thread.hpp"
#include "merge/values/accumulate.hpp"

#include <vector>

namespace culprit::merge {

/// Collective: decides balance, shifts blame and finds suspects for every role (docs/algorithms.md 5.2 to
/// 5.5) and sets these parts of rank 0's `experiment`, whose contexts and roles must be set; `roles`: rank
/// 0's. `work`: of the threads, which suspects need in some contexts. The sampling period is
/// that of the run where it recorded one, else that of `options`.
void diagnose(WorkByThread& work, database::Experiment& experiment, const Roles& roles,
              const Summaries& summaries, const blame::Options& options);

/// Collective: sets in rank 0's `experiment` what follows from facts that every rank's threads recorded:
/// waits of one-sided communication, suspect machines, and gaps that vary. `locations`: rank 0's counts.
void gather_facts(exchange::Communicator& comm, const RunFacts& run, const Summaries& summaries,
                  const database::EachLocation& locations, database::Experiment& experiment);

/// Collective: rank 0's `contexts` where marked waiting was found outside every known frontier frame become
/// frontiers themselves.
void mark_lone_waits(exchange::Communicator& comm, const RunFacts& run,
                     std::vector<database::Context>& contexts);

}  // namespace culprit::merge
