// Counts large transfers with their amounts and times (docs/algorithms.md 5.1), by kind and size class.
#include "mpi/transfers.hpp"

#include "measurement/transfer_cost.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"

#include <bit>

namespace culprit::mpi {
namespace {

std::uint32_t class_of(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::bit_width(bytes));
}

/// Calls that cost alike: of one collective, with this many processes.
std::uint64_t family_of(std::uint32_t call, int processes) {
  return std::uint64_t{call} << 32 | static_cast<std::uint32_t>(processes);
}

Part part_in(const TransferComm& comm, Flow flow, int root) {
  return {.flow = flow, .root = root == comm.rank, .sources = flow == Flow::neighbors ? comm.sources : 0};
}
/// Libraries need not wait for all others, but may.
Part part_in_file(int processes) {
  return {.flow = Flow::neighbors, .root = false, .sources = processes};
}

CulpritTransfer transfer_of(const Moved& moved, std::uint64_t time_ns) {
  return {.family = moved.self ? measurement::kOwnMessages : measurement::kMessages,
          .size_class = class_of(moved.largest),
          .unused = 0,
          .sent = moved.sent,
          .received = moved.received,
          .time_ns = time_ns};
}

/// A large operation between its start and its completion, or a persistent one.
struct Started {
  enum Kind : std::uint8_t { sent, received, collective };

  MPI_Request request;
  Moved moved;
  Kind kind;
  bool persistent;
  bool active;
  Part part;  ///< of a collective
  std::uint32_t size_class;
  std::uint64_t family;
  std::uint64_t started;  ///< when
  Instance instance;      ///< of a received message, it is known at the end
  MPI_Comm comm;
  int peer, tag;
};

/// Those of one thread, of which there are started_operations, unordered. What another thread completes stays
/// until its handle is used again; what finds no room is not counted.
struct StartedList {
  static constexpr int kMax = 64;
  Started entries[kMax];

  [[nodiscard]] Started* find(MPI_Request request) {
    for (int i = 0; i < started_operations; ++i) {
      if (entries[i].request == request) return &entries[i];
    }
    return nullptr;
  }
  void add(const Started& entry) {
    if (started_operations < kMax) {
      entries[started_operations++] = entry;
    } else if (entry.kind == Started::received) {
      lose_messages();
    }
  }
  void remove(Started* entry) {
    --started_operations;
    *entry = entries[started_operations];
  }
  /// It ended, or will end, unseen.
  void forget(MPI_Request request) {
    if (started_operations == 0) return;
    Started* const entry = find(request);
    if (entry == nullptr) return;
    if (entry->active && entry->kind == Started::received) lose_messages();
    remove(entry);
  }
  void forget_all() {
    while (started_operations != 0) forget(entries[0].request);
  }
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
__thread StartedList started __attribute__((tls_model("initial-exec")));

/// A thread's attempts to complete an operation, one after the other: together they are one call.
struct Attempts {
  MPI_Request request;   ///< the first of them
  std::uint64_t from;    ///< 0: none
  std::uint64_t until;   ///< of the last one in vain
  std::uint64_t worked;  ///< ns in between
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
__thread Attempts attempts __attribute__((tls_model("initial-exec")));

using OfOneCall = CallStamps<CompletionCall::kMaxRequests>;

/// What one completing call completed.
struct Completed {
  Moved messages{.sent = 0, .received = 0, .largest = 0, .self = true};
  CulpritTransfer collective{};
  OfOneCall stamps;

