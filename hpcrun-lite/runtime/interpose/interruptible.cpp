#include "runtime/interpose/interruptible.hpp"

#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/system_calls.hpp"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

#include <fcntl.h>
#include <sys/stat.h>

namespace culprit::runtime {
namespace {

std::atomic<bool> timeouts{false};

/// The file type bits of the mode; 0 where there are none (an event descriptor, or no descriptor at all).
mode_t type_of(int descriptor) {
  struct stat status {};
  return system_call(SYS_fstat, descriptor, word(&status)) == 0 ? status.st_mode & S_IFMT : 0;
}

}  // namespace

bool is_readable(long address, std::size_t size) {
  if (!process.active) return false;
  constexpr std::uintptr_t kPage = 4096;
  constexpr long kNoChange = -1;
  const auto begin = static_cast<std::uintptr_t>(address);
  const std::uintptr_t last = begin + size - sizeof(KernelMask);
  for (std::uintptr_t at = begin; at < begin + size;
       at = (at + sizeof(KernelMask) - 1) / kPage * kPage + kPage) {
    const auto mask = static_cast<long>(at < last ? at : last);
    if (system_call(SYS_rt_sigprocmask, kNoChange, mask, 0, sizeof(KernelMask)) == -EFAULT) return false;
  }
  return true;
}

bool reads_interruptibly(int descriptor, std::size_t size) {
  const bool large = size > kWhole;
  const bool timed = timeouts.load(std::memory_order_relaxed);
  if ((!large && !timed) || this_thread() == nullptr) return false;
  const mode_t type = type_of(descriptor);
  return (timed && type == S_IFSOCK) || (large && type == S_IFCHR);
}

bool writes_interruptibly(int descriptor, std::size_t size) {
  if (size <= 1 || this_thread() == nullptr) return false;
  const mode_t type = type_of(descriptor);
  return type == S_IFSOCK || (size > kWhole && (type == S_IFIFO || type == S_IFCHR));
}

void note_socket_timeout() {
  timeouts.store(true, std::memory_order_relaxed);
}

std::size_t length_of(const iovec* pieces, int count) {
  if (count <= 0 || count > IOV_MAX) return 0;
  if (!is_readable(word(pieces), static_cast<std::size_t>(count) * sizeof *pieces)) return 0;
  std::size_t length = 0;
  for (int i = 0; i < count && length <= kWhole; ++i) length += pieces[i].iov_len;
  return length;
}

}  // namespace culprit::runtime
