// How long each MPI call that waits took, and each gap between two of them, added up by call path
// (docs/algorithms.md 5.7), so that samples only divide what is known exactly. The sampling clock counts,
// which stands still while sampling is stopped. Cost: some 100 ns a call, most of it for the call path and
// the clock (docs/figures.md); of a thread that calls more often than kMostOften, some calls in many are
// followed.
#include "runtime/recording/stretches.hpp"

#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"

namespace culprit::runtime {
namespace {

using measurement::NodeIndex;

/// Calls in a row that are followed before their rate is judged.
constexpr std::uint32_t kJudged = 4096;
/// At that rate, in calls per second, following them takes 0.3 % of the time.
constexpr std::uint64_t kMostOften = 30'000;
/// Calls that are not followed then.
constexpr std::uint32_t kPause = 16 * kJudged;

/// The calls come too often to follow all of them.
bool too_often(Stretches& stretches, std::uint64_t time) {
  if (++stretches.judged < kJudged) return false;
  const std::uint64_t began = stretches.judged_since_ns;
  stretches.judged = 0;
  stretches.judged_since_ns = time;
  return began != 0 && time - began < kSecond * kJudged / kMostOften;
}

void begin_gap(Thread* thread, NodeIndex call, std::uint64_t exit_ns) {
  Stretches& stretches = thread->stretches;
  if (too_often(stretches, exit_ns)) {
    stretches.judged_since_ns = 0;
    culprit_rt_thread.pause = kPause;
    forget_stretch(thread);
    return;
  }
  stretches.since_ns = exit_ns;
  stretches.after = call;
  stretches.tree = thread->tree_number;
  culprit_rt_thread.stretch = call;
}

}  // namespace

void begin_stretches(Thread* thread, bool followed) {
  thread->stretches = {.since_ns = sampling_time(thread->start_ns),
                       .judged_since_ns = 0,
                       .after = measurement::kNoNodeIndex,
                       .tree = thread->tree_number,
                       .judged = 0};
  culprit_rt_thread.stretch = followed ? measurement::layout::kRootUnit : 0;
  culprit_rt_thread.pause = 0;
}

void forget_stretch(Thread* thread) {
  thread->stretches.since_ns = 0;
  if (culprit_rt_thread.stretch != 0) culprit_rt_thread.stretch = measurement::kUnknownStretch;
}

void end_gap(Thread* thread, NodeIndex call, std::uint64_t enter_ns) {
  const Stretches& stretches = thread->stretches;
  if (stretches.since_ns == 0 || stretches.tree != thread->tree_number || enter_ns < stretches.since_ns)
    return;
  const NodeIndex after =
      stretches.after == measurement::kNoNodeIndex ? thread->tree->root() : stretches.after;
  thread->tree->count_gap(after, call, enter_ns - stretches.since_ns);
}

void count_waiting_call(Thread* thread, NodeIndex call, std::uint64_t enter_ns, std::uint64_t exit_ns) {
  const std::uint64_t enter = sampling_time(enter_ns);
  const std::uint64_t exit = sampling_time(exit_ns);
  end_gap(thread, call, enter);
  thread->tree->count_call(call, exit > enter ? exit - enter : 0);
  begin_gap(thread, call, exit);
}

}  // namespace culprit::runtime
