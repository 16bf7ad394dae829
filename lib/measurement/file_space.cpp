// Reserves disk space by fallocate, or by writing zeros where the file system has none. The kind of file
// system (statfs) decides whether stores into mapped pages are safe: not where a rewritten page needs new
// space, nor where pages travel to a server.
#include "measurement/file_space.hpp"

#include "measurement/write_signals.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace culprit::measurement {
namespace {

constexpr int kMaxRetries = 1000;  // fallocate on tmpfs gives EINTR on every signal; a retry starts over
constexpr std::size_t kZeros = 4096;
alignas(16) constexpr char zeros[kZeros] = {};

int write_fully(int fd, const void* data, std::uint64_t size, std::uint64_t offset) noexcept {
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

// Many pages at a time: to a server that takes milliseconds, each write is a message.
int write_zeros(int fd, std::uint64_t offset, std::uint64_t size) noexcept {
  constexpr std::size_t kAtOnce = 16;
  iovec pages[kAtOnce];
  for (iovec& page : pages) page = {.iov_base = const_cast<char*>(zeros), .iov_len = kZeros};
  while (size > 0) {
    const std::uint64_t whole = size / kZeros < kAtOnce ? size / kZeros : kAtOnce;
    if (whole == 0) return write_fully(fd, zeros, size, offset);
    const long written = syscall(SYS_pwritev, fd, pages, whole, static_cast<long>(offset), 0L);
    if (written < 0 && errno != EINTR) return errno;
    if (written == 0) return ENOSPC;
    const auto done = written < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(written);
    offset += done;
    size -= done;
  }
  return 0;
}

// File systems on which a mapped page is a risk, by the number that statfs gives them (linux/magic.h, where
// it has them; the others from the file systems' own sources).
constexpr std::uint32_t kCopyOnWrite[] = {
    0x9123683e,  // btrfs: rewriting a page needs new space, and SIGBUS says where there is none
    0x2fc12fc1,  // zfs
    0xca451a4e,  // bcachefs
};
constexpr std::uint32_t kRemote[] = {
    0x00006969,  // nfs: a store into a page that is being written back waits for the server
    0x0000517b,  // smb
    0xff534d42,  // cifs
    0xfe534d42,  // smb2
    0x0bd00bd0,  // lustre
    0x47504653,  // gpfs
    0x00c36400,  // ceph
    0x5346414f,  // afs
    0x01021997,  // 9p
    0x19830326,  // beegfs
    0xaad7aaea,  // panfs
    0x20030528,  // orangefs
    0x65735546,  // fuse
};

constexpr std::uint32_t kExt4 = 0x0000ef53;

template <std::size_t Count>
bool listed(std::uint32_t kind, const std::uint32_t (&kinds)[Count]) noexcept {
  for (const std::uint32_t candidate : kinds) {
    if (kind == candidate) return true;
  }
  return false;
}

}  // namespace

bool is_passing(int error) noexcept {
  return error == EIO || error == ESTALE || error == ETIMEDOUT || error == EAGAIN;
}

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

bool stores_are_safe(int fd) noexcept {
  struct statfs info {};
  if (fstatfs(fd, &info) != 0) return true;
  const auto kind = static_cast<std::uint32_t>(info.f_type);
  return !listed(kind, kCopyOnWrite) && !listed(kind, kRemote);
}

void join_space(int fd, std::uint64_t size) noexcept {
  struct statfs info {};
  if (fstatfs(fd, &info) != 0 || static_cast<std::uint32_t>(info.f_type) != kExt4) return;
  (void)syscall(SYS_fallocate, fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, off_t{0},
                static_cast<off_t>(size));
}

int write_all(int fd, const void* data, std::uint64_t size, std::uint64_t offset) noexcept {
  const WriteSignals signals;
  return write_fully(fd, data, size, offset);
}

int reserve_space(int fd, std::uint64_t offset, std::uint64_t size) noexcept {
  if (!size_allowed(offset + size)) return EFBIG;
  const WriteSignals signals;  // the program may lower its limit at this moment
  for (int i = 0; i < kMaxRetries; ++i) {
    if (syscall(SYS_fallocate, fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) return 0;
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == ENODEV) return write_zeros(fd, offset, size);
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
