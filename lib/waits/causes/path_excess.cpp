// By which call paths a delayer took longer than its waiters (docs/algorithms.md 8). Each gap's exact time is
// divided by the samples in it, for both sides, over a tree of chains of procedures; calls, by their chains,
// and gaps without samples are leaves of their own. Then
//   1. match alternatives: of the children of a scope, those that only the delayer ran stand for those that
//      only the waiters ran, always the pair of the smallest relative difference first;
//   2. keep the leaves whose difference is positive and at least twice its standard error; where a procedure
//      has none, but is significant as a whole, all of it;
//   3. where no sampled leaf is left, gaps bear what the exact ones do not.
// The error is that of shares estimated from samples: a path that covers its gap has none.
// Cost: for each account the sampled paths times their depth, and the square of the number of alternatives.
#include "waits/causes/path_excess.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace culprit::waits {

namespace {

constexpr std::size_t kSides = 2;
constexpr std::size_t kNoScope = ~std::size_t{0};

/// A chain of procedures, or a leaf: a chain's own code, an MPI call, or a gap without samples.
struct Scope {
  std::size_t parent = kNoScope;
  std::vector<std::size_t> children;
  bool leaf = false;
  bool exact = false;         // nothing in it was sampled: no error
  bool around_calls = false;  // calls or gaps lie in it
  PathOfRegion path;          // of a gap without samples
  std::array<double, kSides> ns{};
  double variance = 0;
  double left = 1;                               // of the delayer's time, after its alternatives
  std::uint32_t chain = ProcedureChains::kRoot;  // of a chain's own code
  std::map<std::uint32_t, double> contexts;      // of other leaves: the delayer's time

  [[nodiscard]] double excess() const { return ns[0] * left - ns[1]; }
  [[nodiscard]] bool significant() const {
    return excess() > 0 && excess() * excess() >= kSignificant * kSignificant * variance;
  }
};

/// One side's samples in a gap while its time is divided.
struct Part {
  double ns = 0, variance = 0;
};

/// What only one side ran in a scope: by time, and which child it is.
using Alternatives = std::set<std::pair<double, std::size_t>>;

/// The pair with the smallest relative difference: next to each other in the order of both together.
std::pair<Alternatives::iterator, Alternatives::iterator> most_alike(const Alternatives& delayer,
                                                                     const Alternatives& waiter) {
  std::pair best{delayer.begin(), waiter.begin()};
  double least = 2;
  for (std::pair next = best; next.first != delayer.end() && next.second != waiter.end();) {
    const double ours = next.first->first, theirs = next.second->first;
    const double difference = std::abs(ours - theirs) / std::max(ours, theirs);
    if (difference < least) {
      least = difference;
      best = next;
    }
    ++(ours < theirs ? next.first : next.second);
  }
  return best;
}

class ExcessTree {
 public:
  ExcessTree(const Regions& regions, const ProcedureChains& chains, const TimeLine* delayer,
             const CodeOfLines* code)
      : regions_(regions), chains_(chains), delayer_(delayer), code_(code) {
    scopes_.emplace_back();
    parts_.emplace_back();
    of_chain_[ProcedureChains::kRoot] = 0;
  }

  /// All sums of one region.
  void add(std::span<const PathTime> times);
  std::map<PathOfRegion, double> weights(double cost_ns);

 private:
  std::size_t scope(std::size_t parent);
  std::size_t scope_of(std::uint32_t chain);
  std::size_t own_code_of(std::uint32_t chain);
  std::size_t call_of(std::uint32_t chain);
  void add_exact(std::size_t leaf, const std::array<double, kSides>& ns);
  void divide(std::span<const PathTime> samples, const std::array<double, kSides>& ns);
  [[nodiscard]] double repeated(std::uint32_t region, double counted) const;
  void match_alternatives(std::size_t scope);
  bool keep(std::size_t scope);
  void keep_whole(std::size_t scope);
  void add_variance(std::size_t scope, double variance, double whole);
  void scale(std::size_t scope, double left);
  void leave(std::size_t scope, double ns);
  void find_surplus(std::size_t scope, std::map<std::size_t, double>& found) const;
  double weigh_kept(bool exact, double most, std::map<PathOfRegion, double>& found) const;
  void weigh_gaps(double ns, std::map<PathOfRegion, double>& found) const;

