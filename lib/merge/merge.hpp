#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/input/collectively.hpp"
#include "merge/options.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace culprit::merge {

struct Attribution;
struct Shape;
struct TimeLines;

/// What happened, for the tool's messages and exit status. On every rank.
struct Outcome {
  std::uint64_t profiles = 0, contexts = 0, unreadable = 0;
  database::Quality quality;
  std::vector<std::string> problems;  ///< one line each: file: why (what to do)
  /// On rank 0: names of --idle-rules that fit no code of the run: "file:line: name: why (what to do)". A
  /// file of rules may serve for several programs, so they are no problem.
  std::vector<std::string> vain_rules;
  std::vector<std::string> unread_modules;  ///< on rank 0, likewise (unread_modules())
  std::string some_ranks;                   ///< "ranks 0-3 of 16" where not all were measured; else empty
  double seconds = 0;
  bool private_for_inputs = false;  ///< fewer may read the database than the mask of modes would let
  /// Written, but files were unreadable, processes cut short, samples dropped, or more than 1 % of the time
  /// is in partial unwinds.
  [[nodiscard]] bool degraded() const { return !problems.empty(); }
};

/// Collective: reads the measurements below `options.measurement`, unites them, attributes, shifts blame and
/// writes the database; the same bytes for any number of ranks. Throws std::runtime_error (message "what:
/// file: why (what to do)") on every rank if nothing can be written.
Outcome merge(exchange::Communicator& comm, const Options& options, const Progress& progress);

/// What is made of a measurement's time lines. The attribution is rank 0's.
using UseTimeLines = std::function<void(const Attribution&, const Shape&, TimeLines&)>;

/// Collective: reads of the measurement `options.measurement` what call paths it has, and calls `use` with
/// the time lines of this rank, as merge() reads them; again where files were lost meanwhile. Writes nothing.
/// Throws as merge() does.
void read_time_lines(exchange::Communicator& comm, const Options& options, const Progress& progress,
                     const UseTimeLines& use);

}  // namespace culprit::merge
