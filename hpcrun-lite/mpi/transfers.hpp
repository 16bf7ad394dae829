#pragma once

#include "mpi/amounts.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/room.hpp"
#include "mpi/status_bytes.hpp"
#include "mpi/transfer_stamps.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mpi.h>

// Calls that move many bytes, counted with their amounts and times: what moving the bytes takes without
// waiting is the same for alike calls of all processes, and prof-mpi takes it off their idleness
// (docs/blame.md). Small messages cost a look at their size, nothing else.
namespace culprit::mpi {

/// Amounts from which a call is counted: smaller ones take too little time for what counting them costs.
inline constexpr std::uint64_t kLargeTransfer = std::uint64_t{64} << 10;

/// What one call moves, in bytes.
struct Moved {
  std::uint64_t sent, received;
  std::uint64_t largest;  ///< of its messages
  bool self;              ///< all messages go to the process itself

  void add(const Moved& other) {
    sent += other.sent;
    received += other.received;
    largest = std::max(largest, other.largest);
    self = self && other.self;
  }
};

std::uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype);
inline std::uint64_t bytes_of(const Message& message) {
  return message.peer == MPI_PROC_NULL ? 0 : bytes_of(message.count, message.datatype);
}

/// Whether the peer is this process itself.
bool is_self(const Message& message);
/// When the call was entered; 0 where the calling thread is not sampled.
inline std::uint64_t transfer_begin(Occurrence& occurrence) {
  return culprit_rt_thread.state != nullptr ? occurrence.entered() : 0;
}

