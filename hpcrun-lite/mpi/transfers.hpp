#pragma once

#include "mpi/call_facts.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/prototypes.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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
/// What arrived, where the status tells; else `posted`.
std::uint64_t arrived(const MPI_Status* status, std::uint64_t posted);
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
  void enter(const BlockingReceive& facts) { begin(0, bytes_of(facts.received), facts.received); }
  void enter(const BlockingExchange& facts) {
    begin(bytes_of(facts.sent), bytes_of(facts.received), facts.sent);
  }
  void enter(const BlockingMatchedReceive& facts) {
    const std::uint64_t bytes = bytes_of(facts.count, facts.datatype);
    if (bytes < kLargeTransfer) return;
    moved_ = {.sent = 0, .received = bytes, .largest = bytes, .self = false};
    entered_ = transfer_begin(occurrence_);
  }
  void exit(const BlockingSend& /*facts*/, std::uint32_t /*call*/) {
    if (entered_ != 0) count();
  }
  template <typename Facts>
  void exit(const Facts& facts, std::uint32_t /*call*/) {
    if (entered_ == 0) return;
    moved_.received = arrived(facts.status, moved_.received);
    count();
  }

 private:
  void begin(std::uint64_t sent, std::uint64_t received, const Message& message) {
    if (std::max(sent, received) < kLargeTransfer) return;
    moved_ = {
        .sent = sent, .received = received, .largest = std::max(sent, received), .self = is_self(message)};
    entered_ = transfer_begin(occurrence_);
  }
  void count();

  Occurrence& occurrence_;
  Moved moved_{};
  std::uint64_t entered_ = 0;  ///< 0: not to be counted
};

/// What a process moves in a collective is what every process does.
template <typename Amount>
concept SameOnAll =
    std::is_same_v<Amount, NoData> || std::is_same_v<Amount, Data> || std::is_same_v<Amount, SameForEach>;

/// One blocking collective call.
class CollectiveCall {
 public:
  explicit CollectiveCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  template <typename Sent, typename Received>
  void enter(const BlockingCollective<Sent, Received>& facts) {
    bytes_ = amount(facts);
    if (bytes_ >= kLargeTransfer) entered_ = transfer_begin(occurrence_);
  }
  template <typename Sent, typename Received>
  void exit(const BlockingCollective<Sent, Received>& facts, std::uint32_t call) {
    constexpr bool uneven = !SameOnAll<Sent> || !SameOnAll<Received>;
    if (entered_ != 0) count(facts.comm, call, uneven);
  }

 private:
  static std::uint64_t bytes(const NoData& /*data*/, MPI_Comm /*comm*/) { return 0; }
  static std::uint64_t bytes(const Data& data, MPI_Comm /*comm*/) {
    return data.buffer == MPI_IN_PLACE ? 0 : bytes_of(data.count, data.datatype);
  }
  static std::uint64_t bytes(const SameForEach& data, MPI_Comm comm) {
    if (data.buffer == MPI_IN_PLACE) return 0;
    return bytes_of(data.count, data.datatype) * static_cast<std::uint64_t>(processes(comm));
  }
  template <typename Count>
  static std::uint64_t bytes(const DataPerRank<Count>& data, MPI_Comm comm) {
    if (data.buffer == MPI_IN_PLACE || data.counts == nullptr) return 0;
    MPI_Count all = 0;
    for (int i = 0, n = processes(comm); i < n; ++i) all += data.counts[i];
    return bytes_of(all, data.datatype);
  }
  // Amounts with a type for each, or that only another process knows.
  template <typename Other>
  static std::uint64_t bytes(const Other& /*data*/, MPI_Comm /*comm*/) {
    return 0;
  }

  /// What this process sends or receives, of the amounts that mean something in every process.
  template <typename Sent, typename Received>
  static std::uint64_t amount(const BlockingCollective<Sent, Received>& facts) {
    switch (facts.flow) {
      case Flow::one_to_all:
        return bytes(facts.received, facts.comm);
      case Flow::all_to_one: {
        const std::uint64_t sent = bytes(facts.sent, facts.comm);
        // The root of a reduction in place.
        return sent == 0 && std::is_same_v<Received, Data> ? bytes(facts.received, facts.comm) : sent;
      }
      case Flow::all_to_all:
      case Flow::prefix:
        return std::max(bytes(facts.sent, facts.comm), bytes(facts.received, facts.comm));
      case Flow::barrier:
      case Flow::neighbors:
        break;
    }
    return 0;
  }

  static int processes(MPI_Comm comm);
  void count(MPI_Comm comm, std::uint32_t call, bool uneven);

  Occurrence& occurrence_;
  std::uint64_t bytes_ = 0;
  std::uint64_t entered_ = 0;
};

/// A call that completes operations which were started before.
class CompletionCall {
 public:
  explicit CompletionCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  void enter(const BlockingCompletion& facts) {
    if (any_started()) begin(facts.requests);
  }
  void exit(const BlockingCompletion& facts, std::uint32_t /*call*/) {
    if (count_ != 0) end(facts.requests, true);
  }
  void enter(const CompletionAttempt& facts) {
    if (any_started()) begin(facts.requests);
  }
  void exit(const CompletionAttempt& facts, std::uint32_t /*call*/) {
    if (count_ != 0 && *facts.done != 0) end(facts.requests, false);
  }

  static constexpr int kMaxRequests = 64;  ///< of one call; where there are more, all are forgotten

 private:
  static bool any_started();
  void begin(const Requests& requests);
  void end(const Requests& requests, bool waited);

  Occurrence& occurrence_;
  int count_ = 0;
  std::uint64_t entered_ = 0;
  MPI_Request handles_[kMaxRequests];  // completed ones are gone after the call
};

/// The start of an operation: a large one is remembered by the thread until it completes.
class StartCall {
 public:
  explicit StartCall(const Occurrence& /*occurrence*/) {}

  void enter(const RequestRelease& facts) { forget(*facts.request); }
  template <typename Facts>
  void enter(const Facts& /*facts*/) {}

  void exit(const SendStart& facts, std::uint32_t /*call*/) { start(facts.sent, true, facts.request, false); }
  void exit(const PersistentSend& facts, std::uint32_t /*call*/) {
    start(facts.sent, true, facts.request, true);
  }
  void exit(const ReceiveStart& facts, std::uint32_t /*call*/) {
    start(facts.received, false, facts.request, false);
  }
  void exit(const PersistentReceive& facts, std::uint32_t /*call*/) {
    start(facts.received, false, facts.request, true);
  }
  void exit(const RequestRelease& /*facts*/, std::uint32_t /*call*/) {}

 private:
  static void start(const Message& message, bool sent, const MPI_Request* request, bool persistent) {
    const std::uint64_t bytes = bytes_of(message);
    if (bytes < kLargeTransfer) {
      forget(*request);
      return;
    }
    remember(*request, message, sent, bytes, persistent);
  }
  /// A handle may be used again for another operation.
  static void forget(MPI_Request request);
  static void remember(MPI_Request request, const Message& message, bool sent, std::uint64_t bytes,
                       bool persistent);
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
struct TransferOf<RequestRelease> {
  using Call = StartCall;
};

/// What counts the transfer of a call with these facts.
template <typename Facts>
using TransferCall = typename TransferOf<Facts>::Call;

}  // namespace culprit::mpi
