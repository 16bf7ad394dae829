#pragma once

#include "blame/blame.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {

/// The threshold of hotspots where nobody asks for another one (docs/algorithms.md 8.2).
inline constexpr double kUsualHotspotThreshold = 0.01;

/// What to merge, from where and how.
struct Options {
  std::filesystem::path measurement;                                ///< the directory
  std::filesystem::path output;                                     ///< the database file
  bool force = false;                                               ///< replace an existing database
  std::vector<std::pair<std::string, std::string>> replace_prefix;  ///< source paths, first match wins
  std::filesystem::path idle_rules;                                 ///< empty: the built-in rules
  blame::Options blame;
  bool loops = true;
  bool sources = true;                    ///< copy sources into the database
  std::filesystem::path structure_cache;  ///< where recovered structure is kept for later; empty: nowhere
  std::vector<std::string> segments;      ///< further procedures whose variation over time is wanted
  double hotspot_threshold = kUsualHotspotThreshold;  ///< hotspots have this share of all time or more
  bool dry_run = false;
};

/// The database takes the place of what has its name: that must be a file, and a database to be replaced.
/// (For root, it would take the place of a device.) Throws std::runtime_error with what to do.
void check_output(const Options& options);

/// The directory of what is made from the measurement.
std::filesystem::path place_of(const Options& options);

/// Where what does not fit into memory may go: beside the database, which will need room there as well.
std::filesystem::path place_for_spills(const Options& options);

}  // namespace culprit::merge
