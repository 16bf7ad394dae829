#pragma once

#include "waits/event.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// What was found on one time line so far.
struct TimeLine {
  Location location = kNoLocation;
  std::vector<Event> events;
  std::vector<Candidate> candidates;    ///< in no order
  std::vector<Meeting> meetings;        ///< in no order
  std::vector<Attendance> attendances;  ///< in the order of calls
  std::vector<Sample> samples;          ///< outside MPI calls, in the order of time
  std::vector<Wait> waits;              ///< once settled: in the order of calls, a wait before its parts
};

/// How many operations found no partner, and why calls could not be understood: by kind, never guessed at.
struct Unmatched {
  std::uint64_t sends = 0, receives = 0, probes = 0;
  std::uint64_t collectives = 0, fences = 0, epochs = 0, locks = 0;
  std::uint64_t completions = 0;       ///< of requests that were begun before the trace, or twice
  std::uint64_t strangers = 0;         ///< operations with processes or communicators that are not recorded
  std::uint64_t clock_violations = 0;  ///< receives that were complete before their send began

  friend bool operator==(const Unmatched&, const Unmatched&) = default;
  void add(const Unmatched& other) {
    sends += other.sends;
    receives += other.receives;
    probes += other.probes;
    collectives += other.collectives;
    fences += other.fences;
    epochs += other.epochs;
    locks += other.locks;
    completions += other.completions;
    strangers += other.strangers;
    clock_violations += other.clock_violations;
  }
};

/// The time lines of the processes that this rank of the analysis has.
class Ledger {
 public:
  /// Adds a time line; to be called for all before anything else.
  void open(Location location) {
    if (location >= index_.size()) index_.resize(location + 1, 0);
    index_[location] = static_cast<std::uint32_t>(lines_.size());
    lines_.emplace_back().location = location;
  }
  /// One that was opened.
  [[nodiscard]] TimeLine& line(Location location) { return lines_[index_[location]]; }
  [[nodiscard]] std::vector<TimeLine>& lines() { return lines_; }
  [[nodiscard]] const std::vector<TimeLine>& lines() const { return lines_; }

  EventId add(Location location, const Event& event) {
    TimeLine& line = this->line(location);
    line.events.push_back(event);
    return {location, static_cast<std::uint32_t>(line.events.size() - 1)};
  }
  void add(Location location, const Candidate& candidate) { line(location).candidates.push_back(candidate); }
  void add(Location location, const Meeting& meeting) { line(location).meetings.push_back(meeting); }

  Unmatched unmatched;

 private:
  std::vector<std::uint32_t> index_;  // by location
  std::vector<TimeLine> lines_;
};

}  // namespace culprit::waits
