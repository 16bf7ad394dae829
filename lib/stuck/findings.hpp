#pragma once

#include "stuck/picture.hpp"
#include "stuck/situation.hpp"

#include <string>
#include <vector>

// Is a job stuck, and why: docs/job-hangs.md says which rule finds what.
namespace culprit::stuck {

/// Of a job that was killed, the rank that was last seen clearly before all others: they may have been killed
/// because it died.
struct FirstGone {
  std::int32_t rank = -1;  ///< -1: none
  double before_s = 0;
};

struct Findings {
  std::vector<Problem> problems;  ///< what explains most first; none: it is not stuck
  std::vector<Waiting> waiting;   ///< by rank
  std::vector<Moving> moving;
  // Ranks that ended the job; what that stopped is no problem.
  std::vector<std::int32_t> crashed;
  bool aborted = false;            ///< what ended these was an abort of their own, no signal
  std::vector<std::int32_t> left;  ///< without MPI_Finalize; empty where all did
  bool all_left = false;           ///< they did, as when their launcher dies
  std::string verdict;             ///< a sentence
  FirstGone first_gone;

  [[nodiscard]] bool stuck() const { return !problems.empty(); }
  /// Whether the job came to its end by itself, in order.
  [[nodiscard]] bool well() const { return !stuck() && crashed.empty() && left.empty(); }
};

struct Options {
  double patience_s = 10;  ///< for so long a rank may compute while all others wait for it
};

/// Compares two looks at one job, or takes one for all there is to know (`before` null: of a job that is
/// over).
Findings find(const Picture& now, const Picture* before, const Options& options);

}  // namespace culprit::stuck
