#pragma once

#include "tui/state/workspace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// What the threads of a role have at a node, all together.
struct RoleShare {
  std::uint32_t role = 0;
  std::size_t threads = 0;  ///< that have any
  double sum = 0;
};

/// A node's values over threads.
struct RankSeries {
  NodeRef ref;
  std::string title;
  std::string column;  ///< title of the column that the values are of
  std::string unit;
  std::uint32_t role = 0;                ///< that of the threads
  std::vector<RoleShare> elsewhere;      ///< other roles with values there, those with most first
  std::vector<std::uint32_t> locations;  ///< the threads of one role, in order
  std::vector<double> values;            ///< parallel; in the column's unit
};

/// The column whose values per thread a graph shows: the one that is sorted by, where it was measured in each
/// thread, else the first one that was.
std::optional<views::Column> column_over_ranks(const Workspace& workspace);

/// Reads a node's values per thread, for the threads of `role`, else of the chosen role. Where there is
/// neither, of the role that spends most there, or, where that is one thread, of that with several threads
/// that spends most.
RankSeries read_series(Workspace& workspace, const NodeRef& ref, const views::Column& column,
                       std::optional<std::uint32_t> role);

struct SeriesSummary {
  double smallest = 0, mean = 0, largest = 0;
};
SeriesSummary summarize(const std::vector<double>& values);

/// Threads with about the same value.
struct AlikeThreads {
  std::vector<std::size_t> threads;  ///< by their place in the series, ascending
  double smallest = 0, largest = 0;
  std::string name;  ///< `ranks 1-63`, where it was asked for
};

/// All threads of a series, those with most first; a new group begins where the next value is much smaller:
/// by a sixth of all differences, and by a twentieth of the largest value.
std::vector<AlikeThreads> group_alike(const std::vector<double>& values);

/// `64 × mean`
std::string times_mean(double times, bool unicode);

}  // namespace culprit::viewer::tui
