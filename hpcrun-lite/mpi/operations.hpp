#pragma once

#include "measurement/trace_operation.hpp"
#include "mpi/amounts.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/contexts.hpp"
#include "mpi/open_requests.hpp"

// Which operations an MPI call begins or completes: one pair of functions per type of facts. `before` notes,
// and forgets, what the call consumes; `operations` writes what the call did, after it ended well, and
// returns how many operations that is. Calls that complete requests, or start several: completions.hpp.
namespace culprit::mpi {

using measurement::trace::OperationKind;

inline constexpr int kMostOperations = 2;

/// What is known only before the call.
template <typename Facts>
struct Before {};
template <>
struct Before<BlockingMatchedReceive> {
  bool known = false;
  Operation probed;
};
template <>
struct Before<MatchedReceiveStart> : Before<BlockingMatchedReceive> {};
template <>
struct Before<WindowRelease> {
  Context window = kNoContext;
};
template <>
struct Before<RequestRelease> {
  int count = 0;
  Operation ended[kMostOfOneRequest];
};
template <>
struct Before<FileClosing> {
  File file{};
};

template <typename Facts>
void before(const Facts& /*facts*/, Before<Facts>& /*before*/) {}
void before(const BlockingMatchedReceive& facts, Before<BlockingMatchedReceive>& before);
void before(const MatchedReceiveStart& facts, Before<MatchedReceiveStart>& before);
void before(const WindowRelease& facts, Before<WindowRelease>& before);
void before(const FileClosing& facts, Before<FileClosing>& before);
void before(const CommunicatorRelease& facts, Before<CommunicatorRelease>& before);
void before(const GroupRelease& facts, Before<GroupRelease>& before);
void before(const RequestRelease& facts, Before<RequestRelease>& before);
void before(const Cancellation& facts, Before<Cancellation>& before);

// Calls that are no operation themselves.
template <typename Facts>
int operations(const Facts& /*facts*/, const Before<Facts>& /*before*/, Operation* /*operations*/) {
  return 0;
}

// clang-format off
int operations(const BlockingSend& facts, const Before<BlockingSend>& before, Operation* operations);
int operations(const BufferedSend& facts, const Before<BufferedSend>& before, Operation* operations);
int operations(const BlockingReceive& facts, const Before<BlockingReceive>& before, Operation* operations);
int operations(const BlockingMatchedReceive& facts, const Before<BlockingMatchedReceive>& before, Operation* operations);
int operations(const BlockingExchange& facts, const Before<BlockingExchange>& before, Operation* operations);
int operations(const BlockingProbe& facts, const Before<BlockingProbe>& before, Operation* operations);
int operations(const ProbeAttempt& facts, const Before<ProbeAttempt>& before, Operation* operations);
int operations(const SendStart& facts, const Before<SendStart>& before, Operation* operations);
int operations(const ReceiveStart& facts, const Before<ReceiveStart>& before, Operation* operations);
int operations(const MatchedReceiveStart& facts, const Before<MatchedReceiveStart>& before, Operation* operations);
int operations(const ExchangeStart& facts, const Before<ExchangeStart>& before, Operation* operations);
int operations(const PersistentSend& facts, const Before<PersistentSend>& before, Operation* operations);
int operations(const PersistentReceive& facts, const Before<PersistentReceive>& before, Operation* operations);
int operations(const RequestRelease& facts, const Before<RequestRelease>& before, Operation* operations);

int operations(const CommunicatorCreation& facts, const Before<CommunicatorCreation>& before, Operation* operations);
int operations(const MembersCommunicatorCreation& facts, const Before<MembersCommunicatorCreation>& before, Operation* operations);
int operations(const CommunicatorCreationStart& facts, const Before<CommunicatorCreationStart>& before, Operation* operations);
int operations(const CommunicatorJoin& facts, const Before<CommunicatorJoin>& before, Operation* operations);

int operations(const WindowRelease& facts, const Before<WindowRelease>& before, Operation* operations);
int operations(const Access& facts, const Before<Access>& before, Operation* operations);
int operations(const RequestedAccess& facts, const Before<RequestedAccess>& before, Operation* operations);
int operations(const Fence& facts, const Before<Fence>& before, Operation* operations);
int operations(const EpochStart& facts, const Before<EpochStart>& before, Operation* operations);
int operations(const EpochCompletion& facts, const Before<EpochCompletion>& before, Operation* operations);
int operations(const ExposurePost& facts, const Before<ExposurePost>& before, Operation* operations);
int operations(const ExposureWait& facts, const Before<ExposureWait>& before, Operation* operations);
int operations(const ExposureAttempt& facts, const Before<ExposureAttempt>& before, Operation* operations);
int operations(const Lock& facts, const Before<Lock>& before, Operation* operations);
int operations(const LockAll& facts, const Before<LockAll>& before, Operation* operations);
int operations(const Unlock& facts, const Before<Unlock>& before, Operation* operations);
int operations(const UnlockAll& facts, const Before<UnlockAll>& before, Operation* operations);
int operations(const Flush& facts, const Before<Flush>& before, Operation* operations);
int operations(const FlushAll& facts, const Before<FlushAll>& before, Operation* operations);
int operations(const LocalFlush& facts, const Before<LocalFlush>& before, Operation* operations);
int operations(const LocalFlushAll& facts, const Before<LocalFlushAll>& before, Operation* operations);

int operations(const FileOpening& facts, const Before<FileOpening>& before, Operation* operations);
int operations(const FileClosing& facts, const Before<FileClosing>& before, Operation* operations);
int operations(const CollectiveFileCall& facts, const Before<CollectiveFileCall>& before, Operation* operations);
int operations(const CollectiveFileTransfer& facts, const Before<CollectiveFileTransfer>& before, Operation* operations);
int operations(const CollectiveFileTransferStart& facts, const Before<CollectiveFileTransferStart>& before, Operation* operations);
int operations(const SplitFileTransfer& facts, const Before<SplitFileTransfer>& before, Operation* operations);
int operations(const SplitFileTransferEnd& facts, const Before<SplitFileTransferEnd>& before, Operation* operations);
// clang-format on

/// `id`: the window's, where the processes agreed on one. `made`: the call did not fail.
int operations(const WindowCreation& facts, std::uint64_t id, bool made, Operation* operations);

OperationKind kind_of(Flow flow);
/// The root as traces name it.
std::int32_t root_of(Flow flow, int root, const Communicator& communicator);

/// A collective; what its data are is left to amounts.hpp.
template <typename Facts>
Operation collective(const Facts& facts) {
  const Communicator communicator = communicator_of(facts.comm);
  const Amounts all = amounts(facts.flow, facts.root, communicator, facts.sent, facts.received);
  Operation operation;
  operation.kind = kind_of(facts.flow);
  operation.context = communicator.context;
  operation.peer = root_of(facts.flow, facts.root, communicator);
  operation.bytes = all.sent;
  operation.bytes_received = all.received;
  return operation;
}
template <typename Sent, typename Received>
int operations(const BlockingCollective<Sent, Received>& facts,
               const Before<BlockingCollective<Sent, Received>>& /*before*/, Operation* operations) {
  operations[0] = collective(facts);
  return 1;
}
template <typename Sent, typename Received>
int operations(const CollectiveStart<Sent, Received>& facts,
               const Before<CollectiveStart<Sent, Received>>& /*before*/, Operation* operations) {
  operations[0] = collective(facts);
  begin_request(*facts.request, operations[0]);
  return 1;
}
template <typename Sent, typename Received>
int operations(const PersistentCollective<Sent, Received>& facts,
               const Before<PersistentCollective<Sent, Received>>& /*before*/, Operation* /*operations*/) {
  add_persistent(*facts.request, collective(facts));
  return 0;
}

}  // namespace culprit::mpi
