#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// What a live measurement says of the MPI calls that its threads are in, and of the locks that they wait for:
// one block of the file, written with plain stores by the threads themselves, so that it is there whenever
// the process is looked at, stopped or killed. Shared by the wrappers, the runtime and the reader; it
// includes nothing that allocates. docs/formats.md, chapter "Live measurement", "Calls".
namespace culprit::measurement::calls {

inline constexpr std::size_t kNameBytes = 32;
inline constexpr std::size_t kContexts = 128;
inline constexpr std::size_t kProbes = 8;    ///< places in which a handle may be
inline constexpr std::size_t kHistory = 8;   ///< collectives that a context remembers
inline constexpr std::size_t kThreads = 16;  ///< that make MPI calls at one time
inline constexpr std::size_t kRequests = 24;
inline constexpr std::size_t kGroup = 32;
inline constexpr std::size_t kLocks = 8;
inline constexpr std::size_t kMessages = 64;
inline constexpr std::size_t kLockWaits = 64;

inline constexpr std::int32_t kAnySource = -2;  ///< as trace::kAnySource
inline constexpr std::int32_t kNobody = -1;
inline constexpr std::int32_t kAnyTag = -1;
inline constexpr std::int32_t kAllTargets = -2;
inline constexpr std::uint64_t kFreed = ~std::uint64_t{0};  ///< the communicator of a message, which is gone

/// What a call waits for.
enum class CallKind : std::uint32_t {
  other = 0,
  send,
  receive,
  exchange,      ///< sends to peer, receives from other_peer
  probe,         ///< for a message, which it does not take
  matched,       ///< the rest of a message that a matched probe took
  all_requests,  ///< each of the requests
  any_request,   ///< one or some of them
  collective,    ///< of the context's processes; a fence, the making of a communicator, window or file too
  access,        ///< MPI_Put and its like: the target's exposure or lock
  start,         ///< a group's MPI_Win_post
  complete,      ///< likewise
  wait,          ///< a group's MPI_Win_complete
  lock,          ///< of one target or all
  flush,         ///< likewise; MPI_Win_unlock too
  members,       ///< of a communicator that only its members make
  finalize,      ///< all processes of the world
};

enum class ContextKind : std::uint32_t { none = 0, communicator, intercommunicator, window, file };

/// A communicator, window or file by its handle in this process. `handle` is stored last, and 0 first.
struct Context {
  std::uint64_t handle;  ///< 0: the place is free
  std::uint64_t id;      ///< the same in all of its processes; 0: unknown
  ContextKind kind;
  std::int32_t rank;  ///< this process's
  std::int32_t size;
  std::int32_t remote_size;   ///< of an intercommunicator
  std::int32_t first;         ///< the world's rank of its first process (of this process's group)
  std::uint32_t made;         ///< communicators, windows and files that were made of it
  std::uint64_t collectives;  ///< that this process began on it
  std::uint64_t unused[2];
  /// The last of them, the n-th at n % kHistory: the root in the lower half (kNobody: none), hash_of_name in
  /// the upper.
  std::uint64_t history[kHistory];
};
static_assert(sizeof(Context) == 128);

/// A lock of a window that the thread holds.
struct HeldLock {
  std::uint64_t window;  ///< handle; 0: none
  std::int32_t target;   ///< or kAllTargets
  std::uint32_t exclusive;
  std::uint64_t call;  ///< number of the call that took it
};

/// A message that the thread sent, or began to send or to receive; or an operation whose request has a handle
/// that a message may have had before.
struct Message {
  std::uint64_t request;  ///< 0: the call was over when it was noted
  std::uint64_t comm;     ///< kFreed; 0: unknown, as are peer and tag then
  std::int32_t peer;
  std::int32_t tag;
  std::uint32_t kind;   ///< CallKind: send, receive, matched (a probed message) or other
  std::uint32_t bytes;  ///< 2^32 - 1: this many or more
};

/// The call that a thread is in, or was in last. Its own words up to `begun` are right where done equals
/// begun; all others stand for themselves.
struct Call {
  std::uint64_t done;     ///< changes of the words up to `begun` that are complete
  std::uint64_t entered;  ///< calls that were entered; the number of this one
  CallKind kind;
  std::uint32_t polls;  ///< of a series that goes on, this one included; 0: it does not poll. One word
  std::uint64_t context;
  std::int32_t peer, tag;
  std::int32_t other_peer, other_tag;  ///< of a lock, other_peer is 1 where it is exclusive
  std::uint64_t bytes, other_bytes;
  std::uint64_t sequence;  ///< of a collective: its number in its context
  std::int32_t root;
  std::uint32_t requests;  ///< of a completion, all that are no null handles
  char name[kNameBytes];
  std::uint64_t request[kRequests];
  std::int32_t group[kGroup];  ///< ranks of the world
  std::uint32_t group_size;
  std::uint32_t unused1;
  std::uint64_t begun;
  // One word each, or written by the sampler's handler in this thread.
  std::uint64_t left;     ///< the number of the last call that is over
  std::uint64_t seen;     ///< 2 * entered, plus 1 where that call is over: at the last sample
  std::uint64_t since;    ///< when the handler first saw that
  std::uint64_t sampled;  ///< when it took the last sample
  std::uint32_t node;     ///< of the last sample
  std::uint32_t tree;     ///< index of the thread's arena
  std::uint64_t tid;      ///< 0: the place is free
  std::uint64_t messages_noted;
  HeldLock lock[kLocks];
  Message message[kMessages];
  std::uint64_t unused2;
};
static_assert(offsetof(Call, name) == 80 && offsetof(Call, request) == 112);
static_assert(offsetof(Call, group) == 304 && offsetof(Call, begun) == 440);
static_assert(offsetof(Call, node) == 480 && offsetof(Call, lock) == 504);
static_assert(offsetof(Call, message) == 696 && sizeof(Call) == 2752);

/// A thread that waits for a mutex. `thread` is stored last.
struct LockWait {
  std::uint64_t thread;  ///< its id; 0: the place is free
  std::uint64_t lock;    ///< address
  std::uint64_t owner;   ///< id of the thread that holds it, as the flusher thread saw last; 0: unknown
  std::uint64_t since;
  std::uint64_t sampled;
  std::uint32_t node;  ///< of the last sample; 0: none yet
  std::uint32_t tree;
  std::uint64_t changes;   ///< odd while the entry is written
  std::uint64_t owner_at;  ///< address of a word with the owner's id; 0: there is none
};
static_assert(sizeof(LockWait) == 64);

/// The block behind its header.
struct Calls {
  std::uint32_t threads_lost;  ///< that found no place
  std::uint32_t contexts_lost;
  std::uint64_t threads_gone;  ///< that had sent or received, and ended: others may have their places
  std::uint64_t unused[6];
  Context context[kContexts];
  Call call[kThreads];
  LockWait lock_wait[kLockWaits];
};
static_assert(offsetof(Calls, context) == 64 && offsetof(Calls, call) == 16448);
static_assert(offsetof(Calls, lock_wait) == 60480 && sizeof(Calls) == 64576);

/// FNV-1a of the name of a function, with or without the P of the profiling interface.
constexpr std::uint32_t hash_of_name(const char* name) {
  std::uint32_t hash = 2166136261U;
  for (const char* at = name[0] == 'P' ? name + 1 : name; *at != '\0'; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 16777619U;
  return hash;
}

/// Where the search for a handle begins; it goes on at the next places, kProbes in all.
constexpr std::size_t place_of(std::uint64_t handle) {
  return static_cast<std::size_t>(handle * 0x9e3779b97f4a7c15U >> 57) % kContexts;
}

// One word that other processes may read at any moment.
template <typename T>
void store(T& field, T value) {
  std::atomic_ref(field).store(value, std::memory_order_relaxed);
}
template <typename T>
T load(const T& field) {
  return std::atomic_ref(const_cast<T&>(field)).load(std::memory_order_relaxed);
}

/// The context with this handle; null where it is not there.
inline Context* find_context(Calls& calls, std::uint64_t handle) {
  const std::size_t first = place_of(handle);
  for (std::size_t i = 0; i < kProbes; ++i) {
    Context& context = calls.context[(first + i) % kContexts];
    if (load(context.handle) == handle) return &context;
  }
  return nullptr;
}

}  // namespace culprit::measurement::calls
