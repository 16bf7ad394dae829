#pragma once

#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/live.hpp"
#include "measurement/trace_stream.hpp"
#include "runtime/api.hpp"
#include "runtime/events/event_list.hpp"
#include "runtime/events/kernel_sampler.hpp"
#include "runtime/events/perf_descriptors.hpp"
#include "runtime/pace/grid.hpp"
#include "runtime/pace/handler_cost.hpp"
#include "runtime/state/paths.hpp"
#include "runtime/state/python_frames.hpp"
#include "runtime/state/regions.hpp"
#include "runtime/system/own_stack.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/teams/account.hpp"
#include "runtime/teams/lock_queue.hpp"
#include "unwind/walker.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// What parking needs of one thread.
struct Parking {
  measurement::NodeIndex node;  ///< of the last sample
  std::uint32_t unchanged;      ///< samples in a row before it that were there, with hardly any CPU time used
  /// The number of them after which the thread is parked. Doubled where a wait whose end nobody sees was
  /// short: threads that wait briefly, now here, now there, are sampled as if they worked.
  std::uint32_t patience;
  bool end_is_seen;  ///< an interposed function returns when the wait ends
  bool outside;      ///< its account says so because it is parked in a read
  bool ended;        ///< the thread was parked until just now; for so long:
  std::uint64_t waited_ns;
  // The wait of a parked thread.
  measurement::WaitKind mark;
  std::uint64_t since_ns;  ///< on the sampling clock
  std::atomic<bool> on;    ///< parked; written by the thread alone, as all above
  std::atomic<int> timer;  ///< the kernel's id of that on the CPU clock; -1: none yet
  // For the flusher thread, where nobody sees the end of the wait (CLOCK_MONOTONIC).
  std::atomic<std::uint64_t> began_ns;
  std::atomic<bool> looked_at;           ///< since then
  std::atomic<std::uint64_t> looked_ns;  ///< when last
  std::atomic<std::uint64_t> cpu_ns;     ///< the thread's CPU time then
  std::atomic<std::uint64_t> doubt_ns;   ///< between two looks, in which the wait ended; 0: it is certain
};

/// What expirations of Parking::timer bear in the place of an event's index.
inline constexpr int kParkingTimer = 64;

/// At most this many threads are parked: those with higher numbers never are.
inline constexpr std::size_t kMostWatched = 16384;

/// CPU time of a thread as samples charge it.
struct ChargedTime {
  std::uint64_t last_ns;                  ///< at the last sample, without stopped_ns
  std::atomic<std::uint64_t> stopped_ns;  ///< used while sampling was stopped
  std::uint64_t sampled_at;               ///< the last sample, on the sampling clock
  std::uint64_t carried_ns;               ///< of samples that were late, to be charged by the next one
  std::uint32_t late;                     ///< how many these are
  measurement::NodeIndex late_node;       ///< of the last of them
};

/// What sampling costs a thread, and what follows for its rate.
struct CostAccount {
  HandlerCost cost;
  std::uint64_t woken_ns;      ///< CPU time since the last sample that was used for our signal alone
  std::uint64_t timed_from;    ///< the thread's CPU clock when the running, timed handler began; 0 otherwise
  bool run_is_counted;         ///< the running handler's cost is in the account
  std::uint32_t own_halvings;  ///< how often this thread's rate was to be halved for what it costs it
  std::uint32_t halvings;      ///< how often it is halved at present, for that or for the whole process
};

/// What it costs a thread that its calls are counted, followed and recorded.
struct CallCost {
  std::uint64_t exit_ns;      ///< when the call that is being recorded was left
  std::uint64_t timed_ns;     ///< by calls that were timed
  std::uint64_t sampled_ns;   ///< by samples that met our code
  std::uint64_t samples;      ///< of these the number
  std::uint64_t recorded_ns;  ///< of the larger of both, what the measurement has
};

/// What a thread keeps of its calls of MPI and of file input and output.
struct ThreadCalls {
  KnownPaths known_paths;
  CulpritCallTable counted;
  CallCost cost;
  std::uint32_t recorded;  ///< in time lines
};

