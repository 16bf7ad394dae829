#pragma once

#include "mpi/amounts.hpp"
#include "mpi/call_counts.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/room.hpp"
#include "mpi/status_bytes.hpp"
#include "mpi/traced_call.hpp"
#include "mpi/transfers.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

// What calls move by requests where there is no trace: a receive counts at the call that completes it, a
// persistent operation at each of its starts. Other requests count where they begin, and are not kept here.
// Handles are reused at once, also by another thread before the completing call has returned here: a
// completing call takes what began before it did. Cost: some 8 ns to keep a receive, and to look for
// one and count it; twice that with MPI_THREAD_MULTIPLE; in bounded memory. Only outermost calls count, as in
// time lines: what a callback within a call begins or completes does not.
namespace culprit::mpi {

/// From MPI_Init to MPI_Finalize, also while sampling is stopped: what begins then may complete later.
inline std::atomic<bool> requests_are_counted{false};
/// At the end of MPI_Init or MPI_Session_init.
void count_requests(bool by_session);
/// In MPI_Finalize.
void stop_counting_requests();
/// Requests that are not counted, since there was no room for them.
std::uint64_t lost_requests();

/// On a cache line of its own: with MPI_THREAD_MULTIPLE many threads write it.
struct alignas(64) KeptRequests {
  /// Number of the receive or persistent request that was kept last; 0: none ever, and calls that complete
  /// requests look for nothing.
  std::atomic<std::uint64_t> last;
};
inline constinit KeptRequests kept_requests{};

/// The start of a receive.
class ReceiveBeginning {
 public:
  static void enter(const ReceiveStart& /*facts*/) {}
  static void enter(const ExchangeStart& /*facts*/) {}
  /// The handle is gone after the call.
  void enter(const MatchedReceiveStart& facts);

  // After it, if it succeeded. `posted`: the bytes that it has room for.
  static void exit(const ReceiveStart& facts, std::uint64_t posted) {
    if (facts.received.peer != MPI_PROC_NULL) keep(*facts.request, limit(posted, facts.received.count));
  }
  static void exit(const ExchangeStart& facts) {
    if (facts.received.peer == MPI_PROC_NULL) return;
    const std::uint64_t posted = bytes_of(facts.received);
    if (kExchangeHasStatus) return keep(*facts.request, limit(posted, facts.received.count));
    keep(*facts.request, posted, false);
  }
  void exit(const MatchedReceiveStart& facts) const {
    if (!of_nobody_) keep(*facts.request, limit(bytes_of(facts.count, facts.datatype), facts.count));
  }

 private:
  /// A type may be larger than MPI_Type_size has numbers.
  static std::uint64_t limit(std::uint64_t posted, MPI_Count count) {
    return posted == 0 && count != 0 ? kNoLimit : posted;
  }
  /// Without a status, as much counts as there is room for.
  static void keep(MPI_Request request, std::uint64_t limit, bool has_status = true);

  bool of_nobody_ = false;
};

/// The making of a persistent request, which moves nothing yet.
class PersistentMaking {
 public:
  static void enter(const auto& /*facts*/) {}

  // After it, if it succeeded.
  static void exit(const PersistentReceive& facts) {
    if (facts.received.peer != MPI_PROC_NULL) keep_receive(*facts.request);
  }
  static void exit(const PersistentSend& facts) {
    if (facts.sent.peer != MPI_PROC_NULL) keep_send(*facts.request, facts.sent);
  }
  template <typename Sent, typename Received>
  static void exit(const PersistentCollective<Sent, Received>& facts) {
    if (facts.flow == Flow::barrier) return;
    keep_collective(*facts.request,
                    amounts(facts.flow, facts.root, counted_communicator(facts.comm, facts.flow), facts.sent,
                            facts.received));
  }

 private:
  static void keep_receive(MPI_Request request);
  static void keep_send(MPI_Request request, const Message& message);
  static void keep_collective(MPI_Request request, const Amounts& moved);
};

template <typename Call>
concept KeepsRequest = IsOneOf<Call, ReceiveBeginning, PersistentMaking>;

// The other ones are given `slot` after the call, where the call is counted; null: nowhere.

/// MPI_Start or MPI_Startall.
class PersistentStart {
 public:
  void enter(const RequestStart& facts) {
    kept_ = kept_requests.last.load(std::memory_order_relaxed) != 0;
    if (kept_) handles_.keep(facts);
  }
  void exit(const RequestStart& facts, int result, CulpritCallCount* slot) {
    if (kept_ && result == MPI_SUCCESS) count(facts, slot);
  }

 private:
  void count(const RequestStart& facts, CulpritCallCount* slot);

