#pragma once

#include "measurement/kinds.hpp"
#include "measurement/trace_event.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/own_times.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace culprit::waits {

/// What a thread's wait for others of its process is; the patterns are in the order of the kinds.
WaitPattern pattern_of(measurement::WaitKind kind);

/// Which thread of which process a time line is of.
struct LineOf {
  std::size_t process = 0, thread = 0;  ///< the process: of this rank's own
  std::size_t threads = 0;              ///< of the process
  unsigned halvings = 0;                ///< of the thread's sampling rate, at most
  std::int32_t rank = -1;               ///< in MPI_COMM_WORLD
};

/// What the records of one time line leave on it, but for what its calls' operations show.
class LineRecords {
 public:
  /// Of a line that was opened, when all were.
  LineRecords(TraceStore& store, Location location, const LineOf& of)
      : store_(store), line_(store.line(location)), of_(of) {}

  [[nodiscard]] Location location() const { return line_.location; }
  /// A sample, a reading, waits for threads, or an invocation with stamps.
  void add(const measurement::trace::Record& record);
  /// A call, and what it makes of the records since the call before.
  CallSite add_call(const measurement::trace::Record& record);
  /// The last record was added.
  void close() {
    line_.sample_ns = lengths_.single();
    line_.halvings = of_.halvings;
  }

 private:
  void add_sample(const measurement::trace::Record& record);
  void add_thread_wait(const measurement::trace::Record& record);
  void drop_samples(std::uint64_t enter_ns);
  void drop_thread_waits(std::uint64_t enter_ns);

  TraceStore& store_;
  TimeLine& line_;
  LineOf of_;
  std::uint64_t received_ns_ = 0;          // the exit of the last call that received or probed
  std::uint64_t left_ns_ = 0;              // when the last call was left
  std::vector<std::uint64_t> sampled_ns_;  // the samples since then
  std::uint64_t shortest_ns_ =
      std::numeric_limits<std::uint64_t>::max();  // that a sample stands for: one period
  SampleLengths lengths_;
};

}  // namespace culprit::waits
