// The interposed functions that read and write, and never wait in a way that a signal breaks off: what they
// move is counted. Those that do are in waits.def. The C library's own reads and writes behind printf and its
// like cannot be interposed.
#include "runtime/recording/moved_bytes.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cstddef>
#include <cstdio>

#include <sys/uio.h>
#include <unistd.h>

using namespace culprit::runtime;

// NOLINTBEGIN(bugprone-macro-parentheses,bugprone-reserved-identifier): lists of parameters in parentheses;
// names of the C library
/// `bytes`: of `moved`, what it returns.
#define CULPRIT_MOVES(result, name, parameters, arguments, direction, bytes)                  \
  CULPRIT_EXPORT result name parameters {                                                     \
    static CULPRIT_REAL Real<result parameters> real{#name};                                  \
    forget_left_marks(__builtin_dwarf_cfa());                                                 \
    const result moved = real arguments;                                                      \
    count_bytes(Direction::direction, static_cast<ssize_t>(bytes), CULPRIT_INTERPOSED(real)); \
    return moved;                                                                             \
  }
#define CULPRIT_READS_AT(name, parameters, arguments) \
  CULPRIT_MOVES(ssize_t, name, parameters, arguments, read, moved)
#define CULPRIT_WRITES_AT(name, parameters, arguments) \
  CULPRIT_MOVES(ssize_t, name, parameters, arguments, written, moved)

CULPRIT_READS_AT(pread, (int file, void* buffer, std::size_t size, off_t offset),
                 (file, buffer, size, offset))
CULPRIT_READS_AT(pread64, (int file, void* buffer, std::size_t size, off64_t offset),
                 (file, buffer, size, offset))
CULPRIT_READS_AT(__pread_chk, (int file, void* buffer, std::size_t size, off_t offset, std::size_t room),
                 (file, buffer, size, offset, room))
CULPRIT_READS_AT(__pread64_chk, (int file, void* buffer, std::size_t size, off64_t offset, std::size_t room),
                 (file, buffer, size, offset, room))
CULPRIT_READS_AT(preadv, (int file, const iovec* pieces, int count, off_t offset),
                 (file, pieces, count, offset))
CULPRIT_READS_AT(preadv64, (int file, const iovec* pieces, int count, off64_t offset),
                 (file, pieces, count, offset))
CULPRIT_READS_AT(preadv2, (int file, const iovec* pieces, int count, off_t offset, int flags),
                 (file, pieces, count, offset, flags))
CULPRIT_READS_AT(preadv64v2, (int file, const iovec* pieces, int count, off64_t offset, int flags),
                 (file, pieces, count, offset, flags))
CULPRIT_WRITES_AT(pwrite, (int file, const void* buffer, std::size_t size, off_t offset),
                  (file, buffer, size, offset))
CULPRIT_WRITES_AT(pwrite64, (int file, const void* buffer, std::size_t size, off64_t offset),
                  (file, buffer, size, offset))
CULPRIT_WRITES_AT(pwritev, (int file, const iovec* pieces, int count, off_t offset),
                  (file, pieces, count, offset))
CULPRIT_WRITES_AT(pwritev64, (int file, const iovec* pieces, int count, off64_t offset),
                  (file, pieces, count, offset))
CULPRIT_WRITES_AT(pwritev2, (int file, const iovec* pieces, int count, off_t offset, int flags),
                  (file, pieces, count, offset, flags))
CULPRIT_WRITES_AT(pwritev64v2, (int file, const iovec* pieces, int count, off64_t offset, int flags),
                  (file, pieces, count, offset, flags))

CULPRIT_MOVES(std::size_t, fread, (void* buffer, std::size_t size, std::size_t count, FILE* stream),
              (buffer, size, count, stream), read, moved* size)
CULPRIT_MOVES(std::size_t, fread_unlocked, (void* buffer, std::size_t size, std::size_t count, FILE* stream),
              (buffer, size, count, stream), read, moved* size)
CULPRIT_MOVES(std::size_t, __fread_chk,
              (void* buffer, std::size_t room, std::size_t size, std::size_t count, FILE* stream),
              (buffer, room, size, count, stream), read, moved* size)
CULPRIT_MOVES(std::size_t, __fread_unlocked_chk,
              (void* buffer, std::size_t room, std::size_t size, std::size_t count, FILE* stream),
              (buffer, room, size, count, stream), read, moved* size)
CULPRIT_MOVES(std::size_t, fwrite, (const void* buffer, std::size_t size, std::size_t count, FILE* stream),
              (buffer, size, count, stream), written, moved* size)
CULPRIT_MOVES(std::size_t, fwrite_unlocked,
              (const void* buffer, std::size_t size, std::size_t count, FILE* stream),
              (buffer, size, count, stream), written, moved* size)
// NOLINTEND(bugprone-macro-parentheses,bugprone-reserved-identifier)
