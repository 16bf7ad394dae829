// Tasks of libgomp. A thread that waits at a barrier, or for its tasks, may be given others to do: it works
// then. So each task function is replaced by one of ours that calls it, one for each function: what it is
// given and how that is copied stay as they are. The functions of a program's tasks are few; those that find
// no place are called as they are, and their threads seem to wait.
#include "runtime/interpose/team_wait.hpp"
#include "runtime/modules/library_function.hpp"
#include "runtime/system/export.hpp"

#include <array>
#include <atomic>
#include <utility>

namespace culprit::runtime {
namespace {

using TaskFunction = void (*)(void*);

constexpr std::size_t kPlaces = 512, kProbes = 8;
constinit std::atomic<TaskFunction> functions[kPlaces] = {};
constinit std::atomic<std::uint32_t> libraries[kPlaces] = {};  // library_in_use()

[[gnu::noinline]] void run_task_at(std::size_t place, void* data) {
  const TeamWork work;
  const WorkOf library(libraries[place].load(std::memory_order_relaxed));
  functions[place].load(std::memory_order_relaxed)(data);
}

/// A jump.
template <std::size_t Place>
void run_task(void* data) {
  run_task_at(Place, data);
}

template <std::size_t... Place>
constexpr std::array<TaskFunction, sizeof...(Place)> runners_of(std::index_sequence<Place...> /*places*/) {
  return {run_task<Place>...};
}
constexpr auto kRunners = runners_of(std::make_index_sequence<kPlaces>{});

/// What is to be called for the task function. Once the library's function is known that it is passed to.
TaskFunction runner_of(TaskFunction function) {
  if (!culprit_rt_thread.counted) return function;
  const std::size_t first = reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15U >> 55;
  for (std::size_t i = 0; i < kProbes; ++i) {
    const std::size_t place = (first + i) % kPlaces;
    TaskFunction there = functions[place].load(std::memory_order_relaxed);
    if (there == nullptr &&
        functions[place].compare_exchange_strong(there, function, std::memory_order_relaxed))
      there = function;
    if (there != function) continue;
    const std::uint32_t library = library_in_use();
    if (libraries[place].load(std::memory_order_relaxed) != library)
      libraries[place].store(library, std::memory_order_relaxed);
    return kRunners[place];
  }
  return function;
}

using Copy = void (*)(void*, void*);

/// Unless there is no OpenMP, and somebody found our function.
template <typename Function, typename... Arguments>
void call(Function real, Arguments... arguments) {
  if (real != nullptr) real(arguments...);
}

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

// The last parameters came with newer versions; of an older caller they are whatever lies there, passed on.
CULPRIT_EXPORT void GOMP_task(TaskFunction function, void* data, Copy copy, long size, long alignment,
                              bool deferred, unsigned flags, void** dependences, int priority,
                              void* detached) {
  static CULPRIT_OF_LIBRARY
      OfLibrary<void(TaskFunction, void*, Copy, long, long, bool, unsigned, void**, int, void*)>
          next{"GOMP_task"};
  const auto real = next.of(reinterpret_cast<const void*>(function));
  call(real, runner_of(function), data, copy, size, alignment, deferred, flags, dependences, priority,
       detached);
}

CULPRIT_EXPORT void GOMP_taskloop(TaskFunction function, void* data, Copy copy, long size, long alignment,
                                  unsigned flags, unsigned long tasks, int priority, long start, long end,
                                  long step) {
  static CULPRIT_OF_LIBRARY
      OfLibrary<void(TaskFunction, void*, Copy, long, long, unsigned, unsigned long, int, long, long, long)>
          next{"GOMP_taskloop"};
  const auto real = next.of(reinterpret_cast<const void*>(function));
  call(real, runner_of(function), data, copy, size, alignment, flags, tasks, priority, start, end, step);
}

CULPRIT_EXPORT void GOMP_taskloop_ull(TaskFunction function, void* data, Copy copy, long size, long alignment,
                                      unsigned flags, unsigned long tasks, int priority,
                                      unsigned long long start, unsigned long long end,
                                      unsigned long long step) {
  static CULPRIT_OF_LIBRARY OfLibrary<void(TaskFunction, void*, Copy, long, long, unsigned, unsigned long,
                                           int, unsigned long long, unsigned long long, unsigned long long)>
      next{"GOMP_taskloop_ull"};
  const auto real = next.of(reinterpret_cast<const void*>(function));
  call(real, runner_of(function), data, copy, size, alignment, flags, tasks, priority, start, end, step);
}
