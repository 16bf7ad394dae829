#pragma once

#include "measurement/kinds.hpp"
#include "measurement/trace_file.hpp"
#include "measurement/trace_layout.hpp"
#include "measurement/trace_stream.hpp"

#include <atomic>
#include <cstdint>

// The writer side of a trace: streams of blocks in memory, appended to a file that is readable at any moment
// and after any death of the process. Nothing here allocates, throws or uses stdio; functions marked
// [handler] are async-signal-safe. docs/formats.md states the bytes.
namespace culprit::measurement {

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

  /// The flusher thread's turn: what was recorded since the last goes into the file.
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
  [[nodiscard]] bool stopped() const noexcept { return file_.stopped(); }
  [[nodiscard]] bool limit_reached() const noexcept { return file_.limit_reached(); }
  /// The errno of the write that failed, or 0.
  [[nodiscard]] int error() const noexcept { return file_.error(); }
  [[nodiscard]] std::uint64_t limit() const noexcept { return file_.limit(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return file_.dropped(); }

 private:
  template <typename Act>
  void for_each_stream(Act act) noexcept {
    for (std::uint32_t i = 0; i < streams_end_.load(std::memory_order_acquire); ++i) {
      if (streams_[i].exists()) act(streams_[i]);
    }
  }

  TraceFile file_;
  std::uint32_t definitions_ = 0;
  std::atomic<bool> process_lock_{false};
  TraceStream process_;
  std::atomic<std::uint32_t> streams_end_{0};  // above all indices of streams
  TraceStream* streams_ = nullptr;  // by tree: kMaxThreads of them, in memory that costs nothing until used
};

}  // namespace culprit::measurement
