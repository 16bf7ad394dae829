#pragma once

#include "measurement/published_calls_layout.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/handle_table.hpp"
#include "mpi/persistent_requests.hpp"
#include "mpi/predefined.hpp"
#include "mpi/published_contexts.hpp"
#include "mpi/published_messages.hpp"
#include "mpi/room.hpp"
#include "mpi/transfers.hpp"
#include "mpi/windows.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// The MPI call that a thread is in, published in the measurement while it lasts
// (measurement/published_calls_layout.hpp): who looks at the file, now or after a kill, sees whom it waits
// for. Plain stores into memory of the thread's own: some thirty words at a waiting call's enter, one at its
// exit. The sampler's handler adds since when and where. Handles are published as they are;
// published_contexts.hpp says what they mean.
namespace culprit::mpi {

/// A call's name without the P of the profiling interface and the suffix of large counts, and its hash.
struct alignas(16) CallName {
  char text[measurement::calls::kNameBytes] = {};
  std::uint32_t hash = 0;

  template <std::size_t kSize>
  // NOLINTNEXTLINE(google-explicit-constructor): literals are names
  consteval CallName(const char (&name)[kSize]) {
    const std::size_t from = name[0] == 'P' ? 1 : 0;
    std::size_t end = kSize - 1;
    if (end > 2 && name[end - 2] == '_' && name[end - 1] == 'c') end -= 2;
    const std::size_t length = std::min(end - from, sizeof text - 1);
    for (std::size_t i = 0; i < length; ++i) text[i] = name[from + i];
    hash = measurement::calls::hash_of_name(text);
  }
};

// Calls for which a thread without a place does not ask for one again.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
inline __thread std::uint32_t unpublished_calls __attribute__((tls_model("initial-exec")));

/// What the first poll of the thread's present series asks for.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
inline __thread std::uint64_t asked_at_first __attribute__((tls_model("initial-exec")));

namespace publishing {

/// The calling thread's place; null: none.
inline Call* place() {
  constexpr std::uint32_t kPatience = 4096;
  Call* call = culprit_rt_thread.published;
  if (call != nullptr) [[likely]]
    return call;
  if (unpublished_calls != 0) {
    --unpublished_calls;
    return nullptr;
  }
  call = culprit_rt_place_of_published_calls();
  if (call == nullptr) unpublished_calls = kPatience;
  return call;
}

/// Brackets changes of a Call's words up to `begun`: a reader, or a kill in between, finds the counts apart.
class Change {
 public:
  explicit Change(Call& call) : call_(call), number_(calls::load(call.begun) + 1) {
    store(call_.begun, number_);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~Change() { std::atomic_ref(call_.done).store(number_, std::memory_order_release); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  Call& call_;
  std::uint64_t number_;
};

inline void begin(Call& call, CallKind kind, std::uint64_t context) {
  store(call.kind, kind);
  store(call.context, context);
}
inline void message(Call& call, CallKind kind, const Message& message, std::uint64_t bytes) {
  begin(call, kind, key_of(message.comm));
  store(call.peer, source_of(message.peer));
  store(call.tag, tag_of(message.tag));
  store(call.bytes, bytes);
}
inline void synchronization(Call& call, CallKind kind, MPI_Win window, int target) {
  begin(call, kind, key_of(window));
  store(call.peer, target);
}

/// Counts a collective of the context, and returns its number; 0 where the context is not known. MPI allows
/// one thread at a time to do this.
inline std::uint64_t count_collective(std::uint64_t handle, const CallName& name, std::int32_t root) {
  calls::Calls* const all = culprit_rt_published_calls.load(std::memory_order_relaxed);
  calls::Context* const context = all == nullptr ? nullptr : calls::find_context(*all, handle);
  if (context == nullptr) return 0;
  const std::uint64_t number = calls::load(context->collectives) + 1;
  store(context->history[number % calls::kHistory],
        std::uint64_t{name.hash} << 32 | static_cast<std::uint32_t>(root));
  std::atomic_ref(context->collectives).store(number, std::memory_order_release);
  return number;
}

inline void collective(Call& call, std::uint64_t handle, const CallName& name,
                       std::int32_t root = calls::kNobody, std::uint64_t bytes = 0) {
  begin(call, CallKind::collective, handle);
  store(call.sequence, count_collective(handle, name, root));
  store(call.root, root);
  store(call.bytes, bytes);
}

/// The first of the handles that still are requests, and how many are.
inline void requests(Call& call, CallKind kind, const MPI_Request* handles, int count) {
  constexpr int kMostLookedAt = 256;
  store(call.kind, kind);
  const auto none = no_request();
  const int looked_at = std::clamp(count, 0, kMostLookedAt);
  std::uint32_t active = 0;
  for (int i = 0; i < looked_at; ++i) {
    if (handles[i] == none) continue;
    if (active < calls::kRequests) store(call.request[active], key_of(handles[i]));
    ++active;
  }
  if (active < calls::kRequests) store(call.request[active], std::uint64_t{0});
  store(call.requests, active + static_cast<std::uint32_t>(std::max(count, 0) - looked_at));
}

inline void group(Call& call, const Window* window, const Members Window::*members) {
  const std::uint32_t known = window == nullptr ? 0 : (window->*members).known;
  const std::uint32_t size = window == nullptr ? 0 : (window->*members).size;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(known, calls::kGroup); ++i)
    store(call.group[i], static_cast<std::int32_t>(window->peer[(window->*members).peer[i]].world_rank));
  store(call.group_size, known < size ? 0 : size);
}

// What each sort of call says of itself. Those without one wait for nobody in particular, or not at all.

inline std::int32_t root_of(Flow flow, int root) {
  const bool rooted = flow == Flow::one_to_all || flow == Flow::all_to_one;
  return rooted ? source_of(root) : calls::kNobody;
}

struct Bytes {
  std::uint64_t sent, received;
};

// clang-format off
inline void describe(Call& call, const auto& /*facts*/, const CallName& /*name*/, Bytes /*bytes*/) { begin(call, CallKind::other, 0); }
inline void describe(Call& call, const BlockingSend& facts, const CallName& /*name*/, Bytes bytes) { message(call, CallKind::send, facts.sent, bytes.sent); }
inline void describe(Call& call, const BlockingReceive& facts, const CallName& /*name*/, Bytes bytes) { message(call, CallKind::receive, facts.received, bytes.received); }
inline void describe(Call& call, const BlockingMatchedReceive& /*facts*/, const CallName& /*name*/, Bytes /*bytes*/) { begin(call, CallKind::matched, 0); }
inline void describe(Call& call, const BlockingCompletion& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  requests(call, facts.requests.completed == nullptr ? CallKind::all_requests : CallKind::any_request, facts.requests.requests, facts.requests.count);
}
inline void describe(Call& call, const CompletionAttempt& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  requests(call, facts.requests.completed == nullptr ? CallKind::all_requests : CallKind::any_request, facts.requests.requests, facts.requests.count);
}
inline void describe(Call& call, const StatusQuery& facts, const CallName& /*name*/, Bytes /*bytes*/) { requests(call, CallKind::all_requests, &facts.request, 1); }
inline void describe(Call& call, const WindowCreation& facts, const CallName& name, Bytes /*bytes*/) { collective(call, key_of(facts.comm), name); }
inline void describe(Call& call, const WindowRelease& facts, const CallName& name, Bytes /*bytes*/) { collective(call, key_of(*facts.window), name); }
inline void describe(Call& call, const Fence& facts, const CallName& name, Bytes /*bytes*/) { collective(call, key_of(facts.window), name); }
inline void describe(Call& call, const CommunicatorCreation& facts, const CallName& name, Bytes /*bytes*/) { collective(call, key_of(facts.parent), name); }
inline void describe(Call& call, const MembersCommunicatorCreation& facts, const CallName& /*name*/, Bytes /*bytes*/) { begin(call, CallKind::members, key_of(facts.parent)); }
inline void describe(Call& call, const FileOpening& facts, const CallName& name, Bytes /*bytes*/) { collective(call, key_of(facts.comm), name); }
inline void describe(Call& call, const FileClosing& facts, const CallName& name, Bytes /*bytes*/) { collective(call, key_of(*facts.file), name); }
inline void describe(Call& call, const CollectiveFileCall& facts, const CallName& name, Bytes /*bytes*/) { collective(call, key_of(facts.file), name); }
inline void describe(Call& call, const CollectiveFileTransfer& facts, const CallName& name, Bytes bytes) { collective(call, key_of(facts.data.file), name, calls::kNobody, bytes.sent); }
inline void describe(Call& call, const SplitFileTransfer& facts, const CallName& name, Bytes bytes) { collective(call, key_of(facts.data.file), name, calls::kNobody, bytes.sent); }
inline void describe(Call& call, const SplitFileTransferEnd& facts, const CallName& name, Bytes /*bytes*/) { collective(call, key_of(facts.file), name); }
inline void describe(Call& call, const Access& facts, const CallName& /*name*/, Bytes /*bytes*/) { synchronization(call, CallKind::access, facts.target.window, source_of(facts.target.rank)); }
inline void describe(Call& call, const RequestedAccess& facts, const CallName& /*name*/, Bytes /*bytes*/) { synchronization(call, CallKind::access, facts.target.window, source_of(facts.target.rank)); }
inline void describe(Call& call, const Lock& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  synchronization(call, CallKind::lock, facts.window, facts.target);
  store(call.other_peer, facts.exclusive ? 1 : 0);
}
inline void describe(Call& call, const LockAll& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  synchronization(call, CallKind::lock, facts.window, calls::kAllTargets);
  store(call.other_peer, 0);
}
inline void describe(Call& call, const Unlock& facts, const CallName& /*name*/, Bytes /*bytes*/) { synchronization(call, CallKind::flush, facts.window, facts.target); }
inline void describe(Call& call, const UnlockAll& facts, const CallName& /*name*/, Bytes /*bytes*/) { synchronization(call, CallKind::flush, facts.window, calls::kAllTargets); }
inline void describe(Call& call, const Flush& facts, const CallName& /*name*/, Bytes /*bytes*/) { synchronization(call, CallKind::flush, facts.window, facts.target); }
inline void describe(Call& call, const FlushAll& facts, const CallName& /*name*/, Bytes /*bytes*/) { synchronization(call, CallKind::flush, facts.window, calls::kAllTargets); }
inline void describe(Call& call, const LocalFlush& facts, const CallName& /*name*/, Bytes /*bytes*/) { synchronization(call, CallKind::flush, facts.window, facts.target); }
inline void describe(Call& call, const LocalFlushAll& facts, const CallName& /*name*/, Bytes /*bytes*/) { synchronization(call, CallKind::flush, facts.window, calls::kAllTargets); }
// clang-format on

inline void describe(Call& call, const BlockingExchange& facts, const CallName& /*name*/, Bytes bytes) {
  message(call, CallKind::exchange, facts.sent, bytes.sent);
  store(call.other_peer, source_of(facts.received.peer));
  store(call.other_tag, tag_of(facts.received.tag));
  store(call.other_bytes, bytes.received);
}
inline void probe(Call& call, int source, int tag, MPI_Comm comm) {
  begin(call, CallKind::probe, key_of(comm));
  store(call.peer, source_of(source));
  store(call.tag, tag_of(tag));
  store(call.bytes, std::uint64_t{0});
}
inline void describe(Call& call, const BlockingProbe& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  probe(call, facts.source, facts.tag, facts.comm);
}
inline void describe(Call& call, const ProbeAttempt& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  probe(call, facts.source, facts.tag, facts.comm);
}
template <typename Sent, typename Received>
void describe(Call& call, const BlockingCollective<Sent, Received>& facts, const CallName& name,
              Bytes bytes) {
  collective(call, key_of(facts.comm), name, root_of(facts.flow, facts.root), bytes.sent);
}
inline void describe(Call& call, const EpochStart& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  synchronization(call, CallKind::start, facts.window, calls::kNobody);
  Window* const window = find_window(facts.window);
  if (window != nullptr) learn(window->origin, *window, facts.group);
  group(call, window, &Window::origin);
}
inline void describe(Call& call, const EpochCompletion& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  synchronization(call, CallKind::complete, facts.window, calls::kNobody);
  group(call, find_window(facts.window), &Window::origin);
}
inline void describe(Call& call, const ExposureWait& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  synchronization(call, CallKind::wait, facts.window, calls::kNobody);
  group(call, find_window(facts.window), &Window::exposure);
}
inline void describe(Call& call, const ExposureAttempt& facts, const CallName& /*name*/, Bytes /*bytes*/) {
  synchronization(call, CallKind::wait, facts.window, calls::kNobody);
  group(call, find_window(facts.window), &Window::exposure);
}

// What calls that may not wait count all the same.
inline void count(const auto& /*facts*/, const CallName& /*name*/) {}
template <typename Sent, typename Received>
void count(const CollectiveStart<Sent, Received>& facts, const CallName& name) {
  count_collective(key_of(facts.comm), name, root_of(facts.flow, facts.root));
}
inline void count(const CommunicatorCreationStart& facts, const CallName& name) {
  count_collective(key_of(facts.parent), name, calls::kNobody);
}
inline void count(const CollectiveFileTransferStart& facts, const CallName& name) {
  count_collective(key_of(facts.data.file), name, calls::kNobody);
}

template <typename Facts>
concept MakesRequest = requires(const Facts& facts) {
  { facts.request } -> std::same_as<MPI_Request* const&>;
}
&&!std::is_same_v<Facts, Cancellation> && !std::is_same_v<Facts, RequestRelease>;

// What is known after a call that succeeded.
template <typename Facts>
void end(Call& call, const Facts& facts, Bytes /*bytes*/) {
  if constexpr (MakesRequest<Facts>) note_unnamed(call, CallKind::other, key_of(*facts.request));
}
inline void end(Call& call, const BlockingMatchedReceive& /*facts*/, Bytes /*bytes*/) {
  note_unnamed(call, CallKind::matched, 0);
}
inline void end(Call& call, const MatchedReceiveStart& facts, Bytes /*bytes*/) {
  note_unnamed(call, CallKind::matched, key_of(*facts.request));
}
inline void end(Call& call, const BlockingSend& facts, Bytes bytes) {
  note(call, CallKind::send, facts.sent, 0, bytes.sent);
}
inline void end(Call& call, const BufferedSend& facts, Bytes bytes) {
  note(call, CallKind::send, facts.sent, 0, bytes.sent);
}
inline void end(Call& call, const BlockingReceive& facts, Bytes bytes) {
  note(call, CallKind::receive, facts.received, 0, bytes.received);
}
inline void end(Call& call, const BlockingExchange& facts, Bytes bytes) {
  note(call, CallKind::send, facts.sent, 0, bytes.sent);
  note(call, CallKind::receive, facts.received, 0, bytes.received);
}
inline void end(Call& call, const SendStart& facts, Bytes bytes) {
  note(call, CallKind::send, facts.sent, key_of(*facts.request), bytes.sent);
}
inline void end(Call& call, const ReceiveStart& facts, Bytes bytes) {
  note(call, CallKind::receive, facts.received, key_of(*facts.request), bytes.received);
}
inline void end(Call& call, const ExchangeStart& facts, Bytes bytes) {
  note(call, CallKind::send, facts.sent, key_of(*facts.request), bytes.sent);
  note(call, CallKind::receive, facts.received, key_of(*facts.request), bytes.received);
}
inline void hold(Call& call, MPI_Win window, int target, bool exclusive) {
  for (calls::HeldLock& lock : call.lock) {
    if (calls::load(lock.window) != 0) continue;
    store(lock.target, target);
    store(lock.exclusive, exclusive ? 1U : 0U);
    store(lock.call, calls::load(call.entered));
    std::atomic_ref(lock.window).store(key_of(window), std::memory_order_release);
    return;
  }
}
inline void give_back(Call& call, MPI_Win window, int target) {
  for (calls::HeldLock& lock : call.lock) {
    if (calls::load(lock.window) != key_of(window) || calls::load(lock.target) != target) continue;
    store(lock.window, std::uint64_t{0});
    return;
  }
}
inline void end(Call& call, const Lock& facts, Bytes /*bytes*/) {
  hold(call, facts.window, facts.target, facts.exclusive);
}
inline void end(Call& call, const LockAll& facts, Bytes /*bytes*/) {
  hold(call, facts.window, calls::kAllTargets, false);
}
inline void end(Call& call, const Unlock& facts, Bytes /*bytes*/) {
  give_back(call, facts.window, facts.target);
}
inline void end(Call& call, const UnlockAll& facts, Bytes /*bytes*/) {
  give_back(call, facts.window, calls::kAllTargets);
}

// What a poll asks for, as a number: the polls of a series may ask for different things in turn.
inline std::uint64_t asked(const auto& /*facts*/) {
  return 0;
}
inline std::uint64_t asked(const CompletionAttempt& facts) {
  const auto count = static_cast<std::uint64_t>(facts.requests.count);
  return facts.requests.count <= 0 ? 0 : key_of(facts.requests.requests[0]) + (count << 48);
}
inline std::uint64_t asked(const StatusQuery& facts) {
  return key_of(facts.request);
}
inline std::uint64_t asked(const ProbeAttempt& facts) {
  return key_of(facts.comm) ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(facts.source)) << 32 ^
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(facts.tag)) << 12;
}
inline std::uint64_t asked(const ExposureAttempt& facts) {
  return key_of(facts.window);
}

/// Another poll of a series in vain. Where they ask for different things, any of these may end the wait.
template <typename Facts>
void poll_again(Call& call, const Facts& facts, const CallName& name) {
  const std::uint32_t polls = calls::load(call.polls) + 1;
  store(call.polls, polls == 0 ? 1 : polls);
  if ((asked(facts) ^ name.hash) == asked_at_first || calls::load(call.kind) == CallKind::other) return;
  const Change change(call);
  begin(call, CallKind::other, 0);
}

// What is made, freed and cancelled, whether the thread has a place or not.
inline void made(const auto& /*facts*/) {}
inline void made(const PersistentSend& facts) {
  keep_persistent(facts);
}
inline void made(const PersistentReceive& facts) {
  keep_persistent(facts);
}
template <typename Sent, typename Received>
void made(const PersistentCollective<Sent, Received>& facts) {
  keep_persistent(*facts.request);
}
inline void made(const Cancellation& facts) {
  doubt_request(key_of(*facts.request));
}
inline void made(const CommunicatorCreation& facts) {
  publish_communicator(facts.parent, *facts.created);
}
inline void made(const CommunicatorCreationStart& facts) {
  publish_duplicate(facts.parent, *facts.created);
}
inline void made(const MembersCommunicatorCreation& facts) {
  publish_communicator_of_members(facts.parent, facts.tag, *facts.created);
}
inline void made(const WindowCreation& facts) {
  publish_window(facts.comm, *facts.window);
}
inline void made(const FileOpening& facts) {
  publish_file(facts.comm, *facts.file);
}

/// What the call frees is withdrawn before it; or after it, since it is what the call waits in: then this is
/// its handle.
inline std::uint64_t free(const auto& /*facts*/) {
  return 0;
}
inline std::uint64_t free(const CommunicatorRelease& facts) {
  withdraw_communicator(*facts.comm);
  return 0;
}
inline std::uint64_t free(const RequestRelease& facts) {
  forget_persistent(*facts.request);
  return 0;
}
inline std::uint64_t free(const WindowRelease& facts) {
  return key_of(*facts.window);
}
inline std::uint64_t free(const FileClosing& facts) {
  return key_of(*facts.file);
}

/// Of a thread without a place: what it takes part in is counted all the same.
template <typename Facts>
[[gnu::noinline, gnu::cold]] void count_unpublished(const Facts& facts, const CallName& name) {
  if (culprit_rt_published_calls.load(std::memory_order_relaxed) == nullptr) return;
  Call nobody;
  describe(nobody, facts, name, {});
  count(facts, name);
}

}  // namespace publishing

