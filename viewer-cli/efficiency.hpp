#pragma once

#include "frame_json.hpp"
#include "text/screen.hpp"
#include "views/figures.hpp"

#include <ostream>

namespace culprit::viewer {

/// POP efficiencies of the ranks' main threads (algorithms.md 10): useful time is what lies outside MPI. As
/// a profile knows them the run lasts as long as the longest rank less the time in MPI_Init; time lines tell
/// it exactly, and what communication is divided into.
struct Efficiency {
  double parallel = 0, load_balance = 0, communication = 0;
  double serialization = 0, transfer = 0;  ///< where `exact`
  bool exact = false;                      ///< from time lines
  double run_s = 0, useful_mean_s = 0, useful_max_s = 0;
  std::uint64_t ranks = 0;
};

/// Ranks 0: nothing to tell (no rank, or no time).
Efficiency efficiency_of(const views::Figures& figures);

void write_efficiency(std::ostream& out, const Screen& screen, const views::Figures& figures);

/// `{"parallel","load_balance","communication","serialization","transfer"}`, the last two null without a
/// trace; all null without ranks.
Json efficiency_json(const views::Figures& figures);

}  // namespace culprit::viewer
