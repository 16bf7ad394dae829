// What makes ranks wait is not the barrier at which a rank's main thread waits for its workers, but what the
// workers do meanwhile (docs/algorithms.md 12.1, undirected as there: those that work share the waiting).
// Each sample of a wait for threads is charged to what another thread did at that moment, taken in turns;
// where none worked then, to what one did shortly before. A long wait is divided. Where a record says who
// held the lock, or whose end was awaited, that thread alone bears it, or the one that it waited for in turn:
// what it was sampled at between taking and giving back. Cost: the samples of the other threads are read once
// more for each thread that calls MPI, and its own records.
#include "merge/timelines/thread_waits.hpp"

#include <algorithm>
#include <array>
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
/// A long wait is one sample; it is divided into parts of a single sample's length, at most this number.
constexpr std::uint64_t kMostParts = 256;
/// Holders that wait for each other are followed this far.
constexpr int kMostHolders = 8;

bool is_of_team(WaitKind kind) {
  return kind == WaitKind::omp_barrier || kind == WaitKind::omp_idle;
}

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
  waiter.thread = thread;
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    if (other == thread) continue;
    if (auto records = threads_[other].records_in(trace_, ns))
      waiter.others.push_back({.thread = other,
                               .records = std::move(records),
                               .recent = {},
                               .aside = {},
                               .waits = nullptr,
                               .held = {}});
  }
}

/// To the sample that stands for this moment.
void ThreadWaits::advance(Other& other, std::uint64_t ns) const {
  trace::Record record;
  try {
    while (other.records != nullptr && other.seen_ns < ns) {
      if (!other.records->next(record)) {
        other.records.reset();
      } else if (record.kind == trace::RecordKind::sample) {
        add(other, record);
      }
    }
  } catch (const measurement::MeasurementError&) {
    other.records.reset();  // who reads that thread's time line reports it
  }
}

/// A thread that sleeps in its own work is counted by whole periods: it may have begun up to two earlier, but
/// not before it was seen elsewhere.
void ThreadWaits::add(Other& other, const trace::Record& sample) const {
  const std::uint64_t length_ns = sample.exit_ns - std::min(sample.exit_ns, sample.enter_ns);
  if (length_ns > 0) other.shortest_ns = std::min(other.shortest_ns, length_ns);
  const std::uint64_t earlier_ns = 2 * std::min(other.shortest_ns, sample.enter_ns / 2);
  const std::uint64_t seen_ns = std::exchange(other.seen_ns, sample.exit_ns);
  const ContextId context = threads_[other.thread].context_of(sample.node);
  trace::Record in_context = sample;
  in_context.node = context;
  if (waits_for_threads(in_context) != WaitKind::none) {
    other.waited_ns = sample.exit_ns;
    return;
  }
  const Work work{.earliest_ns = std::max(seen_ns, sample.enter_ns - earlier_ns),
                  .since_ns = std::max(seen_ns, sample.enter_ns),
                  .ns = sample.exit_ns,
                  .context = context};
  if (!works(sample, context)) {
    other.aside = work;
    return;
  }
  other.recent.push_back(work);
  if (other.recent.size() > kMostRecent) other.recent.pop_front();
}

/// The latest that another thread did that may be what is waited for.
void ThreadWaits::take_candidate(const Other& other, ContextId waiting, bool of_team, const When& when) {
  for (std::size_t i = other.recent.size(); i-- > 0;) {
    const Work& work = other.recent[i];
    if ((when.maybe_earlier ? work.earliest_ns : work.since_ns) >= when.ns) continue;
    if (work.ns < (of_team ? when.since_of_team_ns : when.since_ns)) return;
    ContextId context = work.context;
    if (of_team) {
      const auto beside = regions_.beside(waiting, work.context);
      if (!beside || (!beside->of_region && work.ns < when.since_ns)) continue;
      context = beside->context;
    }
    candidates_.push_back(context);
    return;
  }
}

/// The first of a thread that ends from `ns` on, as HeldWaits says.
const HeldWait* ThreadWaits::wait_of(std::size_t thread, std::unique_ptr<HeldWaits>& waits,
                                     std::uint64_t ns) const {
  if (waits == nullptr) waits = std::make_unique<HeldWaits>(threads_[thread].records_in(trace_, ns));
  return waits->ending_from(ns);
}

std::optional<ThreadWaits::Holder> ThreadWaits::held(Waiter& waiter, const HeldWait& wait,
                                                     std::uint64_t ns) const {
  const auto found = std::ranges::find_if(waiter.others, [&](const Other& other) {
    return threads_[other.thread].ordinal == wait.holder.thread;
  });
  if (found == waiter.others.end()) return std::nullopt;
  return Holder{.thread = &*found,
                .ns = std::clamp(ns, wait.begin_ns, wait.holder.released_ns),
                .since_ns = wait.begin_ns,
                .released_ns = wait.holder.released_ns};
}

/// At this moment of what lies before `until_ns`, followed to who waits for nobody.
std::optional<ThreadWaits::Holder> ThreadWaits::holder_at(Waiter& waiter, const Waiting& waiting,
                                                          std::uint64_t ns, std::uint64_t until_ns) const {
  if (waiting.kind != WaitKind::lock && waiting.kind != WaitKind::join) return std::nullopt;
  const HeldWait* wait = wait_of(waiter.thread, waiter.waits, ns);
  if (wait == nullptr || wait->kind != waiting.kind || wait->begin_ns > until_ns) return std::nullopt;
  std::optional<Holder> holder = held(waiter, *wait, ns);
  for (int i = 0; i < kMostHolders && holder; ++i) {
    wait = wait_of(holder->thread->thread, holder->thread->waits, holder->ns);
    if (wait == nullptr || wait->begin_ns > holder->ns) return holder;
    holder = held(waiter, *wait, holder->ns);
  }
  return std::nullopt;
}

