// OpenMP by libomp (docs/algorithms.md 12): the tool interface of the OpenMP specification (5.0, chapter 4),
// which that library offers to whoever defines ompt_start_tool. It reports a team's begin and end, when each
// thread begins its part and waits, and which tasks it does meanwhile. Only what is used of the interface is
// declared here.
#include "runtime/interpose/openmp.hpp"
#include "runtime/modules/modules.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/system/export.hpp"

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

namespace culprit::runtime {
namespace {

/// ompt_data_t: the library keeps one for each team, in which we do as we like.
union Data {
  std::uint64_t value;
  void* pointer;
};

/// The specification's numbers.
enum Callback : int {
  kParallelBegin = 3,
  kParallelEnd = 4,
  kTaskSchedule = 6,
  kImplicitTask = 7,
  kSyncRegionWait = 16,
  kMutexAcquire = 26,
  kMutexAcquired = 27,
};
enum Mutex : int { kOrdered = 7 };
enum Endpoint : int { kBegin = 1, kEnd = 2 };
enum TaskFlag : int { kInitial = 1 };
/// A team's data: its place and generation, and a bit that says so.
constexpr std::uint64_t kIsTeam = std::uint64_t{1} << 32;

using Function = void (*)();
using Lookup = Function (*)(const char*);
using SetCallback = int (*)(int, Function);

/// What a thread did around the tasks that it does while it waits.
struct TaskStack {
  static constexpr std::uint32_t kMost = 64;  ///< beyond, they count as those around them
  const Data* left[kMost];                    ///< the task that it left
  Activity around[kMost];
  std::uint32_t depth;
};
__attribute__((tls_model("initial-exec"))) __thread TaskStack task_stack;

std::atomic<std::uint64_t> followed{0};  // where the library is that called us

Thread* counted_thread() {
  return culprit_rt_thread.counted ? this_thread() : nullptr;
}

void begin_parallel(Data* /*task*/, const void* /*frame*/, Data* team_data, unsigned threads, int /*flags*/,
                    const void* /*caller*/) {
  team_data->value = 0;
  Thread* thread = this_thread();
  if (threads == 1 || thread == nullptr || !own_memory()) return;
  count_caller();
  TeamRef team;
  if (begin_region(thread, team))
    team_data->value = kIsTeam | std::uint64_t{team.place} << 8 | team.generation;
}

void end_parallel(Data* team_data, Data* /*task*/, int /*flags*/, const void* /*caller*/) {
  if (Thread* thread = counted_thread()) end_region(thread, (team_data->value & kIsTeam) != 0);
}

/// A thread's part of a region. That of the master is known from the region's begin and end. libomp may
/// report the end of another thread's part only at its next begin.
void implicit_task(int endpoint, Data* team_data, Data* /*task*/, unsigned /*threads*/, unsigned number,
                   int flags) {
  Thread* thread = this_thread();
  if (thread == nullptr || (flags & kInitial) != 0) return;
  if (number == 0 && team_data == nullptr) return;  // a master goes on
  if (number != 0) task_stack.depth = 0;
  if (endpoint != kBegin) {
    if (culprit_rt_thread.counted) turn_unmarked(thread, Activity::idles);
    return;
  }
  count_caller();
  if (team_data == nullptr || (team_data->value & kIsTeam) == 0) {
    enter_team(thread, nullptr);
    return;
  }
  const TeamRef team{.place = static_cast<std::uint16_t>(team_data->value >> 8),
                     .generation = static_cast<std::uint8_t>(team_data->value)};
  enter_team(thread, &team);
}

void wait_in_region(int /*kind*/, int endpoint, Data* /*team*/, Data* /*task*/, const void* /*caller*/) {
  if (Thread* thread = counted_thread())
    turn_unmarked(thread, endpoint == kBegin ? Activity::idles : Activity::works);
}

/// Of locks our entry points know more; an ordered section waits for the iterations before.
void want_mutex(int kind, unsigned /*hint*/, unsigned /*how*/, std::uint64_t /*mutex*/,
                const void* /*caller*/) {
  if (kind != kOrdered) return;
  if (Thread* thread = counted_thread()) turn_unmarked(thread, Activity::idles);
}

void have_mutex(int kind, std::uint64_t /*mutex*/, const void* /*caller*/) {
  if (kind != kOrdered) return;
  if (Thread* thread = counted_thread()) turn_unmarked(thread, Activity::works);
}

/// A thread leaves a task for another: for a new one, or for one that it had left before, which is
/// then on the stack of tasks that it left.
void schedule_task(Data* before, int /*status*/, Data* next) {
  Thread* thread = counted_thread();
  if (thread == nullptr || next == nullptr) return;
  TaskStack& stack = task_stack;
  for (std::uint32_t i = stack.depth; i-- > 0;) {
    if (stack.left[i] != next) continue;
    stack.depth = i;
    turn_unmarked(thread, stack.around[i]);
    return;
  }
  const Activity around = turn_unmarked(thread, Activity::works);
  if (stack.depth >= TaskStack::kMost) return;
  stack.left[stack.depth] = before;
  stack.around[stack.depth++] = around;
}

template <typename Callee>
void follow(SetCallback set, Callback event, Callee* callee) {
  set(event, reinterpret_cast<Function>(callee));
}

int initialize(Lookup lookup, int /*device*/, Data* /*tool*/) {
  const auto set = reinterpret_cast<SetCallback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  follow(set, kParallelBegin, begin_parallel);
  follow(set, kParallelEnd, end_parallel);
  follow(set, kImplicitTask, implicit_task);
  follow(set, kSyncRegionWait, wait_in_region);
  follow(set, kTaskSchedule, schedule_task);
  follow(set, kMutexAcquire, want_mutex);
  follow(set, kMutexAcquired, have_mutex);
  LoadedModule module;
  if (find_loaded(reinterpret_cast<std::uint64_t>(lookup), module))
    followed.store(module.bias, std::memory_order_relaxed);
  return 1;
}

void finalize(Data* /*tool*/) {}

/// ompt_start_tool_result_t.
struct Tool {
  int (*initialize)(Lookup, int, Data*);
  void (*finalize)(Data*);
  Data data;
};

}  // namespace

bool is_followed_by_ompt(const void* function) {
  const std::uint64_t bias = followed.load(std::memory_order_relaxed);
  if (bias == 0) return false;
  LoadedModule module;
  return find_loaded(reinterpret_cast<std::uint64_t>(function), module) && module.bias == bias;
}

}  // namespace culprit::runtime

/// libomp asks for it. A tool that the user names comes first.
CULPRIT_EXPORT void* ompt_start_tool(unsigned version, const char* runtime) {
  using namespace culprit::runtime;
  using Start = void*(unsigned, const char*);
  auto* const other = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "ompt_start_tool"));
  dlerror();
  LoadedModule module;
  // libomp has one of its own that finds no tool; any other is a tool of the user's.
  const bool is_library =
      other != nullptr && find_loaded(reinterpret_cast<std::uint64_t>(other), module) &&
      module.name != nullptr &&
      (strstr(module.name, "libomp") != nullptr || strstr(module.name, "libiomp") != nullptr);
  if (other != nullptr && !is_library) return other(version, runtime);
  static constinit Tool tool{.initialize = initialize, .finalize = finalize, .data = {}};
  if (!process.active || getenv("OMP_TOOL_LIBRARIES") != nullptr) return nullptr;
  // Without another tool the library loads the one that explains its locks to a ThreadSanitizer.
  const bool sanitized = dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
  dlerror();
  if (sanitized) return nullptr;
  return &tool;
}
