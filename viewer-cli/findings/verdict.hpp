#pragma once

#include "findings/diagnosis.hpp"
#include "findings/idleness_parts.hpp"
#include "findings/losses.hpp"
#include "views/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

// The first line of a report: what an experienced colleague would say of the run (docs/diagnosis.md).
namespace culprit::viewer {

enum class VerdictKind : std::uint8_t {
  healthy,
  starved,              ///< of processors
  startup,              ///< MPI_Init, MPI_Finalize
  uneven_lasting,       ///< the same ranks are late all the time
  uneven_drifting,      ///< others from one part of the run to the next
  uneven_intermittent,  ///< others from one iteration to the next
  serial,               ///< one rank works while the others wait
  messages,             ///< waiting without uneven work
  io,                   ///< input and output
  threads_idle,
  too_short,  ///< to say anything
};

/// `uneven-lasting` and so on, as json has it.
std::string verdict_name(VerdictKind kind);

/// The rule (docs/diagnosis.md).
VerdictKind decide(const Losses& losses);

struct Verdict {
  VerdictKind kind = VerdictKind::healthy;
  std::string end;   ///< what ended the run, where a rank did: `Rank 2 was ended by SIGSEGV (…). `
  std::string text;  ///< a sentence or two, which begin with `end`
  /// Waiting, and input and output, that the text states as a share of the time; none: not.
  std::optional<double> stated_waiting_s = {}, stated_io_s = {};
  database::Confidence confidence = database::Confidence::sure;
  Losses losses;
  IdlenessParts waiting;
};
/// `figures` must be over all threads, and `diagnosis` theirs. Names are shortened to `width` columns.
Verdict find_verdict(const views::Figures& figures, const Diagnosis& diagnosis, std::size_t width,
                     bool unicode);

/// Whether a share that a verdict states reads like that of `seconds`, which need not be stated again then.
bool reads_alike(std::optional<double> stated_s, double seconds, double total_s);

/// A sentence on start-up that goes on behind others, with the blank before it: that it is left out, or how
/// much of the run it takes, where that is notable and the verdict does not say it.
std::string start_up_phrase(const Verdict& verdict, bool without_startup);

}  // namespace culprit::viewer
