// pthread_create and thrd_create: threads are sampled from their start routine to their end, unless the MPI
// library started them for itself.
#include "runtime/life/thread_life.hpp"
#include "runtime/modules/modules.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/program_signals.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <csignal>
#include <cstring>

#include <pthread.h>
#include <sys/auxv.h>
#include <threads.h>

namespace culprit::runtime {
namespace {

/// Libraries whose threads serve MPI itself: its implementation, its process manager's client, its
/// transports.
constexpr const char* kServants[] = {"libmpi", "libmpich", "libopen-", "libpmix",   "libevent", "libucp",
                                     "libucs", "libuct",   "libucm",   "libfabric", "libpsm",   "libhwloc",
                                     "mca_",   "libprrte", "libmunge", "libmpifort"};

constexpr std::size_t kDefaultStack =
    8 * 1024 * 1024;  // only guides where a walk may look: reads stay above sp

bool serves_mpi(std::uint64_t address) {
  LoadedModule module;
  if (!find_loaded(address, module) || module.name == nullptr) return false;
  const char* slash = strrchr(module.name, '/');
  const char* name = slash == nullptr ? module.name : slash + 1;
  for (const char* servant : kServants) {
    if (strncmp(name, servant, strlen(servant)) == 0) return true;
  }
  return false;
}

/// Called on the new thread. The C library keeps a thread's descriptor at the top of its stack: all frames
/// are below.
void begin_created(Thread* thread) {
  const auto high = static_cast<std::uint64_t>(pthread_self());
  begin_thread(thread, high - thread->routine.stack_size, high);
  watch_end_of_thread(thread);
  set_blocked_by_program(thread->routine.blocked);
  // Programs often block all signals around the creation of a thread; ours is none of theirs.
  change_mask(SIG_UNBLOCK, process.mask);
}

void* run_thread(void* state) {
  auto* thread = static_cast<Thread*>(state);
  const auto routine = reinterpret_cast<void* (*)(void*)>(thread->routine.address);
  void* argument = thread->routine.argument;
  begin_created(thread);
  return routine(argument);
}

/// C11 routines return an int.
int run_c11_thread(void* state) {
  auto* thread = static_cast<Thread*>(state);
  const auto routine = reinterpret_cast<int (*)(void*)>(thread->routine.address);
  void* argument = thread->routine.argument;
  begin_created(thread);
  return routine(argument);
}

/// A state for a thread that is about to be created; null where it is not to be sampled.
Thread* prepare_thread(const void* caller, const void* routine, void* argument, std::size_t stack_size) {
  if (!own_process() || process.ended.load(std::memory_order_acquire)) return nullptr;
  if (control.off.load(std::memory_order_relaxed)) return nullptr;
  if (serves_mpi(reinterpret_cast<std::uint64_t>(caller)) ||
      serves_mpi(reinterpret_cast<std::uint64_t>(routine))) {
    return nullptr;
  }
  count_caller();
  Thread* thread = allocate_thread();
  if (thread == nullptr) return nullptr;
  thread->main = false;
  thread->routine.address = reinterpret_cast<std::uintptr_t>(routine);
  thread->routine.argument = argument;
  thread->routine.stack_size = stack_size;
  thread->routine.blocked = blocked_by_program();
  return thread;
}

/// A thread's attributes with room on its stack for what a signal puts there: a program that gives its
/// threads just as much stack as they need did not count on signals. Does nothing for stacks of the program's
/// own.
class RoomForSignals {
 public:
  explicit RoomForSignals(const pthread_attr_t* given) : given_(given) {
    if (given == nullptr) return;
    void* own_stack = nullptr;
    std::size_t set = 0;
    if (pthread_attr_getstacksize(given, &size_) != 0 || pthread_attr_getstack(given, &own_stack, &set) != 0)
      return;
    // Without a stack of the program's own, the address that the C library reports is 0 less the size.
    if (size_ >= kAmple || reinterpret_cast<std::uintptr_t>(own_stack) + set != 0) return;
    larger_ = *given;  // shares what it points to, and is never destroyed
    if (pthread_attr_setstacksize(&larger_, size_ + kHandlerRoom + frame_size()) != 0) return;
    pthread_attr_getstacksize(&larger_, &size_);
    given_ = &larger_;
  }
  [[nodiscard]] const pthread_attr_t* get() const { return given_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kAmple = 1024 * 1024;  // nobody counts this much out to the last page
  static constexpr std::size_t kHandlerRoom =
      4096;                                       // for what the handler itself does on the program's stack
  static constexpr std::size_t kOldFrame = 4096;  // kernels that do not say know no larger registers

  /// What the kernel puts on the stack for one signal, with all registers of this processor; whole pages.
  static std::size_t frame_size() {
    const std::size_t least = getauxval(AT_MINSIGSTKSZ);
    return ((least == 0 ? kOldFrame : least) + 4095) & ~std::size_t{4095};
  }

  const pthread_attr_t* given_;
  pthread_attr_t larger_;
  std::size_t size_ = kDefaultStack;
};

}  // namespace

}  // namespace culprit::runtime

using culprit::runtime::Real;
using culprit::runtime::RoomForSignals;
using culprit::runtime::Thread;

CULPRIT_EXPORT int pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*routine)(void*),
                                  void* argument) {
  static CULPRIT_REAL Real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> real{
      "pthread_create"};
  const RoomForSignals room(attributes);
  Thread* thread = culprit::runtime::prepare_thread(
      __builtin_return_address(0), reinterpret_cast<const void*>(routine), argument, room.size());
  if (thread == nullptr) return real(id, attributes, routine, argument);
  const int error = real(id, room.get(), culprit::runtime::run_thread, thread);
  if (error != 0) culprit::runtime::free_thread(thread);
  return error;
}

CULPRIT_EXPORT int thrd_create(thrd_t* id, thrd_start_t routine, void* argument) {
  static CULPRIT_REAL Real<int(thrd_t*, thrd_start_t, void*)> real{"thrd_create"};
  Thread* thread =
      culprit::runtime::prepare_thread(__builtin_return_address(0), reinterpret_cast<const void*>(routine),
                                       argument, culprit::runtime::kDefaultStack);
  if (thread == nullptr) return real(id, routine, argument);
  const int error = real(id, culprit::runtime::run_c11_thread, thread);
  if (error != thrd_success) culprit::runtime::free_thread(thread);
  return error;
}
