#include "findings/long_segments.hpp"

#include "findings/coverage.hpp"
#include "findings/diagnosis.hpp"
#include "findings/segment_picture.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <map>
#include <set>
#include <utility>

namespace culprit::viewer {

using database::Variation;

namespace {

constexpr std::size_t kFew = 3;  // fewer are listed one by one

}  // namespace

std::vector<LongSegments> long_segments(const Variation& variation) {
  std::map<std::int32_t, std::size_t> all, longer;  // by rank
  for (const Variation::Row& row : variation.rows) all[row.rank] += row.sos_ns.size();
  for (const Variation::Outlier& one : variation.outliers) ++longer[one.rank];
  const bool lined_up = line_up(variation);
  std::set<std::int32_t> listed;
  std::map<std::pair<std::uint32_t, database::ContextId>, std::size_t> place_of;  // by number and code
  std::vector<LongSegments> found;
  for (const Variation::Outlier& one : variation.outliers) {
    const std::size_t count = longer[one.rank], of = all[one.rank];
    if (count < kFew || 2 * count <= of) {
      const auto [place, fresh] = place_of.try_emplace({one.segment, one.context}, found.size());
      if (fresh || !lined_up) {
        found.push_back({.longest = &one, .ranks = {one.rank}});
      } else {
        found[place->second].ranks.push_back(one.rank);
      }
    } else if (listed.insert(one.rank).second) {
      found.push_back({&one, {one.rank}, count, of});
    }
  }
  return found;
}

bool are_exceptions(const database::Variation& variation) {
  constexpr std::size_t kFifth = 5;
  std::size_t all = 0;
  for (const database::Variation::Row& row : variation.rows) all += row.sos_ns.size();
  return kFifth * variation.outliers.size() <= all;
}

bool are_worth_reporting(const database::Contents& experiment, const Variation& variation) {
  constexpr double kBrief = 10e-6;  // such as single messages: no iteration that a user knows
  if (variation.outliers.empty() || !are_exceptions(variation)) return false;
  double beyond_s = 0;
  for (const Variation::Outlier& outlier : variation.outliers)
    beyond_s += seconds_of(outlier.sos_ns) - seconds_of(variation.median_ns);
  return beyond_s >= kWorthReporting * seconds_of(experiment.run.duration_ns) &&
         beyond_s >= kBrief * static_cast<double>(variation.outliers.size());
}

const char* longer_phrase(const Variation& variation) {
  return 2 * variation.outliers.front().sos_ns >= 3 * variation.median_ns ? "far longer than" : "longer than";
}

std::string outlier_phrase(const database::Contents& experiment, const Variation::Outlier& outlier) {
  std::string line = of_lines(experiment, "rank " + std::to_string(outlier.rank));
  if (outlier.location == database::kNone || lines_are_threads(experiment)) return line;
  const std::uint32_t thread = experiment.locations[outlier.location].thread;
  return thread == 0 ? line : line + " thread " + std::to_string(thread);
}

std::string slow_ranks_phrase(const Variation& variation) {
  std::size_t segments = 0, ranks = 0;
  std::int32_t rank = -1;
  for (const LongSegments& one : long_segments(variation)) {
    if (one.count == 1) continue;
    segments += one.count;
    rank = one.longest->rank;
    ++ranks;
  }
  if (ranks == 0) return "";
  return " (" + (segments == variation.outliers.size() ? "all" : grouped(static_cast<double>(segments))) +
         " of them on " +
         (ranks == 1 ? keep("rank " + std::to_string(rank)) + ", in most of its own)"
                     : keep(counted(ranks, "rank")) + ", in most of their own)");
}

}  // namespace culprit::viewer
