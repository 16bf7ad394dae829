// Tasks of libgomp. A thread that waits at a barrier, or for its tasks, may be given others to do: it works
// then. So each task function is replaced by one of ours that calls it, one for each function: what it is
// given and how that is copied stay as they are. The functions of a program's tasks are few; those that find
// no place are called as they are, and their threads seem to wait.
#include "runtime/interpose/openmp.hpp"
#include "runtime/modules/call_slots.hpp"

#include <array>
#include <atomic>
#include <optional>
#include <utility>

namespace culprit::runtime {
namespace {

using TaskFunction = void (*)(void*);

constexpr std::size_t kPlaces = 512, kProbes = 8;
constinit std::atomic<TaskFunction> functions[kPlaces] = {};

[[gnu::noinline]] void run_task_at(std::size_t place, void* data) {
  const TeamWork work;
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

/// What is to be called for the task function.
TaskFunction runner_of(TaskFunction function) {
  if (!culprit_rt_thread.counted) return function;
  const std::size_t first = reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15U >> 55;
  for (std::size_t i = 0; i < kProbes; ++i) {
    const std::size_t place = (first + i) % kPlaces;
    TaskFunction there = functions[place].load(std::memory_order_relaxed);
    if (there == nullptr &&
        functions[place].compare_exchange_strong(there, function, std::memory_order_relaxed))
      there = function;
    if (there == function) return kRunners[place];
  }
  return function;
}

using Copy = void (*)(void*, void*);

// NOLINTBEGIN(readability-function-size): libgomp's parameters
// The last ones came with newer versions; of an older caller they are whatever lies there, passed on.
struct Task {
  using Signature = void(TaskFunction, void*, Copy, long, long, bool, unsigned, void**, int, void*);
  static CULPRIT_REDIRECTED Redirected redirected;
  static void call(const Target<Signature>& real, TaskFunction function, void* data, Copy copy, long size,
                   long alignment, bool deferred, unsigned flags, void** dependences, int priority,
                   void* detached) {
    real(runner_of(function), data, copy, size, alignment, deferred, flags, dependences, priority, detached);
  }
};
constinit Redirected Task::redirected = redirected_to<Task>("GOMP_task");

/// The loop's numbers are `Number`. Who makes the tasks waits for them within the call, and does some.
template <typename Number>
struct Taskloop {
  using Signature = void(TaskFunction, void*, Copy, long, long, unsigned, unsigned long, int, Number, Number,
                         Number);
  static void call(const Target<Signature>& real, TaskFunction function, void* data, Copy copy, long size,
                   long alignment, unsigned flags, unsigned long tasks, int priority, Number start,
                   Number end, Number step) {
    constexpr unsigned kNoGroup = 1U << 11;  // of libgomp's flags: the call ends before its tasks
    std::optional<TeamWait> wait;
    if ((flags & kNoGroup) == 0) wait.emplace();
    real(runner_of(function), data, copy, size, alignment, flags, tasks, priority, start, end, step);
  }
};
// NOLINTEND(readability-function-size)
struct SignedTaskloop : Taskloop<long> {
  static CULPRIT_REDIRECTED Redirected redirected;
};
constinit Redirected SignedTaskloop::redirected = redirected_to<SignedTaskloop>("GOMP_taskloop");
struct UnsignedTaskloop : Taskloop<unsigned long long> {
  static CULPRIT_REDIRECTED Redirected redirected;
};
constinit Redirected UnsignedTaskloop::redirected = redirected_to<UnsignedTaskloop>("GOMP_taskloop_ull");

}  // namespace
}  // namespace culprit::runtime
