#pragma once

#include "mpi/amounts.hpp"
#include "mpi/call_counts.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/completions.hpp"
#include "mpi/open_requests.hpp"
#include "mpi/predefined.hpp"
#include "mpi/traced_call.hpp"

#include <atomic>
#include <cstdint>
#include <limits>

// What calls move by requests where there is no trace: a receive counts at the call that completes it, a
// persistent operation at each of its starts. Only receives and persistent operations are kept among the open
// requests (open_requests.hpp): others count where they begin. Cost: to add an open request, or to look for
// one, takes some 20 ns; where nothing was ever kept, a load.
namespace culprit::mpi {

/// From MPI_Init on, also while sampling is stopped: what begins then may complete later.
inline std::atomic<bool> requests_are_counted{false};
/// At the end of MPI_Init.
void count_requests();

/// Calls that begin, start, complete or give up what is kept among the open requests.
template <typename Facts>
inline constexpr bool kHasRequests =
    CompletesRequests<Facts> ||
    IsOneOf<Facts, ReceiveStart, MatchedReceiveStart, ExchangeStart, PersistentSend, PersistentReceive,
            RequestStart, StatusQuery, Cancellation, RequestRelease>;
template <typename Sent, typename Received>
inline constexpr bool kHasRequests<PersistentCollective<Sent, Received>> = true;

namespace counted {

inline bool any_kept() {
  return last_operation() != 0;
}

// Before the call. `own` is what it keeps of its requests; false: nothing is to be done after it.
inline bool enter(const auto& /*facts*/, auto& /*own*/) {
  return true;
}
inline bool enter(const ReceiveStart& facts, auto& /*own*/) {
  return facts.received.peer != MPI_PROC_NULL;
}
inline bool enter(const ExchangeStart& facts, auto& /*own*/) {
  return facts.received.peer != MPI_PROC_NULL;
}
inline bool enter(const MatchedReceiveStart& facts, auto& /*own*/) {
  return *facts.message != message_of_nobody();
}
template <CompletesRequests Facts>
bool enter(Facts& facts, CompletingCall& own) {
  if (!any_kept()) return false;
  own.enter(facts.requests);
  return true;
}
inline bool enter(const RequestStart& facts, StartingCall& own) {
  if (!any_kept()) return false;
  own.enter(facts);
  return true;
}
inline bool enter(StatusQuery& facts, auto& own) {
  if (!any_kept()) return false;
  own.last = last_operation();
  if (facts.status == MPI_STATUS_IGNORE) facts.status = &own.status;
  return true;
}
inline bool enter(const Cancellation& facts, auto& /*own*/) {
  if (any_kept()) cancel_request(*facts.request);
  return false;
}
inline bool enter(const RequestRelease& facts, auto& /*own*/) {
  if (any_kept()) forget_request(*facts.request);
  return false;
}

/// `most`: a limit of what a status says, in bytes.
void begin_receive(MPI_Request request, int source,
                   std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
void add_persistent_send(MPI_Request request, const Message& message);
void add_persistent_receive(MPI_Request request, int source);
void add_persistent_collective(MPI_Request request, const Amounts& moved);

// After it, unless it polled in vain. `slot`: where it is counted; null: nowhere.
template <CompletesRequests Facts>
void exit(const Facts& facts, const CompletingCall& own, int result, CulpritCallCount* slot) {
  own.count(facts.requests, result, slot);
}
inline void exit(const StatusQuery& facts, const auto& own, int result, CulpritCallCount* slot) {
  if (result == MPI_SUCCESS) count_query(facts, own.last, slot);
}
inline void exit(const RequestStart& facts, StartingCall& own, int result, CulpritCallCount* slot) {
  if (result == MPI_SUCCESS) own.count(facts, slot);
}
inline void exit(const ReceiveStart& facts, const auto& /*own*/, int result, CulpritCallCount* /*slot*/) {
  if (result == MPI_SUCCESS) begin_receive(*facts.request, facts.received.peer);
}
inline void exit(const MatchedReceiveStart& facts, const auto& /*own*/, int result,
                 CulpritCallCount* /*slot*/) {
  if (result == MPI_SUCCESS) begin_receive(*facts.request, MPI_ANY_SOURCE);
}
// MPICH 4.0 leaves the statuses of these as they were.
inline void exit(const ExchangeStart& facts, const auto& /*own*/, int result, CulpritCallCount* /*slot*/) {
  if (result == MPI_SUCCESS) begin_receive(*facts.request, facts.received.peer, bytes_of(facts.received));
}
inline void exit(const PersistentSend& facts, const auto& /*own*/, int result, CulpritCallCount* /*slot*/) {
  if (result == MPI_SUCCESS) add_persistent_send(*facts.request, facts.sent);
}
inline void exit(const PersistentReceive& facts, const auto& /*own*/, int result,
                 CulpritCallCount* /*slot*/) {
  if (result == MPI_SUCCESS) add_persistent_receive(*facts.request, facts.received.peer);
}
template <typename Sent, typename Received>
void exit(const PersistentCollective<Sent, Received>& facts, const auto& /*own*/, int result,
          CulpritCallCount* /*slot*/) {
  if (result != MPI_SUCCESS || facts.flow == Flow::barrier) return;
  add_persistent_collective(*facts.request,
                            amounts(facts.flow, facts.root, counted_communicator(facts.comm, facts.flow),
                                    facts.sent, facts.received));
}
inline void exit(const Cancellation& /*facts*/, const auto& /*own*/, int /*result*/,
                 CulpritCallCount* /*slot*/) {}
inline void exit(const RequestRelease& /*facts*/, const auto& /*own*/, int /*result*/,
                 CulpritCallCount* /*slot*/) {}

}  // namespace counted
}  // namespace culprit::mpi
