// OpenMP by libgomp: what its entry points tell of teams (openmp.def). The region's function is called by
// ours on each thread of the team, so that it is seen when each begins and ends; who is through idles in the
// team until all are, and then around it until the next region. libomp, which has these entry points for
// programs compiled by GCC, tells the same by itself (ompt.cpp).
#include "runtime/interpose/ompt.hpp"
#include "runtime/interpose/team_wait.hpp"
#include "runtime/modules/library_function.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/system/export.hpp"

#include <type_traits>

namespace culprit::runtime {
namespace {

using RegionFunction = void (*)(void*);

/// A parallel region, on the stack of the thread that meets it.
struct Region {
  RegionFunction function;
  void* data;
  std::uint32_t library;  ///< library_in_use()
  Thread* master = nullptr;
  bool is_team =
      false;  ///< else there was no place for one more: its threads count in the one around, `team`
  TeamRef team{};
};

/// A thread of the team begins its part, wherever it idled or began.
void begin_part(Thread* thread, const Region& region) {
  Account& account = thread->blame.account;
  const std::uint64_t time = account_time();
  if (account.activity == Activity::none) teams::begin(account, time);
  culprit_rt_thread.counted = true;
  account.marked = false;
  if (region.is_team || region.team != TeamRef{}) {
    teams::enter(account, region.team, time);
  } else {
    teams::turn(account, Activity::works, time);
  }
}

/// What each thread of the team calls.
void run_region(void* argument) {
  const Region region = *static_cast<const Region*>(argument);
  const WorkOf work(region.library);
  Thread* thread = this_thread();
  if (thread == nullptr) return region.function(region.data);
  if (thread != region.master) begin_part(thread, region);
  region.function(region.data);
  turn_unmarked(thread, Activity::idles);
}

/// The same of a region that is not followed, where the process has several copies of the library.
void run_unfollowed(void* argument) {
  const Region& region = *static_cast<const Region*>(argument);
  const WorkOf work(region.library);
  region.function(region.data);
}

/// Somebody found our function though there is no OpenMP: a region of one thread.
template <typename Result>
Result run_alone(RegionFunction function, void* data) {
  function(data);
  if constexpr (!std::is_void_v<Result>) return 1;
}

/// The same of what a lone thread does not wait for.
template <typename Result>
Result nothing() {
  return Result();
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
  region.is_team = teams::begin_team(account, region.team);
  if (!region.is_team && account.path.depth > 1) region.team = account.path.teams[account.path.depth - 1];
  return true;
}

/// Ends the team after the region: its threads idle around it then.
class EndOfRegion {
 public:
  explicit EndOfRegion(const Region& region) : region_(region) {}
  ~EndOfRegion() {
    Account& master = region_.master->blame.account;
    if (region_.is_team) {
      teams::end_team(master, account_time());
    } else {
      teams::turn(master, Activity::works, account_time());
    }
  }
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
#define CULPRIT_REGION(result, name, parameters, arguments)                                                 \
  CULPRIT_EXPORT result name(RegionFunction function, void* data CULPRIT_LIST parameters) {                 \
    static CULPRIT_OF_LIBRARY OfLibrary<result(RegionFunction, void* CULPRIT_LIST parameters)> next{#name}; \
    const auto real = next.of(reinterpret_cast<const void*>(function));                                     \
    if (real == nullptr) return run_alone<result>(function, data);                                          \
    Region region{.function = function, .data = data, .library = library_in_use()};                         \
    if (!follow(region, threads, reinterpret_cast<const void*>(real))) {                                    \
      if (region.library == 0) return real(function, data CULPRIT_LIST arguments);                          \
      return real(run_unfollowed, &region CULPRIT_LIST arguments);                                          \
    }                                                                                                       \
    const EndOfRegion at_end(region);                                                                       \
    return real(run_region, &region CULPRIT_LIST arguments);                                                \
  }

#define CULPRIT_AWAITS(result, name, parameters, arguments)                              \
  CULPRIT_EXPORT result name parameters {                                                \
    static CULPRIT_OF_LIBRARY OfLibrary<result parameters> next{#name};                  \
    const auto real = next.of(__builtin_return_address(0));                              \
    if (real == nullptr) return nothing<result>();                                       \
    if (is_followed_by_ompt(reinterpret_cast<const void*>(real))) return real arguments; \
    const TeamWait wait;                                                                 \
    return real arguments;                                                               \
  }

#include "runtime/interpose/openmp.def"
// NOLINTEND(bugprone-macro-parentheses)
