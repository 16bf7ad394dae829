#include "progress_line.hpp"

#include "print/output.hpp"

#include <ctime>

#include <fmt/core.h>
#include <unistd.h>

namespace culprit::prof_mpi {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings{200};

/// Of this process, all threads, in seconds.
double cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

ProgressLine::ProgressLine(bool shown, bool verbose)
    : terminal_(shown && ::isatty(STDERR_FILENO) != 0), verbose_(shown && verbose) {}

void ProgressLine::update(const char* phase, std::uint64_t done, std::uint64_t total) {
  if (!terminal_ && !verbose_) return;
  const Clock::time_point now = Clock::now();
  if (phase_ != phase) {
    finish();
    phase_ = phase;
    phase_start_ = now;
    phase_start_cpu_ = cpu_time();
  }
  if (!terminal_ || (drawn_ && now - last_drawn_ < kBetweenDrawings)) return;
  print::show_progress(
      total > 1 ? fmt::format("prof-mpi: {} {} of {} ({} %)", phase_, done, total, 100 * done / total)
                : "prof-mpi: " + phase_);
  drawn_ = true;
  last_drawn_ = now;
}

void ProgressLine::erase() {
  if (drawn_) print::show_progress("");
  drawn_ = false;
}

void ProgressLine::finish() {
  if (phase_.empty()) return;
  erase();
  if (verbose_) {
    const std::chrono::duration<double> spent = Clock::now() - phase_start_;
    print::complain("prof-mpi", fmt::format("{}: {:.2f} s, {:.2f} s of CPU time", phase_, spent.count(),
                                            cpu_time() - phase_start_cpu_));
  }
  phase_.clear();
}

}  // namespace culprit::prof_mpi
