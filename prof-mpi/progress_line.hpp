#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace culprit::prof_mpi {

/// Progress on stderr: on a terminal one line that is overwritten a few times per second and erased at the
/// end; with `verbose` (on a terminal or not) also a line per phase that has ended, with rank 0's
/// CPU time in it: where that is much less, it waited for files or other ranks. Silent otherwise.
class ProgressLine {
 public:
  /// `shown` is false on all ranks but the first, and where the user wants quiet.
  ProgressLine(bool shown, bool verbose);
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// As merge::Progress.
  void update(const char* phase, std::uint64_t done, std::uint64_t total);
  /// Ends the phase and erases the line, so that other text can follow.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void erase();

  bool terminal_;
  bool verbose_;
  bool drawn_ = false;
  std::string phase_;
  Clock::time_point phase_start_;
  double phase_start_cpu_ = 0;
  Clock::time_point last_drawn_;
};

}  // namespace culprit::prof_mpi