  void add(const Started& entry, const MPI_Status& status);
};

void Completed::add(const Started& entry, const MPI_Status& status) {
  if (entry.kind == Started::collective) {
    if (collective.family == 0) {
      collective.family = entry.family;
      collective.size_class = entry.size_class;
    }
    collective.sent += entry.moved.sent;
    collective.received += entry.moved.received;
    stamps.add_collective(entry.instance, entry.part, entry.started);
    return;
  }
  Moved moved = entry.moved;
  if (entry.kind == Started::received) {
    moved.received = moved.largest = arrived(status, moved.received);
    if (moved.largest >= kLargeTransfer) {
      stamps.add_received(next_received(entry.comm, status.MPI_SOURCE, status.MPI_TAG, moved.largest),
                          entry.started);
    } else {
      stamps.add_unknown();
    }
  } else {
    stamps.add_sent(entry.instance, entry.started);
  }
  messages.add(moved);
}

}  // namespace

std::uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype) {
  int size = 0;
  CULPRIT_MPI(PMPI_Type_size)(datatype, &size);
  return size > 0 && count > 0 ? static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(count) : 0;
}

bool is_self(const Message& message) {
  if (message.peer < 0) return false;
  int rank = -1;
  CULPRIT_MPI(PMPI_Comm_rank)(message.comm, &rank);
  return rank == message.peer;
}

int amount_of::processes(MPI_Comm comm) {
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_size)(comm, &size);
  return size;
}

// -- Messages
// ------------------------------------------------------------------------------------------------

namespace {

using OfOneMessage = CallStamps<2>;

void add_sent(OfOneMessage& stamps, const Message& message, std::uint64_t bytes, std::uint64_t since) {
  if (message.peer == MPI_PROC_NULL) return;
  if (bytes < kLargeTransfer) return stamps.add_unknown();
  stamps.add_sent(next_sent(message.comm, message.peer, message.tag, bytes), since);
}
void add_received(OfOneMessage& stamps, const Message& message, const MPI_Status* status, std::uint64_t bytes,
                  std::uint64_t since) {
  if (message.peer == MPI_PROC_NULL) return;
  if (bytes < kLargeTransfer) return stamps.add_unknown();
  stamps.add_received(next_received(message.comm, status->MPI_SOURCE, status->MPI_TAG, bytes), since);
}

/// The call is over; `entered` is 0 where it is not to be counted.
void count(const Moved& moved, OfOneMessage& stamps, std::uint64_t entered, Occurrence& occurrence) {
  if (entered == 0) return;
  const std::uint64_t left = occurrence.left();
  const CulpritTransfer transfer = transfer_of(moved, left - entered);
  stamps.keep(&transfer, entered, left, occurrence.path());
}

}  // namespace

/// Reads the clock before anything else is asked for.
void MessageCall::end() {
  static_cast<void>(occurrence_.left());
}

void MessageCall::exit(const BlockingSend& facts, std::uint32_t /*call*/) {
  if (moved_.largest == 0) return;
  if (entered_ != 0) end();
  OfOneMessage stamps;
  add_sent(stamps, facts.sent, moved_.sent, entered_);
  count(moved_, stamps, entered_, occurrence_);
}

// It waits for nobody; its receiver counts it.
void MessageCall::exit(const BufferedSend& facts, std::uint32_t /*call*/) {
  if (moved_.largest != 0) next_sent(facts.sent.comm, facts.sent.peer, facts.sent.tag, moved_.sent);
}

void MessageCall::exit(const BlockingReceive& facts, std::uint32_t /*call*/) {
  if (moved_.largest == 0) return;
  if (entered_ != 0) end();
  moved_.received = arrived(*facts.status, moved_.received);
  OfOneMessage stamps;
  add_received(stamps, facts.received, facts.status, moved_.received, entered_);
  count(moved_, stamps, entered_, occurrence_);
}

void MessageCall::exit(const BlockingExchange& facts, std::uint32_t /*call*/) {
  if (moved_.largest == 0) return;
  if (entered_ != 0) end();
  if (moved_.received != 0) moved_.received = arrived(*facts.status, moved_.received);
  OfOneMessage stamps;
  add_sent(stamps, facts.sent, moved_.sent, entered_);
  add_received(stamps, facts.received, facts.status, moved_.received, entered_);
  count(moved_, stamps, entered_, occurrence_);
}

