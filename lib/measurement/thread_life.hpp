#pragma once

#include "cct/frame.hpp"
#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/schedule.hpp"
#include "measurement/thread_arena.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::measurement {

/// The thread that a tree belongs to, or several of one start routine one after the other: from when to when
/// each lived, whether it waits at this moment, and how it was scheduled. Written into the thread's header.
class ThreadLife {
 public:
  /// `ended_trees`: how many trees of the file a later thread may take over.
  ThreadLife(ThreadArena& arena, std::atomic<std::uint32_t>& ended_trees) noexcept
      : arena_(arena), ended_trees_(ended_trees) {}

  /// False before a thread has the tree, and once the file is forgotten.
  [[nodiscard]] bool exists() const noexcept { return exists_.load(std::memory_order_acquire); }
  /// False once the thread has finished or the file is sealed or forgotten: nothing may be recorded then.
  [[nodiscard]] bool usable() const noexcept { return usable_.load(std::memory_order_acquire); }
  /// [handler] The thread ends: no more samples, until a later thread may take the tree over.
  void finish(std::uint64_t end_ns) noexcept;

  /// Publishes "this thread is blocked at `node` since enter_ns" before a call with the signal blocked, so
  /// that a reader of a cut-short file charges the open interval up to the last heartbeat; end_wait withdraws
  /// it. enter_ns is on the clock that stands still while sampling is stopped (LiveFile::set_stopped).
  void begin_wait(NodeIndex node, std::uint64_t enter_ns, WaitKind mark) noexcept;
  void end_wait() noexcept {
    if (waiting_) withdraw_wait();
  }

  /// How thread `tid` was scheduled in its life up to now. Does nothing where the tree is no longer its own.
  /// Any thread, outside the handler; waits for another one that is just doing it, for some stores.
  void set_schedule(std::uint64_t tid, const Schedule& schedule) noexcept;

 private:
  friend class ThreadTree;
  friend class TreeTable;

  void begin(std::uint64_t tid, std::uint32_t ordinal, bool main, cct::FrameKey routine,
             std::uint64_t start_ns) noexcept;
  void open() noexcept;
  [[nodiscard]] bool ended(cct::FrameKey routine) const noexcept {
    return ended_.load(std::memory_order_acquire) && routine_ == routine;
  }
  bool take_over(std::uint64_t tid, std::uint64_t start_ns) noexcept;
  void close() noexcept { usable_.store(false, std::memory_order_release); }
  void forget() noexcept;
  void withdraw_wait() noexcept;
  bool lock_schedule() noexcept;
  void unlock_schedule() noexcept;

  bool waiting_ = false;  // a wait is published; with the arena in the cache line that each sample needs
  std::atomic<bool> exists_{false};
  std::atomic<bool> usable_{false};
  std::atomic<bool> ended_{false};  // its thread has ended: a later one may take the tree over
  ThreadArena& arena_;
  std::atomic<std::uint32_t>& ended_trees_;
  cct::FrameKey routine_;    // as in the header, which is a cache miss away
  Schedule ended_schedule_;  // of the threads that used the tree before
};

}  // namespace culprit::measurement