  const Regions& regions_;
  const ProcedureChains& chains_;
  const TimeLine* delayer_;
  const CodeOfLines* code_;
  std::vector<Scope> scopes_;  // the root first; parents before their children
  std::map<std::uint32_t, std::size_t> of_chain_, own_code_, calls_;
  std::map<std::size_t, double> kept_;                                         // leaves
  std::vector<Part> parts_;                                                    // by scope
  std::vector<std::pair<std::uint32_t, std::array<double, kSides>>> sampled_;  // gaps, with their times
};

std::size_t ExcessTree::scope(std::size_t parent) {
  scopes_.emplace_back().parent = parent;
  parts_.emplace_back();
  scopes_[parent].children.push_back(scopes_.size() - 1);
  return scopes_.size() - 1;
}

std::size_t ExcessTree::scope_of(std::uint32_t chain) {
  const auto found = of_chain_.find(chain);
  if (found != of_chain_.end()) return found->second;
  const std::size_t made = scope(scope_of(chains_.parent(chain)));
  of_chain_[chain] = made;
  return made;
}

std::size_t ExcessTree::own_code_of(std::uint32_t chain) {
  const auto found = own_code_.find(chain);
  if (found != own_code_.end()) return found->second;
  const std::size_t made = scope(scope_of(chain));
  scopes_[made].leaf = true;
  scopes_[made].chain = chain;
  own_code_[chain] = made;
  return made;
}

void ExcessTree::add(std::span<const PathTime> times) {
  std::array<double, kSides> ns{};
  std::vector<PathTime> samples;
  for (const PathTime& time : times) {
    if (time.context == RegionTime::kWhole) {
      ns[static_cast<std::size_t>(time.side)] += static_cast<double>(time.ns);
    } else if (time.ns > 0) {
      samples.push_back(time);
    }
  }
  const Region& region = regions_[times.front().region];
  if (region.next == Region::kCall) {
    const std::size_t call = call_of(chains_.of(region.previous));
    if (ns[0] > 0) scopes_[call].contexts[region.previous] += ns[0];
    return add_exact(call, ns);
  }
  if (!samples.empty()) {
    sampled_.emplace_back(times.front().region, ns);
    return divide(samples, ns);
  }
  const std::uint32_t after = chains_.parent(chains_.of(region.next));
  const bool first = region.previous == Region::kStart;
  const std::uint32_t before = first ? after : chains_.parent(chains_.of(region.previous));
  const std::size_t gap = scope(scope_of(chains_.common(before, after)));
  scopes_[gap].path = {.context = PathOfRegion::kBetween, .region = region};
  add_exact(gap, ns);
}

std::size_t ExcessTree::call_of(std::uint32_t chain) {
  const auto found = calls_.find(chain);
  if (found != calls_.end()) return found->second;
  return calls_[chain] = scope(scope_of(chain));
}

/// An MPI call, or a gap in which nothing was sampled.
void ExcessTree::add_exact(std::size_t leaf, const std::array<double, kSides>& ns) {
  scopes_[leaf].leaf = scopes_[leaf].exact = true;
  for (std::size_t at = leaf; at != kNoScope; at = scopes_[at].parent) {
    for (std::size_t side = 0; side < kSides; ++side) scopes_[at].ns[side] += ns[side];
    scopes_[at].around_calls = true;
  }
}

/// How often each of the delayer's samples in a gap is among those counted: an interval that explains several
/// waits, as of all who wait in a collective, counts for each, and was sampled once. At least so often: as if
/// all of the line's samples in that gap were among them.
double ExcessTree::repeated(std::uint32_t region, double counted) const {
  if (delayer_ == nullptr || delayer_->sample_ns == 0) return 1;
  const auto found = std::lower_bound(delayer_->sampled_ns.begin(), delayer_->sampled_ns.end(), region,
                                      [](const std::pair<std::uint32_t, std::uint64_t>& one,
                                         std::uint32_t wanted) { return one.first < wanted; });
  if (found == delayer_->sampled_ns.end() || found->first != region) return 1;
  const auto sampled = static_cast<double>(found->second) / static_cast<double>(delayer_->sample_ns);
  return std::max(1., counted / std::max(1., sampled));
}

/// The exact times of a gap, by the samples in it. Where only one side was sampled its samples stand for
/// both.
void ExcessTree::divide(std::span<const PathTime> samples, const std::array<double, kSides>& ns) {
  const auto of_side = [&](std::size_t side) {
    return [side](const PathTime& time) { return static_cast<std::size_t>(time.side) == side; };
  };
  for (std::size_t side = 0; side < kSides; ++side) {
    if (ns[side] == 0) continue;
    const bool own = std::any_of(samples.begin(), samples.end(), of_side(side));
    std::vector<std::size_t> touched;
    Part all;
    for (const PathTime& time : samples) {
      if (own && !of_side(side)(time)) continue;
      const Part part{static_cast<double>(time.ns), 1e6 * static_cast<double>(time.variance)};
      all.ns += part.ns;
      all.variance += part.variance;
      for (std::size_t at = own_code_of(chains_.of(time.context)); at != kNoScope; at = scopes_[at].parent) {
        if (parts_[at].ns == 0) touched.push_back(at);
        parts_[at].ns += part.ns;
        parts_[at].variance += part.variance;
      }
    }
    const double scale = ns[side] / all.ns;
    // Of samples, had they all the same weight; variances below a µs² are none.
    const double counted = all.ns * all.ns / std::max(all.variance, 1.);
    const double times = side == 0 && own ? repeated(samples.front().region, counted) : 1;
    const double count = counted / times;
    for (const std::size_t at : touched) {
      const Part part = std::exchange(parts_[at], {});
      scopes_[at].ns[side] += scale * part.ns;
      // Few samples of one path do not say that there is no other.
      const double share = (count * part.ns / all.ns + 1) / (count + 2);
      scopes_[at].variance += times * scale * scale *
                              ((1 - share) * (1 - share) * part.variance +
                               share * share * std::max(0., all.variance - part.variance));
    }
    for (const PathTime& time : samples) {
      if (side != 0 || (own && !of_side(0)(time))) continue;
      scopes_[own_code_of(chains_.of(time.context))].contexts[time.context] +=
          scale * static_cast<double>(time.ns);
    }
  }
}

/// Subtracts from what only the delayer ran what only the waiters ran, from each other's like first.
void ExcessTree::match_alternatives(std::size_t at) {
  std::array<Alternatives, kSides> only;
  for (const std::size_t child : scopes_[at].children) {
    const std::array<double, kSides>& ns = scopes_[child].ns;
    if (ns[0] > 0 && ns[1] > 0) {
      if (!scopes_[child].leaf) match_alternatives(child);
    } else if (ns[0] > 0 || ns[1] > 0) {
      only[ns[0] > 0 ? 0 : 1].insert({std::max(ns[0], ns[1]), child});
    }
  }
  auto& [delayer, waiter] = only;
  while (!delayer.empty() && !waiter.empty()) {
    const auto [ours, theirs] = most_alike(delayer, waiter);
    const auto [ns, scope] = delayer.extract(ours).value();
    const auto [others_ns, other] = waiter.extract(theirs).value();
    const double matched = std::min(ns, others_ns);
    const double part = matched / scopes_[other].ns[1];
    add_variance(scope, part * part * scopes_[other].variance, scopes_[scope].ns[0]);
    if (ns > matched) delayer.insert({ns - matched, scope});
    if (ns == matched) scale(scope, 0);
    if (others_ns > matched) waiter.insert({others_ns - matched, other});
  }
  for (const auto& [ns, scope] : delayer) leave(scope, ns);
}

/// Leaves `ns` of what the delayer took in a scope, for which there is no code of others to compare with:
/// code that took it longer than others that ran the same over the whole run keeps its part first.
void ExcessTree::leave(std::size_t at, double ns) {
  const double whole = scopes_[at].ns[0];
  std::map<std::size_t, double> surplus;
  find_surplus(at, surplus);
  double sum = 0;
  for (const auto& [leaf, more] : surplus) sum += more;
  const double first = sum > ns ? ns / sum : 1;
  const double others = whole - first * sum;  // no others: all of it took longer
  scale(at, others > 0 ? std::clamp((ns - first * sum) / others, 0., 1.) : 0);
  for (const auto& [leaf, more] : surplus) {
    Scope& scope = scopes_[leaf];
    scope.left += first * more * (1 - scope.left) / scope.ns[0];
  }
}

/// Of the sampled leaves in a scope: what the delayer took longer there than others that ran it.
void ExcessTree::find_surplus(std::size_t at, std::map<std::size_t, double>& found) const {
  const Scope& scope = scopes_[at];
  for (const std::size_t child : scope.children) find_surplus(child, found);
  if (!scope.leaf || scope.exact || code_ == nullptr || delayer_ == nullptr || scope.ns[0] <= 0) return;
  const double share = code_->surplus(delayer_->location, scope.chain);
  if (share > 0) found[at] = share * scope.ns[0];
}

/// What was subtracted has an error, too.
void ExcessTree::add_variance(std::size_t at, double variance, double whole) {
  const double part = scopes_[at].ns[0] / whole;
  scopes_[at].variance += part * part * variance;
  for (const std::size_t child : scopes_[at].children) add_variance(child, variance, whole);
}

/// Leaves the share `left` of what the delayer took in the scope.
void ExcessTree::scale(std::size_t at, double left) {
  scopes_[at].left = left;
  for (const std::size_t child : scopes_[at].children) scale(child, left);
}

/// Keeps what is significant. Returns whether that is any sampled code.
bool ExcessTree::keep(std::size_t at) {
  const Scope& scope = scopes_[at];
  if (scope.leaf) {
    if (scope.significant()) kept_[at] = scope.excess();
    return scope.significant() && !scope.exact;
  }
  bool any = false;
  for (const std::size_t child : scope.children) any |= keep(child);
  if (any || scope.around_calls || !scope.significant()) return any;
  keep_whole(at);
  return true;
}

/// A procedure whose parts are not significant, but which is as a whole.
void ExcessTree::keep_whole(std::size_t at) {
  for (const std::size_t child : scopes_[at].children) keep_whole(child);
  if (scopes_[at].leaf && scopes_[at].excess() > 0) kept_[at] = scopes_[at].excess();
}

/// Adds what exact or sampled leaves bear, up to a limit. Returns how much that is.
double ExcessTree::weigh_kept(bool exact, double most, std::map<PathOfRegion, double>& found) const {
  double sum = 0;
  for (const auto& [leaf, ns] : kept_) sum += scopes_[leaf].exact == exact ? ns : 0;
  const double part = sum > most ? most / sum : 1;
  for (const auto& [leaf, ns] : kept_) {
    const Scope& scope = scopes_[leaf];
    if (scope.exact != exact) continue;
    if (scope.contexts.empty()) found[scope.path] += part * ns;
    double whole = 0;
    for (const auto& [context, time] : scope.contexts) whole += time;
    for (const auto& [context, time] : scope.contexts)
      found[{.context = context, .region = {}}] += part * ns * time / whole;
  }
  return part * sum;
}

/// Gaps bear what samples cannot show: by what took the delayer longer; where none did, by what it took.
void ExcessTree::weigh_gaps(double ns, std::map<PathOfRegion, double>& found) const {
  for (const bool excess : {true, false}) {
    const auto weight = [excess](const std::array<double, kSides>& times) {
      return excess ? std::max(0., times[0] - times[1]) : times[0];
    };
    double sum = 0;
    for (const auto& [region, times] : sampled_) sum += weight(times);
    if (sum == 0) continue;
    for (const auto& [region, times] : sampled_) {
      found[{.context = PathOfRegion::kBetween, .region = regions_[region]}] += ns * weight(times) / sum;
    }
    return;
  }
}

std::map<PathOfRegion, double> ExcessTree::weights(double cost_ns) {
  match_alternatives(0);
  std::map<PathOfRegion, double> found;
  if (keep(0)) {
    weigh_kept(false, HUGE_VAL, found);
    weigh_kept(true, HUGE_VAL, found);
    return found;
  }
  const double exact = weigh_kept(true, sampled_.empty() ? HUGE_VAL : cost_ns, found);
  if (exact < cost_ns) weigh_gaps(cost_ns - exact, found);
  if (!found.empty()) return found;
  // All of it took the waiters longer.
  for (std::size_t at = 0; at < scopes_.size(); ++at) {
    if (scopes_[at].exact && scopes_[at].ns[0] > 0) kept_[at] = scopes_[at].ns[0];
  }
  weigh_kept(true, HUGE_VAL, found);
  return found;
}

/// As whole numbers, which distinguish a millionth of the largest.
std::vector<PathWeight> in_whole_numbers(const std::map<PathOfRegion, double>& found) {
  constexpr double kWhole = 1e12;
  double sum = 0;
  for (const auto& [path, ns] : found) sum += ns;
  std::vector<PathWeight> weights;
  for (const auto& [path, ns] : found) {
    const auto weight = static_cast<std::uint64_t>(std::llround(kWhole * (ns / sum)));
    if (weight > 0) weights.push_back({.path = path, .weight = weight});
  }
  return weights;
}

PathOfRegion path_of(const Region& region) {
  if (region.next == Region::kCall) return {.context = region.previous, .region = {}};
  return {.context = PathOfRegion::kBetween, .region = region};
}

}  // namespace

std::vector<PathWeight> path_excess(std::span<const PathTime> times, const Regions& regions,
                                    const ProcedureChains& chains, std::uint64_t cost_ns,
                                    const TimeLine* delayer, const CodeOfLines* code) {
  ExcessTree tree(regions, chains, delayer, code);
  for (std::size_t first = 0; first < times.size();) {
    std::size_t last = first;
    while (last < times.size() && times[last].region == times[first].region) ++last;
    tree.add(times.subspan(first, last - first));
    first = last;
  }
  const std::map<PathOfRegion, double> found = tree.weights(static_cast<double>(cost_ns));
  if (!found.empty()) return in_whole_numbers(found);
  // Less than a ns of anything.
  for (const PathTime& time : times) {
    if (time.side == Side::delayer) return {{.path = path_of(regions[time.region]), .weight = 1}};
  }
  return {};
}

}  // namespace culprit::waits
