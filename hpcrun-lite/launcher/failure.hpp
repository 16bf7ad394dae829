#pragma once

#include <stdexcept>
#include <string>

namespace culprit::launcher {

// Exit statuses, as env(1) and shells have them for programs that cannot be run.
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;
inline constexpr int kCannotRun = 126;
inline constexpr int kNotFound = 127;

/// Why the program is not started; what() is the line without the tool's name.
class Failure : public std::runtime_error {
 public:
  Failure(int status, const std::string& line) : std::runtime_error(line), status_(status) {}
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

}  // namespace culprit::launcher
