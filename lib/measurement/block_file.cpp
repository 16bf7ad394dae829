#include "measurement/block_file.hpp"

#include "measurement/file_space.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace culprit::measurement {
namespace {

constexpr mode_t kMode = 0644;
// Programs count on getting the lowest free descriptor, and close ranges of low ones: ours lies high where it
// may.
constexpr int kHighDescriptor = 900;
constexpr std::size_t kPage = 4096;

int move_high(int fd) noexcept {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high < 0) return fd;
  raw_close(fd);
  return high;
}

// Present and writable pages: without them the handler's first store into each would fault, and on a file
// system that broke the promise of reserve_space it would be a SIGBUS.
int populate(void* address, std::uint64_t size) noexcept {
#ifdef MADV_POPULATE_WRITE
  for (;;) {
    if (madvise(address, size, MADV_POPULATE_WRITE) == 0) return 0;
    if (errno == EINVAL) break;  // a kernel older than 5.14
    if (errno == EFAULT) return ENOSPC;
    if (errno != EINTR && errno != EAGAIN) return errno;
  }
#endif
  for (std::uint64_t at = 0; at < size; at += kPage) {
    *reinterpret_cast<volatile char*>(static_cast<char*>(address) + at) = 0;
  }
  return 0;
}

}  // namespace

bool BlockFile::is_ours(int fd) const noexcept {
  struct stat info {};
  return fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

int BlockFile::create(const char* path) noexcept {
  const std::size_t length = std::strlen(path);
  if (length >= kPathSize) return ENAMETOOLONG;
  int fd = raw_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (fd < 0) return errno;
  fd = move_high(fd);
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    raw_close(fd);
    ::unlink(path);
    return error;
  }
  std::memcpy(path_, path, length + 1);
  device_ = info.st_dev;
  inode_ = info.st_ino;
  end_.store(0, std::memory_order_relaxed);
  fd_.store(fd, std::memory_order_release);
  open_.store(true, std::memory_order_release);
  return 0;
}

// The program may have closed our descriptor, and opened a file of its own under the same number.
int BlockFile::descriptor() noexcept {
  int fd = fd_.load(std::memory_order_acquire);
  if (is_ours(fd)) return fd;
  const int again = raw_open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (again < 0) return -errno;
  if (!is_ours(again)) {
    raw_close(again);
    return -ESTALE;
  }
  const int high = move_high(again);
  if (fd_.compare_exchange_strong(fd, high, std::memory_order_acq_rel)) return high;
  raw_close(high);  // another thread was faster
  return is_ours(fd) ? fd : -EBADF;
}

int BlockFile::map(void* address, std::uint64_t size) noexcept {
  if (!is_open()) return EBADF;
  const int fd = descriptor();
  if (fd < 0) return -fd;
  std::uint64_t offset = end_.fetch_add(size, std::memory_order_relaxed);
  int error = reserve_space(fd, offset, size);
  if (error == 0) {
    const int protection = PROT_READ | PROT_WRITE;
    void* at = mmap(address, size, protection, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset));
    if (at != MAP_FAILED) {
      error = populate(address, size);
      if (error == 0) return 0;
      (void)mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    } else {
      error = errno;
    }
  }
  // Nothing was written there, so the next block may take the place, unless one was appended meanwhile; a gap
  // of zeros does no harm.
  std::uint64_t end = offset + size;
  end_.compare_exchange_strong(end, offset, std::memory_order_relaxed);
  return error;
}

int BlockFile::rename(const char* new_path) noexcept {
  if (!is_open()) return EBADF;
  const std::size_t length = std::strlen(new_path);
  if (length >= kPathSize) return ENAMETOOLONG;
  if (const int error = rename_without_replacing(path_, new_path); error != 0) return error;
  std::memcpy(path_, new_path, length + 1);
  return 0;
}

void BlockFile::give_up_descriptor() noexcept {
  const int fd = fd_.exchange(-1, std::memory_order_acq_rel);
  if (is_ours(fd)) raw_close(fd);
}

void BlockFile::close(bool unlink_file) noexcept {
  if (!is_open()) return;
  open_.store(false, std::memory_order_release);
  give_up_descriptor();
  if (unlink_file) ::unlink(path_);
}

}  // namespace culprit::measurement
