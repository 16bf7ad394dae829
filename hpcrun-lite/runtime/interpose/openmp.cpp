// OpenMP by libgomp: what its entry points tell of teams (openmp.def). The region's function is called by
// ours on each thread of the team, so that it is seen when each begins and ends; who is through idles in the
// team until all are, and then around it until the next region. libomp, which has these entry points for
// programs compiled by GCC, tells the same by itself (ompt.cpp).
#include "runtime/interpose/ompt.hpp"
#include "runtime/interpose/team_wait.hpp"
#include "runtime/modules/library_function.hpp"
#include "runtime/state/control.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/export.hpp"

namespace culprit::runtime {
namespace {

using RegionFunction = void (*)(void*);

std::uint64_t sampling_now() {
  return sampling_time(now());
}

/// A parallel region, on the stack of the thread that meets it.
struct Region {
  RegionFunction function;
  void* data;
  Thread* master;  ///< null: it is not counted
  TeamRef team;
};

/// What each thread of the team calls.
void run_region(void* argument) {
  const Region region = *static_cast<const Region*>(argument);
  Thread* thread = this_thread();
  if (thread == nullptr) return region.function(region.data);
  if (thread != region.master) {
    teams::enter(thread->blame.account, region.team, sampling_now());
    culprit_rt_thread.counted = true;
  }
  region.function(region.data);
  teams::turn(thread->blame.account, Activity::idles, sampling_now());
  thread->blame.account.marked = false;
}

/// Whether there is to be a team of several threads, whose master is counted.
bool begins_team(unsigned threads, const void* function, TeamRef& team) {
  if (threads == 1 || is_followed_by_ompt(function)) return false;
  Thread* thread = this_thread();
  if (thread == nullptr || !own_memory()) return false;
  count_from_now_on();
  Account& account = thread->blame.account;
  if (account.activity != Activity::works) return false;
  if (!teams::make(account, team)) return false;
  teams::enter(account, team, sampling_now());
  return true;
}

/// Ends the team after the region: its threads idle around it then.
class EndOfTeam {
 public:
  explicit EndOfTeam(Account& master) : master_(master) {}
  ~EndOfTeam() {
    const std::uint64_t time = sampling_now();
    teams::turn(master_, Activity::works, time);
    teams::dissolve(master_, time);
  }
  EndOfTeam(const EndOfTeam&) = delete;
  EndOfTeam& operator=(const EndOfTeam&) = delete;

 private:
  Account& master_;
};

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

// NOLINTBEGIN(bugprone-macro-parentheses): lists of parameters in parentheses
#define CULPRIT_LIST(...) __VA_OPT__(, ) __VA_ARGS__  // of what stands in parentheses behind it
#define CULPRIT_REGION(result, name, parameters, arguments)                                                 \
  CULPRIT_EXPORT result name(RegionFunction function, void* data CULPRIT_LIST parameters) {                 \
    static CULPRIT_OF_LIBRARY OfLibrary<result(RegionFunction, void* CULPRIT_LIST parameters)> next{#name}; \
    const auto real = next.of(__builtin_return_address(0));                                                 \
    Region region{.function = function, .data = data, .master = nullptr, .team = {}};                       \
    if (!begins_team(threads, reinterpret_cast<const void*>(real), region.team))                            \
      return real(function, data CULPRIT_LIST arguments);                                                   \
    region.master = this_thread();                                                                          \
    const EndOfTeam at_end(region.master->blame.account);                                                   \
    return real(run_region, &region CULPRIT_LIST arguments);                                                \
  }

#define CULPRIT_AWAITS(result, name, parameters, arguments)                              \
  CULPRIT_EXPORT result name parameters {                                                \
    static CULPRIT_OF_LIBRARY OfLibrary<result parameters> next{#name};                  \
    const auto real = next.of(__builtin_return_address(0));                              \
    if (is_followed_by_ompt(reinterpret_cast<const void*>(real))) return real arguments; \
    const TeamWait wait;                                                                 \
    return real arguments;                                                               \
  }

#include "runtime/interpose/openmp.def"
// NOLINTEND(bugprone-macro-parentheses)
