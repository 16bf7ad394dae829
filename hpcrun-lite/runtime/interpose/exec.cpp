// exec replaces the program in place: the measurement is complete, unless the call fails.
#include "runtime/process/scheduling.hpp"
#include "runtime/recording/flusher.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/start_stop.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include <alloca.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

/// Marks the measurement as ended by exec while it lives; a failed exec comes back and takes that back.
class Replacement {
 public:
  Replacement()
      : measured_(own_process() && !control.off.load(std::memory_order_relaxed) &&
                  !process.ended.load(std::memory_order_acquire)) {
    if (!measured_) return;
    if (Thread* thread = this_thread()) silence_events(thread);
    const bool stopped = stop_recording();
    hold_flusher();
    if (stopped) publish_all_totals();
    end_trace(measurement::EndReason::exec);
    note_schedules_now(now());
    if (file.open()) file.seal(measurement::EndReason::exec, now());
  }
  ~Replacement() {
    if (!measured_) return;
    const int error = errno;
    file.resume();
    resume_trace();
    allow_recording();
    // Another thread may be ending the process, and waits for the flusher thread to seal what nobody records
    // in.
    if (process.ended.load(std::memory_order_seq_cst)) stop_recording();
    release_flusher();
    if (Thread* thread = this_thread()) resume_events(thread);
    errno = error;
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

 private:
  bool measured_;
};

using Vector = char* const*;

/// Counts the arguments of an execl call from `first` to the null that ends them, both included.
std::size_t count_arguments(const char* first, va_list list) {
  std::size_t count = 1;
  for (const char* argument = first; argument != nullptr; argument = va_arg(list, const char*)) ++count;
  return count;
}

void copy_arguments(const char* first, va_list list, const char** vector) {
  for (const char* argument = first;; argument = va_arg(list, const char*)) {
    *vector++ = argument;
    if (argument == nullptr) return;
  }
}

}  // namespace
}  // namespace culprit::runtime

using culprit::runtime::copy_arguments;
using culprit::runtime::count_arguments;
using culprit::runtime::Real;
using culprit::runtime::Replacement;
using culprit::runtime::Vector;

namespace {

CULPRIT_REAL constinit Real<int(const char*, Vector, Vector)> real_execve{"execve"};
CULPRIT_REAL constinit Real<int(const char*, Vector)> real_execv{"execv"};
CULPRIT_REAL constinit Real<int(const char*, Vector)> real_execvp{"execvp"};
CULPRIT_REAL constinit Real<int(const char*, Vector, Vector)> real_execvpe{"execvpe"};
CULPRIT_REAL constinit Real<int(int, Vector, Vector)> real_fexecve{"fexecve"};
CULPRIT_REAL constinit Real<int(int, const char*, Vector, Vector, int)> real_execveat{"execveat"};

}  // namespace

CULPRIT_EXPORT int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  const Replacement replacement;
  return real_execve(path, argv, envp);
}

CULPRIT_EXPORT int execv(const char* path, char* const argv[]) noexcept {
  const Replacement replacement;
  return real_execv(path, argv);
}

CULPRIT_EXPORT int execvp(const char* name, char* const argv[]) noexcept {
  const Replacement replacement;
  return real_execvp(name, argv);
}

CULPRIT_EXPORT int execvpe(const char* name, char* const argv[], char* const envp[]) noexcept {
  const Replacement replacement;
  return real_execvpe(name, argv, envp);
}

CULPRIT_EXPORT int fexecve(int descriptor, char* const argv[], char* const envp[]) noexcept {
  const Replacement replacement;
  return real_fexecve(descriptor, argv, envp);
}

CULPRIT_EXPORT int execveat(int directory, const char* path, char* const argv[], char* const envp[],
                            int flags) noexcept {
  const Replacement replacement;
  return real_execveat(directory, path, argv, envp, flags);
}

// execl, execle and execlp take their arguments one by one; they are gathered on the stack, as the C library
// does.
// NOLINTBEGIN(bugprone-macro-parentheses): `vector` is declared
#define CULPRIT_GATHER(vector, first)                                             \
  va_list list;                                                                   \
  va_start(list, first);                                                          \
  const std::size_t count = count_arguments(first, list);                         \
  va_end(list);                                                                   \
  auto** vector = static_cast<const char**>(alloca(count * sizeof(const char*))); \
  va_start(list, first);                                                          \
  copy_arguments(first, list, vector)
// NOLINTEND(bugprone-macro-parentheses)

CULPRIT_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  CULPRIT_GATHER(vector, first);
  va_end(list);
  return execv(path, const_cast<char* const*>(vector));
}

CULPRIT_EXPORT int execlp(const char* name, const char* first, ...) noexcept {
  CULPRIT_GATHER(vector, first);
  va_end(list);
  return execvp(name, const_cast<char* const*>(vector));
}

CULPRIT_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  CULPRIT_GATHER(vector, first);
  char* const* environment = va_arg(list, char* const*);  // comes after the null at which the copy stopped
  va_end(list);
  return execve(path, const_cast<char* const*>(vector), environment);
}
