// The walk from an uneven part of a balanced scope to the code that holds its excess (ours;
// docs/algorithms.md 5.4). It goes from procedure to procedure while one holds most of what the walk began
// with; where two or three do so together, each is followed, and not their caller; where no procedure does,
// it goes on within the last one, to the loop, call site or line that does. Cost: work per thread of a few
// parts at each step.
#include "blame/walk.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace culprit::blame {
namespace {

/// The walk goes on while one part holds this share of the excess with which it began.
constexpr double kMost = 0.8;
/// A part with less than this share of it is no rival of one that holds most.
constexpr double kRivals = 0.64;
/// So many parts together, at most, are followed instead of their caller.
constexpr std::size_t kFew = 3;

}  // namespace

std::vector<End> Walk::from(database::ContextId balanced, const PerLate& late, double least) {
  ends_.clear();
  least_ = least;
  const Part whole = parts_.whole(balanced);
  Rest rest;
  {
    const std::span<const std::uint64_t> work = work_.of(whole.ranges);
    const double mean = work_.mean(whole);
    rest.reserve(work.size());
    for (const std::uint64_t each : work) rest.push_back(static_cast<double>(each) - mean);
  }
  division_.among(parts_.of_balanced(balanced), whole.ranges, late, rest, least,
                  [&](const Excess& excess, const Rest& without_earlier) {
                    follow(excess, {}, without_earlier);
                    return true;
                  });
  return std::move(ends_);
}

/// The part that holds most of what a walk began with, if there is one.
std::optional<Excess> Walk::one_of(std::vector<Part> parts, const Excess& at, const Rest& rest,
                                   double begun) const {
  std::optional<Excess> one;
  division_.among(std::move(parts), at.part.ranges, at.by_thread, rest, kRivals * begun,
                  [&](const Excess& excess, const Rest&) {
                    if (real_total(excess) >= kMost * begun) one = excess;
                    return false;
                  });
  if (one) one->margin = std::min(one->margin, at.margin);
  return one;
}

/// Follows the two or three procedures that together hold most of what a walk began with, if there are.
bool Walk::follow_few(const Excess& at, const std::vector<Part>& way, const Rest& rest, double begun) {
  std::vector<std::pair<Excess, Rest>> few;
  double held = 0;
  division_.among(parts_.procedures_below(at.part), at.part.ranges, at.by_thread, rest, least_,
                  [&](const Excess& excess, const Rest& without_earlier) {
                    held += real_total(excess);
                    few.emplace_back(excess, without_earlier);
                    return held < kMost * begun && few.size() < kFew;
                  });
  if (held < kMost * begun) return false;
  for (auto& [excess, without_earlier] : few) {
    excess.margin = std::min(excess.margin, at.margin);
    follow(std::move(excess), way, without_earlier);
  }
  return true;
}

void Walk::follow(Excess at, std::vector<Part> way, const Rest& rest) {
  const double begun = real_total(at);
  while (begun > 0 && !at.part.own && parts_.is_procedure(at.part.scopes.front())) {
    way.push_back(at.part);
    std::optional<Excess> one = one_of(parts_.procedures_below(at.part), at, rest, begun);
    if (!one) {
      if (follow_few(at, way, rest, begun)) return;
      break;
    }
    at = std::move(*one);
  }
  while (begun > 0) {
    std::optional<Excess> one = one_of(parts_.pieces_of(at.part), at, rest, begun);
    if (!one) break;
    at = std::move(*one);
  }
  ends_.push_back({.excess = std::move(at), .way = std::move(way)});
}

}  // namespace culprit::blame
