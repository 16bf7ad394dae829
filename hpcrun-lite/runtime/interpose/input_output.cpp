// The interposed functions that read and write at a place of a file, and those of streams: what they move is
// counted. A signal breaks them off rarely (devices, sockets with a timeout); those that it breaks off
// otherwise are in waits.def. The C library's own reads and writes behind printf and its like cannot be
// interposed.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/recording/moved_bytes.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <sys/uio.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

/// A stream is given up on where it is a socket's with a timeout; without a stream, all are meant. Asked of
/// few: of a stream in memory, fileno() changes errno.
std::uint64_t stream_limit(FILE* stream) {
  return forever_if(may_have_timed_sockets() &&
                    (stream == nullptr || is_timed_socket(fileno_unlocked(stream))));
}

/// Closing also waits where the socket lingers.
std::uint64_t closing_limit(FILE* stream) {
  const std::uint64_t limit = stream_limit(stream);
  return limit != 0 ? limit : forever_if(may_have_lingering_sockets() && may_linger(fileno_unlocked(stream)));
}

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

// NOLINTBEGIN(bugprone-macro-parentheses,bugprone-reserved-identifier): lists of parameters in parentheses;
// names of the C library
/// `bytes`: of `moved`, what it returns. `limit`: as in waits.def, CULPRIT_MAY_BLOCK.
#define CULPRIT_MOVES(result, name, parameters, arguments, direction, bytes, limit)           \
  CULPRIT_EXPORT result name parameters {                                                     \
    static CULPRIT_REAL Real<result parameters> real{#name};                                  \
    forget_left_marks(__builtin_dwarf_cfa());                                                 \
    const result moved = hold_back(real.address(), limit, [&] { return real arguments; });    \
    count_bytes(Direction::direction, static_cast<ssize_t>(bytes), CULPRIT_INTERPOSED(real)); \
    return moved;                                                                             \
  }
#define CULPRIT_READS_AT(name, parameters, arguments, size)        \
  CULPRIT_MOVES(ssize_t, name, parameters, arguments, read, moved, \
                forever_if(reads_interruptibly(file, size)))
#define CULPRIT_WRITES_AT(name, parameters, arguments, limit) \
  CULPRIT_MOVES(ssize_t, name, parameters, arguments, written, moved, limit)
#define CULPRIT_STREAM(name, parameters, arguments, direction, limit) \
  CULPRIT_MOVES(std::size_t, name, parameters, arguments, direction, moved* size, limit)

CULPRIT_READS_AT(pread, (int file, void* buffer, std::size_t size, off_t offset),
                 (file, buffer, size, offset), size)
CULPRIT_READS_AT(pread64, (int file, void* buffer, std::size_t size, off64_t offset),
                 (file, buffer, size, offset), size)
CULPRIT_READS_AT(__pread_chk, (int file, void* buffer, std::size_t size, off_t offset, std::size_t room),
                 (file, buffer, size, offset, room), size)
CULPRIT_READS_AT(__pread64_chk, (int file, void* buffer, std::size_t size, off64_t offset, std::size_t room),
                 (file, buffer, size, offset, room), size)
CULPRIT_READS_AT(preadv, (int file, const iovec* pieces, int count, off_t offset),
                 (file, pieces, count, offset), length_of(pieces, count))
CULPRIT_READS_AT(preadv64, (int file, const iovec* pieces, int count, off64_t offset),
                 (file, pieces, count, offset), length_of(pieces, count))
CULPRIT_READS_AT(preadv2, (int file, const iovec* pieces, int count, off_t offset, int flags),
                 (file, pieces, count, offset, flags), length_of(pieces, count))
CULPRIT_READS_AT(preadv64v2, (int file, const iovec* pieces, int count, off64_t offset, int flags),
                 (file, pieces, count, offset, flags), length_of(pieces, count))
CULPRIT_WRITES_AT(pwrite, (int file, const void* buffer, std::size_t size, off_t offset),
                  (file, buffer, size, offset), 0)
CULPRIT_WRITES_AT(pwrite64, (int file, const void* buffer, std::size_t size, off64_t offset),
                  (file, buffer, size, offset), 0)
CULPRIT_WRITES_AT(pwritev, (int file, const iovec* pieces, int count, off_t offset),
                  (file, pieces, count, offset), 0)
CULPRIT_WRITES_AT(pwritev64, (int file, const iovec* pieces, int count, off64_t offset),
                  (file, pieces, count, offset), 0)
CULPRIT_WRITES_AT(pwritev2, (int file, const iovec* pieces, int count, off_t offset, int flags),
                  (file, pieces, count, offset, flags),
                  forever_if(offset == -1 && writes_interruptibly(file, length_of(pieces, count))))
CULPRIT_WRITES_AT(pwritev64v2, (int file, const iovec* pieces, int count, off64_t offset, int flags),
                  (file, pieces, count, offset, flags),
                  forever_if(offset == -1 && writes_interruptibly(file, length_of(pieces, count))))

CULPRIT_STREAM(fread, (void* buffer, std::size_t size, std::size_t count, FILE* stream),
               (buffer, size, count, stream), read, stream_limit(stream))
CULPRIT_STREAM(fread_unlocked, (void* buffer, std::size_t size, std::size_t count, FILE* stream),
               (buffer, size, count, stream), read, stream_limit(stream))
CULPRIT_STREAM(__fread_chk,
               (void* buffer, std::size_t room, std::size_t size, std::size_t count, FILE* stream),
               (buffer, room, size, count, stream), read, stream_limit(stream))
CULPRIT_STREAM(__fread_unlocked_chk,
               (void* buffer, std::size_t room, std::size_t size, std::size_t count, FILE* stream),
               (buffer, room, size, count, stream), read, stream_limit(stream))
CULPRIT_STREAM(fwrite, (const void* buffer, std::size_t size, std::size_t count, FILE* stream),
               (buffer, size, count, stream), written, stream_limit(stream))
CULPRIT_STREAM(fwrite_unlocked, (const void* buffer, std::size_t size, std::size_t count, FILE* stream),
               (buffer, size, count, stream), written, stream_limit(stream))

/// Writes what is not counted here.
#define CULPRIT_FLUSHES(name, parameters, arguments, limit)                  \
  CULPRIT_EXPORT int name parameters {                                       \
    static CULPRIT_REAL Real<int parameters> real{#name};                    \
    forget_left_marks(__builtin_dwarf_cfa());                                \
    return hold_back(real.address(), limit, [&] { return real arguments; }); \
  }

CULPRIT_FLUSHES(fflush, (FILE * stream), (stream), stream_limit(stream))
CULPRIT_FLUSHES(fflush_unlocked, (FILE * stream), (stream), stream_limit(stream))
CULPRIT_FLUSHES(fclose, (FILE * stream), (stream), closing_limit(stream))
CULPRIT_FLUSHES(vdprintf, (int file, const char* format, va_list values), (file, format, values),
                forever_if(is_timed_socket(file)))
CULPRIT_FLUSHES(__vdprintf_chk, (int file, int flag, const char* format, va_list values),
                (file, flag, format, values), forever_if(is_timed_socket(file)))

CULPRIT_EXPORT int dprintf(int file, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int result = vdprintf(file, format, values);
  va_end(values);
  return result;
}

CULPRIT_EXPORT int __vdprintf_chk(int file, int flag, const char* format, va_list values);

CULPRIT_EXPORT int __dprintf_chk(int file, int flag, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int result = __vdprintf_chk(file, flag, format, values);
  va_end(values);
  return result;
}
// NOLINTEND(bugprone-macro-parentheses,bugprone-reserved-identifier)
