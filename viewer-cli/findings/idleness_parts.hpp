#pragma once

#include "findings/diagnosis.hpp"
#include "findings/losses.hpp"
#include "views/figures.hpp"

#include <string>

// What waiting consists of (docs/diagnosis.md).
namespace culprit::viewer {

/// In seconds of all threads together; the parts add up to Diagnosis::idle_s.
struct IdlenessParts {
  double late_s = 0;          ///< for ranks that came later
  double elsewhere_s = 0;     ///< for processes of other worlds, which the ranks started or connected to
  double transfer_s = 0;      ///< for messages on their way
  double library_s = 0;       ///< overhead of the MPI library
  double no_processor_s = 0;  ///< ready to go on, without a processor
  double threads_s = 0;       ///< for other threads of the process
  double undivided_s = 0;     ///< without a trace: what of the first three nothing distinguishes

  [[nodiscard]] double sum() const {
    return late_s + elsewhere_s + transfer_s + library_s + no_processor_s + threads_s + undivided_s;
  }
};

/// `figures` must be over all threads, the others theirs. Cost: linear in waits, calls and contexts.
IdlenessParts divide_idleness(const views::Figures& figures, const Diagnosis& diagnosis,
                              const Losses& losses);

/// `2.42 s for late ranks + 0.11 s for transfers + ...`: figures that add up to the rounded whole. Empty
/// where there is one part.
std::string idleness_parts_phrase(const IdlenessParts& parts);

}  // namespace culprit::viewer
