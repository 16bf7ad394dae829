#pragma once

#include "files/named_file.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include <sys/stat.h>

namespace culprit::files {

/// A regular file mapped for reading, and watched: should somebody truncate or overwrite it, a fault in it is
/// reported as that (at_death.hpp), and changed() knows. Errors are std::system_error.
class WatchedMapping {
 public:
  /// `descriptor`: of a regular file that holds something. `growing`: its writer is not done, so that only
  /// what is gone is an error.
  WatchedMapping(const std::filesystem::path& path, Descriptor descriptor, bool growing);
  ~WatchedMapping();
  WatchedMapping(const WatchedMapping&) = delete;
  WatchedMapping& operator=(const WatchedMapping&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const char* path() const noexcept { return path_.c_str(); }
  /// Whether the file's size or time of change are no longer what they were. Async-signal-safe.
  [[nodiscard]] bool changed() const noexcept;

  /// The first of this process's mappings whose file has changed, or that holds `address`, which cannot be
  /// read; null where there is none. Async-signal-safe.
  static const WatchedMapping* find_broken(const void* address) noexcept;

 private:
  std::string path_;
  Descriptor descriptor_;
  std::span<const std::byte> bytes_;
  bool growing_;
  struct stat status_ {};
};

}  // namespace culprit::files