void MessageCall::exit(const BlockingMatchedReceive& facts, std::uint32_t /*call*/) {
  if (moved_.largest == 0) return;
  if (entered_ != 0) end();
  moved_.received = arrived(*facts.status, moved_.received);
  OfOneMessage stamps;
  stamps.add_unknown();
  count(moved_, stamps, entered_, occurrence_);
}

// -- Collectives
// ---------------------------------------------------------------------------------------------

namespace {

/// One call that is over; `entered` is 0 where it is not to be counted. Classes of uneven amounts would part
/// the processes of one call.
void count(const Instance& instance, const CollectiveAmount& amount, std::uint64_t family, const Part& part,
           std::uint64_t entered, Occurrence& occurrence) {
  const std::uint64_t left = occurrence.left();
  const CulpritTransfer transfer{.family = family,
                                 .size_class = amount.uneven ? 0 : class_of(amount.bytes),
                                 .unused = 0,
                                 .sent = amount.bytes,
                                 .received = amount.bytes,
                                 .time_ns = left - entered};
  CallStamps<1> stamps;
  stamps.add_collective(instance, part, entered);
  stamps.keep(&transfer, entered, left, occurrence.path());
}

}  // namespace

void CollectiveCall::count(MPI_Comm comm, Flow flow, int root, std::uint32_t call) {
  if (entered_ != 0) static_cast<void>(occurrence_.left());  // before anything else is asked for
  const Instance instance = next_collective(comm);
  if (entered_ == 0) return;
  const TransferComm known = transfer_comm(comm);
  mpi::count(instance, amount_, family_of(call, known.size), part_in(known, flow, root), entered_,
             occurrence_);
}

void FileCall::count(MPI_File file, std::uint32_t call) {
  if (entered_ != 0) static_cast<void>(occurrence_.left());
  const Instance instance = next_file_transfer(file);
  if (entered_ == 0) return;
  const auto members = static_cast<int>(instance.members);
  mpi::count(instance, {.bytes = bytes_, .uneven = true}, family_of(call, members), part_in_file(members),
             entered_, occurrence_);
}

// -- Operations that are started and completed
// --------------------------------------------------------------------------

void CompletionCall::begin(Requests& requests) {
  if (requests.count <= 0) return;
  if (requests.count > kMaxRequests) return started.forget_all();
  count_ = requests.count;
  std::copy_n(requests.requests, count_, handles_);
  // As MPI_STATUSES_IGNORE, in both libraries.
  if (requests.statuses == MPI_STATUS_IGNORE) requests.statuses = statuses_;
  entered_ = transfer_begin(occurrence_);
  worked_ = 0;
}

void CompletionCall::begin_attempt(bool spinning) {
  if (entered_ == 0) return;
  if (attempts.from == 0 || (!spinning && attempts.request != handles_[0])) {
    attempts = {.request = handles_[0], .from = entered_, .until = entered_, .worked = 0};
  } else if (!spinning) {
    attempts.worked += entered_ - attempts.until;
  }
}

void CompletionCall::end_attempt(const CompletionAttempt& facts) {
  if (*facts.done == 0) {
    if (entered_ != 0) attempts.until = occurrence_.left();
    return;
  }
  if (entered_ != 0 && attempts.from != 0) {
    entered_ = attempts.from;
    worked_ = attempts.worked;
  }
  end(facts.requests);
}

void CompletionCall::end(const Requests& requests) {
  attempts = {};
  const std::uint64_t left = entered_ != 0 ? occurrence_.left() : 0;
  Completed completed;
  const auto complete = [&](int index, const MPI_Status& status) {
    if (index < 0 || index >= count_ || handles_[index] == no_request()) return;
    Started* const entry = started.find(handles_[index]);
    if (entry == nullptr || !entry->active) return completed.stamps.add_unknown();
    completed.add(*entry, status);
    entry->active = false;
    if (!entry->persistent) started.remove(entry);
  };
  if (requests.completed_count != nullptr) {
    completed.stamps.first_decides();
    for (int i = 0; i < *requests.completed_count; ++i) complete(requests.completed[i], requests.statuses[i]);
  } else if (requests.completed != nullptr) {
    completed.stamps.first_decides();
    complete(*requests.completed, requests.statuses[0]);
  } else {
    for (int i = 0; i < count_; ++i) complete(i, requests.statuses[i]);
  }
  if (entered_ == 0) return;
  const bool messages = completed.messages.largest != 0;
  if (!messages && completed.collective.family == 0) return;
  CulpritTransfer transfer = completed.collective;
  if (messages) transfer = transfer_of(completed.messages, 0);
  transfer.time_ns = left - entered_ > worked_ ? left - entered_ - worked_ : 0;
  completed.stamps.keep(&transfer, entered_, left, occurrence_.path());
}