/// A thread's timers and counters of one of the process's events.
struct EventState {
  std::uint64_t remaining_ns;  ///< of the running period of a CPU timer when it was stopped
  std::uint64_t carried;       ///< of events besides REALTIME: what is still to be recorded
  /// What readings in the trace have said of it: of `carried`, or, for the CPU clock, of sampled_cpu_time().
  std::uint64_t read;
  std::uint32_t skipped;  ///< expirations since the last that was recorded
  KernelSampler kernel;   ///< for the kernel's events
  // Of page faults:
  std::uint64_t served;  ///< those of the thread that were served to the end, at the last sample
  bool ahead;            ///< that sample has been charged one that was not
};

/// PAPI's events of a thread.
struct PapiEvents {
  int set;                      ///< the running event set; kPapiNull without one
  PerfDescriptors descriptors;  ///< what PAPI opened for it
};

/// The gap that a thread is in since its last MPI call that waited, or since its start.
struct Stretches {
  std::uint64_t since_ns;        ///< on the sampling clock; 0: not known
  measurement::NodeIndex after;  ///< the call; kNoNodeIndex: the thread's start
  std::uint32_t tree;            ///< of Thread::tree_number
  // The calls whose cost is being judged:
  std::uint64_t judged_since_ns;  ///< when they began; 0: not yet
  std::uint32_t to_judge;         ///< how many they are to be
  std::uint32_t judged, timed;    ///< how many they are so far, and how many of them were timed
  std::uint64_t timed_ns, largest_ns;
};

/// Waits for other threads of the process, added up.
struct WaitSum {
  std::uint32_t count;
  std::uint64_t ns;
};

/// A call that a function made.
struct CallPlace {
  std::uintptr_t return_to, cfa;  ///< where it returned to; the stack pointer there
};

/// Where a thread took locks: the latest of those that share a place.
struct TakenLocks {
  struct Place {
    const volatile void* lock;
    CallPlace by;
  };
  static constexpr std::size_t kPlaces = 8;
  Place places[kPlaces];

  Place& of(const volatile void* lock) {
    constexpr unsigned kWithinLocks = 4;
    return places[(reinterpret_cast<std::uintptr_t>(lock) >> kWithinLocks) % kPlaces];
  }
};

/// What a thread has made others wait, and waited (docs/algorithms.md 12).
struct Blame {
  Account account;
  std::uint64_t lock_caused, lock_waited, lock_unborne;  ///< ns
  std::uint64_t lock_pending;                            ///< of lock_caused, what is at no call path
  bool charged;          ///< some sample of it was, with idleness that it caused
  locks::Waiter waiter;  ///< in the queue of the lock that it waits for
  // For the record of its present wait:
  locks::Releases releases;  ///< of a lock
  std::uintptr_t joins;      ///< whose end it waits for, as Thread::id; 0: nobody's
  TakenLocks taken;
  std::uintptr_t waits_at;                              ///< stack address of that LockWait; 0: there is none
  std::uint64_t published[measurement::kThreadTotals];  ///< of the totals: what the tree has
  std::uint64_t published_at;                           ///< on the sampling clock
  WaitSum short_waits, short_waits_traced;              ///< and what of them the time line has
  std::uint64_t
      region_since_ns;  ///< when its outermost parallel region began, on CLOCK_MONOTONIC; 0: unknown
};

/// What a thread was created with.
struct StartRoutine {
  std::uintptr_t address;
  void* argument;
  std::size_t stack_size;
  KernelMask blocked;  ///< what its creator believed blocked of our signals
};

struct Thread;

/// A thread's place in the pool of threads.
struct PoolPlace {
  std::atomic<bool> used;
  std::uint32_t number;              ///< among all threads that ever were
  Thread* next;                      ///< list of all threads, never shortened
  std::atomic<Thread*> next_unused;  ///< list of those that threads to come may have
};