template <typename Facts>
class PublishedCall {
 public:
  /// Before the call; `spinning`: it polls right after a poll in vain. `transfer`: what counts its bytes.
  template <typename Transfer>
  void enter(const Facts& facts, const CallName& name, bool spinning, const Transfer& transfer) {
    using namespace publishing;
    if constexpr (requires { transfer.posted_sent(); })
      bytes_ = {.sent = transfer.posted_sent(), .received = transfer.posted_received()};
    freed_ = publishing::free(facts);
    if constexpr (kStarts) given_.keep(facts);
    call_ = place();
    if (call_ == nullptr) [[unlikely]]
      return count_unpublished(facts, name);
    const std::uint64_t number = calls::load(call_->entered);
    if (spinning && calls::load(call_->left) != number) return poll_again(*call_, facts, name);
    store(call_->left, number);  // also of a series of polls that is over now
    if constexpr (kWaits) {
      const Change change(*call_);
      store(call_->entered, number + 1);
      store(call_->polls, Facts::kRule == WaitRule::polls ? 1U : 0U);
      std::memcpy(call_->name, name.text, sizeof call_->name);
      describe(*call_, facts, name, bytes_);
      if constexpr (Facts::kRule == WaitRule::polls) asked_at_first = publishing::asked(facts) ^ name.hash;
    } else {
      count(facts, name);
    }
  }

