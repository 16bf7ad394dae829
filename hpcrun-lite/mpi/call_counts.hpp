#pragma once

#include "mpi/amounts.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/handle_table.hpp"
#include "mpi/transfer_stamps.hpp"
#include "mpi/transfers.hpp"
#include "runtime/api.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// What a call moved, added to its thread's table where there is no trace. Messages count at the call that
// sends them and at the one in which they arrive; counted_requests.hpp has what calls move by requests.
namespace culprit::mpi {

/// Calls of one path are added to the tree this many at a time: a killed process loses fewer than that of
/// each path.
inline constexpr std::uint32_t kHandedOver = 256;
/// Polls in vain, of which there are some ten million a second, this many.
inline constexpr std::uint64_t kPollsHandedOver = std::uint64_t{1} << 16;

inline std::size_t partner_place(std::uint64_t comm, int peer) {
  static_assert(CulpritCallTable::kPartners == std::size_t{1} << 8);
  return (comm ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(peer)) << 20) * 0x9e3779b97f4a7c15U >>
         56;
}

/// Adds a message, or a process's part in a collective.
inline void add_message(CulpritCallCount& count, std::uint64_t sent, std::uint64_t received) {
  const std::uint64_t bytes = sent > received ? sent : received;
  ++count.messages;
  count.sent += sent;
  count.received += received;
  count.bytes += bytes;
  if (bytes < count.smallest) count.smallest = bytes;
  if (bytes > count.largest) count.largest = bytes;
}

template <typename Facts>
void add_moved(CulpritCallCount& /*count*/, const Facts& /*facts*/) {}

/// Changes where a communicator is freed: its handle may soon be another's.
inline std::atomic<std::uint32_t> handle_generation{1};

/// Finds a place for a partner, who it is, and whether it was counted often enough to be handed over.
void count_new_partner(CulpritCallTable& table, const Message& message, std::uint64_t bytes);

/// Whom messages go to, without the communicator's handle.
struct Recipient {
  std::int32_t rank = -1;          ///< in MPI_COMM_WORLD; negative: not known
  std::uint32_t members = 0;       ///< of the communicator
  std::uint64_t communicator = 0;  ///< as CulpritPartnerCount's
};
/// Who a rank of a communicator is.
Recipient recipient_of(MPI_Comm comm, int peer);
/// Counts a message of the calling thread, which has a table.
void count_recipient(const Recipient& recipient, std::uint64_t bytes);

inline void add_partner(const Message& message, std::uint64_t bytes) {
  CulpritCallTable& table = *culprit_rt_thread.calls;
  const std::uint64_t comm = key_of(message.comm);
  CulpritPartnerCount& partner = table.partners[partner_place(comm, message.peer)];
  const bool known = partner.comm == comm && partner.peer == message.peer &&
                     partner.generation == handle_generation.load(std::memory_order_relaxed);
  if (!known || partner.messages >= kHandedOver) return count_new_partner(table, message, bytes);
  ++partner.messages;
  partner.bytes += bytes;
}

inline void add_sent(CulpritCallCount& count, const Message& message, std::uint64_t bytes) {
  if (message.peer == MPI_PROC_NULL) return;
  add_message(count, bytes, 0);
  add_partner(message, bytes);
}
inline void add_sent(CulpritCallCount& count, const Message& message) {
  add_sent(count, message, bytes_of(message));
}
inline void add_received(CulpritCallCount& count, const MPI_Status* status) {
  if (status->MPI_SOURCE != MPI_PROC_NULL) add_message(count, 0, arrived(*status, 0));
}
/// Calls whose TransferCall has looked up how many bytes they send.
template <typename Facts>
concept SendsPosted = std::is_same_v<Facts, BlockingSend> || std::is_same_v<Facts, BufferedSend> ||
    std::is_same_v<Facts, SendStart> || std::is_same_v<Facts, BlockingExchange>;
template <SendsPosted Facts>
void add_posted(CulpritCallCount& count, const Facts& facts, std::uint64_t sent) {
  add_sent(count, facts.sent, sent);
  if constexpr (std::is_same_v<Facts, BlockingExchange>) add_received(count, facts.status);
}
inline void add_moved(CulpritCallCount& count, const ExchangeStart& facts) {
  add_sent(count, facts.sent);
}
inline void add_moved(CulpritCallCount& count, const BlockingReceive& facts) {
  add_received(count, facts.status);
}
inline void add_moved(CulpritCallCount& count, const BlockingMatchedReceive& facts) {
  add_received(count, facts.status);
}
/// Where the receive was too short for its message.
void add_moved_without_status(CulpritCallCount& count, const auto& facts) {
  if constexpr (requires { facts.sent; }) add_sent(count, facts.sent);
  add_message(count, 0, 0);
}

inline void add_access(CulpritCallCount& count, AccessKind kind, const Target& target) {
  if (target.rank == MPI_PROC_NULL) return;
  const std::uint64_t bytes = bytes_of(target.count, target.datatype);
  add_message(count, kind == AccessKind::get ? 0 : bytes, kind == AccessKind::get ? bytes : 0);
}
inline void add_moved(CulpritCallCount& count, const Access& facts) {
  add_access(count, facts.kind, facts.target);
}
inline void add_moved(CulpritCallCount& count, const RequestedAccess& facts) {
  add_access(count, facts.kind, facts.target);
}

/// A communicator as amounts need it.
Communicator counted_communicator(MPI_Comm comm, Flow flow);

template <typename Collective>
void add_collective(CulpritCallCount& count, const Collective& facts) {
  if (facts.flow == Flow::barrier) return;
  const Amounts moved = amounts(facts.flow, facts.root, counted_communicator(facts.comm, facts.flow),
                                facts.sent, facts.received);
  add_message(count, moved.sent, moved.received);
}
template <typename Sent, typename Received>
void add_moved(CulpritCallCount& count, const BlockingCollective<Sent, Received>& facts) {
  add_collective(count, facts);
}
template <typename Sent, typename Received>
void add_moved(CulpritCallCount& count, const CollectiveStart<Sent, Received>& facts) {
  add_collective(count, facts);
}

/// The key of a call path that was found.
inline std::uint64_t key_of_path(const CulpritPath& path) {
  return std::uint64_t{path.tree} << 32 | path.node;
}

}  // namespace culprit::mpi
