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
/// By how many ns the run would be shorter (negative: longer).
struct ReplayedSaving {
  std::int64_t ns = 0;
  bool placed_blindly =
      false;  ///< ranks that take on work never compute between the same calls: it is a guess where

  [[nodiscard]] double seconds() const { return static_cast<double>(ns) / 1e9; }
};
/// What balancing each of these groups saves (replayed_savings()).
using ReplayedSuspects = std::map<SuspectGroup, ReplayedSaving>;

/// What it saves if the suspects of a group took the same time
/// on all ranks, for each group: the answer of `what-if --balance` (docs/what-if.md). Nothing where the run
/// has no trace, where the measurement that `named` was made from is not at hand or was merged in another
/// way, or where its traces are so large that a reader would wait: more than 16 MiB, some 2.5 million calls.
std::optional<std::vector<ReplayedSaving>> replayed_savings(const database::Contents& experiment,
                                                            const std::string& named,
                                                            std::span<const SuspectGroup> groups);

/// What is said of a saving by sums and, where there is one, by a replay: `40 % of the run time (756 ms, by a
/// replay of the time lines)`. A replay that placed work blindly makes waits of its own: the saving is
/// between both.
std::string saving_phrase(const database::Contents& experiment, double by_sums_s,
                          const std::optional<ReplayedSaving>& replayed, double run_s, bool unicode);
/// The same of who holds a lock: a sentence.
std::string lock_saving_sentence(double by_sums_s, double run_s);
/// Whether it is `at most` the saving by sums: programs that poll, or take messages as they come, do so as
/// they did in a replay.
bool is_only_limit(double by_sums_s, const std::optional<ReplayedSaving>& replayed);

}  // namespace culprit::viewer
