#pragma once

#include "follow/iterations.hpp"
#include "follow/part.hpp"
#include "follow/sums.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::follow {

struct Summary {
  double run_s = 0;  ///< since the first process started
  Part interval, whole;
  std::string standstill;  ///< Standstill::in_words()
  std::optional<IterationRate> iterations;
  std::string iterations_at;  ///< where they are inferred: the call
};

/// Looks in a row at which all ranks had waited nearly all the time: a deadlock looks so.
class Standstill {
 public:
  void look(const Part& interval);
  /// `all ranks have only waited for 6 s: viewer-cli run1 stuck says for whom`; empty where it is less than
  /// three looks and five seconds.
  [[nodiscard]] std::string in_words(const std::string& directory) const;

 private:
  std::size_t looks_ = 0;
  double seconds_ = 0;
  bool alone_ = false;
};

/// What is known of a process beside its times.
struct ProcessLabel {
  std::int32_t rank = -1;
  std::string process;
  std::uint64_t key = 0;      ///< of its measurement
  std::int64_t start_ns = 0;  ///< CLOCK_REALTIME
  bool ended = false, died = false, silent = false;
  double silent_s = 0;  ///< since it wrote last
  bool here = false;    ///< on this host
};

/// Of several processes with one rank (what it was before an exec) the one that started last has it.
void drop_double_ranks(std::vector<ProcessLabel>& processes);

/// Makes a part of sums over `seconds`. `processes` in the order of the sums' numbers; `machine`:
/// Part::machine.
Part summarize(const Sums& sums, const std::vector<ProcessLabel>& processes, const LiveTree& tree,
               double seconds, std::string machine = {});

}  // namespace culprit::follow
