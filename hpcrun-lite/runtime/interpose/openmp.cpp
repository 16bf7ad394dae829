// OpenMP by libgomp (docs/algorithms.md 12): what its entry points show of teams (openmp.def). The region's
// function is called by ours on each thread of the team, so that it is seen when each begins and ends; who is
// through idles in the team until all are, and then around it until the next region. libomp, which has these
// entry points for programs compiled by GCC, reports the same by itself (ompt.cpp). Calls of libraries that
// are loaded later are redirected from their first code.
#include "runtime/interpose/openmp.hpp"

#include "runtime/modules/call_slots.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"

#include <cerrno>

namespace culprit::runtime {
namespace {

using RegionFunction = void (*)(void*);

/// A parallel region, on the stack of the thread that meets it. libgomp itself looks at the first word of the
/// program's data where tasks take part in a reduction; it finds it here, too (GOMP_parallel_reductions).
struct Region {
  const void* first_word;
  RegionFunction function;
  void* data;
  const AnyTarget& entry;
  Thread* master = nullptr;
  bool is_team =
      false;  ///< else there was no place for one more: its threads count in the one around, `team`
  TeamRef team{};
};

/// A thread of the team begins its part.
void begin_part(Thread* thread, const Region& region) {
  culprit_rt_thread.counted = true;
  enter_team(thread, region.is_team || region.team != TeamRef{} ? &region.team : nullptr);
}

/// What each thread of the team calls.
void run_region(void* argument) {
  const Region region = *static_cast<const Region*>(argument);
  Thread* thread = this_thread();
  if (thread == nullptr) return region.function(region.data);
  if (thread != region.master) {
    begin_part(thread, region);
  } else {
    region.entry.redirect_if_bound();
  }
  region.function(region.data);
  turn_unmarked(thread, Activity::idles);
}

/// Whether the region is to be followed: its threads are counted, in a team of their own if there is place.
bool follow(Region& region, unsigned threads, const void* function) {
  if (threads == 1 || is_followed_by_ompt(function)) return false;
  Thread* thread = this_thread();
  if (thread == nullptr || !own_memory()) return false;
  count_caller();
  Account& account = thread->blame.account;
  if (account.activity != Activity::works) return false;  // in a signal handler, that interrupted a wait
  region.master = thread;
  region.is_team = begin_region(thread, region.team);
  if (!region.is_team && account.path.depth > 1) region.team = account.path.teams[account.path.depth - 1];
  return true;
}

constexpr bool kReadsData = true, kNeverReadsData = false;
/// What libgomp may read of the program's data, which may be none otherwise.
const void* first_word(const void* data, bool is_read) {
  return is_read ? *static_cast<const void* const*>(data) : nullptr;
}

/// Ends the team after the region: its threads idle around it then.
class EndOfRegion {
 public:
  explicit EndOfRegion(const Region& region) : region_(region) {}
  ~EndOfRegion() { end_region(region_.master, region_.is_team); }
  EndOfRegion(const EndOfRegion&) = delete;
  EndOfRegion& operator=(const EndOfRegion&) = delete;

 private:
  const Region& region_;
};

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

// NOLINTBEGIN(bugprone-macro-parentheses): lists of parameters in parentheses
#define CULPRIT_LIST(...) __VA_OPT__(, ) __VA_ARGS__  // of what stands in parentheses behind it
#define CULPRIT_REGION(result, name, reads, parameters, arguments)                                      \
  namespace {                                                                                           \
  struct name {                                                                                         \
    using Signature = result(RegionFunction, void* CULPRIT_LIST parameters);                            \
    static CULPRIT_REDIRECTED Redirected redirected;                                                    \
    static result call(const Target<Signature>& real, RegionFunction function,                          \
                       void* data CULPRIT_LIST parameters) {                                            \
      Region region{                                                                                    \
          .first_word = first_word(data, reads), .function = function, .data = data, .entry = real};    \
      if (!follow(region, threads, real.address())) return real(function, data CULPRIT_LIST arguments); \
      const EndOfRegion at_end(region);                                                                 \
      return real(run_region, &region CULPRIT_LIST arguments);                                          \
    }                                                                                                   \
  };                                                                                                    \
  constinit Redirected name::redirected = redirected_to<name>(#name);                                   \
  }

#define CULPRIT_AWAITS(result, name, parameters, arguments)                     \
  namespace {                                                                   \
  struct name {                                                                 \
    using Signature = result parameters;                                        \
    static CULPRIT_REDIRECTED Redirected redirected;                            \
    static result call(const Target<Signature>& real CULPRIT_LIST parameters) { \
      if (is_followed_by_ompt(real.address())) return real arguments;           \
      const TeamWait wait;                                                      \
      return real arguments;                                                    \
    }                                                                           \
  };                                                                            \
  constinit Redirected name::redirected = redirected_to<name>(#name);           \
  }

#include "runtime/interpose/openmp.def"
// NOLINTEND(bugprone-macro-parentheses)

// The first code of a module that runs is _init of crti.o, before its constructors. It calls __gmon_start__
// where somebody defines that; only profiled programs (-pg) do, and theirs comes before ours then. So we hear
// of every library when it is relocated and before it calls anything, without standing in the way of dlopen,
// which looks at who calls it.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that crti.o calls
CULPRIT_EXPORT void __gmon_start__() {
  const int error = errno;
  note_modules_of_start();
  if (process.active) redirect_calls_of(__builtin_return_address(0));
  errno = error;
}
