#include "measurement/input_file.hpp"

#include "measurement/measurement.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace culprit::measurement {
namespace {

constexpr std::size_t kWindow = std::size_t{128} << 10;

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw MeasurementError(path, std::string(what) + ": " + std::generic_category().message(error) +
                                   " (check the file and its permissions)");
}

}  // namespace

OpenedFile::OpenedFile(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // a fifo must not block us
  if (fd_ < 0) fail(path, "cannot be opened", errno);
  struct stat info {};
  const int error = fstat(fd_, &info) != 0 ? errno : 0;
  if (error != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd_);
    if (error != 0) fail(path, "cannot be examined", error);
    throw MeasurementError(path, "is not a regular file (remove it from the measurement directory)");
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

OpenedFile::~OpenedFile() {
  if (fd_ >= 0) ::close(fd_);
}

void OpenedFile::fetch() const {
  // Where it cannot, the file is read when it is its turn.
  static_cast<void>(::posix_fadvise(fd_, 0, static_cast<off_t>(std::min<std::uint64_t>(size_, kWindow)),
                                    POSIX_FADV_WILLNEED));
}

std::uint64_t InputFile::present_size() const {
  struct stat info {};
  if (fstat(file_.descriptor(), &info) != 0) fail(path_, "cannot be examined", errno);
  return static_cast<std::uint64_t>(info.st_size);
}

void InputFile::copy(std::uint64_t offset, std::byte* to, std::size_t size) const {
  while (size > 0) {
    const ssize_t got = pread(file_.descriptor(), to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "cannot be read", errno);
    if (got == 0) {
      std::memset(to, 0, size);
      return;
    }
    const auto step = static_cast<std::size_t>(got);
    to += step;
    offset += step;
    size -= step;
  }
}

std::span<const std::byte> InputFile::view(std::uint64_t offset, std::size_t size) {
  if (offset < window_offset_ || offset + size > window_offset_ + window_size_) {
    const auto ahead = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, file_.size() - offset));
    const std::size_t wanted = std::max(size, ahead);
    window_size_ = 0;
    if (wanted > window_.capacity) {
      window_.bytes = std::make_unique_for_overwrite<std::byte[]>(wanted);
      window_.capacity = wanted;
    }
    copy(offset, window_.bytes.get(), wanted);
    window_offset_ = offset;
    window_size_ = wanted;
  }
  return {window_.bytes.get() + (offset - window_offset_), size};
}

std::uint64_t InputFile::next_data(std::uint64_t offset) const {
  const off_t found = lseek(file_.descriptor(), static_cast<off_t>(offset), SEEK_DATA);
  if (found >= 0) return static_cast<std::uint64_t>(found);
  return errno == ENXIO ? file_.size() : offset;
}

}  // namespace culprit::measurement