  bool kept_ = false;
  StartedHandles handles_;
};

/// A call that completes requests. Their handles are gone after it, and only statuses say what came: both are
/// kept here, the statuses only where the program does not ask for them itself.
class RequestCompletion {
 public:
  RequestCompletion() {}  // NOLINT: the rest is of calls that were entered
  ~RequestCompletion() {
    if (memory_ != nullptr) [[unlikely]]
      free(memory_);
  }
  RequestCompletion(const RequestCompletion&) = delete;
  RequestCompletion& operator=(const RequestCompletion&) = delete;

  /// Before the call, which is then to be given the statuses that the facts hold.
  void enter(auto& facts) {
    before_ = kept_requests.last.load(std::memory_order_relaxed);
    if (before_ != 0) begin(facts.requests);
  }
  /// After it, unless it was a poll in vain.
  void exit(const auto& facts, int result, CulpritCallCount* slot) const {
    if (count_ != 0) end(facts.requests, result, slot);
  }

 private:
  static constexpr int kFew = 32;  ///< on the stack; more in memory of their own

  void begin(Requests& requests);
  [[nodiscard]] bool find_room(const Requests& requests);
  void end(const Requests& requests, int result, CulpritCallCount* slot) const;
  void count(const Requests& requests, int result, CulpritCallCount* slot) const;
  void fail(const Requests& requests) const;
  [[nodiscard]] int completed_requests(const Requests& requests) const;

  void* memory_ = nullptr;
  int count_ = 0;         ///< of the handles that are kept; 0: nothing is to be done
  std::uint64_t before_;  ///< kept_requests.last
  MPI_Request* handles_;
  MPI_Status* statuses_;
  MPI_Request few_handles_[kFew];
  MPI_Status few_statuses_[kFew];
};

/// MPI_Request_get_status: what arrived is counted, and the request lives on.
class RequestQuery {
 public:
  void enter(StatusQuery& facts) {
    before_ = kept_requests.last.load(std::memory_order_relaxed);
    if (before_ == 0 || facts.status != MPI_STATUS_IGNORE) return;
    expect_nothing(status_);
    facts.status = &status_;
  }
  void exit(const StatusQuery& facts, int result, CulpritCallCount* slot) const {
    if (before_ != 0 && result == MPI_SUCCESS) count(facts, slot);
  }

 private:
  void count(const StatusQuery& facts, CulpritCallCount* slot) const;

  std::uint64_t before_ = 0;
  MPI_Status status_;  // left as it is until the call fills it in
};

/// Before a request is cancelled, where its status will say whether it was; or freed, where no call completes
/// it: what has arrived by then is counted.
class RequestEnd {
 public:
  static void enter(const Cancellation& facts) {
    if (kept_requests.last.load(std::memory_order_relaxed) != 0) cancel(*facts.request);
  }
  void enter(const RequestRelease& facts) {
    if (kept_requests.last.load(std::memory_order_relaxed) != 0) arrived_ = release(*facts.request);
  }
  void exit(const auto& /*facts*/, int result, CulpritCallCount* slot) const {
    if (arrived_ && slot != nullptr && result == MPI_SUCCESS) add_message(*slot, 0, *arrived_);
  }

 private:
  static void cancel(MPI_Request request);
  static std::optional<std::uint64_t> release(MPI_Request request);

  std::optional<std::uint64_t> arrived_;
};

struct NoRequests {
  static void enter(const auto& /*facts*/) {}
  static void exit(const auto& /*facts*/, int /*result*/, CulpritCallCount* /*slot*/) {}
};

template <typename Facts>
struct RequestsOf {
  using Call = NoRequests;
};
template <typename Facts>
requires IsOneOf<Facts, ReceiveStart, MatchedReceiveStart, ExchangeStart>
struct RequestsOf<Facts> {
  using Call = ReceiveBeginning;
};
template <typename Facts>
requires IsOneOf<Facts, PersistentSend, PersistentReceive>
struct RequestsOf<Facts> {
  using Call = PersistentMaking;
};
template <typename Sent, typename Received>
struct RequestsOf<PersistentCollective<Sent, Received>> {
  using Call = PersistentMaking;
};
template <>
struct RequestsOf<RequestStart> {
  using Call = PersistentStart;
};
template <CompletesRequests Facts>
struct RequestsOf<Facts> {
  using Call = RequestCompletion;
};
template <>
struct RequestsOf<StatusQuery> {
  using Call = RequestQuery;
};
template <typename Facts>
requires IsOneOf<Facts, Cancellation, RequestRelease>
struct RequestsOf<Facts> {
  using Call = RequestEnd;
};

/// What counts the requests of a call with these facts.
template <typename Facts>
using CountedRequests = typename RequestsOf<Facts>::Call;

}  // namespace culprit::mpi
