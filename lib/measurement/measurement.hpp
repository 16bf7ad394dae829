#pragma once

#include "cct/frame.hpp"
#include "cct/tree.hpp"
#include "measurement/kinds.hpp"
#include "measurement/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace culprit::measurement {

/// In which of its stretches a thread was sampled (docs/algorithms.md 5.7).
struct Stretch {
  static constexpr std::uint32_t kUnknown = 0;  ///< calls were not followed
  static constexpr std::uint32_t kInCall = 1;   ///< in an MPI call that waits
  static constexpr std::uint32_t kFirst = 2;

  /// kFirst and above: in the gap after the call at node number code - kFirst; of node 0 after the thread's
  /// start.
  std::uint32_t code = kUnknown;

  [[nodiscard]] constexpr bool is_gap() const { return code >= kFirst; }
  [[nodiscard]] constexpr cct::NodeId after() const { return code - kFirst; }

  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// What one REALTIME-sampled context holds. All integers, all additive.
struct Cell {
  std::uint64_t time_ns = 0;    ///< Σ weight · period
  std::uint64_t samples = 0;    ///< samples taken separately
  std::uint64_t weight_sq = 0;  ///< Σ weight² over those (weight in nominal periods; docs/algorithms.md 5.2)
  std::uint64_t blocked = 0;    ///< samples that stand for a blocked call (their weight is not in weight_sq)
  std::uint64_t cpu_ns = 0;     ///< CPU time since the thread's sample before
  std::uint64_t marked_ns = 0;     ///< the part of time_ns that a layer marked as waiting
  WaitKind mark = WaitKind::none;  ///< the kind of that mark (the last one seen)
  Stretch stretch = {};            ///< of its samples, but for those that Epochs of the kind say otherwise of
};

/// Value and samples of one further event (EventInfo, in the process's order) at one context.
struct EventValue {
  std::uint64_t value = 0;  ///< in the event's unit: Σ weight · period
  std::uint64_t samples = 0;
};

/// A sampled event. Event 0 is REALTIME unless the user turned it off.
struct EventInfo {
  std::string name;          ///< as the user wrote it: REALTIME, CPUTIME, PAPI_TOT_CYC
  std::string unit;          ///< "ns" or "count"
  std::uint64_t period = 0;  ///< nominal, in the unit

  friend bool operator==(const EventInfo&, const EventInfo&) = default;
};

/// Counters of a thread's own sampling.
struct Quality {
  std::uint64_t samples = 0;     ///< handler runs that recorded something
  std::uint64_t partial = 0;     ///< of them: unwinding stopped early
  std::uint64_t partial_ns = 0;  ///< the time that these stand for
  std::uint64_t bridged = 0;  ///< samples with a frame whose caller was not found by call-frame information
  std::uint64_t full = 0;     ///< samples charged to a parent because the arena was full
  std::uint64_t handler_ns = 0;  ///< time spent in the handler (estimated from timed runs)
  std::uint64_t halvings = 0;    ///< how often the sampling rate was halved because the handler took too long
  std::uint64_t most_halvings = 0;  ///< of one thread: its rate at last was the nominal one / 2^most_halvings
  std::uint64_t epochs_lost = 0;    ///< calls of one-sided communication that found no room

  void add(const Quality& other) {
    samples += other.samples;
    partial += other.partial;
    partial_ns += other.partial_ns;
    bridged += other.bridged;
    full += other.full;
    handler_ns += other.handler_ns;
    halvings += other.halvings;
    epochs_lost += other.epochs_lost;
    most_halvings = std::max(most_halvings, other.most_halvings);
  }
};

/// An accumulator of one-sided communication (docs/algorithms.md 6). kinds.hpp says what it is about. Of a
/// stamp, size_class is the instance, peers members << 32 | peer, count the time of the enter, total_ns that
/// of the exit, least_ns that of the last operation's exit. Of stretches: size_class is a Stretch's code, of
/// a gap that of the call which ends it; window is the longest call or gap; `squares` the sum of a gap's
/// squares, in ns², or of the squares of samples' weights. Of call_count: count is the calls, window the
/// messages, total_ns and least_ns the bytes sent and received, squares the messages' bytes, size_class and
/// peers those of the smallest and of the largest message.
struct Epoch {
  cct::NodeId node = 0;  ///< the call's path
  EpochKind kind = EpochKind::none;
  std::uint32_t size_class = 0;
  std::uint64_t window = 0;
  std::uint64_t peers = 0;
  std::uint64_t count = 0, total_ns = 0, least_ns = 0;
  double squares = 0;

