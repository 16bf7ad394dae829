#include "mpi/operations.hpp"

#include "mpi/real_call.hpp"

#include <algorithm>

namespace culprit::mpi {
namespace {

using measurement::trace::kAllTargets;
using measurement::trace::kAnySource;
using measurement::trace::kAnyTag;
using measurement::trace::kNobody;
using measurement::trace::kRootHere;

std::int32_t peer_of(int rank) {
  if (rank == MPI_PROC_NULL) return kNobody;
  return rank == MPI_ANY_SOURCE ? kAnySource : rank;
}

OperationKind kind_of(SendMode mode) {
  switch (mode) {
    case SendMode::standard:
      return OperationKind::send;
    case SendMode::synchronous:
      return OperationKind::send_synchronous;
    case SendMode::buffered:
      return OperationKind::send_buffered;
  }
  return OperationKind::send;
}

Operation send(const Message& message, SendMode mode) {
  Operation operation;
  operation.kind = kind_of(mode);
  operation.context = communicator_of(message.comm).context;
  operation.peer = peer_of(message.peer);
  operation.tag = message.tag;
  operation.bytes = operation.peer == kNobody ? 0 : amount(message.count, message.datatype);
  return operation;
}

Operation receive(OperationKind kind, MPI_Comm comm, int source, int tag) {
  Operation operation;
  operation.kind = kind;
  operation.context = communicator_of(comm).context;
  operation.peer = peer_of(source);
  operation.tag = tag == MPI_ANY_TAG ? kAnyTag : tag;
  return operation;
}
Operation receive(const Message& message) {
  return receive(OperationKind::receive, message.comm, message.peer, message.tag);
}

/// A probe that found a message. A matched one has an id, by which the receive will know it.
template <typename Facts>
Operation probe(const Facts& facts) {
  Operation operation = receive(OperationKind::probe, facts.comm, facts.source, facts.tag);
  receive_from(operation, *facts.status);
  if (facts.message != nullptr && operation.peer != kNobody) {
    operation.id = new_operation();
    add_message(*facts.message, operation);
  }
  return operation;
}

template <typename Before>
Operation receive_matched(const Before& before) {
  Operation operation = before.probed;
  if (!before.known) {
    operation.peer = kAnySource;
    operation.tag = kAnyTag;
  }
  operation.kind = OperationKind::receive_matched;
  return operation;
}

Operation file_access(MPI_File file, std::uint64_t bytes) {
  Operation operation;
  operation.kind = OperationKind::file_access;
  operation.context = file_of(file).communicator;
  operation.bytes = bytes;
  return operation;
}

Operation access(AccessKind kind, const Target& target) {
  static constexpr OperationKind kKinds[] = {OperationKind::put, OperationKind::get,
                                             OperationKind::accumulate};
  Operation operation;
  operation.kind = kKinds[static_cast<int>(kind)];
  operation.context = window_of(target.window);
  operation.peer = peer_of(target.rank);
  operation.bytes = operation.peer == kNobody ? 0 : amount(target.count, target.datatype);
  return operation;
}

Operation synchronization(OperationKind kind, MPI_Win window, int target = MPI_PROC_NULL) {
  Operation operation;
  operation.kind = kind;
  operation.context = window_of(window);
  operation.peer = peer_of(target);
  return operation;
}
Operation synchronization_with_all(OperationKind kind, MPI_Win window) {
  Operation operation = synchronization(kind, window);
  operation.peer = kAllTargets;
  return operation;
}
Operation synchronization_with(OperationKind kind, MPI_Win window, MPI_Group group, int assertion) {
  Operation operation = synchronization(kind, window);
  operation.group = group_of(group);
  operation.no_check = (assertion & MPI_MODE_NOCHECK) != 0;
  return operation;
}

Operation creation(Context context, Context made) {
  Operation operation;
  operation.kind = OperationKind::create;
  operation.context = context;
  operation.made = made;
  return operation;
}

}  // namespace

std::uint64_t amount(MPI_Count count, MPI_Datatype datatype) {
  MPI_Count bytes = 0;
  CULPRIT_MPI(PMPI_Type_size_x)(datatype, &bytes);
  return count <= 0 || bytes <= 0 ? 0 : static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(bytes);
}

// -- What calls consume
// --------------------------------------------------------------------------------------

void before(const BlockingMatchedReceive& facts, Before<BlockingMatchedReceive>& before) {
  before.known = take_message(*facts.message, before.probed);
}
void before(const MatchedReceiveStart& facts, Before<MatchedReceiveStart>& before) {
  before.known = take_message(*facts.message, before.probed);
}
void before(const WindowRelease& facts, Before<WindowRelease>& before) {
  before.window = window_of(*facts.window);
  forget_window(*facts.window);
}
void before(const FileClosing& facts, Before<FileClosing>& before) {
  before.file = file_of(*facts.file);
  forget_file(*facts.file);
}
void before(const CommunicatorRelease& facts, Before<CommunicatorRelease>& /*before*/) {
  forget_communicator(*facts.comm);
}
void before(const GroupRelease& facts, Before<GroupRelease>& /*before*/) {
  forget_group(*facts.group);
}
void before(const RequestRelease& facts, Before<RequestRelease>& before) {
  before.count = release_request(*facts.request, before.ended);
}
void before(const Cancellation& facts, Before<Cancellation>& /*before*/) {
  cancel_request(*facts.request);
}

// -- Point to point
// ------------------------------------------------------------------------------------------

int operations(const BlockingSend& facts, const Before<BlockingSend>& /*before*/, Operation* operations) {
  operations[0] = send(facts.sent, facts.mode);
  return 1;
}
int operations(const BufferedSend& facts, const Before<BufferedSend>& /*before*/, Operation* operations) {
  operations[0] = send(facts.sent, SendMode::buffered);
  return 1;
}
int operations(const BlockingReceive& facts, const Before<BlockingReceive>& /*before*/,
               Operation* operations) {
  operations[0] = receive(facts.received);
  receive_from(operations[0], *facts.status);
  return 1;
}
int operations(const BlockingMatchedReceive& facts, const Before<BlockingMatchedReceive>& before,
               Operation* operations) {
  operations[0] = receive_matched(before);
  receive_from(operations[0], *facts.status);
  return 1;
}
int operations(const BlockingExchange& facts, const Before<BlockingExchange>& /*before*/,
               Operation* operations) {
  operations[0] = send(facts.sent, SendMode::standard);
  operations[1] = receive(facts.received);
  receive_from(operations[1], *facts.status);
  return 2;
}
int operations(const BlockingProbe& facts, const Before<BlockingProbe>& /*before*/, Operation* operations) {
  operations[0] = probe(facts);
  return 1;
}
int operations(const ProbeAttempt& facts, const Before<ProbeAttempt>& /*before*/, Operation* operations) {
  operations[0] = probe(facts);
  return 1;
}
int operations(const SendStart& facts, const Before<SendStart>& /*before*/, Operation* operations) {
  operations[0] = send(facts.sent, facts.mode);
  begin_request(*facts.request, operations[0]);
  return 1;
}
int operations(const ReceiveStart& facts, const Before<ReceiveStart>& /*before*/, Operation* operations) {
  operations[0] = receive(facts.received);
  begin_request(*facts.request, operations[0]);
  return 1;
}
int operations(const MatchedReceiveStart& facts, const Before<MatchedReceiveStart>& before,
               Operation* operations) {
  operations[0] = receive_matched(before);
  operations[0].bytes = 0;
  begin_request(*facts.request, operations[0]);
  return 1;
}
int operations(const ExchangeStart& facts, const Before<ExchangeStart>& /*before*/, Operation* operations) {
  operations[0] = send(facts.sent, SendMode::standard);
  operations[1] = receive(facts.received);
  begin_request(*facts.request, operations[0], operations[1],
                amount(facts.received.count, facts.received.datatype));
  return 2;
}
int operations(const PersistentSend& facts, const Before<PersistentSend>& /*before*/,
               Operation* /*operations*/) {
  add_persistent(*facts.request, send(facts.sent, facts.mode));
  return 0;
}
int operations(const PersistentReceive& facts, const Before<PersistentReceive>& /*before*/,
               Operation* /*operations*/) {
  add_persistent(*facts.request, receive(facts.received));
  return 0;
}
int operations(const RequestRelease& /*facts*/, const Before<RequestRelease>& before, Operation* operations) {
  std::copy_n(before.ended, before.count, operations);
  return before.count;
}

// -- Collectives
// ---------------------------------------------------------------------------------------------

OperationKind kind_of(Flow flow) {
  switch (flow) {
    case Flow::barrier:
      return OperationKind::barrier;
    case Flow::one_to_all:
      return OperationKind::one_to_all;
    case Flow::all_to_one:
      return OperationKind::all_to_one;
    case Flow::all_to_all:
      return OperationKind::all_to_all;
    case Flow::prefix:
      return OperationKind::prefix;
    case Flow::neighbors:
      return OperationKind::neighbors;
  }
  return OperationKind::none;
}

std::int32_t root_of(Flow flow, int root, const Communicator& communicator) {
  if (flow != Flow::one_to_all && flow != Flow::all_to_one) return kNobody;
  if (communicator.remote_size != 0 && root == MPI_ROOT) return kRootHere;
  return root == MPI_PROC_NULL ? kNobody : root;
}

// -- Communicators
// -------------------------------------------------------------------------------------------

int operations(const CommunicatorCreation& facts, const Before<CommunicatorCreation>& /*before*/,
               Operation* operations) {
  const Context made = define_communicator(facts.parent, next_made(facts.parent), *facts.created);
  operations[0] = creation(communicator_of(facts.parent).context, made);
  return 1;
}
int operations(const MembersCommunicatorCreation& facts,
               const Before<MembersCommunicatorCreation>& /*before*/, Operation* operations) {
  operations[0] =
      creation(kNoContext, define_communicator_of_members(facts.parent, facts.tag, *facts.created));
  return 1;
}
int operations(const CommunicatorCreationStart& facts, const Before<CommunicatorCreationStart>& /*before*/,
               Operation* operations) {
  operations[0] = creation(communicator_of(facts.parent).context, kNoContext);
  begin_request(*facts.request, operations[0], facts.created, next_made(facts.parent));
  return 1;
}
int operations(const CommunicatorJoin& facts, const Before<CommunicatorJoin>& /*before*/,
               Operation* operations) {
  operations[0] = creation(kNoContext, communicator_of(*facts.created).context);
  return 1;
}

// -- One-sided
// -----------------------------------------------------------------------------------------------

int operations(const WindowCreation& facts, std::uint64_t id, bool made, Operation* operations) {
  const Context window = made ? define_window(facts.comm, *facts.window, id) : kNoContext;
  operations[0] = creation(communicator_of(facts.comm).context, window);
  return 1;
}
int operations(const WindowRelease& /*facts*/, const Before<WindowRelease>& before, Operation* operations) {
  operations[0] = Operation{};
  operations[0].kind = OperationKind::free;
  operations[0].context = before.window;
  return 1;
}
int operations(const Access& facts, const Before<Access>& /*before*/, Operation* operations) {
  operations[0] = access(facts.kind, facts.target);
  return 1;
}
int operations(const RequestedAccess& facts, const Before<RequestedAccess>& /*before*/,
               Operation* operations) {
  operations[0] = access(facts.kind, facts.target);
  begin_request(*facts.request, operations[0]);
  return 1;
}
int operations(const Fence& facts, const Before<Fence>& /*before*/, Operation* operations) {
  operations[0] = synchronization(OperationKind::fence, facts.window);
  operations[0].no_precede = (facts.assertion & MPI_MODE_NOPRECEDE) != 0;
  operations[0].no_succeed = (facts.assertion & MPI_MODE_NOSUCCEED) != 0;
  return 1;
}
int operations(const EpochStart& facts, const Before<EpochStart>& /*before*/, Operation* operations) {
  operations[0] = synchronization_with(OperationKind::start, facts.window, facts.group, facts.assertion);
  return 1;
}
int operations(const EpochCompletion& facts, const Before<EpochCompletion>& /*before*/,
               Operation* operations) {
  operations[0] = synchronization(OperationKind::complete, facts.window);
  return 1;
}
int operations(const ExposurePost& facts, const Before<ExposurePost>& /*before*/, Operation* operations) {
  operations[0] = synchronization_with(OperationKind::post, facts.window, facts.group, facts.assertion);
  return 1;
}
int operations(const ExposureWait& facts, const Before<ExposureWait>& /*before*/, Operation* operations) {
  operations[0] = synchronization(OperationKind::wait, facts.window);
  return 1;
}
int operations(const ExposureAttempt& facts, const Before<ExposureAttempt>& /*before*/,
               Operation* operations) {
  operations[0] = synchronization(OperationKind::wait, facts.window);
  return 1;
}
int operations(const Lock& facts, const Before<Lock>& /*before*/, Operation* operations) {
  operations[0] = synchronization(OperationKind::lock, facts.window, facts.target);
  operations[0].exclusive = facts.exclusive;
  operations[0].no_check = (facts.assertion & MPI_MODE_NOCHECK) != 0;
  return 1;
}
int operations(const LockAll& facts, const Before<LockAll>& /*before*/, Operation* operations) {
  operations[0] = synchronization_with_all(OperationKind::lock, facts.window);
  operations[0].no_check = (facts.assertion & MPI_MODE_NOCHECK) != 0;
  return 1;
}
int operations(const Unlock& facts, const Before<Unlock>& /*before*/, Operation* operations) {
  operations[0] = synchronization(OperationKind::unlock, facts.window, facts.target);
  return 1;
}
int operations(const UnlockAll& facts, const Before<UnlockAll>& /*before*/, Operation* operations) {
  operations[0] = synchronization_with_all(OperationKind::unlock, facts.window);
  return 1;
}
int operations(const Flush& facts, const Before<Flush>& /*before*/, Operation* operations) {
  operations[0] = synchronization(OperationKind::flush, facts.window, facts.target);
  return 1;
}
int operations(const FlushAll& facts, const Before<FlushAll>& /*before*/, Operation* operations) {
  operations[0] = synchronization_with_all(OperationKind::flush, facts.window);
  return 1;
}
int operations(const LocalFlush& facts, const Before<LocalFlush>& /*before*/, Operation* operations) {
  operations[0] = synchronization(OperationKind::flush_local, facts.window, facts.target);
  return 1;
}
int operations(const LocalFlushAll& facts, const Before<LocalFlushAll>& /*before*/, Operation* operations) {
  operations[0] = synchronization_with_all(OperationKind::flush_local, facts.window);
  return 1;
}

// -- Files
// ---------------------------------------------------------------------------------------------------

int operations(const FileOpening& facts, const Before<FileOpening>& /*before*/, Operation* operations) {
  add_file(facts.comm, *facts.file);
  operations[0] = creation(communicator_of(facts.comm).context, kNoContext);
  return 1;
}
int operations(const FileClosing& /*facts*/, const Before<FileClosing>& before, Operation* operations) {
  operations[0] = Operation{};
  operations[0].kind = OperationKind::free;
  operations[0].context = before.file.communicator;
  return 1;
}
int operations(const CollectiveFileCall& facts, const Before<CollectiveFileCall>& /*before*/,
               Operation* operations) {
  operations[0] = file_access(facts.file, 0);
  return 1;
}
int operations(const CollectiveFileTransfer& facts, const Before<CollectiveFileTransfer>& /*before*/,
               Operation* operations) {
  operations[0] = file_access(facts.data.file, amount(facts.data.count, facts.data.datatype));
  return 1;
}
int operations(const CollectiveFileTransferStart& facts,
               const Before<CollectiveFileTransferStart>& /*before*/, Operation* operations) {
  operations[0] = file_access(facts.data.file, amount(facts.data.count, facts.data.datatype));
  begin_request(*facts.request, operations[0]);
  return 1;
}
int operations(const SplitFileTransfer& facts, const Before<SplitFileTransfer>& /*before*/,
               Operation* operations) {
  operations[0] = file_access(facts.data.file, amount(facts.data.count, facts.data.datatype));
  operations[0].id = new_operation();
  operations[0].completes = false;
  exchange_split(facts.data.file, operations[0].id);
  return 1;
}
int operations(const SplitFileTransferEnd& facts, const Before<SplitFileTransferEnd>& /*before*/,
               Operation* operations) {
  operations[0] = file_access(facts.file, 0);
  operations[0].id = exchange_split(facts.file, 0);
  operations[0].begins = operations[0].id == 0;
  return 1;
}

}  // namespace culprit::mpi
