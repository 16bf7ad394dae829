#pragma once

#include "measurement/published_calls_layout.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/room.hpp"

// The persistent requests of a process by their handles, for what is published of each start. For any number
// of threads, not for signal handlers. Cost: some 5 ns for each start.
namespace culprit::mpi {

/// After the call that made it.
void keep_persistent(const PersistentSend& facts);
void keep_persistent(const PersistentReceive& facts);
/// A collective's.
void keep_persistent(MPI_Request request);
/// Before it is freed.
void forget_persistent(MPI_Request request);

/// After MPI_Start or MPI_Startall: publishes what begins among the operations of `call`, unless it is null.
/// `given`: the handles before. A request that none of the calls above made is that of a partitioned message:
/// then this is noted in the measurement.
void note_started(measurement::calls::Call* call, const RequestStart& facts, StartedHandles& given);

}  // namespace culprit::mpi