  friend bool operator==(const Epoch&, const Epoch&) = default;
};

/// One thread's calling context tree and values, or those of several threads of one start routine that lived
/// one after the other. `nodes` is in pre-order; node 0 is the super-root.
struct ThreadProfile {
  std::uint32_t ordinal = 0;  ///< 0 is the main thread; others in order of their start
  std::uint64_t tid = 0;      ///< of the last
  cct::FrameKey
      start_routine;           ///< what the thread was started with (its role); kind root for the main thread
  std::uint64_t start_ns = 0;  ///< CLOCK_MONOTONIC, of the first
  std::uint64_t end_ns = 0;    ///< the last one's end, or the last heartbeat
  std::uint32_t lives = 1;     ///< how many threads this is
  std::uint64_t lived_ns = 0;  ///< the sum of their lives, up to end_ns
  Quality quality;
  Schedule schedule;  ///< added up over the lives; its processors are the last one's
  std::vector<cct::Node> nodes;
  bool own_frames = false;          ///< whether any node's module is one of ours (Module::own)
  std::vector<std::uint32_t> cell;  ///< per node: index into cells, or cct::kNoNode
  std::vector<Cell> cells;
  std::vector<EventValue> events;  ///< cells.size() × (number of events other than REALTIME), row by row
  std::vector<Epoch> epochs;
  std::vector<std::uint32_t> units;  ///< per node: its number in the trace; empty where there is none
};

/// A load module as the process saw it.
struct Module {
  cct::ModuleKey key;
  bool own = false;         ///< one of our preloaded libraries (never shown)
  bool executable = false;  ///< the main program
  bool vdso = false;
  bool no_unwind = false;     ///< it has no call-frame information at all
  std::uint64_t bridged = 0;  ///< samples with frames of it whose callers were not found by such information
  std::uint64_t partial = 0;  ///< partial unwinds that ended in it
  bool region = false;        ///< no code: key.path is the name of a region that the program marks
};

/// The process that was measured.
struct ProcessInfo {
  std::string host;
  std::uint64_t pid = 0;
  std::optional<std::int32_t> rank;  ///< in MPI_COMM_WORLD, from MPI itself
  std::uint32_t world_size = 0;      ///< 0 without MPI
  std::string run_id;                ///< hex; equal for all processes of a run
  std::string mpi;                   ///< e.g. "Open MPI 4.1.4", empty without MPI
  std::string program;               ///< path of the executable
  std::vector<std::string> arguments;
  std::string directory;       ///< working directory at start
  std::uint64_t start_ns = 0;  ///< CLOCK_MONOTONIC
  std::uint64_t end_ns = 0;
  std::int64_t start_realtime_ns = 0;  ///< CLOCK_REALTIME at start_ns
  std::uint64_t key = 0;     ///< drawn at random for this measurement and its trace; 0 from older writers
  bool forked = false;       ///< the rank is that of the process which it was forked from
  bool whole_world = false;  ///< every rank of the world was to leave a measurement
  EndReason end = EndReason::running;
  std::vector<EventInfo> events;
  bool has_realtime = true;
  bool traced = false;             ///< a trace lies beside the measurement
  std::uint64_t iterations = 0;    ///< that the program marked
  std::uint64_t samples_lost = 0;  ///< of threads that found no room
  std::uint64_t threads_lost = 0;  ///< that the file had no room for: they were not measured
  HostLoad host_load;
  std::vector<std::string> notes;  ///< what the runtime wants the user to know
};

/// How many threads were not measured, and why.
std::string describe_lost_threads(std::uint64_t count);

/// Everything that one process recorded.
struct Measurement {
  ProcessInfo process;
  std::vector<Module> modules;
  std::vector<ThreadProfile> threads;
  bool sealed = false;  ///< false: the process was killed, replaced itself by exec, or found no room to seal
  std::vector<std::string> losses;  ///< what the file should hold and does not, a line each: it was cut

  /// Whether the process did not come to an end of its own (measurement/kinds.hpp). A file that is complete
  /// but could not be sealed (exec; a full disk) is not cut short.
  [[nodiscard]] bool cut_short() const { return !orderly(process.end); }
};

/// A measurement file cannot be read. what() is "why (what to do)"; path() names the file.
class MeasurementError : public std::runtime_error {
 public:
  MeasurementError(std::filesystem::path path, const std::string& why)
      : std::runtime_error(why), path_(std::move(path)) {}
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// How much is wanted of a file: all; all but the values of cells and events, which are 0 then or what they
/// are; the process and its modules, of which a live file then has no threads.
enum class Extent : std::uint8_t { whole, structure, process };

/// Reads live and sealed measurements (docs/formats.md), one after the other into the same memory. Trusts
/// nothing: on any bytes it returns a valid Measurement (all indices in range, nodes in pre-order) or throws
/// MeasurementError. Not thread-safe; several readers may work at once.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// The caller may change the threads, or move all of it out and give up the reader; it is valid until the
  /// next read.
  Measurement& read(const std::string& path);
  Measurement& read(const std::string& path, Extent extent);

  /// Opens a file that is soon to be read, and lets the system fetch its beginning meanwhile. What is
  /// announced is to be read in the same order, or is forgotten. Says nothing of errors: reading reports
  /// them.
  void announce(const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::measurement
