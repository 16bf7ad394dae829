#pragma once

#include <cerrno>
#include <cstdint>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// Mappings by direct system call. Communication libraries (UCX, libfabric, Open MPI) rewrite the C library's
// mmap, munmap and madvise to see every mapping; what they do there takes locks and may translate
// messages, and has crashed in a thread without a C library thread behind it. Our mappings are none of their
// business. Everything here is async-signal-safe.
namespace culprit::measurement {

/// As mmap: MAP_FAILED and errno where it fails.
inline void* raw_map(void* address, std::uint64_t size, int protection, int flags, int fd = -1,
                     std::uint64_t offset = 0) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): how the kernel hands out addresses
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, fd, offset));
}

/// As munmap.
inline int raw_unmap(void* address, std::uint64_t size) noexcept {
  return static_cast<int>(syscall(SYS_munmap, address, size));
}

/// As madvise.
inline int raw_advise(void* address, std::uint64_t size, int advice) noexcept {
  return static_cast<int>(syscall(SYS_madvise, address, size, advice));
}

/// Gives fresh memory of ours its pages, present and writable, so that no later store faults. `address` lies
/// on a page. Returns 0 or an errno.
inline int raw_populate(void* address, std::uint64_t size) noexcept {
#ifdef MADV_POPULATE_WRITE
  for (;;) {
    if (raw_advise(address, size, MADV_POPULATE_WRITE) == 0) return 0;
    if (errno == EINVAL) break;  // a kernel older than 5.14
    if (errno == EFAULT) return ENOSPC;
    if (errno != EINTR && errno != EAGAIN) return errno;
  }
#endif
  constexpr std::uint64_t kPage = 4096;
  for (std::uint64_t at = 0; at < size; at += kPage) {
    *reinterpret_cast<volatile char*>(static_cast<char*>(address) + at) = 0;
  }
  return 0;
}

}  // namespace culprit::measurement
