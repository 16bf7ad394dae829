#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/options.hpp"
#include "merge/timelines/time_lines.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/trace_values.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace culprit::merge {

/// What the ranks' time lines show; on ranks other than 0 the values of their own threads only.
struct TimeLineFindings {
  TraceValues values;
  database::TraceAnalyses trace;
  std::vector<database::Wait> waits;
  database::Communication communication;
  std::set<std::uint32_t> threads;  ///< that have a time line
  bool of_threads = false;          ///< TimeLines::of_threads
  std::uint64_t clock_violations = 0, clock_violations_left = 0, clock_error_ns = 0;
  std::uint64_t short_thread_waits_ns = 0;  ///< of all ranks; variation and efficiencies take them for work
  double hotspot_threshold = kUsualHotspotThreshold;  ///< Options::hotspot_threshold
  std::set<std::uint32_t> varied;  ///< of Shape::segments, by name: those whose variation is known

  /// Rank 0: sets what the experiment says of time lines: exact waits in place of approximated ones, their
  /// causes, the critical path, variation over time, efficiencies, and what did not fit together. False, and
  /// nothing is set, where that is not sound: time lines may say anything behind right checksums.
  /// `locations`: how many the experiment has.
  [[nodiscard]] bool adopt_into(database::Experiment& experiment, std::size_t locations) &&;
};

/// Collective: analyses the ranks' time lines, where there are any. `partition`: who gets their values.
/// `locations`: the threads of the database, on rank 0. What does not fit into memory goes to $TMPDIR, or
/// else to place_for_spills() (empty: /tmp); throws storage::SpillError where there is no room.
TimeLineFindings analyse_time_lines(exchange::Communicator& comm, const Partition& partition,
                                    TimeLines& lines, const Shape& shape,
                                    std::span<const database::Location> locations, const Options& options);

}  // namespace culprit::merge