/// As the waiting thread's region names it, where the work is of that.
ContextId ThreadWaits::beside(ContextId waiting, ContextId work) const {
  const auto beside = regions_.beside(waiting, work);
  return beside && beside->of_region ? beside->context : work;
}

/// What it was sampled at while it held what was waited for: after the moment, else before. Where no sample
/// was taken then, what it was seen at in other such waits, else at work last. Nothing where it waited
/// itself, and nobody knows for whom.
std::optional<ContextId> ThreadWaits::charged_to(const Holder& holder, ContextId waiting) const {
  Other& other = *holder.thread;
  advance(other, holder.ns);
  const auto found = std::find_if(other.recent.rbegin(), other.recent.rend(),
                                  [&](const Work& work) { return work.ns <= holder.released_ns; });
  const Work* last = found == other.recent.rend() ? nullptr : &*found;
  if (other.aside.ns <= holder.released_ns && other.aside.ns > (last == nullptr ? 0 : last->ns))
    last = &other.aside;
  const bool seen = last != nullptr && last->ns >= holder.since_ns;
  const bool waited = other.waited_ns >= holder.since_ns && other.waited_ns <= holder.released_ns;
  if (waited && (!seen || last->ns < std::min(holder.ns, other.waited_ns))) return std::nullopt;
  if (seen) return other.held[waiting] = beside(waiting, last->context);
  if (const auto known = other.held.find(waiting); known != other.held.end()) return known->second;
  return last == nullptr ? waiting : beside(waiting, last->context);
}

/// At this moment of a wait, of what lies before `until_ns`.
ContextId ThreadWaits::charged(Waiter& waiter, const Waiting& waiting, std::uint64_t ns,
                               std::uint64_t until_ns) {
  if (const auto holder = holder_at(waiter, waiting, ns, until_ns)) {
    if (const auto charged = charged_to(*holder, waiting.context)) return *charged;
  }
  return charged_to_working(waiter, waiting, ns);
}

ContextId ThreadWaits::charged_to_working(Waiter& waiter, const Waiting& waiting, std::uint64_t ns) {
  for (Other& other : waiter.others) advance(other, ns);
  const auto before = [&](std::uint64_t samples) {
    return ns - std::min(ns, samples * std::min(waiter.shortest_ns, ns / samples));
  };
  const std::array<When, 3> tries{{
      {.ns = ns, .maybe_earlier = false, .since_of_team_ns = ns, .since_ns = ns},
      {.ns = ns, .maybe_earlier = true, .since_of_team_ns = ns, .since_ns = ns},
      {.ns = ns,
       .maybe_earlier = true,
       .since_of_team_ns = before(kRecentOfTeam),
       .since_ns = before(kRecent)},
  }};
  candidates_.clear();
  for (const When& when : tries) {
    for (const Other& other : waiter.others) take_candidate(other, waiting.context, waiting.of_team, when);
    if (!candidates_.empty()) break;
  }
  return candidates_.empty() ? waiting.context : candidates_[waiter.turn++ % candidates_.size()];
}

std::span<const ThreadWaits::Part> ThreadWaits::charged(std::size_t thread, const trace::Record& sample,
                                                        std::uint64_t whole_ns) {
  parts_.clear();
  const WaitKind kind = waits_for_threads(sample);
  const std::uint64_t end_ns = sample.exit_ns;
  std::uint64_t at_ns = std::min(sample.enter_ns, end_ns);
  Waiter& waiter = waiters_[thread];
  const std::uint64_t seen_ns = std::exchange(waiter.seen_ns, end_ns);  // elsewhere, maybe
  if (at_ns < end_ns) waiter.shortest_ns = std::min(waiter.shortest_ns, end_ns - at_ns);
  if (kind == WaitKind::none || at_ns == end_ns) {
    parts_.push_back({.until_ns = end_ns, .charged = sample.node});
    return parts_;
  }
  if (!waiter.begun) begin(thread, at_ns);
  // libomp waits for a team on conditions, and is marked so: its place says what for.
  const Waiting waiting{.context = sample.node,
                        .kind = kind,
                        .of_team = is_of_team(kind) || is_of_team(shape_.contexts[sample.node].wait)};
  const std::uint64_t length_ns = std::max(waiter.shortest_ns, (end_ns - at_ns) / kMostParts);
  for (std::uint64_t until_ns = 0; at_ns < end_ns; at_ns = until_ns) {
    until_ns = std::max(at_ns, std::min(whole_ns, end_ns)) + length_ns;
    if (until_ns + length_ns / 2 > end_ns) until_ns = end_ns;
    // A sample of one period was taken at its end.
    const bool one_period = at_ns == sample.enter_ns && until_ns == end_ns;
    const std::uint64_t from_ns = std::clamp(seen_ns, at_ns, until_ns);
    const std::uint64_t ns = one_period ? end_ns : from_ns + (until_ns - from_ns) / 2;
    const ContextId charged = this->charged(waiter, waiting, ns, until_ns);
    if (!parts_.empty() && parts_.back().charged == charged) {
      parts_.back().until_ns = until_ns;
    } else {
      parts_.push_back({until_ns, charged});
    }
  }
  return parts_;
}

}  // namespace culprit::merge
