// What makes ranks wait is not the barrier at which a rank's main thread waits for its workers, but what the
// workers do meanwhile (docs/algorithms.md 12, undirected as there: those that work share the waiting). Each
// sample of a wait for threads is charged to what another thread was sampled in at that time, taken in turns;
// where none is sampled at work at that time, shortly before. A long wait is divided.
// Cost: the samples of the other threads are read once more for each thread that calls MPI.
#include "merge/timelines/thread_waits.hpp"

#include <algorithm>
#include <utility>

namespace culprit::merge {
namespace {

namespace trace = measurement::trace;
using database::ContextId;
using measurement::WaitKind;

/// A wait that is shorter than the time between samples is for what samples show that are not far from it: of
/// a region's team they are of that region, of others only the nearest count.
constexpr std::uint64_t kRecentOfTeam = 200, kRecent = 2;  // samples
constexpr std::size_t kMostRecent = 32;                    // of each thread
/// A long wait is one sample; it is divided into parts of a single sample's length, or so many.
constexpr std::uint64_t kMostParts = 256;

}  // namespace

std::unique_ptr<trace::ThreadRecords> NamedNodes::records_in(const trace::ProcessTrace& trace,
                                                             std::uint64_t from_ns) const {
  const auto traced = std::ranges::find(trace.threads(), ordinal, &trace::ProcessTrace::Thread::ordinal);
  if (traced == trace.threads().end()) return nullptr;
  return std::make_unique<trace::ThreadRecords>(trace, *traced, units, from_ns);
}

bool ThreadWaits::is_idle(const trace::Record& sample, ContextId context) const {
  const Shape::Scope& scope = shape_.contexts[context];
  if (scope.never_idle != 0) return false;
  return scope.idle_by_name != 0 || static_cast<WaitKind>(sample.wait) != WaitKind::none;
}

/// The kind of the wait; none where it is no wait for threads.
WaitKind ThreadWaits::waits_for_threads(const trace::Record& sample) const {
  if (!is_idle(sample, sample.node)) return WaitKind::none;
  const auto marked = static_cast<WaitKind>(sample.wait);
  const WaitKind kind = marked != WaitKind::none ? marked : shape_.contexts[sample.node].wait;
  return kind == WaitKind::mpi ? WaitKind::none : kind;
}

bool ThreadWaits::works(const trace::Record& sample, ContextId context) const {
  const Shape::Scope& scope = shape_.contexts[context];
  return !is_idle(sample, context) && scope.io == 0 &&
         (scope.never_idle != 0 || scope.wait == WaitKind::none);
}

void ThreadWaits::begin(std::size_t thread, std::uint64_t ns) {
  Waiter& waiter = waiters_[thread];
  waiter.begun = true;
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    if (other == thread) continue;
    if (auto records = threads_[other].records_in(trace_, ns))
      waiter.others.push_back({.thread = other, .records = std::move(records), .sample = {}, .recent = {}});
  }
}

/// To the sample that stands for this time.
void ThreadWaits::advance(Other& other, std::uint64_t ns) const {
  try {
    while (other.records != nullptr &&
           (other.sample.kind != trace::RecordKind::sample || other.sample.exit_ns < ns)) {
      if (!other.records->next(other.sample)) {
        other.records.reset();
      } else if (other.sample.kind == trace::RecordKind::sample) {
        const ContextId context = threads_[other.thread].context_of(other.sample.node);
        if (!works(other.sample, context)) continue;
        other.recent.push_back({other.sample.enter_ns, other.sample.exit_ns, context});
        if (other.recent.size() > kMostRecent) other.recent.pop_front();
      }
    }
  } catch (const measurement::MeasurementError&) {
    other.records.reset();  // who reads that thread's time line reports it
  }
}

