#pragma once

// By what the tools know a note of a measurement that the runtime wrote. Free to all: includes nothing.
namespace culprit::measurement {

/// Why the system refused to sample threads: stands between the event and the reason with its remedy.
inline constexpr char kWhyNotSampled[] = " not sampled in every thread: ";

/// Of a rank that exits without MPI_Finalize: stands between `rank 3` and the status.
inline constexpr char kExitStatus[] = " ended with exit status ";

/// Of a rank that crashed: stands between `rank 3` and what ended it, `SIGSEGV (Segmentation fault)` or that
/// it aborted.
inline constexpr char kEndedBy[] = " was ended by ";
inline constexpr char kAbort[] = "an abort (MPI_Abort, abort or an uncaught exception)";

/// Of a process that was stopped for some seconds: stands between `rank 3` and how long.
inline constexpr char kStoodStill[] = " stood still for ";

/// A launcher started the process as one of several ranks, but it made no call of MPI that was seen: the
/// whole note.
inline constexpr char kRankWithoutMpi[] = "started as one of several ranks, and no call of MPI was seen";

/// Ranks started requests that only MPI_Psend_init and MPI_Precv_init can have made: the whole note.
inline constexpr char kPartitionedMessages[] = "partitioned messages (MPI_Psend_init) are not matched";

/// What the program called a communicator or window: stand before its number, which is that of its partners
/// in the database, and before the name.
inline constexpr char kNamed[] = "communicator or window ";
inline constexpr char kIsCalled[] = " is called ";

/// Where a trace goes on after culprit_stop and culprit_start: begins the note.
inline constexpr char kSamplingStopped[] = "sampling was stopped for a time";

}  // namespace culprit::measurement
