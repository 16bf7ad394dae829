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
  double undivided_s = 0;  ///< without time lines of all ranks: what of the first four nothing distinguishes
  /// Of that, at most: ready to run without a processor. Who waits for a late rank meanwhile loses nothing.
  double perhaps_no_processor_s = 0;
  bool unmatched = false;        ///< waits for partitioned messages are in no time line
  bool partly_traced = false;    ///< some ranks have time lines
  bool without_startup = false;  ///< what MPI_Init and MPI_Finalize take is in none of them

  [[nodiscard]] double sum() const {
    return late_s + elsewhere_s + transfer_s + library_s + no_processor_s + threads_s + undivided_s;
  }
};

/// `figures` must be over all threads, the others theirs. Cost: linear in waits, calls and contexts.
IdlenessParts divide_idleness(const views::Figures& figures, const Diagnosis& diagnosis,
                              const Losses& losses);
/// The same of the whole run, for those who have no diagnosis.
IdlenessParts divide_idleness(const views::Figures& figures, bool without_startup = false);

/// `2.42 s for late ranks + 0.11 s for transfers + ...`: figures that add up to the rounded whole. Empty
/// where there is one part.
std::string idleness_parts_phrase(const IdlenessParts& parts);

/// What a list of waits adds up.
struct ListedWaits {
  double ranks_s = 0, threads_s = 0;  ///< for other ranks; for other threads of the process
  double init_s = 0;                  ///< for ranks that came later to MPI_Init; not in `ranks_s`
  double serving_s = 0;               ///< of threads that only serve others; in none of the others
};

/// How a list's total relates to the report's waiting: `The report counts 18.0 s of waiting: 16.1 s for late
/// ranks (listed here) and 1.9 s without a processor.` Empty where the report counts none.
std::string waiting_of_report_phrase(const IdlenessParts& parts, const ListedWaits& listed, bool unicode);

/// A sentence for efficiencies, with a blank before it: what of waiting lacks a processor, which is in the
/// figure called `figure`. Empty where that is little.
std::string lacked_in_figure_phrase(const IdlenessParts& parts, const std::string& figure, bool unicode);

}  // namespace culprit::viewer
