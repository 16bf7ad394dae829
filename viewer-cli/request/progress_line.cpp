#include "request/progress_line.hpp"

#include "print/output.hpp"

#include <fmt/core.h>
#include <unistd.h>

namespace culprit::viewer {
namespace {

constexpr std::chrono::milliseconds kBetweenProgress{200};

}  // namespace

ProgressLine::ProgressLine(std::string_view what, bool quiet)
    : what_(what), shown_(!quiet && ::isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (drawn_) print::show_progress("");
}

void ProgressLine::update(std::string_view phase, std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - last_ < kBetweenProgress) return;
  last_ = now;
  drawn_ = true;
  print::show_progress(total <= 1 ? fmt::format("{}: {}", what_, phase)
                                  : fmt::format("{}: {} {} of {}", what_, phase, done, total));
}

}  // namespace culprit::viewer
