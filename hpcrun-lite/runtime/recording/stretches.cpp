// How long each MPI call that waits took, and each gap between two of them, added up by call path
// (docs/algorithms.md 5.7), so that samples only divide what is known exactly. The sampling clock counts,
// which stands still while sampling is stopped. Cost: some 100 ns a call, most of it for the call path and
// the clock (docs/figures.md), and more where a call path leads through code without call-frame information;
// of a thread that calls more often than kMostOften, or whose calls take more than a part in kShare of its
// time, some calls in many are followed.
#include "runtime/recording/stretches.hpp"

#include "runtime/recording/recording.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"

#include <algorithm>

namespace culprit::runtime {
namespace {

using measurement::NodeIndex;

/// Calls in a row that are followed before their cost is judged; fewer where a few that were timed have taken
/// so much already.
constexpr std::uint32_t kJudged = 4096, kFewTimed = 8;
constexpr std::uint64_t kMuch = 2'000'000;  // ns
/// At that rate, in calls per second, following them takes 0.3 % of the time, if it takes 100 ns each.
constexpr std::uint64_t kMostOften = 30'000;
/// And one part in this many of the time, as estimated from a few that are timed: these take longer than
/// most, and some were interrupted.
constexpr std::uint64_t kShare = 100;
/// Calls that are not followed then: at least kPauses times those that were, at most kLongestPause times.
constexpr std::uint64_t kPauses = 16, kLongestPause = 4096;

/// Of the calls that are being judged. The largest is left out: the thread may have been interrupted.
std::uint64_t cost_of(const Stretches& stretches) {
  if (stretches.timed < 2) return 0;
  return (stretches.timed_ns - stretches.largest_ns) / (stretches.timed - 1) * stretches.judged;
}

/// Others are judged from `time` on; 0: from the end of the next.
void judge_anew(Stretches& stretches, std::uint64_t time) {
  stretches.judged_since_ns = time;
  stretches.to_judge = kJudged;
  stretches.judged = stretches.timed = 0;
  stretches.timed_ns = stretches.largest_ns = 0;
}

/// How many calls are not to be followed after those that were judged until `time`; 0: all are.
std::uint32_t pause_after(Stretches& stretches, std::uint64_t time) {
  if (stretches.judged_since_ns == 0) {
    judge_anew(stretches, time);
    return 0;
  }
  if (++stretches.judged < stretches.to_judge) return 0;
  const std::uint32_t judged = stretches.judged;
  const std::uint64_t cost = cost_of(stretches);
  const std::uint64_t passed = time - std::min(stretches.judged_since_ns, time);
  const bool too_often = passed < kSecond * judged / kMostOften;
  const bool pauses = too_often || cost * kShare > passed;
  judge_anew(stretches, pauses ? 0 : time);
  if (!pauses) return 0;
  return judged * static_cast<std::uint32_t>(
                      std::clamp(cost * kShare / std::max(passed, std::uint64_t{1}), kPauses, kLongestPause));
}

/// What a call that was left at `exit_ns` costs, for all that are not timed. With a trace its records are
/// timed, and this with them.
[[gnu::cold, gnu::noinline]] void time_following(Thread* thread, std::uint64_t exit_ns) {
  const std::uint64_t cost = recording_cost(exit_ns);
  Stretches& stretches = thread->stretches;
  ++stretches.timed;
  stretches.timed_ns += cost;
  stretches.largest_ns = std::max(stretches.largest_ns, cost);
  if (stretches.timed >= kFewTimed && cost_of(stretches) > kMuch) stretches.to_judge = 0;
  if (process.traced) return;
  thread->calls.cost.timed_ns += cost * kCallsPerTimed;
  record_call_cost(thread);
}

void begin_gap(Thread* thread, NodeIndex call, std::uint64_t exit_ns) {
  Stretches& stretches = thread->stretches;
  if (const std::uint32_t pause = pause_after(stretches, exit_ns); pause != 0) {
    culprit_rt_thread.pause = pause;
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
  thread->stretches = {};
  thread->stretches.since_ns = sampling_time(thread->start_ns);
  thread->stretches.after = measurement::kNoNodeIndex;
  thread->stretches.tree = thread->tree_number;
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
  thread->tree->accumulators().count_gap(after, call, enter_ns - stretches.since_ns);
}

void count_waiting_call(Thread* thread, NodeIndex call, std::uint64_t enter_ns, std::uint64_t exit_ns) {
  const std::uint64_t enter = sampling_time(enter_ns);
  const std::uint64_t exit = sampling_time(exit_ns);
  end_gap(thread, call, enter);
  thread->tree->accumulators().count_call(call, exit > enter ? exit - enter : 0);
  begin_gap(thread, call, exit);
  if (thread->stretches.judged % kCallsPerTimed == 0) [[unlikely]]
    time_following(thread, exit_ns);
}

}  // namespace culprit::runtime
