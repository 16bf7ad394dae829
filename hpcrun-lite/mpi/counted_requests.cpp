// Counts what calls move by requests where there is no trace (counted_requests.hpp). Receives and persistent
// operations lie in tables by handle, numbered as they began: a call that completes a request takes only one
// that began before the call did, since the library may have given the handle to a new request of another
// thread already. A receive counts as many bytes as its status says, but no more than it had room for.
#include "mpi/counted_requests.hpp"

#include "mpi/handle_table.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"
#include "mpi/status_bytes.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <optional>

namespace culprit::mpi {
namespace {

/// A receive until it completes, or a persistent one. Of words alone: where single bytes of it were written,
/// the processor would wait some 5 ns to copy it (`./dev bench calls`, 2026-11-30).
struct Receive {
  static constexpr std::uint64_t kPersistent = 1;
  static constexpr std::uint64_t kActive = 2;      ///< began, and is not counted yet
  static constexpr std::uint64_t kCancelling = 4;  ///< MPI_Cancel was called
  static constexpr std::uint64_t kHasStatus = 8;   ///< else it brings what its limit is
  std::uint64_t number;                            ///< among all that were kept
  std::uint64_t limit;                             ///< of the bytes that its status says
  std::uint64_t state;

  [[nodiscard]] bool is(std::uint64_t what) const { return (state & what) != 0; }
};
// 96 000 at one time: ten times what programs are seen to have open, in 5 MB of which pages are used where
// handles fall.
HandleTable<Receive, 128, 1024, CallLock> receives;

/// What each start of a persistent send or collective moves. The communicator's handle may be another's by
/// then.
struct Outgoing {
  std::uint64_t sent, received;
  bool message;
  Recipient recipient;
};
HandleTable<Outgoing, 16, 1024, CallLock> outgoing;

std::atomic<std::uint64_t> lost{0};

std::uint64_t next_number() {
  if (CallLock::needed.load(std::memory_order_relaxed))
    return kept_requests.last.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t number = kept_requests.last.load(std::memory_order_relaxed) + 1;
  kept_requests.last.store(number, std::memory_order_relaxed);
  return number;
}

void lose() {
  lost.fetch_add(1, std::memory_order_relaxed);
}

void keep_receive(MPI_Request request, std::uint64_t limit, std::uint64_t state) {
  if (!receives.add(key_of(request), {.number = next_number(), .limit = limit, .state = state})) lose();
}

void keep_outgoing(MPI_Request request, const Outgoing& moved) {
  next_number();
  if (!outgoing.add(key_of(request), moved)) lose();
}

constexpr std::uint64_t kNoMessage = ~std::uint64_t{0};

/// The bytes of its message, or kNoMessage where none has arrived. The status is that of the receive, which
/// is complete.
std::uint64_t arrived_in(const Receive& receive, const MPI_Status& status) {
  if (!receive.is(Receive::kActive)) return kNoMessage;
  // The status of an inactive request: the call that it was given to before failed.
  if (receive.is(Receive::kPersistent) && status.MPI_SOURCE == MPI_ANY_SOURCE) return kNoMessage;
  if (receive.is(Receive::kCancelling) && was_cancelled(status)) return kNoMessage;
  return receive.is(Receive::kHasStatus) ? arrived_within(status, receive.limit) : receive.limit;
}

/// The request is complete, with an error or none, and lives on with `stays`.
void complete(MPI_Request request, std::uint64_t before, const MPI_Status& status, int error, bool stays,
              CulpritCallCount* slot) {
  Receive receive;
  const bool known = receives.visit(
      key_of(request), [before](const Receive& one) { return one.number <= before; },
      [&](Receive& one) {
        receive = one;
        one.state &= ~Receive::kActive;
        return stays;
      });
  if (!known || slot == nullptr) return;
  const std::uint64_t bytes = arrived_in(receive, status);
  if (bytes != kNoMessage) add_message(*slot, 0, is_truncation(error) ? 0 : bytes);
}

/// Of no use where there is no memory for what completing it takes.
void give_up(MPI_Request request) {
  Receive receive;
  if (receives.take(key_of(request), receive)) lose();
}

}  // namespace

void count_requests(bool by_session) {
  static std::atomic<bool> any_session{false};
  find_status_fields();
  if (by_session) any_session.store(true);
  int level = MPI_THREAD_MULTIPLE;
  if (!any_session.load()) CULPRIT_MPI(PMPI_Query_thread)(&level);
  CallLock::needed.store(level == MPI_THREAD_MULTIPLE);
  requests_are_counted.store(culprit_rt_active() && !culprit_rt_traced());
}

void stop_counting_requests() {
  requests_are_counted.store(false);
}

std::uint64_t lost_requests() {
  return lost.load(std::memory_order_relaxed);
}

// -- What begins
// ---------------------------------------------------------------------------------------------

void ReceiveBeginning::enter(const MatchedReceiveStart& facts) {
  of_nobody_ = *facts.message == message_of_nobody();
}
void ReceiveBeginning::keep(MPI_Request request, std::uint64_t limit, bool has_status) {
  mpi::keep_receive(request, limit, Receive::kActive | (has_status ? Receive::kHasStatus : 0));
}

void PersistentMaking::keep_receive(MPI_Request request) {
  mpi::keep_receive(request, kNoLimit, Receive::kPersistent | Receive::kHasStatus);
}
void PersistentMaking::keep_send(MPI_Request request, const Message& message) {
  keep_outgoing(request, {.sent = bytes_of(message),
                          .received = 0,
                          .message = true,
                          .recipient = recipient_of(message.comm, message.peer)});
}
void PersistentMaking::keep_collective(MPI_Request request, const Amounts& moved) {
  keep_outgoing(request, {.sent = moved.sent, .received = moved.received, .message = false, .recipient = {}});
}

void PersistentStart::count(const RequestStart& facts, CulpritCallCount* slot) {
  for (int n = 0; n < facts.count; ++n) {
    const auto before = handles_.before(facts, n);
    const auto now = facts.requests[n];
    Outgoing moved;
    if (before != now && outgoing.take(key_of(before), moved) && !outgoing.add(key_of(now), moved)) lose();
    if (outgoing.find(key_of(now), moved)) {
      if (slot == nullptr) continue;
      add_message(*slot, moved.sent, moved.received);
      if (moved.message) count_recipient(moved.recipient, moved.sent);
    } else {
      receives.visit(
          key_of(now), [](const Receive& one) { return one.is(Receive::kPersistent); },
          [](Receive& one) {
            one.state = (one.state | Receive::kActive) & ~Receive::kCancelling;
            return true;
          });
    }
  }
}

// -- What completes
// ------------------------------------------------------------------------------------------

bool RequestCompletion::find_room(const Requests& requests) {
  const auto size = static_cast<std::size_t>(requests.count);
  const bool one_status = requests.completed != nullptr && requests.completed_count == nullptr;
  const std::size_t statuses = one_status ? 1 : size;
  memory_ = malloc(statuses * sizeof(MPI_Status) + size * sizeof(MPI_Request));
  if (memory_ == nullptr) return false;
  statuses_ = static_cast<MPI_Status*>(memory_);
  handles_ = reinterpret_cast<MPI_Request*>(statuses_ + statuses);
  return true;
}

void RequestCompletion::begin(Requests& requests) {
  const int count = std::max(requests.count, 0);
  const auto none = no_request();
  handles_ = few_handles_;
  statuses_ = few_statuses_;
  if (count > kFew) {
    if (std::all_of(requests.requests, requests.requests + count,
                    [&none](MPI_Request one) { return one == none; }))
      return;
    if (!find_room(requests)) {
      std::for_each_n(requests.requests, count, give_up);
      return;
    }
  }
  bool any = false;
  for (int i = 0; i < count; ++i) {
    handles_[i] = requests.requests[i];
    any = any || handles_[i] != none;
  }
  if (!any) return;
  count_ = count;
  if (requests.statuses != MPI_STATUSES_IGNORE) return;  // nor MPI_STATUS_IGNORE
  requests.statuses = statuses_;
  const bool one_status = requests.completed != nullptr && requests.completed_count == nullptr;
  for (int i = 0; i < (one_status ? 1 : count_); ++i) expect_nothing(statuses_[i]);
}

void RequestCompletion::end(const Requests& requests, int result, CulpritCallCount* slot) const {
  if (result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS || is_truncation(result)) {
    count(requests, result, slot);
  } else {
    fail(requests);
  }
}

int RequestCompletion::completed_requests(const Requests& requests) const {
  if (requests.completed_count != nullptr) return std::clamp(*requests.completed_count, 0, count_);
  if (requests.completed != nullptr) return *requests.completed >= 0 && *requests.completed < count_ ? 1 : 0;
  return count_;
}

void RequestCompletion::count(const Requests& requests, int result, CulpritCallCount* slot) const {
  const auto none = no_request();
  const int items = completed_requests(requests);
  for (int n = 0; n < items; ++n) {
    const int index = requests.completed != nullptr ? requests.completed[n] : n;
    const auto request = handles_[index];
    const MPI_Status& status = requests.statuses[n];
    const int error = result == MPI_ERR_IN_STATUS ? status.MPI_ERROR : result;
    if (request == none || error == MPI_ERR_PENDING) continue;
    // Open MPI frees persistent requests that fail.
    complete(request, before_, status, error, requests.requests[index] == request, slot);
  }
}

/// Those are gone whose handles are; a persistent one is inactive where it is the only one.
void RequestCompletion::fail(const Requests& requests) const {
  for (int i = 0; i < count_; ++i) {
    receives.visit(
        key_of(handles_[i]), [this](const Receive& one) { return one.number <= before_; },
        [&](Receive& one) {
          const bool persistent = one.is(Receive::kPersistent);
          if (persistent && count_ == 1) one.state &= ~Receive::kActive;
          return persistent || handles_[i] == requests.requests[i];
        });
  }
}

void RequestQuery::count(const StatusQuery& facts, CulpritCallCount* slot) const {
  complete(facts.request, before_, *facts.status, MPI_SUCCESS, true, slot);
}

void RequestEnd::cancel(MPI_Request request) {
  receives.visit(
      key_of(request), [](const Receive&) { return true; },
      [](Receive& one) {
        one.state |= Receive::kCancelling;
        return true;
      });
}

std::optional<std::uint64_t> RequestEnd::release(MPI_Request request) {
  Receive receive;
  Outgoing moved;
  MPI_Status status;
  if (outgoing.take(key_of(request), moved) || !receives.take(key_of(request), receive)) return std::nullopt;
  if (!receive.is(Receive::kActive) || !is_complete(request, status)) return std::nullopt;
  const std::uint64_t bytes = arrived_in(receive, status);
  return bytes != kNoMessage ? std::optional(bytes) : std::nullopt;
}

}  // namespace culprit::mpi
