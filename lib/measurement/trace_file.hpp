#pragma once

#include "measurement/block_file.hpp"
#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/trace_layout.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::measurement {

struct TraceDescription {
  std::uint64_t pid = 0;
  std::uint64_t start_ns = 0;
  std::int64_t start_realtime_ns = 0;
  std::uint64_t key = 0;                  ///< ProcessDescription's
  std::uint64_t limit = kMostTraceBytes;  ///< bytes that the file may grow to
};

/// Claims what `flag` stands for; where another thread has it, waits for that one, which is writing to a
/// file, if it is to `wait` at all. A file system that takes longer than a second costs records rather than
/// the program's time: false.
bool claim(std::atomic<bool>& flag, bool wait) noexcept;

/// The file of a trace, and the slots in it, which any thread may claim and write to (docs/formats.md). It is
/// readable at any moment and after any death of the process. Lives in static memory; nothing here allocates,
/// throws, locks or uses stdio. Async-signal-safe throughout.
class TraceFile {
 public:
  /// As LiveTrace's.
  int create(const char* path, const TraceDescription& description) noexcept;
  int rename(const char* new_path) noexcept { return file_.rename(new_path); }
  int hold() noexcept { return file_.hold(); }
  [[nodiscard]] bool is_open() const noexcept { return file_.is_open(); }

  /// Closes the file; or removes it; or forgets what a reader need not know, in a forked child too.
  void close() noexcept { file_.close(false); }
  void remove() noexcept { file_.close(true); }
  void forget() noexcept;

  /// The next free slot; 0: nothing more is recorded.
  std::uint32_t claim_slot() noexcept;

  /// Writes what is new of a block into its slot, data first: `written` bytes of it are there, and are
  /// counted up. Returns 0 or an errno. One thread at a time for each block; `use` holds the file open.
  int write_block(const BlockFile::Use& use, const trace::BlockHeader& block, std::uint32_t slot,
                  std::uint32_t& written, bool complete) noexcept;

  /// Writes the header if it has news.
  void update() noexcept;
  /// Writes the header with this end; `complete`: and the index behind the blocks, all of which are written.
  void end(EndReason reason, std::uint64_t end_ns, bool complete) noexcept;
  void resume() noexcept;

  /// For TraceStream, to write several blocks.
  [[nodiscard]] BlockFile& blocks() noexcept { return file_; }

  void stop(std::uint32_t why, int error) noexcept;
  void count_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool limit_reached() const noexcept {
    return stopped_.load(std::memory_order_acquire) == trace::kLimitReached;
  }
  [[nodiscard]] int error() const noexcept { return error_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  int write_header() noexcept;
  int write_index() noexcept;

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
  bool all_written_ = false;            // no block will follow
  trace::IndexEntry* index_ = nullptr;  // by slot - 1, in memory that costs nothing until used
};

}  // namespace culprit::measurement
