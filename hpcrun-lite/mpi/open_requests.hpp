#pragma once

#include "measurement/trace_operation.hpp"
#include "mpi/prototypes.hpp"

#include <cstdint>

// The operations that are under way, by their request handles, from the call that begins them to the one that
// completes them. Handles are reused at once, also by another thread before the completing call has returned
// here: a completing call takes what began before it did. Some requests are born complete and share one
// handle (eager sends, messages to MPI_PROC_NULL): a second one of a handle that is complete needs no place.
// For any number of threads, not for signal handlers.
namespace culprit::mpi {

using measurement::trace::Operation;

/// The operation that was begun last by any thread; a new one.
std::uint64_t last_operation();
std::uint64_t new_operation();

/// After the call that began it: gives the operation its id, and keeps it for its completion. An operation
/// that completes already says so.
void begin_request(MPI_Request request, Operation& operation);
/// One request for two operations.
void begin_request(MPI_Request request, Operation& sent, Operation& received);
/// A duplicate of the operation's communicator, that `*made` will hold; `number` is next_made's.
void begin_request(MPI_Request request, Operation& operation, MPI_Comm* made, std::uint64_t number);

/// Whom messages go to, as counts without a trace name processes.
struct Recipient {
  std::int32_t rank = -1;          ///< in MPI_COMM_WORLD; negative: not known
  std::uint32_t members = 0;       ///< of the communicator
  std::uint64_t communicator = 0;  ///< as CulpritPartnerCount's
};

/// A persistent request, which begins nothing yet. `recipient` is for who counts its messages: the
/// communicator's handle may be another's when it is started.
void add_persistent(MPI_Request request, const Operation& operation, const Recipient& recipient = {});
/// The persistent request has another handle from now on; nothing where it is not known.
void rename_persistent(MPI_Request before, MPI_Request now);
/// After MPI_Start: the operation that begins. False: not known.
bool start_persistent(MPI_Request request, Operation& operation, Recipient& recipient);

inline constexpr int kMostOfOneRequest = 2;
/// After the call that completed the request: the operations that are complete; returns how many. `before` is
/// last_operation() at the call's enter. With `stays`, the request itself lives on (MPI_Request_get_status).
int complete_request(MPI_Request request, std::uint64_t before, const MPI_Status& status, bool stays,
                     Operation* operations);
// Receives that are counted for lack of a trace, and kept for that alone.

/// After the call that began it. `most`: a limit of the bytes that its status says.
void begin_receive(MPI_Request request, std::int32_t peer, std::uint64_t most);
/// After the call that completed the request: whether it was a receive, of how many bytes. As
/// complete_request.
bool complete_receive(MPI_Request request, std::uint64_t before, const MPI_Status& status, bool stays,
                      std::uint64_t& bytes);

/// It may be cancelled: its status will show.
void cancel_request(MPI_Request request);
void forget_request(MPI_Request request);
/// The call that it was given to failed, and it is gone. `before` as above.
void drop_request(MPI_Request request, std::uint64_t before);

/// The operations of receives as their status says.
void receive_from(Operation& operation, const MPI_Status& status);

/// Matched probes: the operation of a message by its handle.
void add_message(MPI_Message message, const Operation& operation);
/// False: not known.
bool take_message(MPI_Message message, Operation& operation);

/// Operations whose completion will not be seen, since there was no room for them.
std::uint64_t lost_operations();

}  // namespace culprit::mpi