/// One sampled thread: its timers, its walker, its place in the measurement. Lives in anonymous memory of its
/// own, is reused after the thread's end, and is never unmapped.
struct Thread {
  // From the stack's end to the walker's first steps lies what every thread touches: few pages.
  alignas(16) char handler_stack[kHandlerStack];
  // What every sample touches, in as few cache lines as it fits into.
  Grid grid;
  measurement::ThreadTree* tree;    ///< null before the thread's first sample
  measurement::TraceStream* trace;  ///< null where there is no trace, and before that
  std::atomic<std::uint64_t> due;   ///< the next tick of the grid, on the sampling clock
  ChargedTime cpu;
  CostAccount account;
  std::uint32_t modules_seen;  ///< the generation of loaded modules that the walker knows
  std::uint32_t tree_number;   ///< of the thread's trees: a forked child begins another; never 0
  bool main;
  bool calls_are_counted;               ///< in `calls.counted`, whose pages most threads never touch
  bool tree_refused;                    ///< the file has no room for this thread
  bool blocked_call;                    ///< the signal was held back during a call that is just ending
  volatile bool owes_tick;              ///< one came while `counting_at` was set, and is still to be charged
  volatile std::uintptr_t counting_at;  ///< stack address of the code of ours that uses walker and tree
                                        ///< outside the handler; 0 none
  std::atomic<bool> busy;               ///< recording, or publishing a wait: its tree is in use
  /// Kernel timer ids in the order of the process's events, -1 for none. Set by the thread itself, read by
  /// whoever starts or stops sampling.
  std::atomic<int> timers[EventList::kMax];
  Parking parking;
  // What few of them touch.
  std::uintptr_t blocked_from;  ///< stack address of the outermost BlockedCall; 0 none
  int tid;
  std::uintptr_t id;  ///< as POSIX threads know it
  std::uint64_t start_ns;
  std::atomic<std::uint64_t> cpu_at_stop;  ///< the thread's CPU time when sampling was last stopped
  EventState events[EventList::kMax];      ///< in the order of the process's events
  PapiEvents papi;
  std::uint64_t own_switches;  ///< that our own signals brought about since the last sample of switches
  InterposedFunctions interposed;
  FunctionPlaces function_places;
  Regions regions;
  PythonFrames python;
  Stretches stretches;
  Blame blame;
  StartRoutine routine;
  PoolPlace pool;
  unwind::Walker walker;
  ThreadCalls calls;  ///< of threads that call MPI, or move bytes of files

  /// It has no timers: it is new, or those were its parent's.
  void forget_timers() {
    for (auto& timer : timers) timer.store(-1, std::memory_order_relaxed);
    parking.timer.store(-1, std::memory_order_relaxed);
  }
};

/// The calling thread's state; null where it is not sampled. Async-signal-safe.
inline Thread* this_thread() {
  return static_cast<Thread*>(culprit_rt_thread.state);
}

/// Takes a Thread from the pool or maps a new one; null when memory is short. Not from a handler.
Thread* allocate_thread();
void free_thread(Thread* thread);

/// Whether the calling thread, interrupted at stack address `sp` or itself there, is in the middle of
/// counting outside the handler: nobody else may use its walker and its tree. Code that lay deeper on the
/// thread's stack was left by a longjmp, and forgotten. Async-signal-safe.
bool is_counting(Thread* thread, std::uintptr_t sp);

/// Whether an address lies on the thread's stack for handlers.
inline bool is_handler_stack(const Thread* thread, std::uintptr_t address) {
  const auto stack = reinterpret_cast<std::uintptr_t>(thread->handler_stack);
  return address >= stack && address < stack + kHandlerStack;
}

/// Calls `act(argument)` on the calling thread's stack for handlers. With all signals blocked: it is no place
/// for the program's handlers. A fault there is deadly. Async-signal-safe.
inline void move_to_handler_stack(Thread* thread, void (*act)(void*), void* argument) {
  culprit_call_on_stack(argument, act, thread->handler_stack + kHandlerStack);
}

/// The same, with whatever signals, and where the thread may be on that stack already. For what needs much
/// stack: the program's own may be a coroutine's, or a signal handler's of 8 KB. Two system calls.
inline void on_handler_stack(Thread* thread, void (*act)(void*), void* argument) {
  const char here = 0;
  if (is_handler_stack(thread, reinterpret_cast<std::uintptr_t>(&here))) {
    act(argument);
    return;
  }
  const KernelMask before = change_mask(SIG_BLOCK, ~KernelMask{0});
  move_to_handler_stack(thread, act, argument);
  change_mask(SIG_SETMASK, before);
}

/// All threads that ever were, used or not; follow `next`.
Thread* first_thread();

/// Claims the thread's tree against the end of the process (stop_recording). False: the process is ending.
bool begin_recording(Thread* thread);
void end_recording(Thread* thread);

/// Keeps all threads from recording, and waits until none but the calling one is in the middle of it; false
/// if that did not come about in some seconds. Async-signal-safe.
bool stop_recording();
void allow_recording();

}  // namespace culprit::runtime
