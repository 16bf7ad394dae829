#pragma once

#include "measurement/published_calls_layout.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// A job at one instant: what each thread is in, in terms that all ranks share. Made of measurements by
// look.hpp; tests make it themselves.
namespace culprit::stuck {

using measurement::calls::CallKind;
using measurement::calls::ContextKind;
using measurement::calls::kAllTargets;
using measurement::calls::kAnySource;
using measurement::calls::kAnyTag;
using measurement::calls::kNobody;

inline constexpr std::int32_t kUnknownRank = -9;  ///< a process of which there is no file

/// One frame of a call path, from the root on.
struct Frame {
  std::string name;
  std::string file;        ///< of `line`; empty where unknown
  std::uint32_t line = 0;  ///< where the path goes on; 0: unknown
  std::string module;
  bool inlined = false;
  bool python = false;  ///< a function of Python; the interpreter's own frames follow
  bool mpi = false;     ///< a function of MPI's: what is further in is MPI's own affair, and left out
};

/// A message, with the world's rank of the other process, kAnySource, kNobody or kUnknownRank.
struct Message {
  CallKind kind = CallKind::send;  ///< send or receive
  std::uint64_t comm = 0;          ///< Context::id; 0: unknown
  std::int32_t peer = kUnknownRank;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t begun = 0;     ///< its number among its thread's operations; 0: it is not counted yet
  std::uint64_t begun_by = 0;  ///< of a request, that thread's id; 0: the thread that waits for it
};

/// What a thread waits in. Ranks are the world's.
struct Call {
  std::string name;  ///< MPI_Send
  CallKind kind = CallKind::other;
  std::uint64_t polls = 0;          ///< in vain, of a series that goes on; 0: it does not poll
  std::uint64_t context = 0;        ///< Context::id; 0: unknown
  std::vector<Message> messages;    ///< that it waits for: its own, or those of its requests as far as known
  bool one_suffices = false;        ///< of the messages
  bool others = false;              ///< it has requests besides, of which nothing is known
  std::uint64_t sequence = 0;       ///< of a collective; 0: unknown
  std::int32_t root = kNobody;      ///< of a collective: rank in the context
  std::int32_t target = kNobody;    ///< of one-sided communication, or kAllTargets
  bool exclusive = false;           ///< of a lock
  std::vector<std::int32_t> group;  ///< of MPI_Win_start and its like; empty: unknown
};

struct HeldLock {
  std::uint64_t window = 0;
  std::int32_t target = kNobody;  ///< or kAllTargets
  bool exclusive = false;
};

/// A thread that makes MPI calls.
struct Thread {
  std::uint64_t tid = 0;
  std::uint32_t ordinal = 0;
  std::string role;
  std::uint64_t progress = 0;  ///< grows with its calls
  std::uint64_t number = 0;    ///< of the call that it is in, or was in last
  bool inside = false;
  Call call;                   ///< where inside
  std::uint64_t since_ns = 0;  ///< in that call, or outside of any; on the process's clock; 0: unknown
  bool asleep = false;         ///< in a call of the system, where it waits
  std::vector<HeldLock> locks;
  std::vector<Message> last;  ///< messages whose operations it has begun, or made, the oldest first; of an
                              ///< unknown communicator (0), any message
  bool all_messages = false;  ///< that is all of them
  std::vector<Frame> path;
};

/// A thread that waits for a lock of another thread.
struct LockWait {
  std::uint64_t tid = 0, lock = 0, owner = 0;
  std::uint64_t number = 0;  ///< another one for each wait
  std::uint64_t since_ns = 0;
  std::uint32_t ordinal = 0;
  std::string role;
  std::vector<Frame> path;
};

/// What a process has done on a context.
struct Membership {
  std::int32_t rank = 0;  ///< in the context
  std::uint64_t collectives = 0;
  std::array<std::uint64_t, measurement::calls::kHistory> history{};
};

enum class Life : std::uint8_t {
  running,
  stopped,  ///< by a signal
  silent,   ///< on another host, and no heartbeat since the first look: stopped, dead, or the host does not
            ///< answer
  died,
  ended,  ///< in order
};

struct Process {
  std::string host;
  std::uint64_t pid = 0;
  std::int32_t rank = -1;  ///< -1: none
  Life life = Life::running;
  std::string crash;         ///< what ended it: a signal, or an abort of its own; empty: neither
  int crashed = -1;          ///< which of `threads` did that, or was seen last; -1: unknown
  bool left = false;         ///< ended itself without MPI_Finalize, in order but for that
  std::uint64_t now_ns = 0;  ///< on its clock: of the look, or of its last heartbeat
  double silent_s = 0;       ///< how long its last sign of life is ago
  bool publishes = true;     ///< the measurement says what it is in
  bool all_threads = true;   ///< that ever sent or received are among `threads`
  std::vector<Thread> threads;
  std::vector<LockWait> lock_waits;
  std::map<std::uint64_t, Membership> contexts;
};

/// A communicator, window or file, of all processes.
struct Context {
  ContextKind kind = ContextKind::communicator;
  std::vector<std::int32_t> members;  ///< the world's ranks; kUnknownRank where there is no file
  std::vector<std::int32_t> others;   ///< of an intercommunicator
};

inline constexpr std::uint64_t kWorldContext = 1;

struct Picture {
  std::vector<Process> processes;  ///< ranks first, by rank
  std::map<std::uint64_t, Context> contexts;
  std::uint32_t world_size = 0;
  bool over = false;       ///< no process lives any more: the picture is that of the end
  bool lives = false;      ///< a process of this host was seen to live
  std::size_t unread = 0;  ///< measurements that could not be read
};

}  // namespace culprit::stuck
