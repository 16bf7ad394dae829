#include "measurement/file_space.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace culprit::measurement {
namespace {

constexpr int kMaxRetries = 1000;  // fallocate on tmpfs gives EINTR on every signal; a retry starts over
constexpr std::size_t kZeros = 4096;
alignas(16) constexpr char zeros[kZeros] = {};

int write_zeros(int fd, std::uint64_t offset, std::uint64_t size) noexcept {
  for (std::uint64_t done = 0; done < size; done += kZeros) {
    const std::uint64_t chunk = size - done < kZeros ? size - done : kZeros;
    if (const int error = write_all(fd, zeros, chunk, offset + done); error != 0) return error;
  }
  return 0;
}

}  // namespace

int raw_open(const char* path, int flags, unsigned mode) noexcept {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int raw_close(int fd) noexcept {
  return static_cast<int>(syscall(SYS_close, fd));
}

bool size_allowed(std::uint64_t size) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return true;
  return limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

int write_all(int fd, const void* data, std::uint64_t size, std::uint64_t offset) noexcept {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const long written = syscall(SYS_pwrite64, fd, from, size, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (written == 0) return ENOSPC;
    from += written;
    offset += static_cast<std::uint64_t>(written);
    size -= static_cast<std::uint64_t>(written);
  }
  return 0;
}

int reserve_space(int fd, std::uint64_t offset, std::uint64_t size) noexcept {
  if (!size_allowed(offset + size)) return EFBIG;
  for (int i = 0; i < kMaxRetries; ++i) {
    if (syscall(SYS_fallocate, fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) return 0;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return write_zeros(fd, offset, size);
    if (errno != EINTR) return errno;
  }
  return EINTR;
}

int rename_without_replacing(const char* from, const char* to) noexcept {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Network file systems lack the flag: the check and the move are two steps there.
  if (access(to, F_OK) == 0) return EEXIST;
  return ::rename(from, to) == 0 ? 0 : errno;
}

}  // namespace culprit::measurement
