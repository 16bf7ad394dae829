// Writes waits for other threads of the process on their threads' time lines (docs/algorithms.md 12.1), of
// 20 us or more, or of what --trace-threads-above says. The record has no call path, which samples show. Who
// held a lock, the lock's queue says (lock_queue.hpp): where several did one after the other, each has a
// record of its own. Who was joined is looked for among all threads. Cost: a tenth of a microsecond for each
// record; nothing for shorter waits but two additions.
#include "runtime/recording/traced_waits.hpp"

#include "runtime/recording/held_off.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/traced_regions.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/state/process.hpp"
#include "runtime/teams/lock_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

namespace culprit::runtime {
namespace {

using measurement::WaitHolder;
using measurement::WaitKind;

/// Of several that had this id one after the other, the last to begin.
const Thread* thread_with(std::uintptr_t id) {
  const Thread* found = nullptr;
  for (const Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    if (thread->id == id && (found == nullptr || thread->start_ns > found->start_ns)) found = thread;
  }
  return found;
}

/// Threads that were never sampled have no place in the measurement.
WaitHolder holder(const void* by, std::uint64_t released_ns) {
  const auto* thread = static_cast<const Thread*>(by);
  const measurement::ThreadTree* tree = thread == nullptr ? nullptr : thread->tree;
  if (tree == nullptr || !tree->life().exists()) return {};
  return {.thread = tree->header().ordinal, .released_ns = released_ns};
}

/// Who ended the wait; it is asked once.
locks::Releases releases_in(Blame& blame, WaitKind kind, std::uint64_t time) {
  locks::Releases found = blame.releases;
  blame.releases.count = 0;
  const std::uintptr_t joined = std::exchange(blame.joins, 0);
  if (kind == WaitKind::join && joined != 0 && culprit_rt_tracing.load(std::memory_order_relaxed)) {
    found.of[0] = {.time = time, .by = thread_with(joined)};
    found.count = 1;
  } else if (kind != WaitKind::lock) {
    found.count = 0;
  }
  return found;
}

/// A part for each holder; the last one's reaches until the waiter went on.
void write_wait(measurement::TraceStream& trace, WaitKind kind, const locks::Releases& releases,
                std::uint64_t since, std::uint64_t time) {
  std::uint64_t from = since;
  for (std::size_t i = 0; i < releases.count && from < time; ++i) {
    const std::uint64_t released = std::clamp(releases.of[i].time, from, time);
    const std::uint64_t until = i + 1 == releases.count ? time : released;
    if (until == from) continue;
    trace.thread_wait(monotonic_time(from), monotonic_time(until), kind,
                      holder(releases.of[i].by, monotonic_time(released)));
    from = until;
  }
  if (from < time) trace.thread_wait(monotonic_time(from), monotonic_time(time), kind);
}

}  // namespace

[[gnu::noinline]] void trace_wait(Thread* thread, WaitKind kind, std::uint64_t since, std::uint64_t time) {
  const void* const here = __builtin_frame_address(0);
  const locks::Releases releases = releases_in(thread->blame, kind, time);
  const bool left = kind < WaitKind::omp_barrier;  // a jump left the wait's mark, and another call made one
  if (time <= since || left || !culprit_rt_tracing.load(std::memory_order_relaxed) ||
      !may_trace(thread, here))
    return;
  if (time - since < process.least_traced_wait) {
    ++thread->blame.short_waits.count;
    thread->blame.short_waits.ns += time - since;
    return;
  }
  hold_handler_off(thread, here);
  if (begin_recording(thread)) {
    if (ensure_tree(thread) && thread->trace != nullptr)
      write_wait(*thread->trace, kind, releases, since, time);
    end_recording(thread);
  }
  let_handler_on(thread);
}

void trace_short_waits(Thread* thread, std::uint64_t time) {
  // At the process's end the thread may be another one, which goes on to wait, or ends: each is read once.
  const auto read = [](auto& field) { return std::atomic_ref(field).load(std::memory_order_relaxed); };
  measurement::TraceStream* const trace = read(thread->trace);
  WaitSum all;
  all.count = read(thread->blame.short_waits.count);
  all.ns = read(thread->blame.short_waits.ns);
  WaitSum& traced = thread->blame.short_waits_traced;
  if (trace == nullptr || all.count <= traced.count || all.ns < traced.ns) return;
  if (trace->short_waits(time, all.count - traced.count, all.ns - traced.ns)) traced = all;
}

}  // namespace culprit::runtime