/// `name` of a function, with or without the P of the profiling interface.
constexpr std::uint32_t number_of_call(const char* name) {
  std::uint32_t hash = 2166136261U;
  for (const char* at = name[0] == 'P' ? name + 1 : name; *at != '\0'; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 16777619U;
  return hash;
}

/// One blocking send, receive or exchange, from its enter to its exit.
class MessageCall {
 public:
  explicit MessageCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  void enter(const BlockingSend& facts) { begin(bytes_of(facts.sent), 0, facts.sent); }
  void enter(const BufferedSend& facts) { begin(bytes_of(facts.sent), 0, facts.sent); }
  void enter(BlockingReceive& facts) {
    begin(0, bytes_of(facts.received), facts.received);
    want(facts.status);
  }
  void enter(BlockingExchange& facts) {
    begin(bytes_of(facts.sent), bytes_of(facts.received), facts.sent);
    moved_.self = moved_.self && is_self(facts.received);
    want(facts.status);
  }
  void enter(BlockingMatchedReceive& facts) {
    const std::uint64_t bytes = bytes_of(facts.count, facts.datatype);
    if (bytes < kLargeTransfer) return;
    lose_messages();  // the handle does not say the communicator
    moved_ = {.sent = 0, .received = bytes, .largest = bytes, .self = false};
    entered_ = transfer_begin(occurrence_);
    want(facts.status);
  }
  /// Bytes that the call may move.
  [[nodiscard]] std::uint64_t posted_sent() const { return posted_sent_; }
  [[nodiscard]] std::uint64_t posted_received() const { return posted_received_; }

  void exit(const BlockingSend& facts, std::uint32_t call);
  void exit(const BufferedSend& facts, std::uint32_t call);
  void exit(const BlockingReceive& facts, std::uint32_t call);
  void exit(const BlockingExchange& facts, std::uint32_t call);
  void exit(const BlockingMatchedReceive& facts, std::uint32_t call);

 private:
  void begin(std::uint64_t sent, std::uint64_t received, const Message& message) {
    posted_sent_ = sent;
    posted_received_ = received;
    if (std::max(sent, received) < kLargeTransfer) return;
    moved_ = {
        .sent = sent, .received = received, .largest = std::max(sent, received), .self = is_self(message)};
    entered_ = transfer_begin(occurrence_);
  }
  void end();
  /// Who sent what is known from the status alone.
  void want(MPI_Status*& status) {
    if (moved_.largest != 0 && status == MPI_STATUS_IGNORE) status = &status_;
  }

  Occurrence& occurrence_;
  Moved moved_{};
  std::uint64_t posted_sent_ = 0, posted_received_ = 0;
  std::uint64_t entered_ = 0;  ///< 0: not to be counted
  MPI_Status status_;          // left as it is until the call fills it in
};

/// What a process moves in a collective is what every process does.
template <typename Amount>
concept SameOnAll =
    std::is_same_v<Amount, NoData> || std::is_same_v<Amount, Data> || std::is_same_v<Amount, SameForEach>;

/// A collective's amount, and whether it has a number: large ones, of which all processes know that they are,
/// and all of those whose amounts differ.
struct CollectiveAmount {
  std::uint64_t bytes;
  bool uneven;

  [[nodiscard]] bool large() const { return bytes >= kLargeTransfer; }
  [[nodiscard]] bool numbered() const { return uneven || large(); }
};

namespace amount_of {

/// Of one partner, where all have the same.
template <typename Amount>
std::uint64_t each(const Amount& data) {
  if constexpr (std::is_same_v<Amount, Data> || std::is_same_v<Amount, SameForEach>) {
    return in_place(data) ? 0 : bytes_of(data.count, data.datatype);
  } else {
    return 0;
  }
}
template <typename Amount>
std::uint64_t all(const Amount& data, Places /*places*/) {
  return each(data);
}
inline std::uint64_t all(const SameForEach& data, Places places) {
  return each(data) * static_cast<std::uint64_t>(places.partners());
}
template <typename Count>
std::uint64_t all(const DataPerRank<Count>& data, Places places) {
  if (in_place(data) || data.counts == nullptr) return 0;
  MPI_Count sum = 0;
  for (int i = 0; i < places.count; ++i) sum += places.has(i) ? data.counts[i] : 0;
  return bytes_of(sum, data.datatype);
}

int processes(MPI_Comm comm);

/// What this process sends or receives, of the amounts that mean something in every process: those of the
/// other direction say something at the root alone, and are needed where it does its part in place.
template <typename Facts>
CollectiveAmount of(const Facts& facts) {
  using Sent = decltype(facts.sent);
  using Received = decltype(facts.received);
  constexpr bool even = SameOnAll<Sent> && SameOnAll<Received>;
  switch (facts.flow) {
    case Flow::one_to_all:
      return {.bytes = even && in_place(facts.received) ? each(facts.sent) : each(facts.received),
              .uneven = !even};
    case Flow::all_to_one:
      return {.bytes = even && in_place(facts.sent) ? each(facts.received) : each(facts.sent),
              .uneven = !even};
    case Flow::all_to_all:
    case Flow::prefix: {
      constexpr bool whole = std::is_same_v<Sent, Data> && std::is_same_v<Received, Data>;
      const Places places{whole ? 1 : processes(facts.comm), 0};
      return {.bytes = std::max(all(facts.sent, places), all(facts.received, places)), .uneven = !even};
    }
    case Flow::neighbors: {
      const TransferComm known = transfer_comm(facts.comm);
      return {.bytes = std::max(all(facts.sent, {known.destinations, known.nobody}),
                                all(facts.received, {known.sources, known.nobody})),
              .uneven = true};
    }
    case Flow::barrier:
      break;
  }
  return {.bytes = 0, .uneven = false};
}

}  // namespace amount_of

/// One blocking collective call.
class CollectiveCall {
 public:
  explicit CollectiveCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  template <typename Sent, typename Received>
  void enter(const BlockingCollective<Sent, Received>& facts) {
    amount_ = amount_of::of(facts);
    if (amount_.large()) entered_ = transfer_begin(occurrence_);
  }
  template <typename Sent, typename Received>
  void exit(const BlockingCollective<Sent, Received>& facts, std::uint32_t call) {
    if (amount_.numbered()) count(facts.comm, facts.flow, facts.root, call);
  }
  /// Bytes that the call may move.
  [[nodiscard]] std::uint64_t posted_sent() const { return amount_.bytes; }
  [[nodiscard]] std::uint64_t posted_received() const { return amount_.bytes; }

 private:
  void count(MPI_Comm comm, Flow flow, int root, std::uint32_t call);

  Occurrence& occurrence_;
  CollectiveAmount amount_{};
  std::uint64_t entered_ = 0;  ///< 0: not to be counted
};

/// One collective transfer of a file, or its first half.
class FileCall {
 public:
  explicit FileCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  void enter(const CollectiveFileTransfer& facts) { begin(facts.data); }
  void enter(const SplitFileTransfer& facts) { begin(facts.data); }
  void exit(const CollectiveFileTransfer& facts, std::uint32_t call) { count(facts.data.file, call); }
  void exit(const SplitFileTransfer& facts, std::uint32_t call) { count(facts.data.file, call); }
  /// Bytes that the call may move.
  [[nodiscard]] std::uint64_t posted_sent() const { return bytes_; }
  [[nodiscard]] std::uint64_t posted_received() const { return bytes_; }

 private:
  void begin(const FileData& data) {
    bytes_ = bytes_of(data.count, data.datatype);
    if (bytes_ >= kLargeTransfer) entered_ = transfer_begin(occurrence_);
  }
  void count(MPI_File file, std::uint32_t call);

  Occurrence& occurrence_;
  std::uint64_t bytes_ = 0;
  std::uint64_t entered_ = 0;  ///< 0: not to be counted
};

// Large operations that this thread started and that did not complete yet, or are persistent.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
inline __thread int started_operations __attribute__((tls_model("initial-exec")));

/// A call that completes operations which were started before.
class CompletionCall {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): begin() does the rest
  explicit CompletionCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  void enter(BlockingCompletion& facts) {
    if (started_operations != 0) begin(facts.requests);
  }
  void exit(const BlockingCompletion& facts, std::uint32_t /*call*/) {
    if (count_ != 0) end(facts.requests);
  }
  /// `spinning`: right after another attempt in vain.
  void enter(CompletionAttempt& facts, bool spinning) {
    if (started_operations == 0) return;
    begin(facts.requests);
    if (count_ != 0) begin_attempt(spinning);
  }
  void exit(const CompletionAttempt& facts, std::uint32_t /*call*/) {
    if (count_ != 0) end_attempt(facts);
  }

  static constexpr int kMaxRequests = 64;  ///< of one call; where there are more, all are forgotten

 private:
  void begin(Requests& requests);
  void begin_attempt(bool spinning);
  void end_attempt(const CompletionAttempt& facts);
  void end(const Requests& requests);

  Occurrence& occurrence_;
  int count_ = 0;          ///< 0: none of them may be a large one, and nothing of the rest is known
  std::uint64_t entered_;  ///< 0: not to be counted
  std::uint64_t worked_;   ///< ns between attempts
  MPI_Request handles_[kMaxRequests];  ///< completed ones are gone after the call
  MPI_Status statuses_[kMaxRequests];
};

