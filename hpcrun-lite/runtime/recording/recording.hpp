#pragma once

#include "runtime/api.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"

#include <cstddef>
#include <cstdint>

// The process's measurement file and how call paths get into it.
namespace culprit::runtime {

/// Gives the thread its tree, creating the process's file if this is its first sample. False: not now
/// (another thread is creating the file) or never (tree_refused). Async-signal-safe; the thread must be
/// recording.
bool ensure_tree(Thread* thread);

/// Creates the process's file unless it exists. False: another thread is at it, the program is short of
/// descriptors (then the flusher thread does it), or there will be none. Async-signal-safe.
bool ensure_file();
/// True while the flusher thread is to call ensure_file().
bool file_is_wanted();

/// Samples that were lost for good because a thread found no place in the file.
void count_lost(std::uint64_t expirations);

/// True if the file could not be created (which was printed) or is not wanted.
bool recording_refused();

/// Totals over all threads of this process, ended ones included.
CulpritTotals count_totals();

/// One of this many recorded calls is timed. A prime: calls come in loops.
inline constexpr std::uint32_t kCallsPerTimed = 61;
/// What recording a call has cost that was left at `exit_ns` (CLOCK_MONOTONIC), with two looks at the clock
/// for its enter and exit, in ns; 0 where the thread was interrupted meanwhile.
std::uint64_t recording_cost(std::uint64_t exit_ns);
/// Records in the tree of the thread, which is recording, what its calls cost, if that is more than what was
/// recorded. Async-signal-safe.
void record_call_cost(Thread* thread);
/// The calling thread has recorded on its time line what was left at `calls.cost.exit_ns`; now and then it is
/// timed.
void time_recorded(Thread* thread);
inline void count_recorded(Thread* thread) {
  if (++thread->calls.recorded % kCallsPerTimed == 0) [[unlikely]]
    time_recorded(thread);
}

/// Where the process has its rank: in MPI_COMM_WORLD or in mpi://WORLD.
enum class RankFrom : std::uint8_t { world, session };

/// Takes over the rank: renames the file, or lets it be created under its final name. `whole`: every rank of
/// the world is to leave a measurement.
void join_run(int rank, int ranks, const char* mpi, RankFrom from, bool whole);

/// Takes over the run id that rank 0 has.
void change_run_id(const char* id);

/// At the end: notes what a reader of the measurement should know of how it came about.
void note_end();
/// Notes with which status a rank exits that leaves the others without MPI_Finalize.
void note_exit_status(int status);
/// That a crash of this rank ended it, by abort or by this signal.
void note_abort();
void note_signal(int signal);
/// For so long no thread of the process ran, nor waited for a processor.
void note_standstill(std::uint64_t ns);

/// Once: that waits for partitioned messages are not matched.
void note_partitioned_messages();

/// What the program called a communicator or window; of the first few, that other notes have space.
void note_name(std::uint64_t number, const char* name);

/// Removes this process's file: its rank is not wanted.
void discard_file();

/// In a forked child: the parent's file is not ours.
void forget_file();

}  // namespace culprit::runtime