/// The latest that another thread did that may be what is waited for.
void ThreadWaits::take_candidate(const Other& other, ContextId waiting, bool of_team, const When& when) {
  for (auto work = other.recent.rbegin(); work != other.recent.rend(); ++work) {
    const std::uint64_t since_ns = of_team ? when.since_of_team_ns : when.since_ns;
    if (work->since_ns >= when.end_ns) continue;
    if (work->ns <= since_ns) return;
    const std::uint64_t end_ns = std::min(work->ns, when.end_ns);
    Candidate candidate{.context = work->context,
                        .meanwhile_ns = end_ns - std::min(end_ns, std::max(work->since_ns, when.begin_ns))};
    if (of_team) {
      const auto beside = regions_.beside(waiting, work->context);
      if (!beside || (!beside->of_region && work->ns <= when.since_ns)) continue;
      candidate.context = beside->context;
    }
    candidates_.push_back(candidate);
    return;
  }
}

void ThreadWaits::take_candidates(const Waiter& waiter, ContextId waiting, bool of_team, const When& when) {
  candidates_.clear();
  for (const Other& other : waiter.others) take_candidate(other, waiting, of_team, when);
}

/// Leaves out what was done for a small part of the time.
void ThreadWaits::keep_longest() {
  std::uint64_t longest_ns = 0;
  for (const Candidate& one : candidates_) longest_ns = std::max(longest_ns, one.meanwhile_ns);
  std::erase_if(candidates_, [&](const Candidate& one) { return one.meanwhile_ns < longest_ns / 2; });
}

/// In a part of a wait.
ContextId ThreadWaits::charged(Waiter& waiter, ContextId waiting, bool of_team, std::uint64_t begin_ns,
                               std::uint64_t end_ns) {
  for (Other& other : waiter.others) advance(other, end_ns);
  const auto before = [&](std::uint64_t samples) {
    return begin_ns - std::min(begin_ns, samples * std::min(waiter.shortest_ns, begin_ns / samples));
  };
  When when{.begin_ns = begin_ns, .end_ns = end_ns, .since_of_team_ns = begin_ns, .since_ns = begin_ns};
  take_candidates(waiter, waiting, of_team, when);
  if (candidates_.empty()) {
    when.since_of_team_ns = before(kRecentOfTeam);
    when.since_ns = before(kRecent);
    take_candidates(waiter, waiting, of_team, when);
  }
  keep_longest();
  return candidates_.empty() ? waiting : candidates_[waiter.turn++ % candidates_.size()].context;
}

std::span<const ThreadWaits::Part> ThreadWaits::charged(std::size_t thread, const trace::Record& sample,
                                                        std::uint64_t whole_ns) {
  parts_.clear();
  const WaitKind kind = waits_for_threads(sample);
  const std::uint64_t end_ns = sample.exit_ns;
  std::uint64_t at_ns = std::min(sample.enter_ns, end_ns);
  Waiter& waiter = waiters_[thread];
  if (at_ns < end_ns) waiter.shortest_ns = std::min(waiter.shortest_ns, end_ns - at_ns);
  if (kind == WaitKind::none || at_ns == end_ns) {
    parts_.push_back({.until_ns = end_ns, .charged = sample.node});
    return parts_;
  }
  if (!waiter.begun) begin(thread, at_ns);
  const bool of_team = kind == WaitKind::omp_barrier || kind == WaitKind::omp_idle;
  const std::uint64_t length_ns = std::max(waiter.shortest_ns, (end_ns - at_ns) / kMostParts);
  for (std::uint64_t until_ns = 0; at_ns < end_ns; at_ns = until_ns) {
    until_ns = std::max(at_ns, std::min(whole_ns, end_ns)) + length_ns;
    if (until_ns + length_ns / 2 > end_ns) until_ns = end_ns;
    const ContextId charged = this->charged(waiter, sample.node, of_team, at_ns, until_ns);
    if (!parts_.empty() && parts_.back().charged == charged) {
      parts_.back().until_ns = until_ns;
    } else {
      parts_.push_back({until_ns, charged});
    }
  }
  return parts_;
}

}  // namespace culprit::merge
