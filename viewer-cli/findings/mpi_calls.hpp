#pragma once

#include "findings/diagnosis.hpp"
#include "views/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What the run's MPI calls took and moved, by the function that was called.
namespace culprit::viewer {

/// All calls of one function, wherever they were made.
struct MpiCall {
  std::string name;
  std::uint64_t calls = 0, messages = 0;
  std::uint64_t bytes = 0;  ///< of the messages, a process's part in a collective being one
  std::uint64_t sent = 0, received = 0;
  std::uint64_t ns = 0, longest_ns = 0;  ///< `longest_ns`: of one call; 0: not known
  std::uint64_t counted_ns = 0;          ///< of `ns`, what `calls` took: the rest is of further call paths
  std::uint64_t vain = 0;                ///< polls that found nothing: none of `calls`
  std::vector<std::uint32_t> locations;  ///< of the threads that made them
};

/// The MPI calls of a run. Empty where nothing was counted.
struct MpiTraffic {
  std::vector<MpiCall> calls;                ///< by function, most time first
  std::vector<database::CallTraffic> paths;  ///< by call path, most time first
  double whole_s = 0;                        ///< of all threads: what shares are of
  bool without_startup = false;              ///< MPI_Init and MPI_Finalize are left out of all of these
};
/// `figures` must be over all threads; reads per-thread values.
MpiTraffic mpi_traffic(const views::Figures& figures, bool without_startup = false);

/// How many polls found nothing at a call path that one found something at.
std::uint64_t polls_in_vain(const database::Contents& experiment, database::ContextId context);

/// Bytes of files that were moved at or below a context.
struct FileTraffic {
  std::uint64_t read = 0, written = 0;
};
FileTraffic file_traffic(const database::Contents& experiment, database::ContextId context);

/// Whether calls were counted without time lines: then times are those of samples, and no call's own time is
/// known.
bool counted_without_trace(const database::Contents& experiment);

/// In place of a function: that of calls whose call path had no room.
inline constexpr const char* kFurtherPaths = "further call paths";

/// How the function that a row is about is called.
std::string mpi_call_name(const database::Contents& experiment, database::ContextId context);

/// The function whose calls work most, as against waiting: where messages are copied. Empty where no calls
/// were counted.
std::string hardest_working_call(const database::Contents& experiment);

/// Whether ranks started requests whose messages nothing matches: partitioned ones (MPI_Psend_init).
bool has_unmatched_requests(const database::Contents& experiment);

/// Then: a sentence that their waits are missing, so that `what`, such as `the path`, is not to be trusted;
/// else empty.
std::string unmatched_requests_phrase(const database::Contents& experiment, const std::string& what);

/// Whether a function of this name may wait for a message.
bool receives(const std::string& name);

// What of communication is worth a sentence (docs/diagnosis.md).

/// Loops of polls, as time lines show them: how long they lasted; of that, how long their own code between
/// the polls; and of that, what they waited for late ranks. Samples call that code work.
struct Polling {
  double lasted_s = 0, between_s = 0, late_s = 0;
};
/// All 0 without a trace.
Polling polling(const database::Contents& experiment);

/// Loops of polls wait in time lines, whereas samples find work between the polls: how much that is, where it
/// is 1 % of the run or more; else empty.
std::string polling_phrase(const database::Contents& experiment, bool unicode);

/// Where the run started or connected to other processes, without a trace, and waits 5 % of its time or more:
/// that it may wait for these, and how to measure them; else empty.
std::string other_world_phrase(const database::Contents& experiment, const Diagnosis& diagnosis);

/// Many small messages at one call path, a few large ones, synchronization without data, or polls of which
/// most find nothing, where that takes 5 % of the run or more; most time first, at most two, and none where
/// the run is `starved` of processors, which is then what takes the time; and other_world_phrase() and
/// polling_phrase(). Names are shortened to `width` columns.
std::vector<std::string> message_pattern_phrases(const views::Figures& figures, const Diagnosis& diagnosis,
                                                 bool starved, std::size_t width, bool unicode);

}  // namespace culprit::viewer
