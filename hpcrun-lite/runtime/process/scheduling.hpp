#pragma once

#include <cstdint>

// What the kernel's scheduler did with the threads, and what the host had to give, into the measurement
// (docs/algorithms.md 5.6). The handler has no part in it: the flusher thread asks the kernel, ever more
// rarely, with descriptors of its own, and the process does when it ends. Threads that hardly ran, or ended
// before the flusher thread's next turn, are left out.
namespace culprit::runtime {

/// From here on counts what the process's threads do: at its start, and in a forked child, of which the
/// kernel has counted nothing yet.
void begin_schedules();
void begin_schedules_of_child();

/// Counts from here on what the host had to give, in a forked child whose measurement gets its file. Most
/// children never do, and would take 0.2 ms longer. Else it has begun.
void begin_host_load();

/// The flusher thread's turn: asks the kernel of threads that are new, and of all if an eighth of the run has
/// passed since it last did.
void note_schedules(std::uint64_t time);

/// How long the calling thread has waited for a processor since it began; 0 where the kernel does not say.
std::uint64_t waited_for_processor_ns();

/// Asks the kernel now. Who calls holds the flusher thread, or is it.
void note_schedules_now(std::uint64_t time);

}  // namespace culprit::runtime
