#pragma once

#include "measurement/block_file.hpp"
#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/trace_layout.hpp"
#include "measurement/trace_stream.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

// The writer side of a trace: streams of blocks in memory, appended to a file that is readable at any moment
// and after any death of the process. Nothing here allocates, throws or uses stdio; functions marked
// [handler] are async-signal-safe. docs/formats.md states the bytes.
namespace culprit::measurement {

struct TraceDescription {
  std::uint64_t pid = 0;
  std::uint64_t start_ns = 0;
  std::int64_t start_realtime_ns = 0;
  std::uint64_t key = 0;                  ///< ProcessDescription's
  std::uint64_t limit = kMostTraceBytes;  ///< bytes that the file may grow to
};

/// The trace of one process. Has no destructor: it lives in static memory and ends with the process.
class LiveTrace {
 public:
  /// [handler] Creates `path` (O_EXCL; copied). Returns 0 or an errno; on error nothing is left behind.
  int create(const char* path, const TraceDescription& description) noexcept;

  /// [handler] The stream of the thread whose tree has this index, with the thread's ordinal: a new one, or,
  /// where the tree is taken over from an ended thread, that one's. Null where memory is short.
  TraceStream* stream(std::uint32_t tree, std::uint32_t ordinal) noexcept;

  /// Records a definition and gives it its number; kNoContext where nothing more is recorded. Any thread, not
  /// from handlers, with all signals blocked.
  trace::Context define(const trace::NewDefinition& definition) noexcept;
  /// Records a pair of clocks, likewise.
  void add_clocks(const trace::ClockPair& pair) noexcept;

  /// The keeper's turn: what was recorded since the last goes into the file.
  void maintain() noexcept;
  /// As BlockFile::hold.
  int hold() noexcept { return file_.hold(); }

  /// Moves the file (same file system). Returns 0 or an errno.
  int rename(const char* new_path) noexcept { return file_.rename(new_path); }

  /// [handler] Writes what is left. `exec` leaves the trace open, in case that it fails (resume); any other
  /// reason completes all blocks and writes the index. No thread may be recording.
  void end(EndReason reason, std::uint64_t end_ns) noexcept;
  void resume() noexcept;

  /// Removes the file; what is still recorded goes nowhere.
  void discard() noexcept;
  /// In a forked child, or once nobody records any more: unmaps all, leaves the file alone.
  void forget() noexcept;

  /// Whether any thread has recorded anything.
  [[nodiscard]] bool recorded() const noexcept;
  [[nodiscard]] bool open() const noexcept { return file_.is_open(); }
  /// Nothing more is recorded: the limit was reached or a write failed.
  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool limit_reached() const noexcept {
    return stopped_.load(std::memory_order_acquire) == trace::kLimitReached;
  }
  /// The errno of the write that failed, or 0.
  [[nodiscard]] int error() const noexcept { return error_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  friend class TraceStream;

  template <typename Act>
  void for_each_stream(Act act) noexcept {
    for (std::uint32_t i = 0; i < streams_end_.load(std::memory_order_acquire); ++i) {
      if (streams_[i].exists()) act(streams_[i]);
    }
  }
  std::uint32_t claim_slot() noexcept;
  void count_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }
  void stop(std::uint32_t why, int error) noexcept;
  void flush(TraceStream& stream, bool wait) noexcept;
  int flush_blocks(TraceStream& stream, bool complete) noexcept;
  int write_block(int fd, TraceStream& stream, std::uint32_t sequence, bool complete) noexcept;
  int write_header() noexcept;
  int write_index() noexcept;
  bool lock_process() noexcept;
  void unlock_process() noexcept;

  BlockFile file_;
  trace::Header header_{};
  std::uint64_t limit_ = 0;
  std::uint32_t most_slots_ = 0;
  std::atomic<std::uint32_t> next_slot_{1};
  std::atomic<std::uint32_t> slots_{1};    // up to the last that was written
  std::atomic<std::uint32_t> stopped_{0};  // the flag of the reason
  std::atomic<int> error_{0};
  std::atomic<std::uint64_t> stopped_ns_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::uint32_t definitions_ = 0;
  bool all_written_ = false;  // no block will follow
  std::atomic<bool> process_lock_{false};
  TraceStream process_;
  std::atomic<std::uint32_t> streams_end_{0};  // above all indices of streams
  TraceStream* streams_ = nullptr;  // by tree: kMaxThreads of them, in memory that costs nothing until used
  trace::IndexEntry* index_ = nullptr;  // by slot - 1, likewise
};

}  // namespace culprit::measurement
