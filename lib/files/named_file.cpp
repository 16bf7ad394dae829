#include "files/named_file.hpp"

#include <cerrno>

#include <fcntl.h>

namespace culprit::files {

std::error_code judge_named(const struct stat& file, std::uint64_t limit) {
  if (S_ISDIR(file.st_mode)) return std::make_error_code(std::errc::is_a_directory);
  if (!S_ISREG(file.st_mode)) return std::make_error_code(std::errc::invalid_argument);
  if (file.st_size == 0) return std::make_error_code(std::errc::no_message);
  if (static_cast<std::uint64_t>(file.st_size) > limit)
    return std::make_error_code(std::errc::file_too_large);
  return {};
}

Descriptor open_named(const std::filesystem::path& path, std::uint64_t limit, std::error_code& error) {
  // Looked at first: opening alone does something to some devices.
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    error.assign(errno, std::generic_category());
    return Descriptor();
  }
  error = judge_named(status, limit);
  if (error) return Descriptor();
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.good() || ::fstat(file.get(), &status) != 0) {
    error.assign(errno, std::generic_category());
    return Descriptor();
  }
  error = judge_named(status, limit);
  return error ? Descriptor() : std::move(file);
}

std::string read_whole(int descriptor, std::error_code& error) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    error.assign(errno, std::generic_category());
    return {};
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t some =
        ::pread(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) {
      error.assign(some < 0 ? errno : EIO, std::generic_category());
      return {};
    }
    done += static_cast<std::size_t>(some);
  }
  error.clear();
  return text;
}

std::string read_named(const std::filesystem::path& path, std::uint64_t limit, std::error_code& error) {
  const Descriptor file = open_named(path, limit, error);
  return file.good() ? read_whole(file.get(), error) : std::string();
}

std::string read_pipe(int descriptor) {
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t length = ::read(descriptor, block, sizeof block);
    if (length > 0) text.append(block, static_cast<std::size_t>(length));
    if (length == 0 || (length < 0 && errno != EINTR)) return text;
  }
}

}  // namespace culprit::files
