#pragma once

#include "machine/machine.hpp"
#include "stacks/address_space.hpp"

#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <sys/types.h>
#include <sys/user.h>

namespace culprit::stacks {

/// A thread as it was at one instant: all that its call path depends on.
struct ThreadCopy {
  pid_t tid = 0;
  user_regs_struct registers{};
  std::uint64_t stack = 0;  ///< the address of the first byte of `bytes`
  /// From the stack pointer, and what lies just below it, towards the stack's base.
  std::vector<std::byte> bytes;
};

/// A thread that could not be looked at.
struct MissedThread {
  enum class Why : std::uint8_t { uninterruptible, no_answer, not_64_bit } why = Why::no_answer;
  pid_t tid = 0;
};

/// What one look at a process found.
struct Held {
  std::vector<ThreadCopy> threads;  ///< in the order of their start
  std::vector<MissedThread> missed;
  std::uint64_t longest_stop_ns = 0;  ///< of a thread, at most
  bool remapped = false;              ///< its mappings have changed since the last look
  bool gone = false;                  ///< the process has ended
  int refused = 0;                    ///< errno where no thread may be looked at
};

/// While it lives, the calling thread and those that it starts do not take the stops of a terminal (Ctrl-Z).
/// Threads that this program has stopped would wait with it.
class StopsLater {
 public:
  StopsLater();
  ~StopsLater();
  StopsLater(const StopsLater&) = delete;
  StopsLater& operator=(const StopsLater&) = delete;

 private:
  sigset_t before_{};
};

/// Takes note of traced threads that have died while the thread that traces them is about to trace another
/// one. A program that executes another waits for its dead threads to be taken note of, and whoever begins to
/// trace it waits for that: each would wait for the other.
class DeadThreads {
 public:
  DeadThreads();
  ~DeadThreads();
  DeadThreads(const DeadThreads&) = delete;
  DeadThreads& operator=(const DeadThreads&) = delete;

  /// From now on `tid` is traced.
  void add(pid_t tid);
  /// Between these, threads are begun to be traced.
  void begin();
  void end();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<pid_t> traced_;  ///< since begin()
  bool active_ = false, over_ = false;
  std::thread thread_;  // last: it uses the others
};

/// Stops threads of other processes for some microseconds each. One per thread of ours: the kernel knows who
/// traces by thread, and lets all go whose tracer ends, however it ends.
class Holder {
 public:
  /// Stops the threads of a process together (of very many, in groups), copies registers and stacks, and lets
  /// each go as soon as it is copied. `memory` is that process's. `take` gets the copies, of very many
  /// threads in several calls: only then `threads` and `remapped` hold anything.
  Held look(pid_t pid, AddressSpace& memory, const std::function<void(Held&)>& take);
  /// Stops these threads only, one after the other, and calls `visit` for each while it is stopped: of a few
  /// that a copy does not suffice for.
  void visit(pid_t pid, AddressSpace& memory, std::span<const pid_t> threads, Held& held,
             const std::function<void(const ThreadCopy&)>& visit);
  /// Waits, and lets threads go that were asked to stop and do so only now. Where there are none, a terminal
  /// may stop this program meanwhile (StopsLater).
  void wait(std::uint64_t ns);
  /// Waits a short time for those that are left, but for uninterruptible ones.
  void finish();
  /// How long such a late thread was stopped, at most, since the last call of this or of `look`; nanoseconds.
  std::uint64_t take_late_stop_ns();

 private:
  enum class Answer : std::uint8_t { none, stopped, gone };
  /// A thread that was asked to stop.
  struct Asked {
    pid_t pid = 0, tid = 0;
    std::uint64_t runs_ns = 0;  ///< when it was last known not to have stopped
    bool done = false;
    bool gone = false;
  };

  static Answer answer_of(pid_t tid, int& status);
  void let_go(const Asked& asked, int status);
  void seize(pid_t pid, pid_t tid, std::vector<Asked>& seized, Held& held);
  bool copy(Asked& asked, AddressSpace& memory, Held& held);
  void keep_executed(pid_t pid, std::span<const Asked> asked);
  static bool are_all_asleep(std::span<const Asked> asked);
  void stop_and_copy(std::span<Asked> asked, AddressSpace& memory, Held& held);
  void give_up(std::span<const Asked> asked, Held& held);
  static void hand_on(Held& held, const std::function<void(Held&)>& take);
  void let_late_ones_go();
  void watch_for_dead();

  const std::function<void(const ThreadCopy&)>* visit_ = nullptr;
  DeadThreads dead_;
  std::vector<Asked> late_;  ///< not waited for any more
  std::uint64_t late_stop_ns_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace culprit::stacks
