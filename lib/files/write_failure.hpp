#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace culprit::files {

/// A file cannot be written. what() is a whole line: "write: file: why (what to do)".
class WriteFailure : public std::system_error {
 public:
  /// `error` is an errno.
  WriteFailure(const std::filesystem::path& file, int error);
  /// "why (what to do)".
  [[nodiscard]] const std::string& why() const noexcept { return why_; }
  [[nodiscard]] const char* what() const noexcept override { return line_.c_str(); }

 private:
  std::string why_, line_;
};

}  // namespace culprit::files