/// The start of an operation: a large one is remembered by the thread until it completes.
class StartCall {
 public:
  explicit StartCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  void enter(const SendStart& facts) { begin(bytes_of(facts.sent)); }
  void enter(const ReceiveStart& facts) { begin(bytes_of(facts.received)); }
  void enter(const PersistentSend& facts) { bytes_ = bytes_of(facts.sent); }
  void enter(const PersistentReceive& facts) { bytes_ = bytes_of(facts.received); }
  void enter(const MatchedReceiveStart& facts) { lose_large(bytes_of(facts.count, facts.datatype)); }
  void enter(const ExchangeStart& facts) {
    lose_large(std::max(bytes_of(facts.sent), bytes_of(facts.received)));
  }
  template <typename Sent, typename Received>
  void enter(const CollectiveStart<Sent, Received>& facts) {
    amount_ = amount_of::of(facts);
    begin(amount_.bytes);
  }
  void enter(const CollectiveFileTransferStart& facts) {
    begin(bytes_of(facts.data.count, facts.data.datatype));
  }
  void enter(const RequestRelease& facts) { forget(*facts.request); }
  void enter(const Cancellation& facts) { forget(*facts.request); }

  void exit(const SendStart& facts, std::uint32_t call);
  void exit(const ReceiveStart& facts, std::uint32_t call);
  void exit(const PersistentSend& facts, std::uint32_t call);
  void exit(const PersistentReceive& facts, std::uint32_t call);
  template <typename Sent, typename Received>
  void exit(const CollectiveStart<Sent, Received>& facts, std::uint32_t call) {
    if (amount_.numbered()) {
      start_collective(facts.comm, facts.flow, facts.root, call, *facts.request);
    } else {
      forget(*facts.request);
    }
  }
  void exit(const CollectiveFileTransferStart& facts, std::uint32_t call);
  void exit(const MatchedReceiveStart& facts, std::uint32_t /*call*/) { forget(*facts.request); }
  void exit(const ExchangeStart& facts, std::uint32_t /*call*/) { forget(*facts.request); }
  void exit(const RequestRelease& /*facts*/, std::uint32_t /*call*/) {}
  /// Bytes that the operation may move.
  [[nodiscard]] std::uint64_t posted_sent() const { return bytes_; }
  [[nodiscard]] std::uint64_t posted_received() const { return bytes_; }
  void exit(const Cancellation& /*facts*/, std::uint32_t /*call*/) {}

