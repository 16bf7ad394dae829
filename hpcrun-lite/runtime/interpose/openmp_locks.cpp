// Locks of OpenMP, by libgomp and libomp: critical sections, atomic updates by a lock, and the program's own.
// What they look like is each library's; so threads that hold or want one are counted, and who finds another
// is taken to wait. Cost where nobody waits: two atomic additions on a line that is the thread's own then.
#include "runtime/modules/library_function.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"

#include <cstdint>

namespace culprit::runtime {
namespace {

/// Stand for libgomp's unnamed critical section and its lock of atomic updates.
constexpr char kUnnamed = 0, kAtomic = 0;

template <typename Function, typename... Arguments>
[[gnu::noinline]] void wait_for(const void* lock, Function real, Arguments... arguments) {
  const CallMark mark(CallMark::lock, reinterpret_cast<const void*>(real));
  LockWait wait(lock);
  real(arguments...);
  wait.end(true);
}

/// Takes the lock, waiting for it where another thread has or wants it.
template <typename Function, typename... Arguments>
void take(const void* lock, Function real, Arguments... arguments) {
  if (real == nullptr) return;  // there is no OpenMP: somebody found our function
  if (!culprit_rt_thread.counted) return real(arguments...);
  if (locks::want(lock) == 0) [[likely]]
    return real(arguments...);
  wait_for(lock, real, arguments...);
}

int note_taken(const void* lock, int taken) {
  if (taken != 0 && culprit_rt_thread.counted) locks::want(lock);
  return taken;
}

template <typename Function, typename... Arguments>
void give_back(const void* lock, Function real, Arguments... arguments) {
  if (real == nullptr) return;
  if (!culprit_rt_thread.counted) return real(arguments...);
  const std::uint64_t owed = locks::anybody_waits() ? settle_lock(lock, 1) : 0;
  locks::unwant(lock);
  real(arguments...);
  if (owed != 0) charge_lock_wait(owed);
}

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

// NOLINTBEGIN(bugprone-macro-parentheses): lists of parameters in parentheses
#define CULPRIT_LIST(...) __VA_OPT__(, ) __VA_ARGS__
#define CULPRIT_OF_LOCK(act, real, name, parameters, arguments, lock) \
  CULPRIT_EXPORT void name parameters {                               \
    static CULPRIT_OF_LIBRARY OfLibrary<void parameters> next{#name}; \
    act(lock, real CULPRIT_LIST arguments);                           \
  }
#define CULPRIT_TAKES(name, parameters, arguments, lock) \
  CULPRIT_OF_LOCK(take, next.of(__builtin_return_address(0)), name, parameters, arguments, lock)
#define CULPRIT_GIVES(name, parameters, arguments, lock) \
  CULPRIT_OF_LOCK(give_back, next.of(__builtin_return_address(0)), name, parameters, arguments, lock)
#define CULPRIT_BEGINS(name, parameters, arguments, lock) \
  CULPRIT_OF_LOCK(take, next.of_begin(__builtin_return_address(0)), name, parameters, arguments, lock)
#define CULPRIT_ENDS(name, parameters, arguments, lock) \
  CULPRIT_OF_LOCK(give_back, next.of_end(), name, parameters, arguments, lock)

CULPRIT_BEGINS(GOMP_critical_start, (), (), &kUnnamed)
CULPRIT_ENDS(GOMP_critical_end, (), (), &kUnnamed)
CULPRIT_BEGINS(GOMP_critical_name_start, (void** section), (section), section)
CULPRIT_ENDS(GOMP_critical_name_end, (void** section), (section), section)
CULPRIT_BEGINS(GOMP_atomic_start, (), (), &kAtomic)
CULPRIT_ENDS(GOMP_atomic_end, (), (), &kAtomic)
CULPRIT_TAKES(omp_set_lock, (void* lock), (lock), lock)
CULPRIT_GIVES(omp_unset_lock, (void* lock), (lock), lock)
// Fortran's.
CULPRIT_TAKES(omp_set_lock_, (void* lock), (lock), lock)
CULPRIT_GIVES(omp_unset_lock_, (void* lock), (lock), lock)
// What clang calls: the place in the source, the thread's number, the section.
CULPRIT_TAKES(__kmpc_critical, (void* source, int thread, void* section), (source, thread, section), section)
CULPRIT_TAKES(__kmpc_critical_with_hint, (void* source, int thread, void* section, unsigned hint),
              (source, thread, section, hint), section)
CULPRIT_GIVES(__kmpc_end_critical, (void* source, int thread, void* section), (source, thread, section),
              section)
// NOLINTEND(bugprone-macro-parentheses)

/// Counts who got the lock without waiting.
CULPRIT_EXPORT int omp_test_lock(void* lock) {
  static CULPRIT_OF_LIBRARY OfLibrary<int(void*)> next{"omp_test_lock"};
  const auto real = next.of(__builtin_return_address(0));
  return real == nullptr ? 1 : note_taken(lock, real(lock));
}
CULPRIT_EXPORT int omp_test_lock_(void* lock) {
  static CULPRIT_OF_LIBRARY OfLibrary<int(void*)> next{"omp_test_lock_"};
  const auto real = next.of(__builtin_return_address(0));
  return real == nullptr ? 1 : note_taken(lock, real(lock));
}
