#pragma once

#include "cct/frame.hpp"
#include "measurement/arena.hpp"
#include "measurement/block_file.hpp"
#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/module_table.hpp"
#include "measurement/published_calls_layout.hpp"
#include "measurement/thread_tree.hpp"
#include "measurement/tree_table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

// The writer side of a measurement: a live arena, mapped shared, that is readable at any moment and after any
// death of the process, and that a clean end seals. Nothing here allocates, throws, locks or uses stdio;
// functions marked [handler] are async-signal-safe. docs/formats.md states the bytes.
namespace culprit::measurement {

/// What is known of a process when its file is created. Strings are copied (truncated to their field).
struct ProcessDescription {
  const char* program = nullptr;
  const char* const* arguments = nullptr;  ///< null-terminated array
  const char* directory = nullptr;
  const char* host = nullptr;
  const char* run_id = nullptr;  ///< hexadecimal, as far as it is known
  std::uint64_t pid = 0;
  std::uint64_t start_ns = 0;
  std::int64_t start_realtime_ns = 0;
  std::uint64_t key = 0;  ///< drawn at random for this file and its trace
  bool forked = false;    ///< its rank is that of the process that it was forked from
  struct Event {
    const char* name;
    const char* unit;
    std::uint64_t period;
  };
  const Event* events = nullptr;  ///< REALTIME first if it is sampled
  std::size_t event_count = 0;
  bool has_realtime = true;
  std::uint64_t tree_bytes = kTreeBytes;  ///< that one thread's tree may grow to; at least its first block
  bool traced = false;                    ///< there is a trace, which names nodes by their units
  bool copied = false;  ///< do not map the file: keep memory and copy it, as where mapping is not to be had
};

/// The file of one process.
class LiveFile {
 public:
  /// [handler] Creates `path` (O_EXCL), reserves and maps its first blocks. Returns 0 or an errno; on error
  /// nothing is left behind. `path` is copied; it must be absolute, since the program may change its
  /// directory.
  int create(const char* path, const ProcessDescription& process) noexcept;

  /// [handler] Adds a thread. Once kEndedTrees trees of ended threads with its start routine are there it
  /// takes one of them over, so that memory is bounded by the threads that live at one time; otherwise it
  /// gets a tree of its own, whose first block is reserved with fallocate and populated. Null when the disk
  /// is full or kMaxThreads is reached and no tree can be taken over (counted), or, with `again` set, when
  /// descriptors are short at this moment: the caller may ask again after the next maintain().
  ThreadTree* add_thread(std::uint64_t tid, bool main, cct::FrameKey start_routine, std::uint64_t start_ns,
                         bool& again) noexcept;
  ThreadTree* add_thread(std::uint64_t tid, bool main, cct::FrameKey start_routine,
                         std::uint64_t start_ns) noexcept {
    bool again = false;
    return add_thread(tid, main, start_routine, start_ns, again);
  }

  /// [handler] Samples of a thread that found no room.
  void count_lost(std::uint64_t samples) noexcept;

  /// [handler] Finds or adds the module with this load address and name; returns its index (kNoModule when
  /// the table is full). Copies path and build-id (raw bytes) on first sight; stat data is filled in by
  /// maintain().
  std::uint32_t module(std::uint64_t load_address, const char* path, const void* build_id,
                       std::size_t build_id_size, unsigned flags) noexcept;
  static constexpr unsigned kModuleOwn = layout::kModuleOwn, kModuleExecutable = layout::kModuleExecutable,
                            kModuleVdso = layout::kModuleVdso, kModuleNoUnwind = layout::kModuleNoUnwind,
                            kModuleRegion = layout::kModuleRegion;

  /// [handler] A sample has frames of this module whose callers were not found by call-frame information, or
  /// its walk ended in the module. Does nothing where the number is no module's.
  void count_bridged(std::uint32_t module) noexcept { modules_.count_bridged(module); }
  void count_partial(std::uint32_t module) noexcept { modules_.count_partial(module); }

  /// `whole`: every rank of the world is measured, from its start, and keeps its measurement.
  void set_rank(std::int32_t rank, std::uint32_t world_size, const char* run_id_hex, const char* mpi,
                bool whole = false) noexcept;
  void note(const char* text) noexcept;  ///< [handler] up to a bounded number, then counted

