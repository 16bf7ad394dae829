#pragma once

#include "exchange/communicator.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/survey.hpp"
#include "merge/values/values.hpp"
#include "waits/timeline/process_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace culprit::merge {

/// The traces of a rank's processes, as lib/waits reads them.
struct TimeLines {
  /// Ranks that have a trace; or threads of the only process, each as a rank whose number is the thread's.
  std::vector<std::unique_ptr<waits::ProcessTrace>> processes;
  bool of_threads = false;            ///< the latter
  std::vector<std::string> problems;  ///< one line per trace that is not used: file: why (what to do)
  std::uint64_t stopped = 0;          ///< traces that end before their process: a limit, a full disk
  std::uint64_t clock_error_ns = 0;   ///< database::Quality has the same
  /// By file, why it is damaged, of traces that turned out to break off while `processes` were read.
  std::unique_ptr<std::map<std::string, std::string>> broken_off =
      std::make_unique<std::map<std::string, std::string>>();
};

/// Collective: opens the traces of the files that `partition` gives this rank. Call paths are contexts
/// (`shape.own`), times are on the clock of the process that clocks were compared with; readings name their
/// events by the places in `shape.columns`. A trace that cannot be read is left out and reported; one that
/// breaks off is used as far as it goes, and reported once it was read.
TimeLines open_time_lines(exchange::Communicator& comm, const Partition& partition,
                          const cct::SharedTree& shared, const Shape& shape);

/// Collective: the same of a run of one process that is no rank: its threads (docs/algorithms.md 12.2).
TimeLines open_thread_lines(const Partition& partition, const cct::SharedTree& shared, const Shape& shape);

/// Collective: reads the traces of processes that are no rank to their ends, so that `lines` reports damage
/// to them, too.
void check_other_time_lines(const Partition& partition, TimeLines& lines);

/// The traces of processes that are no rank, which no analysis looks at: one after the other, as above.
class OtherTimeLines {
 public:
  OtherTimeLines(const cct::SharedTree& shared, const Shape& shape);
  ~OtherTimeLines();
  OtherTimeLines(const OtherTimeLines&) = delete;
  OtherTimeLines& operator=(const OtherTimeLines&) = delete;

  /// Adds the process with this measurement to `to`, if it is no rank and has a trace that can be read.
  void open(const std::string& measured, std::size_t threads, TimeLines& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::merge