 private:
  void begin(std::uint64_t bytes) {
    bytes_ = bytes;
    if (bytes >= kLargeTransfer) started_ = occurrence_.entered();
  }
  static void lose_large(std::uint64_t bytes) {
    if (bytes >= kLargeTransfer) lose_messages();
  }
  /// A handle may be used again for another operation.
  static void forget(MPI_Request request);
  void start_message(const Message& message, bool sent, MPI_Request request, bool persistent) const;
  void start_collective(MPI_Comm comm, Flow flow, int root, std::uint32_t call, MPI_Request request);
  void start(const Instance& instance, const Part& part, std::uint64_t family, MPI_Request request) const;

  Occurrence& occurrence_;
  std::uint64_t bytes_ = 0;
  std::uint64_t started_ = 0;
  CollectiveAmount amount_{};
};

/// MPI_Start or MPI_Startall: the large ones among what the thread remembers begin.
class RequestStartCall {
 public:
  explicit RequestStartCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  void enter(const RequestStart& facts);
  void exit(const RequestStart& facts, std::uint32_t call);

 private:
  Occurrence& occurrence_;
  std::uint64_t started_ = 0;  ///< 0: nothing is remembered
  StartedHandles handles_;
};

/// The beginning or the end of what transfers are numbered in.
class StreamCall {
 public:
  explicit StreamCall(const Occurrence& /*occurrence*/) {}
  static void enter(const CommunicatorRelease& facts) { forget_transfer_comm(*facts.comm); }
  static void enter(const FileOpening& /*facts*/) {}
  static void enter(const FileClosing& facts) { forget_transfer_file(*facts.file); }
  static void exit(const CommunicatorRelease& /*facts*/, std::uint32_t /*call*/) {}
  static void exit(const FileOpening& facts, std::uint32_t /*call*/) {
    add_transfer_file(facts.comm, *facts.file);
  }
  static void exit(const FileClosing& /*facts*/, std::uint32_t /*call*/) {}
};

struct NoTransfer {
  explicit NoTransfer(const Occurrence& /*occurrence*/) {}
  static void enter(const auto& /*facts*/) {}
  static void exit(const auto& /*facts*/, std::uint32_t /*call*/) {}
};

template <typename Facts>
struct TransferOf {
  using Call = NoTransfer;
};
template <>
struct TransferOf<BlockingSend> {
  using Call = MessageCall;
};
template <>
struct TransferOf<BufferedSend> {
  using Call = MessageCall;
};
template <>
struct TransferOf<BlockingReceive> {
  using Call = MessageCall;
};
template <>
struct TransferOf<BlockingMatchedReceive> {
  using Call = MessageCall;
};
template <>
struct TransferOf<BlockingExchange> {
  using Call = MessageCall;
};
template <typename Sent, typename Received>
struct TransferOf<BlockingCollective<Sent, Received>> {
  using Call = CollectiveCall;
};
template <>
struct TransferOf<BlockingCompletion> {
  using Call = CompletionCall;
};
template <>
struct TransferOf<CompletionAttempt> {
  using Call = CompletionCall;
};
template <>
struct TransferOf<SendStart> {
  using Call = StartCall;
};
template <>
struct TransferOf<ReceiveStart> {
  using Call = StartCall;
};
template <>
struct TransferOf<PersistentSend> {
  using Call = StartCall;
};
template <>
struct TransferOf<PersistentReceive> {
  using Call = StartCall;
};
template <>
struct TransferOf<MatchedReceiveStart> {
  using Call = StartCall;
};
template <>
struct TransferOf<ExchangeStart> {
  using Call = StartCall;
};
template <>
struct TransferOf<RequestStart> {
  using Call = RequestStartCall;
};
template <>
struct TransferOf<RequestRelease> {
  using Call = StartCall;
};
template <>
struct TransferOf<Cancellation> {
  using Call = StartCall;
};
template <>
struct TransferOf<CommunicatorRelease> {
  using Call = StreamCall;
};
template <>
struct TransferOf<FileOpening> {
  using Call = StreamCall;
};
template <>
struct TransferOf<FileClosing> {
  using Call = StreamCall;
};
template <>
struct TransferOf<CollectiveFileTransfer> {
  using Call = FileCall;
};
template <>
struct TransferOf<SplitFileTransfer> {
  using Call = FileCall;
};
template <>
struct TransferOf<CollectiveFileTransferStart> {
  using Call = StartCall;
};
template <typename Sent, typename Received>
struct TransferOf<CollectiveStart<Sent, Received>> {
  using Call = StartCall;
};

/// What counts the transfer of a call with these facts.
template <typename Facts>
using TransferCall = typename TransferOf<Facts>::Call;

}  // namespace culprit::mpi
