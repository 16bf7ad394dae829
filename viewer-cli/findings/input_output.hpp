#pragma once

#include "findings/diagnosis.hpp"
#include "views/figures.hpp"
#include "views/frame.hpp"

#include <cstdint>
#include <optional>
#include <vector>

// Waiting for files (docs/diagnosis.md).
namespace culprit::viewer {

/// What all threads together spend in calls of input and output, but those that only wait there for
/// messages of others, and processes that are no MPI ranks, where there are ranks.
struct InputAndOutput {
  double seconds = 0;
  /// Where most of it happens: the innermost code outside of run-time libraries with half of that or more.
  database::ContextId where = 0;
  double there_s = 0;  ///< in the innermost of these that is named
  /// The procedure around that, else 0, and the bytes that it moves.
  database::ContextId around = 0;
  double read = 0, written = 0;
  /// The call there, of a run-time library or of MPI, that has half of what is there or more; kNone: none
  /// has.
  database::ContextId call = database::kNone;
  /// The frame of a file that has half of all or more (hpcrun-lite --files); kNone: none has.
  database::ContextId file = database::kNone;
};

/// Main threads whose reading and writing may be a loss (docs/diagnosis.md): those of ranks; without any, of
/// processes that do not only wait for what others write, as those at the end of a shell's pipe.
std::vector<std::uint32_t> main_threads_with_files(const views::Figures& figures);

/// Empty where there is none. `figures` must be over all threads. Cost: the contexts on one path, and their
/// children.
std::optional<InputAndOutput> input_and_output(const views::Figures& figures);

/// Whether a frame of a run-time library is the insides of an interpreter, or has no name: what it calls says
/// more.
bool passes_calls_on(const views::Frame& frame);

}  // namespace culprit::viewer
