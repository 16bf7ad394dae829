// Grows the file under the live arenas by blocks. Each is reserved on disk before it is mapped, since a store
// into a page without space would end the program (SIGBUS). In a large file, which has many threads, space is
// reserved ahead: a reservation for each block would take a tenth of a thread's start. The file may get
// another name while a thread opens it; both names are tried, and the inode is compared.
#include "measurement/block_file.hpp"

#include "measurement/file_space.hpp"
#include "measurement/limits.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/raw_memory.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace culprit::measurement {
namespace {

// A file that is renamed while it is opened is looked for under both of its names, and under the first again.
constexpr unsigned kOpenAttempts = 3;
// A large file is one of many threads: to reserve each block by itself would take a tenth of a thread's
// start.
constexpr std::uint64_t kLarge = kPopulatedThreads * layout::kGranule;
constexpr std::uint64_t kAhead = 16 * layout::kGranule;

}  // namespace

std::uint64_t monotonic_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

bool BlockFile::is_ours(int fd) const noexcept {
  struct stat info {};
  return fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

int BlockFile::create(const char* path, bool copied) noexcept {
  const std::size_t length = std::strlen(path);
  if (length >= kPathSize) return ENAMETOOLONG;
  const int fd = raw_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kFileMode);
  if (fd < 0) return errno;
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    raw_close(fd);
    ::unlink(path);
    return error;
  }
  copied_ = copied || !stores_are_safe(fd);
  raw_close(fd);
  current_.store(0, std::memory_order_relaxed);
  std::memcpy(paths_[0], path, length + 1);
  device_ = info.st_dev;
  inode_ = info.st_ino;
  end_.store(0, std::memory_order_relaxed);
  mapped_.store(0, std::memory_order_relaxed);
  ahead_.store(0, std::memory_order_relaxed);
  holder_.store(0, std::memory_order_relaxed);
  open_.store(true, std::memory_order_release);
  return 0;
}

// The descriptor that the calling thread holds, or a new one; the negative errno on failure. Another file may
// have taken the name.
int BlockFile::open_again() noexcept {
  if (holder_.load(std::memory_order_acquire) == syscall(SYS_gettid)) return held_;
  int error = ENOENT;
  const unsigned first = current_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < kOpenAttempts && error == ENOENT; ++i) {
    const int fd = raw_open(paths_[(first + i) % 2], O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && is_ours(fd)) return fd;
    error = fd < 0 ? errno : ESTALE;
    if (fd >= 0) raw_close(fd);
  }
  return -error;
}

void BlockFile::close_again(int fd) const noexcept {
  if (holder_.load(std::memory_order_acquire) != syscall(SYS_gettid)) raw_close(fd);
}

int BlockFile::hold() noexcept {
  if (!is_open()) return EBADF;
  holder_.store(0, std::memory_order_release);
  const int fd = open_again();
  if (fd < 0) return -fd;
  held_ = fd;
  holder_.store(syscall(SYS_gettid), std::memory_order_release);
  return 0;
}

// Maps reserved space, or memory that stands for it.
int BlockFile::place(int fd, void* address, std::uint64_t offset, std::uint64_t size,
                     std::uint64_t present) noexcept {
  const int protection = PROT_READ | PROT_WRITE;
  if (!copied_) {
    void* at = raw_map(address, size, protection, MAP_SHARED | MAP_FIXED, fd, offset);
    if (at == MAP_FAILED && (offset != 0 || errno == ENOMEM)) return errno;
    // The first block finds out whether this file system maps files for writing at all; later ones, of
    // several threads at once, leave that alone.
    if (at == MAP_FAILED) copied_ = true;
  }
  if (copied_) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (raw_map(address, size, protection, flags) == MAP_FAILED) return errno;
  }
  // Present and writable pages: without them the handler's first store into each would fault, and on a file
  // system that broke the promise of reserve_space it would be a SIGBUS.
  // Without advice the kernel would fill the page cache with what lies around the first page.
  if (!copied_ && present < size) (void)raw_advise(address, size, MADV_RANDOM);
  int error = raw_populate(address, present < size ? present : size);
  if (error == 0 && copied_) error = pages_.add(static_cast<std::byte*>(address), size, offset);
  if (error != 0) {
    (void)raw_map(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED);
  }
  return error;
}

// Also for blocks to come, in a large file. Only what was reserved goes into ahead_: of several threads that
// are at this, the last one's.
int BlockFile::reserve(int fd, std::uint64_t offset, std::uint64_t size) noexcept {
  constexpr unsigned kHalf = 32;
  const std::uint64_t first = offset / layout::kGranule;
  const std::uint64_t end = (offset + size) / layout::kGranule;
  const std::uint64_t ahead = ahead_.load(std::memory_order_acquire);
  if (first >= ahead >> kHalf && end <= (ahead & 0xffffffff)) return 0;
  if (offset < kLarge || reserve_space(fd, offset, size + kAhead) != 0)
    return reserve_space(fd, offset, size);
  ahead_.store(first << kHalf | (end + kAhead / layout::kGranule), std::memory_order_release);
  return 0;
}

int BlockFile::map(void* address, std::uint64_t size, std::uint64_t present) noexcept {
  if (!is_open()) return EBADF;
  const int fd = open_again();
  if (fd < 0) return -fd;
  const std::uint64_t offset = end_.fetch_add(size, std::memory_order_relaxed);
  int error = reserve(fd, offset, size);
  if (error == 0) error = place(fd, address, offset, size, present);
  close_again(fd);
  if (error == 0) {
    std::uint64_t before = mapped_.load(std::memory_order_relaxed);
    while (before < offset + size &&
           !mapped_.compare_exchange_weak(before, offset + size, std::memory_order_release)) {
    }
    return 0;
  }
  // Nothing was written there, so the next block may take the place, unless one was appended meanwhile; a gap
  // of zeros does no harm.
  std::uint64_t end = offset + size;
  end_.compare_exchange_strong(end, offset, std::memory_order_relaxed);
  return error;
}

int BlockFile::write_out() noexcept {
  if (!is_open() || !copied_) return 0;
  const int fd = open_again();
  if (fd < 0) return -fd;
  const int error = pages_.write_out(fd);
  close_again(fd);
  return error;
}

int BlockFile::rename(const char* new_path) noexcept {
  if (!is_open()) return EBADF;
  const std::size_t length = std::strlen(new_path);
  if (length >= kPathSize) return ENAMETOOLONG;
  const unsigned next = 1 - current_.load(std::memory_order_relaxed);
  std::memcpy(paths_[next], new_path, length + 1);
  if (const int error = rename_without_replacing(path(), new_path); error != 0) return error;
  current_.store(next, std::memory_order_release);
  return 0;
}

void BlockFile::close(bool unlink_file) noexcept {
  if (!is_open()) return;
  open_.store(false, std::memory_order_release);
  if (unlink_file) ::unlink(path());
}

void BlockFile::release() noexcept {
  pages_.release();
}

}  // namespace culprit::measurement
