#pragma once

#include "measurement/published_calls_layout.hpp"
#include "measurement/trace_operation.hpp"
#include "runtime/system/export.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

// What the runtime offers to the MPI wrappers, which live in a library of their own so that the runtime needs
// no MPI.
inline constexpr unsigned long kCulpritRunId = 64;

extern "C" {

/// MPI calls, or calls that read and write, of a thread at one call path since they were last handed over to
/// its tree.
struct CulpritCallCount {
  std::uint64_t key;         ///< of where they return to and of how deep the stack is; 0: a free slot
  std::uint32_t tree, node;  ///< as in CulpritPath
  std::uint32_t calls, messages;
  std::uint64_t sent, received, bytes;  ///< `bytes`: of each message the larger of what it gave and got
  std::uint64_t smallest, largest;      ///< of one message; ~0 and 0 where there is none
  std::uint64_t vain;                   ///< polls that found nothing: none of `calls`
};

/// Messages that a thread sent to one process by one communicator since they were last handed over.
struct CulpritPartnerCount {
  std::uint64_t comm;          ///< its handle
  std::int32_t peer;           ///< in it
  std::uint32_t generation;    ///< of the handles, from 1 on; 0: a free slot
  std::int32_t rank;           ///< in MPI_COMM_WORLD; negative: not known
  std::uint32_t members;       ///< of the communicator
  std::uint64_t communicator;  ///< distinguishes it; 1: MPI_COMM_WORLD
  std::uint64_t messages, bytes;
};

/// Those of all paths and partners, by a hash of their keys. Paths for which there is no room have the last
/// slot together; further partners are not counted. Memory is touched where there is something to count.
struct CulpritCallTable {
  static constexpr std::size_t kSlots = 16384;
  static constexpr std::size_t kPartners = 256;
  static constexpr std::size_t kPathProbes = 32;  ///< slots that one path may have: enough at half of them
  static constexpr std::size_t kPartnerProbes = 8;
  static constexpr std::size_t kIoSlots = 1024;
  CulpritCallCount slots[kSlots + 1];
  CulpritPartnerCount partners[kPartners];
  CulpritCallCount io[kIoSlots + 1];  ///< of the C library's: `sent` is written, `received` read
  bool has_io;                        ///< there was some
  bool changes_io;                    ///< just now: not for a signal handler that reads or writes, too
};

/// What one thread's wrappers and its signal handler share.
struct CulpritThread {
  void* state;  ///< the runtime's own; null where the thread is not sampled
  std::uintptr_t
      marked_below;   ///< stack address of the outermost marked call: frames below it are inside; 0 none
  std::uint8_t mark;  ///< culprit::measurement::WaitKind of that call
  bool parked;        ///< the thread is not sampled since it waited (runtime/sampling/parking.hpp)
  bool counted;       ///< it has an account of who idles because of whom (runtime/sampling/blame.hpp)
  std::uintptr_t
      ends_below;  ///< stack address of the innermost EndOfWait (runtime/sampling/parking.hpp); 0 none
  std::uintptr_t
      call;  ///< address of that call's function, which stands for the caller's frame in call paths
  std::uint32_t stretch;    ///< that samples are in: culprit::measurement::kInWaitingCall and so on
  std::uint32_t pause;      ///< waiting calls that are still not to be followed
  CulpritCallTable* calls;  ///< null where the thread is not sampled
  culprit::measurement::calls::Call* published;      ///< where the thread's MPI calls are; null: nowhere yet
  culprit::measurement::calls::LockWait* lock_wait;  ///< where its present wait for a lock is; null: nowhere
  bool in_file_call;                                 ///< the marked call is one of MPI_File_*
  std::uint32_t interruptions;                       ///< sampling signals that the thread has handled
  std::uintptr_t aborts_below;  ///< stack address of its call of abort() that was announced; 0: there is none
};

/// Sums for the summary line; all of them add up over ranks.
struct CulpritTotals {
  std::uint64_t samples, partial, dropped, processes;
  std::uint64_t time_lines;         ///< processes that recorded calls
  std::uint64_t delayed;            ///< processes that were to wait for culprit_start, and never called it
  std::uint64_t unsampled_threads;  ///< that got no timer
  std::uint64_t threads_lost;       ///< that the measurement had no room for
  std::uint64_t traces_limited;     ///< traces that reached their limit
  std::uint64_t traces_failed;      ///< traces that could not be written to their end
  std::uint64_t tracing_ns;         ///< what recording calls for time lines took
  std::uint64_t lived_ns;           ///< of the processes with a trace
};

/// A call of one-sided communication, or a gap, that ended: culprit::measurement::EpochValues.
struct CulpritEpoch {
  std::uint32_t kind;
  std::uint32_t size_class;
  std::uint64_t window;
  std::uint64_t peers;
  std::uint64_t time_ns;
};

/// Where the call path of an MPI call ends in its thread's tree: found by the first of the functions below
/// that is given it, and known to those that follow. To be made anew for each call, in its wrapper's frame.
struct CulpritPath {
  std::uint32_t tree;  ///< of the thread's trees; 0: not found yet
  std::uint32_t node;  ///< culprit::measurement::NodeIndex
  /// culprit::unwind::registers_here() in a function that outlives these: the walk starts there, and spares
  /// all that was called since. `pc` 0: nothing known, it starts in the function below.
  std::uint64_t pc, sp, bp, bx;
  std::uint64_t site;  ///< where that function returns to: calls of one place mostly have one path
};

/// A communicator, group or window to be named in traces.
using CulpritDefinition = culprit::measurement::trace::NewDefinition;

/// True while calls are recorded in a time line: a trace was asked for, sampling is not stopped, the limit is
/// not reached. Changes at any time; read it at the enter of a call, with one relaxed load.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is constant-initialized
extern __attribute__((visibility("default"))) std::atomic<bool> culprit_rt_tracing;

/// True while calls are counted for lack of a time line: there is no trace, sampling is not stopped. As the
/// one above.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is constant-initialized
extern __attribute__((visibility("default"))) std::atomic<bool> culprit_rt_counting;

/// One call of some epoch: culprit::measurement::StampValues.
struct CulpritStamp {
  std::uint32_t kind;
  std::uint32_t instance;
  std::uint32_t members;
  std::uint32_t peer;
  std::uint64_t window;
  std::uint64_t order;
  std::uint64_t enter_ns, exit_ns, last_ns;
};

/// A call that moved many bytes.
struct CulpritTransfer {
  std::uint64_t family;  ///< calls of one family and size class cost alike per byte where they do not wait
  std::uint32_t size_class;
  std::uint32_t unused;
  std::uint64_t sent, received;  ///< bytes
  std::uint64_t time_ns;
};

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
extern __thread CulpritThread culprit_rt_thread
    __attribute__((tls_model("initial-exec"), visibility("default")));

/// False where this process is not measured.
__attribute__((visibility("default"))) bool culprit_rt_active();
/// Frames of the library that holds `address` never appear in call paths.
__attribute__((visibility("default"))) void culprit_rt_own_library(const void* address);
/// After MPI_Init, with this process's place in MPI_COMM_WORLD; `mpi` names the library and its version. True
/// if every rank is measured, so that collective calls of ours find a partner everywhere.
__attribute__((visibility("default"))) bool culprit_rt_join_world(int rank, int ranks, const char* mpi);
/// The same for a process that may have no MPI_COMM_WORLD, with its place in the process set mpi://WORLD.
__attribute__((visibility("default"))) void culprit_rt_join_session(int rank, int ranks, const char* mpi);
/// The run id: at most kCulpritRunId bytes with its zero byte.
__attribute__((visibility("default"))) void culprit_rt_run_id(char* id);
/// With rank 0's run id: where they differ, this process takes it over and notes it.
__attribute__((visibility("default"))) void culprit_rt_agree(const char* id);
/// After MPI_Start of requests that no known call made: notes once that there are partitioned messages, if
/// that is measured at present. Not from signal handlers.
__attribute__((visibility("default"))) void culprit_rt_note_partitioned_messages();
/// Notes what the program called a communicator or window, known to all processes by `number`; of the first
/// few. Not from signal handlers.
__attribute__((visibility("default"))) void culprit_rt_note_name(std::uint64_t number, const char* name);
/// This process's totals up to now.
__attribute__((visibility("default"))) CulpritTotals culprit_rt_totals();
/// Rank 0, in MPI_Finalize: prints the summary line of the whole run of `ranks` ranks.
__attribute__((visibility("default"))) void culprit_rt_close_world(const CulpritTotals* totals);
/// At the end of MPI_Finalize: a process that ends before leaves the others alone.
__attribute__((visibility("default"))) void culprit_rt_leave_world();
/// MPI_Pcontrol: stops (0) or starts (1, 2) sampling; other levels have no meaning here.
__attribute__((visibility("default"))) void culprit_rt_control_level(int level);
/// Adds a waiting call of the calling thread that was entered and left at these times (CLOCK_MONOTONIC) to
/// the accumulator at its call path, and the gap before it to that gap's (docs/algorithms.md 5.7). To be
/// called inside of the CallMark that stands for the call, right after it. Not from signal handlers.
__attribute__((visibility("default"))) void culprit_rt_count_wait(std::uint64_t enter_ns,
                                                                  std::uint64_t exit_ns, CulpritPath* path);
/// Adds the gap before MPI_Finalize, which was entered at `enter_ns`; from here on stretches are unknown.
__attribute__((visibility("default"))) void culprit_rt_end_stretches(std::uint64_t enter_ns,
                                                                     CulpritPath* path);
/// Hands what a slot of the calling thread's table counts over to its tree, at the call path of the call that
/// was counted last if it is not known yet, and begins anew. To be called inside of the CallMark that stands
/// for that call. Not from signal handlers.
__attribute__((visibility("default"))) void culprit_rt_hand_over(CulpritCallCount* slot, CulpritPath* path);
/// Hands what a slot of the calling thread's table says of a partner over to its tree, and begins anew. As
/// above.
__attribute__((visibility("default"))) void culprit_rt_hand_over_partner(CulpritPartnerCount* partner);
/// Adds each of `count` epochs to its accumulator at the calling thread's call path, and keeps the stamps
/// whose turn has come. The thread must be sampled. Returns how many leading zero bits an order needs to be
/// kept. Not from signal handlers.
__attribute__((visibility("default"))) unsigned culprit_rt_count_epochs(const CulpritEpoch* epochs,
                                                                        std::size_t count,
                                                                        const CulpritStamp* stamps,
                                                                        std::size_t stamp_count,
                                                                        CulpritPath* path);
/// Adds a transfer, unless it is null, to the accumulators at the calling thread's call path, and to the
/// thread's distribution of costs; keeps the stamps whose turn has come. The thread must be sampled. Returns
/// how many leading zero bits an order needs to be kept. Not from signal handlers.
__attribute__((visibility("default"))) unsigned culprit_rt_count_transfer(const CulpritTransfer* transfer,
                                                                          const CulpritStamp* stamps,
                                                                          std::size_t stamp_count,
                                                                          CulpritPath* path);
/// True if this process has, or will have, a trace: also while culprit_rt_tracing is false because sampling
/// is stopped. What is made then has to be defined all the same.
__attribute__((visibility("default"))) bool culprit_rt_traced();
/// Records an MPI call of the calling thread that was entered at `enter_ns` and left at `exit_ns`
/// (CLOCK_MONOTONIC), at its call path, with its operations in argument order. To be called inside of the
/// CallMark that stands for the call, right after it. `any`: the call returned when one of several operations
/// was complete (MPI_Waitany). Does nothing where the thread is not sampled or tracing is off. Not from
/// signal handlers.
__attribute__((visibility("default"))) void culprit_rt_trace_call(
    std::uint64_t enter_ns, std::uint64_t exit_ns, const culprit::measurement::trace::Operation* operations,
    std::size_t count, bool any, CulpritPath* path);
/// The same for calls with many operations, handed over piece by piece: where begin returned true, any number
/// of calls of operations, then end, all in the function that began. In between the thread takes no samples.
__attribute__((visibility("default"))) bool culprit_rt_trace_begin(std::uint64_t enter_ns,
                                                                   std::uint64_t exit_ns, bool any,
                                                                   CulpritPath* path);
__attribute__((visibility("default"))) void culprit_rt_trace_operations(
    const culprit::measurement::trace::Operation* operations, std::size_t count);
__attribute__((visibility("default"))) void culprit_rt_trace_end();
/// Where threads publish the MPI calls that they are in; null before culprit_rt_publish_calls(), and where
/// the process is not measured. What it points to is never unmapped.
// NOLINTBEGIN(bugprone-dynamic-static-initializers): it is constant-initialized
extern __attribute__((visibility("default"))) std::atomic<culprit::measurement::calls::Calls*>
    culprit_rt_published_calls;
// NOLINTEND(bugprone-dynamic-static-initializers)
/// Makes room for that in the measurement, which it creates if need be. At the end of MPI_Init.
__attribute__((visibility("default"))) void culprit_rt_publish_calls();
/// Gives the calling thread a place of its own, culprit_rt_thread.published. Null: there is none.
__attribute__((visibility("default"))) culprit::measurement::calls::Call*
culprit_rt_place_of_published_calls();
/// Records what a communicator, group or window is, in any thread, and returns the number by which operations
/// name it in this process, counted from 0; kNoContext where there is no trace, or no room for more of it.
/// Copies the members.
__attribute__((visibility("default"))) culprit::measurement::trace::Context culprit_rt_trace_define(
    const CulpritDefinition* definition);
/// Records a comparison with another process's clock. The pairs of this process's own two clocks at its
/// start and end are recorded without this.
__attribute__((visibility("default"))) void culprit_rt_trace_clock(
    const culprit::measurement::trace::ClockPair* pair);
/// The calling thread, which is parked, runs again. Async-signal-safe.
__attribute__((visibility("default"))) void culprit_rt_unpark();
/// Whether the calling thread's mark, which lies no deeper on the stack than `here`, was left behind by a
/// jump: but for code on an alternate stack for signals, whose handler interrupted the marked call and may
/// lie anywhere. Async-signal-safe; a system call.
__attribute__((visibility("default"))) bool culprit_rt_left_behind(std::uintptr_t here);
/// The calling thread, which is counted, waits from here on as `kind` says, or works (CallMark::Kind), unless
/// it waits already. Returns what it did, for culprit_rt_end_wait. Async-signal-safe.
__attribute__((visibility("default"))) std::uint8_t culprit_rt_begin_wait(std::uint8_t kind);
__attribute__((visibility("default"))) void culprit_rt_end_wait(std::uint8_t before);
/// MPI_Abort: ends the measurement as aborted.
__attribute__((visibility("default"))) void culprit_rt_abort();
}
