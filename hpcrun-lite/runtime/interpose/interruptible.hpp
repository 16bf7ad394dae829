#pragma once

#include <cstddef>

#include <sys/uio.h>

// Which reads and writes by descriptor a signal can break off or make come short. Asked before the call:
// after it, nothing shows whether the program's own signals came as well.
namespace culprit::runtime {

/// Reads from devices and writes to pipes up to this size are whole or nothing (PIPE_BUF, one page).
inline constexpr std::size_t kWhole = 4096;

bool reads_interruptibly(int descriptor, std::size_t size);
bool writes_interruptibly(int descriptor, std::size_t size);

/// Some socket of this process was given a timeout, after which every read of a socket asks for it.
void note_socket_timeout();

/// Whether the kernel can read the `size` bytes at `address`, at least 8: a call that is given them fails
/// with EFAULT otherwise. One system call per page: the kernel copies a mask before it refuses the unknown
/// change, and what forbids process_vm_readv (seccomp in a container) does not forbid this. False also where
/// the process is not measured: it may have forbidden itself every further system call.
bool is_readable(long address, std::size_t size);

/// Enough of a gathered size to distinguish a large one from a small one; 0 where the kernel refuses the
/// list.
std::size_t length_of(const iovec* pieces, int count);

}  // namespace culprit::runtime
