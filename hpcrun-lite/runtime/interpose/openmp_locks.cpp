// Locks of OpenMP, by libgomp and libomp: critical sections, atomic updates by a lock, and the program's own.
// What they look like is each library's; so threads that hold or want one are counted, and who finds another
// is taken to wait. Cost where nobody waits: two atomic additions on a line that is the thread's own then.
#include "runtime/modules/call_slots.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/state/call_mark.hpp"

#include <cstdint>

namespace culprit::runtime {
namespace {

/// Stand for libgomp's unnamed critical section and its lock of atomic updates.
constexpr char kUnnamed = 0, kAtomic = 0;

template <typename Function, typename... Arguments>
[[gnu::noinline]] void wait_for(const void* lock, const Function& real, Arguments... arguments) {
  const CallMark mark(CallMark::lock, real.address());
  LockWait wait(lock);
  real(arguments...);
  wait.end(true);
}

/// Takes the lock, waiting for it where another thread has or wants it.
template <typename Function, typename... Arguments>
[[gnu::always_inline]] inline void take(const void* lock, const Function& real, Arguments... arguments) {
  note_taken(lock);
  if (!culprit_rt_thread.counted) return real(arguments...);
  if (locks::want(lock) == 0) [[likely]]
    return real(arguments...);
  wait_for(lock, real, arguments...);
}

/// Counts who got the lock without waiting.
template <typename Function>
[[gnu::always_inline]] inline int try_to_take(void* lock, const Function& real) {
  note_taken(lock);
  const int taken = real(lock);
  if (taken != 0 && culprit_rt_thread.counted) locks::want(lock);
  return taken;
}

template <typename Function, typename... Arguments>
void give_back(const void* lock, const Function& real, Arguments... arguments) {
  if (!culprit_rt_thread.counted) return real(arguments...);
  const std::uint64_t owed = locks::anybody_waits() ? settle_lock(lock, 1) : 0;
  locks::unwant(lock);
  real(arguments...);
  if (owed != 0) charge_lock_wait(lock, owed);
}

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

// NOLINTBEGIN(bugprone-macro-parentheses): lists of parameters in parentheses
#define CULPRIT_LIST(...) __VA_OPT__(, ) __VA_ARGS__
#define CULPRIT_OF_LOCK(result, act, name, parameters, arguments, lock)                                \
  namespace {                                                                                          \
  struct name {                                                                                        \
    using Signature = result parameters;                                                               \
    static CULPRIT_REDIRECTED Redirected redirected;                                                   \
    [[gnu::always_inline]] static result call(const Target<Signature>& real CULPRIT_LIST parameters) { \
      return act(lock, real CULPRIT_LIST arguments);                                                   \
    }                                                                                                  \
  };                                                                                                   \
  constinit Redirected name::redirected = redirected_to<name>(#name);                                  \
  }
#define CULPRIT_TAKES(name, parameters, arguments, lock) \
  CULPRIT_OF_LOCK(void, take, name, parameters, arguments, lock)
#define CULPRIT_GIVES(name, parameters, arguments, lock) \
  CULPRIT_OF_LOCK(void, give_back, name, parameters, arguments, lock)
#define CULPRIT_TRIES(name) CULPRIT_OF_LOCK(int, try_to_take, name, (void* lock), (), lock)

CULPRIT_TAKES(GOMP_critical_start, (), (), &kUnnamed)
CULPRIT_GIVES(GOMP_critical_end, (), (), &kUnnamed)
CULPRIT_TAKES(GOMP_critical_name_start, (void** section), (section), section)
CULPRIT_GIVES(GOMP_critical_name_end, (void** section), (section), section)
CULPRIT_TAKES(GOMP_atomic_start, (), (), &kAtomic)
CULPRIT_GIVES(GOMP_atomic_end, (), (), &kAtomic)
CULPRIT_TAKES(omp_set_lock, (void* lock), (lock), lock)
CULPRIT_GIVES(omp_unset_lock, (void* lock), (lock), lock)
CULPRIT_TRIES(omp_test_lock)
// Fortran's.
CULPRIT_TAKES(omp_set_lock_, (void* lock), (lock), lock)
CULPRIT_GIVES(omp_unset_lock_, (void* lock), (lock), lock)
CULPRIT_TRIES(omp_test_lock_)
// What clang calls: the place in the source, the thread's number, the section.
CULPRIT_TAKES(__kmpc_critical, (void* source, int thread, void* section), (source, thread, section), section)
CULPRIT_TAKES(__kmpc_critical_with_hint, (void* source, int thread, void* section, unsigned hint),
              (source, thread, section, hint), section)
CULPRIT_GIVES(__kmpc_end_critical, (void* source, int thread, void* section), (source, thread, section),
              section)
// NOLINTEND(bugprone-macro-parentheses)
