#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace culprit::files {

/// Owns a file descriptor, or none (negative).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool good() const { return fd_ >= 0; }
  /// The caller closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Opens for reading what an input names, which may be anything: a FIFO, a device, a file of the kernel's
/// that answers when it likes. Takes regular files that hold something, at most `limit` bytes; never blocks
/// on opening. Sets `error` and returns none otherwise: to is_a_directory, file_too_large, no_message for an
/// empty one (the kernel's files say that they are), invalid_argument for what is no regular file, or what
/// the system says.
Descriptor open_named(const std::filesystem::path& path, std::uint64_t limit, std::error_code& error);

/// What open_named() says of a file that is open: no error where it takes it.
std::error_code judge_named(const struct stat& file, std::uint64_t limit);

/// All of such a file. Not more than it held when it was opened; `error` is io_error where it holds less by
/// now.
std::string read_named(const std::filesystem::path& path, std::uint64_t limit, std::error_code& error);

/// The same of one that is open, at its beginning. Keeps the descriptor's position.
std::string read_whole(int descriptor, std::error_code& error);

/// What comes out of a pipe until nobody can write into it any more, or reading fails.
std::string read_pipe(int descriptor);

}  // namespace culprit::files
