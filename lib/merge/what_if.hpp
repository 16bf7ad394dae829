#pragma once

#include "database/contents.hpp"
#include "merge/merge.hpp"
#include "metrics/wait_pattern.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace culprit::merge {

/// Other work in some code, outside MPI calls.
struct WhatIfChange {
  enum class Kind : std::uint8_t {
    remove,    ///< it takes no time
    speed_up,  ///< it takes a `factor`-th
    balance,   ///< each rank takes the mean of all ranks over the run
    even_out,  ///< the same in each interval between MPI calls by itself
  };
  Kind kind = Kind::remove;
  double factor = 1;
  std::vector<database::ContextRange> where;  ///< with all that is called there
};

/// Changes that are made together. Of code within code that is changed, too, the inner change holds.
struct WhatIfQuestion {
  std::vector<WhatIfChange> changes;  ///< 255 at most
  std::vector<std::int32_t> ranks;    ///< whose work is changed; empty: all
};

/// The run as it was and as it would be. Times in ns, over all threads with time lines where none is named.
struct WhatIfAnswer {
  std::uint64_t run_ns = 0, predicted_ns = 0;  ///< from the first end of MPI_Init to the end of the last rank
  std::uint64_t waiting_ns = 0, predicted_waiting_ns = 0;
  struct Wait {
    metrics::WaitPattern pattern{};
    database::ContextId context = 0;  ///< the call: a frontier frame, where it has one
    std::uint64_t before_ns = 0, after_ns = 0;
  };
  std::vector<Wait> waits;  ///< the largest change first
  struct Code {
    double before_ns = 0, after_ns = 0;  ///< outside MPI calls
    double largest_ns = 0;               ///< of one thread, before
    std::size_t threads = 0;             ///< that spend time there
    bool placed_blindly = false;         ///< balanced onto ranks that never come between the same calls
  };
  std::vector<Code> codes;           ///< by change
  std::uint64_t contradictions = 0;  ///< waits that were left out, as they would never have ended
};

/// Why a run cannot be replayed: `why (what to do)`.
class NotReplayable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the time lines of the measurement `options.measurement` once and replays them for each question
/// (docs/algorithms.md 18); `options.output` and `dry_run` do not matter. Contexts are those of `database`,
/// which must have been merged from it. What does not fit into memory goes to $TMPDIR. Throws NotReplayable,
/// std::runtime_error as merge() does, and storage::SpillError. `progress` may be empty.
std::vector<WhatIfAnswer> what_if(const Options& options, const database::Contents& database,
                                  std::span<const WhatIfQuestion> questions, const Progress& progress = {});

}  // namespace culprit::merge
