#pragma once

#include "database/contents.hpp"
#include "views/source.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Suspects that are balanced together.
using SuspectGroup = std::vector<const database::Suspect*>;
/// What balancing each of these groups saves, in ns (replayed_savings()).
using ReplayedSuspects = std::map<SuspectGroup, std::int64_t>;

/// By how many ns the run would be shorter (negative: longer) if the suspects of a group took the same time
/// on all ranks, for each group: the answer of `what-if --balance` (docs/what-if.md). Nothing where the run
/// has no trace, where the measurement that `named` was made from is not at hand or was merged in another
/// way, or where its traces are so large that a reader would wait: more than 16 MiB, some 2.5 million calls.
std::optional<std::vector<std::int64_t>> replayed_savings(const database::Contents& experiment,
                                                          const std::string& named,
                                                          std::span<const SuspectGroup> groups);

/// What is said of a saving by sums and, where there is one, by a replay: `40 % of the run time (756 ms, by a
/// replay of the time lines)`.
std::string saving_phrase(double by_sums_s, std::optional<double> replayed_s, double run_s, bool unicode);
/// The same of who holds a lock: a sentence.
std::string lock_saving_sentence(double by_sums_s, double run_s);
/// Whether it is `at most` the saving by sums: programs that poll, or take messages as they come, do so as
/// they did in a replay.
bool is_only_limit(double by_sums_s, std::optional<double> replayed_s);

}  // namespace culprit::viewer
