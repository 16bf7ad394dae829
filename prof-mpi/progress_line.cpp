#include "progress_line.hpp"

#include <cstdio>
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
  if (total > 0) {
    fmt::print(stderr, "\r\033[Kprof-mpi: {} {} of {} ({} %)", phase_, done, total, 100 * done / total);
  } else {
    fmt::print(stderr, "\r\033[Kprof-mpi: {}", phase_);
  }
  std::fflush(stderr);
  drawn_ = true;
  last_drawn_ = now;
}

void ProgressLine::erase() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

void ProgressLine::finish() {
  if (phase_.empty()) return;
  erase();
  if (verbose_) {
    const std::chrono::duration<double> spent = Clock::now() - phase_start_;
    fmt::print(stderr, "prof-mpi: {}: {:.2f} s, {:.2f} s of CPU time\n", phase_, spent.count(),
               cpu_time() - phase_start_cpu_);
  }
  phase_.clear();
}

}  // namespace culprit::prof_mpi
