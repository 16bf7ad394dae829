#pragma once

#include <cstdint>

// Disk space that is there before it is touched: a store into a mapped file must never meet a full disk.
// Everything here is async-signal-safe.
namespace culprit::measurement {

/// open and close by direct system call: the C library's are cancellation points, and other preloaded
/// libraries interpose them with functions that allocate. open gives a descriptor or -1 and errno.
int raw_open(const char* path, int flags, unsigned mode = 0) noexcept;
int raw_close(int fd) noexcept;
inline constexpr unsigned kFileMode = 0644;  ///< of the files that a measurement makes

/// Whether the same may succeed later: it failed at a network file system's server, or on the way there.
bool is_passing(int error) noexcept;

/// Makes `size` bytes at `offset` of `fd` exist on disk, zero, extending the file. Checks RLIMIT_FSIZE first,
/// because exceeding it would raise SIGXFSZ in the program. Where the file system has no fallocate, writes
/// zeros. Returns 0 or an errno.
int reserve_space(int fd, std::uint64_t offset, std::uint64_t size) noexcept;

/// Before a file of `size` bytes goes for good: on ext4, makes one piece of its space, which loses what was
/// written and stays reserved. Of 10 000 blocks of which one page each was written, ext4 would free 20 000
/// pieces one by one and, mounted with `discard`, wait for the disk each time: 1.7 s in which the process
/// does not end, instead of 0.1 s.
void join_space(int fd, std::uint64_t size) noexcept;

/// Whether the file system of `fd` takes stores into mapped pages without failing or waiting once their space
/// is reserved. Not so where every rewrite needs new space (copy on write), nor where pages travel to a
/// server.
bool stores_are_safe(int fd) noexcept;

/// Whether a file of this process may grow to `size` bytes (RLIMIT_FSIZE).
bool size_allowed(std::uint64_t size) noexcept;

/// Writes all of `data`; resumes after EINTR and short writes; raises no signal. Returns 0 or an errno.
int write_all(int fd, const void* data, std::uint64_t size, std::uint64_t offset) noexcept;

/// Moves `from` to `to` unless `to` exists. Returns 0 or an errno.
int rename_without_replacing(const char* from, const char* to) noexcept;

}  // namespace culprit::measurement
