// The walk from an uneven part of a balanced scope to the code that holds its excess (ours;
// docs/algorithms.md 5.4). It goes from procedure to procedure while one holds most of what the walk began
// with; where two or three do so together, each is followed, and not their caller, unless all that it does is
// uneven alike; where no procedure does, it goes on within the last one, to the loop, call site or line that
// does.
// Cost: work per thread of a few parts at each step.
#include "blame/walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace culprit::blame {
namespace {

/// The walk goes on while one part holds this share of the excess with which it began.
constexpr double kMost = 0.8;
/// A part with less than this share of it is no rival of one that holds most.
constexpr double kRivals = 0.64;
/// Parts that are followed together instead of their caller, at most.
constexpr std::size_t kFew = 3;
/// Parts are uneven in proportion if the least of their shares of excess is at least kProportion of the
/// largest, and at least kSameThreads of the excess is on the same threads.
constexpr double kProportion = 0.75, kSameThreads = 0.5;

}  // namespace

/// How much of the waiting that two parts make, each as 1, is made on the same threads.
double Walk::common_threads(const Excess& a, const Excess& b) const {
  const double all_of_a = late_.waiting(a);
  const double all_of_b = late_.waiting(b);
  double common = 0;
  for (std::size_t i = 0; i < a.by_thread.size(); ++i)
    common += late_.weight[i] * std::min(without_noise(a, i) / all_of_a, without_noise(b, i) / all_of_b);
  return common;
}

/// Whether parts of a caller are almost all that it does, and uneven as it is as a whole: then it has more to
/// do on some threads, and is the cause itself.
bool Walk::in_proportion(const std::vector<std::pair<Excess, Rest>>& few, const Part& caller) const {
  double work = 0;
  double least = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const auto& [excess, rest] : few) {
    const auto of_part = static_cast<double>(excess.part.work);
    const double share = late_.waiting(excess) / of_part;
    const double error = excess.error * late_.error() / of_part;
    work += of_part;
    least = std::min(least, share + error);
    largest = std::max(largest, share - error);
    if (common_threads(few.front().first, excess) < kSameThreads) return false;
  }
  return work >= kMost * static_cast<double>(caller.work) && least >= kProportion * largest;
}

std::vector<End> Walk::from(database::ContextId balanced, const Rest& rest, double least) {
  ends_.clear();
  least_ = least;
  const Part whole = parts_.whole(balanced);
  division_.among(parts_.of_balanced(balanced), whole.ranges, late_.excess, rest, least,
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
                    if (late_.waiting(excess) >= kMost * begun) one = excess;
                    return false;
                  });
  if (one) one->margin = std::min(one->margin, at.margin);
  return one;
}

/// Follows the two or three procedures that together hold most of what a walk began with, if there are, and
/// stand out in their caller.
bool Walk::follow_few(const Excess& at, const std::vector<Part>& way, const Rest& rest, double begun) {
  std::vector<std::pair<Excess, Rest>> few;
  double held = 0;
  division_.among(parts_.procedures_below(at.part), at.part.ranges, at.by_thread, rest, least_,
                  [&](const Excess& excess, const Rest& without_earlier) {
                    held += late_.waiting(excess);
                    few.emplace_back(excess, without_earlier);
                    return held < kMost * begun && few.size() < kFew;
                  });
  if (held < kMost * begun || (few.size() > 1 && in_proportion(few, at.part))) return false;
  for (auto& [excess, without_earlier] : few) {
    excess.margin = std::min(excess.margin, at.margin);
    follow(std::move(excess), way, without_earlier);
  }
  return true;
}

void Walk::follow(Excess at, std::vector<Part> way, const Rest& rest) {
  const double begun = late_.waiting(at);
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