  /// After it; `over`: it is no poll in vain. `successful`: it returned MPI_SUCCESS.
  void exit(const Facts& facts, bool over, bool successful) {
    using namespace publishing;
    if (successful) made(facts);
    if constexpr (kStarts) {
      if (successful) note_started(call_, facts, given_);
    }
    if (successful && freed_ != 0) withdraw_handle(freed_);
    if (call_ == nullptr || !over) return;
    if (successful) end(*call_, facts, bytes_);
    if constexpr (kWaits) store(call_->left, measurement::calls::load(call_->entered));
  }

 private:
  static constexpr bool kWaits = Facts::kRule != WaitRule::works || std::is_same_v<Facts, Access> ||
                                 std::is_same_v<Facts, RequestedAccess>;
  static constexpr bool kStarts = std::is_same_v<Facts, RequestStart>;
  struct Nothing {};

  measurement::calls::Call* call_ = nullptr;
  std::uint64_t freed_ = 0;
  publishing::Bytes bytes_{};
  [[no_unique_address]] std::conditional_t<kStarts, StartedHandles, Nothing> given_;
};

/// MPI_Finalize, from its construction on: it waits for all.
class PublishedFinalize {
 public:
  PublishedFinalize() : call_(publishing::place()) {
    using namespace publishing;
    static constexpr CallName kName("MPI_Finalize");
    if (call_ == nullptr) return;
    const Change change(*call_);
    const std::uint64_t number = measurement::calls::load(call_->entered);
    store(call_->left, number);
    store(call_->entered, number + 1);
    store(call_->polls, 0U);
    std::memcpy(call_->name, kName.text, sizeof call_->name);
    begin(*call_, CallKind::finalize, 0);
  }
  ~PublishedFinalize() {
    if (call_ != nullptr) publishing::store(call_->left, measurement::calls::load(call_->entered));
  }
  PublishedFinalize(const PublishedFinalize&) = delete;
  PublishedFinalize& operator=(const PublishedFinalize&) = delete;

 private:
  measurement::calls::Call* call_;
};

}  // namespace culprit::mpi
