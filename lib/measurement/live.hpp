#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cct/frame.hpp"
#include "measurement/kinds.hpp"

// The writer side of a measurement: a live arena, mapped shared, that is readable at any moment and after any death
// of the process, and that a clean end seals. Nothing here allocates, throws, locks or uses stdio; functions marked
// [handler] are async-signal-safe. docs/formats.md states the bytes.
namespace culprit::measurement {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNodeIndex = 0;  // unit 0 of a thread's arena is its header, never a node
inline constexpr std::size_t kMaxEvents = 8;  // besides REALTIME
inline constexpr std::size_t kMaxThreads = 4096;
inline constexpr std::size_t kMaxModules = 4096;

/// What one handler run adds to a node.
struct SampleValues {
  std::uint64_t time_ns = 0;
  std::uint64_t weight = 0;  ///< nominal periods
  std::uint64_t cpu_ns = 0;
  bool blocked = false;      ///< stands for a call during which the signal was blocked
  WaitKind mark = WaitKind::none;
};

/// What is known of a process when its file is created. Strings are copied (truncated to their field).
struct ProcessDescription {
  const char* program = nullptr;
  const char* const* arguments = nullptr;  ///< null-terminated array
  const char* directory = nullptr;
  const char* host = nullptr;
  std::uint64_t pid = 0;
  std::uint64_t start_ns = 0;
  std::int64_t start_realtime_ns = 0;
  struct Event {
    const char* name;
    const char* unit;
    std::uint64_t period;
  };
  const Event* events = nullptr;  ///< REALTIME first if it is sampled
  std::size_t event_count = 0;
  bool has_realtime = true;
};

class LiveFile;

/// One thread's tree in the arena. Only its own thread inserts and records (from the handler, or with the signal
/// blocked); the keeper grows it; readers map the file. Lives in static or anonymous memory, never moves.
class ThreadTree {
 public:
  /// [handler] Finds or adds the child of `parent` with this key. When the arena is full returns `parent` itself and
  /// counts the loss: the sample is then charged to the parent.
  NodeIndex child(NodeIndex parent, cct::FrameKey key) noexcept;

  /// The fixed nodes that every tree starts with.
  [[nodiscard]] NodeIndex root() const noexcept;
  [[nodiscard]] NodeIndex program_root() const noexcept;
  [[nodiscard]] NodeIndex thread_root() const noexcept;
  [[nodiscard]] NodeIndex partial() const noexcept;

  /// [handler] Adds a REALTIME sample to a node (its cell is made on first use; if none fits, to an ancestor).
  void record(NodeIndex node, const SampleValues& values) noexcept;
  /// [handler] Adds to event `event` (0 = the first besides REALTIME) of a node.
  void record_event(NodeIndex node, std::size_t event, std::uint64_t value) noexcept;

  /// [handler] Counters, single writer.
  void count_partial(std::uint64_t time_ns) noexcept;
  void count_dropped(std::uint64_t expirations) noexcept;
  void add_handler_time(std::uint64_t ns) noexcept;

  /// Publishes "this thread is blocked at `node` since enter_ns" before a call with the signal blocked, so that a
  /// reader of a cut-short file charges the open interval up to the last heartbeat; end_wait withdraws it.
  void begin_wait(NodeIndex node, std::uint64_t enter_ns, WaitKind mark) noexcept;
  void end_wait() noexcept;

  /// [handler] The thread ends: no more samples.
  void finish(std::uint64_t end_ns) noexcept;

  [[nodiscard]] bool usable() const noexcept;
};

/// The file of one process.
class LiveFile {
 public:
  /// [handler] Creates `path` (O_EXCL), reserves and maps its first blocks. Returns 0 or an errno; on error nothing is
  /// left behind. `path` must stay valid as long as the file.
  int create(const char* path, const ProcessDescription& process) noexcept;

  /// [handler] Adds a thread; its first block is reserved with fallocate and populated. Null when the disk is full or
  /// kMaxThreads is reached (counted).
  ThreadTree* add_thread(std::uint64_t tid, bool main, cct::FrameKey start_routine, std::uint64_t start_ns) noexcept;

  /// [handler] Finds or adds the module with this load address and name; returns its index (kNoModule when the table is
  /// full). Copies path and build-id (raw bytes) on first sight; stat data is filled in by maintain().
  std::uint32_t module(std::uint64_t load_address, const char* path, const void* build_id, std::size_t build_id_size,
                       unsigned flags) noexcept;
  static constexpr unsigned kModuleOwn = 1, kModuleExecutable = 2, kModuleVdso = 4;

  void set_rank(std::int32_t rank, std::uint32_t world_size, const char* run_id_hex, const char* mpi) noexcept;
  void note(const char* text) noexcept;  ///< [handler] up to a bounded number, then counted

  /// The keeper's turn, outside any handler, every quarter of a second: heartbeat, growth of arenas ahead of use,
  /// size and modification time of new modules. Returns 0 or the errno of a growth that failed.
  int maintain(std::uint64_t now_ns) noexcept;

  /// Moves the file (after MPI_Init; same file system). Returns 0 or an errno; the old name stays then.
  int rename(const char* new_path) noexcept;

  /// [handler] Ends the measurement: `exec` marks the live file as complete and `resume` takes that back (exec failed);
  /// any other reason writes the sealed form beside it, renames it over the live file, and releases the mapping.
  /// Returns 0 or an errno; then the live file remains.
  int seal(EndReason reason, std::uint64_t end_ns) noexcept;
  void resume() noexcept;

  /// In a forked child: forgets the parent's file without touching it.
  void forget() noexcept;

  [[nodiscard]] bool open() const noexcept;
};

}  // namespace culprit::measurement
