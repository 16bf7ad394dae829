#pragma once

#include "cct/frame.hpp"
#include "measurement/input_file.hpp"
#include "measurement/live_image.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/measurement.hpp"
#include "measurement/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::measurement {

/// A context of a watched thread.
struct WatchedContext {
  std::uint32_t parent = 0;  ///< index among the thread's contexts; the root is its own
  cct::FrameKey frame;
};

/// What a context gained between two looks. A wait that goes on is counted up to the look; what it gained is
/// taken back when the wait has ended and is recorded, so gains may be negative.
struct Gain {
  std::uint32_t context = 0;
  std::int64_t time_ns = 0;
  std::int64_t marked_ns = 0;  ///< of it, marked as waiting
  std::int64_t cpu_ns = 0;
  bool blocked = false;  ///< it slept in a call; no sample was taken meanwhile
};

/// How many waiting MPI calls were made at a call path since the thread's start.
struct CallCount {
  std::uint32_t context = 0;
  std::uint64_t calls = 0;
};

struct WatchedThread {
  std::uint32_t ordinal = 0;
  std::vector<WatchedContext> contexts;  ///< parents first; later looks add some, and change none
  std::vector<Gain> gains;               ///< since the look before; at the first look since its start
  std::vector<CallCount> calls;          ///< of the main thread
  Schedule schedule;                     ///< since its start, as the process saw it last, ever more rarely
};

/// What the header of a live measurement says at a look.
struct WatchedProcess {
  std::optional<std::int32_t> rank;
  std::uint32_t world_size = 0;
  std::uint64_t key = 0, pid = 0;
  std::uint64_t start_ns = 0;      ///< CLOCK_MONOTONIC of its host
  std::uint64_t now_ns = 0;        ///< likewise: up to when its times count
  std::uint64_t heartbeat_ns = 0;  ///< likewise
  std::int64_t start_realtime_ns = 0;
  std::uint64_t iterations = 0;  ///< that the program marked
  std::uint32_t processors = 0;  ///< of its host, that its control group may use; 0: unknown
  bool forked = false;
  EndReason end = EndReason::running;
};

/// Reads one live measurement again and again, each time only what may have changed since. Memory that
/// several of them share belongs to the caller. Takes no lock; trusts nothing.
class LiveWatch {
 public:
  struct Scratch {
    InputWindow window;
    ArenaImage image;
    std::vector<std::uint32_t> pending;
  };

  explicit LiveWatch(std::string path) : path_(std::move(path)) {}

  /// Where the file is now; it is renamed when its rank is known.
  void set_path(std::string path) { path_ = std::move(path); }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Looks at the file. `here_ns`: CLOCK_MONOTONIC, where the process may be one of this host; else 0. False:
  /// it is no live measurement (any more), or that of another process. Throws MeasurementError where it
  /// cannot be read or is damaged. Even then gains are what was gained since the look before.
  bool look(Scratch& scratch, std::uint64_t here_ns);

  [[nodiscard]] const WatchedProcess& process() const { return process_; }
  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }
  [[nodiscard]] const std::vector<WatchedThread>& threads() const { return threads_; }
  /// Whether contexts are of modules that could not be read yet: they are tried again at the next look, and
  /// gains add up until then.
  [[nodiscard]] bool lacks_modules() const { return lacks_modules_; }
  /// Nothing was gained: what look() found last was taken in.
  void forget_gains();

 private:
  /// A context's values at the last look.
  struct CellState {
    std::uint32_t context = 0;
    NodeIndex unit = 0;
    std::uint64_t time_ns = 0, marked_ns = 0, cpu_ns = 0, blocked = 0;
  };
  struct OpenCharge {
    std::uint32_t context = 0;
    std::int64_t ns = 0;
    bool marked = false;
  };
  struct CallRecord {
    std::uint32_t context = 0;
    NodeIndex unit = 0;
  };
  /// What is remembered of a thread beside what others see.
  struct ThreadState {
    std::uint32_t changes = 0;  ///< the thread's count of changes at the last look
    bool seen = false;
    std::vector<CellState> cells;
    std::vector<std::uint32_t> context_of;  ///< by unit; kNone where none is known
    std::vector<bool> has_cell;             ///< by context
    NodeIndex newest_record = kNoNodeIndex;
    std::vector<CallRecord> records;
    OpenCharge charge;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  bool read_header(const InputFile& file, std::uint64_t here_ns);
  void find_threads(InputFile& file);
  void look_at_thread(const InputFile& file, const std::vector<Block>& blocks, std::size_t number,
                      Scratch& scratch);
  void read_contexts(const ArenaImage& image, std::size_t number, std::vector<std::uint32_t>& pending);
  void add_context(const ArenaImage& image, std::size_t number, NodeIndex unit, std::uint32_t parent);
  void read_cells(const ArenaImage& image, std::size_t number);
  void read_calls(const ArenaImage& image, std::size_t number, NodeIndex newest);
  void note_modules(std::size_t number, std::size_t first_context);
  void read_modules();
  [[nodiscard]] std::int64_t gained(std::uint64_t now, std::uint64_t before) const;
  void charge_open_wait(const layout::ThreadHeader& head, std::size_t number);
  [[nodiscard]] std::uint32_t context_at(std::size_t number, NodeIndex unit) const {
    const std::vector<std::uint32_t>& contexts = states_[number].context_of;
    return unit < contexts.size() ? contexts[unit] : kNone;
  }

  std::string path_;
  WatchedProcess process_;
  std::string host_;
  std::vector<Module> modules_;
  std::uint32_t modules_needed_ = 0;  ///< by contexts that are known
  std::uint32_t modules_asked_ = 0;   ///< what that was when they were read, or given up
  std::uint32_t failed_reads_ = 0;    ///< of modules, one after the other
  bool lacks_modules_ = false;
  BlockMap blocks_;
  std::uint64_t blocks_size_ = 0;  ///< of the file when they were looked for
  std::uint32_t threads_said_ = 0;
  std::uint32_t cell_units_ = 0;
  std::uint64_t sampled_until_ns_ = 0;  ///< now, on the clock of waits
  std::int64_t most_gained_ns_ = 0;     ///< of one context: more is damage
  bool grew_ = true;                    ///< an arena may have more blocks than are known
  std::vector<std::uint32_t> arenas_;   ///< of threads_, their index in the file
  std::vector<WatchedThread> threads_;
  std::vector<ThreadState> states_;
};

}  // namespace culprit::measurement
