#pragma once

#include "blame/blame.hpp"
#include "database/database.hpp"
#include "merge/diagnosis/summarize.hpp"
#include "merge/diagnosis/work_by_thread.hpp"

#include <cstdint>
#include <span>

namespace culprit::merge {

/// Collective: decides balance, shifts blame and finds suspects for every role (docs/algorithms.md 5.2 to
/// 5.5) and sets these parts of rank 0's `experiment`, whose contexts and roles must be set; `roles`: rank
/// 0's, of locations. `work`: of the threads, which suspects need in some contexts. The sampling period is
/// that of the run where it recorded one, else that of `options`.
void diagnose(WorkByThread& work, database::Experiment& experiment, std::span<const std::uint32_t> roles,
              const Summaries& summaries, const blame::Options& options);

}  // namespace culprit::merge
