#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace culprit::viewer {

/// One line on standard error that is overwritten and erased at the end; nothing where that is no terminal,
/// or `quiet`. Not thread-safe.
class ProgressLine {
 public:
  /// `what` is being done.
  ProgressLine(std::string_view what, bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `total` 0: it is not known.
  void update(std::string_view phase, std::uint64_t done, std::uint64_t total);

 private:
  std::string what_;
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace culprit::viewer