void StartCall::forget(MPI_Request request) {
  started.forget(request);
}

void StartCall::start_message(const Message& message, bool sent, MPI_Request request, bool persistent) const {
  forget(request);
  if (bytes_ < kLargeTransfer) return;
  Started entry{};
  entry.request = request;
  entry.moved = {
      .sent = sent ? bytes_ : 0, .received = sent ? 0 : bytes_, .largest = bytes_, .self = is_self(message)};
  entry.kind = sent ? Started::sent : Started::received;
  entry.persistent = persistent;
  entry.active = !persistent;
  entry.started = started_;
  entry.comm = message.comm;
  entry.peer = message.peer;
  entry.tag = message.tag;
  if (sent && !persistent) entry.instance = next_sent(message.comm, message.peer, message.tag, bytes_);
  started.add(entry);
}

void StartCall::start_collective(MPI_Comm comm, Flow flow, int root, std::uint32_t call,
                                 MPI_Request request) {
  const Instance instance = next_collective(comm);
  const TransferComm known = transfer_comm(comm);
  start(instance, part_in(known, flow, root), family_of(call, known.size), request);
}

void StartCall::start(const Instance& instance, const Part& part, std::uint64_t family,
                      MPI_Request request) const {
  forget(request);
  if (!amount_.large()) return;
  Started entry{};
  entry.request = request;
  entry.moved = {.sent = amount_.bytes, .received = amount_.bytes, .largest = amount_.bytes, .self = false};
  entry.kind = Started::collective;
  entry.active = true;
  entry.part = part;
  entry.size_class = amount_.uneven ? 0 : class_of(amount_.bytes);
  entry.family = family;
  entry.started = started_;
  entry.instance = instance;
  started.add(entry);
}

void StartCall::exit(const CollectiveFileTransferStart& facts, std::uint32_t call) {
  amount_ = {.bytes = bytes_, .uneven = true};
  const Instance instance = next_file_transfer(facts.data.file);
  const auto members = static_cast<int>(instance.members);
  start(instance, part_in_file(members), family_of(call, members), *facts.request);
}

void StartCall::exit(const SendStart& facts, std::uint32_t /*call*/) {
  start_message(facts.sent, true, *facts.request, false);
}
void StartCall::exit(const ReceiveStart& facts, std::uint32_t /*call*/) {
  start_message(facts.received, false, *facts.request, false);
}
void StartCall::exit(const PersistentSend& facts, std::uint32_t /*call*/) {
  start_message(facts.sent, true, *facts.request, true);
}
void StartCall::exit(const PersistentReceive& facts, std::uint32_t /*call*/) {
  start_message(facts.received, false, *facts.request, true);
}

void RequestStartCall::enter(const RequestStart& facts) {
  if (started_operations == 0) return;
  started_ = occurrence_.entered();
  handles_.keep(facts);
}

void RequestStartCall::exit(const RequestStart& facts, std::uint32_t /*call*/) {
  if (started_ == 0) return;
  for (int i = 0; i < facts.count; ++i) {
    Started* const entry = started.find(handles_.before(facts, i));
    if (entry == nullptr) continue;
    entry->request = facts.requests[i];
    entry->active = true;
    entry->started = started_;
    if (entry->kind == Started::sent)
      entry->instance = next_sent(entry->comm, entry->peer, entry->tag, entry->moved.sent);
  }
}

}  // namespace culprit::mpi
