#pragma once

#include "waits/causes/code_of_lines.hpp"
#include "waits/causes/path_times.hpp"
#include "waits/timeline/path_shares.hpp"
#include "waits/timeline/procedure_chains.hpp"
#include "waits/timeline/regions.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// By which call paths a delayer took longer than its waiters, over all intervals of one account
/// (docs/algorithms.md 8): in proportion to what they get of `cost_ns`. What samples cannot show falls to
/// gaps, PathOfRegion::kBetween. `delayer`: its time line; nullptr where no interval of it counts twice.
/// `code`: what that line ran over the whole run; nullptr where that is not known. `times` are sorted as
/// PathTimes::sorted() has them. Each path once, in order; none only where there are no times.
std::vector<PathWeight> path_excess(std::span<const PathTime> times, const Regions& regions,
                                    const ProcedureChains& chains, std::uint64_t cost_ns,
                                    const TimeLine* delayer = nullptr, const CodeOfLines* code = nullptr);

}  // namespace culprit::waits
