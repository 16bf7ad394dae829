#pragma once

#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/trace_layout.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

class TraceFile;

/// One stream of a trace while it is written: a ring of blocks in memory, filled by one thread and emptied
/// into the file by the flusher thread, or by the thread itself where the flusher thread is too slow.
/// Functions marked [handler] are async-signal-safe; the thread and its handler take turns. Nothing
/// allocates, throws or locks.
class TraceStream {
 public:
  /// [handler] Adds a sample taken at `time_ns`, which stands for `weight_ns` before. False: nothing more is
  /// recorded, or there was no room (counted).
  bool sample(std::uint64_t time_ns, std::uint64_t weight_ns, NodeIndex node, WaitKind wait) noexcept;
  /// [handler] Adds a reading taken at `time_ns` of an event besides REALTIME, by its number among them: what
  /// was counted since the one before. False: as of samples. Only where the trace was created for readings.
  bool reading(std::uint64_t time_ns, std::size_t event, std::uint64_t value, NodeIndex node) noexcept;

  /// Adds a wait for other threads of the process. Not while the handler may run in this thread; times as of
  /// calls. Where several held a lock one after the other, each has a wait of its own.
  bool thread_wait(std::uint64_t begin_ns, std::uint64_t end_ns, WaitKind kind,
                   WaitHolder holder = {}) noexcept;
  /// [handler] Adds that `count` such waits were too short for that since the last time, `ns` in all.
  bool short_waits(std::uint64_t time_ns, std::uint32_t count, std::uint64_t ns) noexcept;

  /// Adds a region that ends at `node`, likewise: a parallel one of OpenMP, or one that the program marks.
  bool region(std::uint64_t begin_ns, std::uint64_t end_ns, NodeIndex node, bool parallel) noexcept;

  /// Adds a call: where begin_call returned true, any number of add, then end_call. Not while the handler may
  /// run in this thread. `exit_ns` is taken for the time of the record before where it is earlier.
  bool begin_call(std::uint64_t enter_ns, std::uint64_t exit_ns, NodeIndex node, bool any) noexcept;
  void add(const trace::Operation& operation) noexcept;
  void end_call() noexcept;

  /// For LiveTrace: a stream begins with memory for its ring, of zero before, and ends.
  int start(TraceFile& file, std::uint32_t number) noexcept;
  void release() noexcept;
  [[nodiscard]] bool exists() const noexcept { return buffers_.load(std::memory_order_acquire) != nullptr; }

  /// Writes what is in the ring into the file; `wait` for who does already. No thread may be recording where
  /// the last block is to be `complete`; returns 0 or an errno.
  void flush(bool wait) noexcept;
  int flush_blocks(bool complete) noexcept;

  /// Adds to the stream of the process; its records may begin in one block and end in another.
  bool bytes(const unsigned char* data, std::size_t size) noexcept;
  /// Whether anything was ever recorded.
  [[nodiscard]] bool used() const noexcept { return opened_.load(std::memory_order_relaxed) != 0; }

 private:
  /// At 50 000 calls a second and nine bytes each the flusher thread finds every quarter of a second that
  /// four of these were filled.
  static constexpr std::uint32_t kBuffers = 4;

  [[nodiscard]] bool has_room(std::size_t size) const noexcept {
    return static_cast<std::size_t>(end_ - at_) >= size;
  }
  bool make_room(std::size_t size, std::uint64_t first_time, bool wait) noexcept;
  bool open_block(std::uint64_t base_ns, bool wait) noexcept;
  bool continue_call() noexcept;
  void put_weight(std::uint64_t weight_ns) noexcept;
  [[nodiscard]] std::uint64_t steps_to(std::uint64_t time_ns) const noexcept;
  void put_node(NodeIndex node) noexcept;
  void put_span(unsigned lead, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept;
  void publish() noexcept;
  unsigned char* put_operation(unsigned char* at, const trace::Operation& operation,
                               const trace::Operation& before) noexcept;

  [[nodiscard]] trace::BlockHeader* block(std::uint32_t sequence) const noexcept {
    return reinterpret_cast<trace::BlockHeader*>(buffers_.load(std::memory_order_relaxed) +
                                                 std::size_t{sequence % kBuffers} * trace::kSlot);
  }

  TraceFile* file_ = nullptr;
  std::uint32_t number_ = 0;
  std::atomic<unsigned char*> buffers_{nullptr};
  // Of the writing thread:
  unsigned char* at_ = nullptr;
  unsigned char* end_ = nullptr;
  unsigned char* lead_ = nullptr;      // of the call that is being added
  unsigned char* last_ = nullptr;      // its last operation
  trace::Operation* place_ = nullptr;  // the operation of its node's place
  trace::Operation previous_;
  std::uint32_t operations_ = 0;
  bool writing_ = false;  // a record is being added
  bool cut_ = false;      // the rest of the call finds no room
  trace::BlockState state_;
  // Shared with who empties the ring: blocks opened, and blocks that are in the file for good.
  std::atomic<std::uint32_t> opened_{0};
  std::atomic<std::uint32_t> flushed_{0};
  std::atomic<bool> flushing_{false};
  std::uint32_t slots_[kBuffers] = {};  // of the file
  std::uint32_t written_ = 0;           // of the oldest block that is not flushed: bytes in the file
};

}  // namespace culprit::measurement