  /// [handler] Sampling was stopped or resumed: ns of all stops that are over, and the start of the present
  /// one or 0. One thread at a time.
  void set_stopped(std::uint64_t total_ns, std::uint64_t since_ns) noexcept;
  /// What is known of the host's processors by now. One thread at a time.
  void set_host_load(const HostLoad& load) noexcept;
  /// ThreadLife::set_schedule() of the tree with this index; nothing where there is none.
  void set_schedule(std::size_t index, std::uint64_t tid, const Schedule& schedule) noexcept;
  /// [handler] How many iterations the program has marked up to now.
  void set_iterations(std::uint64_t count) noexcept;

  /// [handler] Adds the block in which threads publish the calls that they are in. Null where there is no
  /// room. It stays mapped until the process ends, whatever becomes of the file: threads store into it at any
  /// time. At most once for a file.
  calls::Calls* add_calls() noexcept;

  /// The flusher thread's turn, outside any handler, every quarter of a second: heartbeat, growth of arenas
  /// ahead of use, size and modification time of new modules, and where the file is not mapped its copy,
  /// every other turn. Returns 0 or the errno of a growth or copy that failed.
  int maintain(std::uint64_t now_ns) noexcept;

  /// For a thread with a table of descriptors of its own, which is to call maintain(): keeps the file open
  /// there. Returns 0 or an errno.
  int hold() noexcept { return file_.hold(); }

  /// Whether the file is written by copying rather than mapped: a process that is killed then lacks what came
  /// after the last copy.
  [[nodiscard]] bool copied() const noexcept { return file_.copied(); }

  /// Moves the file (after MPI_Init; same file system). Returns 0 or an errno, EEXIST where `new_path`
  /// exists; the old name stays then.
  int rename(const char* new_path) noexcept;

  /// [handler] Ends the measurement: `exec` marks the live file as complete and `resume` takes that back
  /// (exec failed); any other reason writes the sealed form beside it and renames it over the live file. The
  /// mappings stay until the process ends or forget(): a handler of another thread may be storing into them.
  /// Waits that are still open are charged up to end_ns. Returns 0 or an errno; then the live file remains,
  /// complete, with its end marked. EALREADY if another thread is sealing. `unused`: nobody records any more,
  /// nor looks at trees; of a file with many threads, what was recorded is then gone from memory after a
  /// success.
  int seal(EndReason reason, std::uint64_t end_ns, bool unused = false) noexcept;
  /// [handler] Marks the end, and leaves the live form: it alone has the calls that threads are in. `resume`
  /// takes that back. Returns as seal().
  int keep(EndReason reason, std::uint64_t end_ns) noexcept;
  void resume() noexcept;

  /// In a forked child: forgets the parent's file without touching it. Also ends the use of a sealed file:
  /// unmaps all. No other thread may use the file or its trees.
  void forget() noexcept;

  /// True from create() to a successful seal() or forget().
  [[nodiscard]] bool open() const noexcept { return open_.load(std::memory_order_acquire); }

  [[nodiscard]] const char* path() const noexcept { return file_.path(); }
  /// Threads added up to now; thread(i) may be null where one found no room. Any thread.
  [[nodiscard]] std::size_t thread_count() const noexcept { return trees_.count(); }
  [[nodiscard]] const ThreadTree* thread(std::size_t index) const noexcept { return trees_.at(index); }

 private:
  friend class Sealer;

  int describe(const ProcessDescription& process) noexcept;
  void mark_end(EndReason reason, std::uint64_t end_ns) noexcept;
  int replace_by_sealed(std::uint64_t end_ns, bool unused) noexcept;
  void note_size() noexcept;
  int write_out(std::uint64_t now_ns) noexcept;
  void release() noexcept;

  BlockFile file_;
  layout::Header* header_ = nullptr;
  ModuleTable modules_;
  TreeTable trees_;
  Arena calls_;
  std::atomic<std::uint32_t> next_ordinal_{1};
  std::atomic<bool> open_{false};
  std::atomic<bool> sealing_{false};
  std::uint64_t copy_due_ns_ = 0;
};

}  // namespace culprit::measurement
