#pragma once

#include "measurement/trace_operation.hpp"

#include <cstdint>

#include <mpi.h>

// The operations that are under way, by their request handles, from the call that begins them to the one that
// completes them. Handles are reused at once, also by another thread before the completing call has returned
// here: a completing call takes what began before it did. Some requests are born complete and share one
// handle (eager sends, messages to MPI_PROC_NULL): a second one of a handle that is complete needs no place.
// For any number of threads, not for signal handlers.
namespace culprit::mpi {

using measurement::trace::Operation;

/// Before calls are followed: finds the handle that requests share which are born complete.
void find_shared_handle();

/// The operation that was begun last by any thread; a new one.
std::uint64_t last_operation();
std::uint64_t new_operation();

/// After the call that began it: gives the operation its id, and keeps it for its completion. An operation
/// that completes already says so.
void begin_request(MPI_Request request, Operation& operation);
/// One request for two operations, of which the second one has room for `posted` bytes.
void begin_request(MPI_Request request, Operation& sent, Operation& received, std::uint64_t posted);
/// A duplicate of the operation's communicator, that `*made` will hold; `number` is next_made's.
void begin_request(MPI_Request request, Operation& operation, MPI_Comm* made, std::uint64_t number);

/// A persistent request, which begins nothing yet.
void add_persistent(MPI_Request request, const Operation& operation);
/// The persistent request has another handle from now on; nothing where it is not known.
void rename_persistent(MPI_Request before, MPI_Request now);
/// After MPI_Start: the operation that begins. False: not known.
bool start_persistent(MPI_Request request, Operation& operation);

inline constexpr int kMostOfOneRequest = 2;
/// After the call that completed the request: the operations that are complete; returns how many. `before` is
/// last_operation() at the call's enter. With `stays`, the request itself lives on: it is persistent, or the
/// call was MPI_Request_get_status.
int complete_request(MPI_Request request, std::uint64_t before, const MPI_Status& status, bool stays,
                     Operation* operations);
/// It may be cancelled: its status will show.
void cancel_request(MPI_Request request);
/// Before it is freed: what becomes of a receive that no call will complete, in `operations`; returns how
/// many that is. One whose message is still to come neither begins nor completes there. Of others nothing is
/// said.
int release_request(MPI_Request request, Operation* operations);

bool is_receive(const Operation& operation);
/// The operations of receives as their status says.
void receive_from(Operation& operation, const MPI_Status& status);
/// Receives that were too short for their messages: how much of them arrived is not known (is_truncation()).
void forget_bytes(Operation* operations, int count);

/// Matched probes: the operation of a message by its handle.
void add_message(MPI_Message message, const Operation& operation);
/// False: not known.
bool take_message(MPI_Message message, Operation& operation);

/// Operations whose completion will not be seen, since there was no room for them.
std::uint64_t lost_operations();

}  // namespace culprit::mpi
